"""The tag rules of weighted.txt, section 3.2: which elements and blocks each speaks against."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import Reason, parse
from cleaning.methods.weighted import TagRule, attribute_words, cut_by_tag_rules, match_tag_rules

URL = "https://news.example.com/2020/page.html"


def found(body, url=URL):
    return [(finding.element.tag, str(finding.rule)) for finding in match_tag_rules(parse(f"<body>{body}</body>", url))]


def blocks(body, url=URL):
    return [(leaf.block.text, leaf.dropped) for leaf in cut_by_tag_rules(parse(f"<body>{body}</body>", url))]


@pytest.mark.parametrize(
    "body",
    [
        '<div background="sky.jpg">text</div>',
        '<div style="color: red; background-image: url(sky.jpg)">text</div>',
        '<div style="BACKGROUND:#fff">text</div>',
    ],
)
def test_backgrounds_are_found_and_cost_no_text(body):
    assert found(body) == [("div", TagRule.BACKGROUND)]
    assert blocks(body) == [("text", None)]


@pytest.mark.parametrize("tag", ["body", "table", "tr", "td"])
def test_backgrounds_of_tables_and_the_body_are_found(tag):
    page = "<body><table><tr><td>x</td></tr></table></body>".replace(f"<{tag}>", f'<{tag} background="a.gif">')
    assert [(finding.element.tag, finding.rule) for finding in match_tag_rules(parse(page))] == [
        (tag, TagRule.BACKGROUND)
    ]


def test_style_elements_are_found():
    assert found("<style>p{}</style><div>text</div>") == [("style", TagRule.BACKGROUND)]


@pytest.mark.parametrize("tag", ["p", "span"])
def test_backgrounds_of_other_tags_and_other_properties_are_none(tag):
    assert found(f'<{tag} style="background: red">x</{tag}><div style="my-background: red">x</div>') == []


@pytest.mark.parametrize("source", ["https://cdn.other.net/a.png", "//cdn.other.net/a.png", "http://10.0.0.1/a.png"])
def test_image_of_another_domain_goes_and_its_block_stays(source):
    assert found(f'<div><img src="{source}">text</div>') == [("img", TagRule.FOREIGN_IMAGE)]
    assert blocks(f'<div><img src="{source}">text</div>') == [("text", None)]


@pytest.mark.parametrize(
    "source",
    "a.png|/a.png|https://cdn.example.com/a.png|//example.com/a.png|data:image/png;base64,Ad+Banner||http://[b/".split(
        "|"
    ),
)
def test_images_of_the_pages_own_domain_stay(source):
    assert found(f'<img src="{source}">') == []


def test_images_of_a_page_without_url_are_its_own():
    assert found('<img src="https://cdn.other.net/a.png">', url=None) == []


def test_alternative_text_of_a_removed_image_gives_no_priority():
    page = parse('<div>x<img alt="y" src="a.png"></div><div>x<img alt="y" src="//o.net/a.png"></div>', URL)
    assert [leaf.block.priority for leaf in cut_by_tag_rules(page)] == [0.3, 0.0]


@pytest.mark.parametrize(
    "body",
    [
        '<a href="https://ad.doubleclick.net/x">buy</a>',
        '<p><object data="//pagead2.googlesyndication.com/x"></object></p>',
        '<span src="https://www.taboola.com/">buy</span>',
    ],
)
def test_urls_of_advertisement_providers(body):
    rules = [rule for _, rule in found(body)]
    assert rules in ([TagRule.AD_PROVIDER], [TagRule.PLUGIN])


def test_an_element_with_a_providers_url_goes_with_its_text():
    body = '<div>Read on, <a href="https://ad.doubleclick.net/x">buy <b>now</b></a></div>'
    assert blocks(body) == [("Read on,", None), ("buy now", Reason.ADVERTISEMENT)]


@pytest.mark.parametrize(
    "href", ["https://notdoubleclick.net/", "https://doubleclick.net.example.org/", "/doubleclick.net"]
)
def test_other_hosts_are_no_providers(href):
    assert found(f'<a href="{href}">x</a>') == []


def test_a_providers_own_page_has_no_providers_urls():
    assert found('<a href="https://www.outbrain.com/jobs">x</a>', url="https://www.outbrain.com/") == []


@pytest.mark.parametrize(
    "value",
    ["ad", "Ads", "ad-slot", "topAd", "ad_300", "adsbygoogle", "top-banner", "AdSense", "ADSENSE", "googleAdSense"],
)
@pytest.mark.parametrize("attribute", ["id", "class", "name", "src", "href"])
def test_advertisement_keywords_as_whole_words(attribute, value):
    assert found(f'<p {attribute}="x {value}">buy</p>') == [("p", TagRule.AD_KEYWORD)]


@pytest.mark.parametrize("value", ["read", "header", "load", "shadow", "Reader", "iPad", "bannered", "adsl", "addon"])
@pytest.mark.parametrize("attribute", ["id", "class", "name", "src", "href"])
def test_words_that_hold_a_keyword_are_none(attribute, value):
    assert found(f'<p {attribute}="{value}">news</p>') == []


def test_keywords_of_other_attributes_say_nothing():
    assert found('<p title="ad" data-ad="ad" alt="ad">news</p>') == []


@pytest.mark.parametrize("value", ["bottomgooglead", "rightgooglead", "simplead"])
def test_classes_of_the_papers_example_page(value):
    assert blocks(f'<div class="{value}">buy<div>this</div></div><div>news</div>') == [
        ("buy", Reason.ADVERTISEMENT),
        ("this", Reason.ADVERTISEMENT),
        ("news", None),
    ]


def test_the_body_is_never_an_advertisement():
    page = parse('<body class="has-ads"><div>news</div></body>')
    assert [leaf.dropped for leaf in cut_by_tag_rules(page)] == [None]


@pytest.mark.parametrize("size", [(234, 60), (468, 60), (120, 240), (745, 100), (728, 90), (300, 250)])
def test_banner_sizes(size):
    width, height = size
    assert found(f'<img width="{width}" height="{height}px">') == [("img", TagRule.BANNER_SIZE)]
    assert found(f'<img width="{height + 1}" height="{width}">') == []


@pytest.mark.parametrize(
    "attributes", ['width="468"', 'height="60"', 'width="468" height="60%"', 'width="a" height=""']
)
def test_sizes_that_are_not_whole_are_none(attributes):
    assert found(f"<img {attributes}>") == []


@pytest.mark.parametrize("tag", ["embed", "object", "audio", "video", "iframe"])
def test_plugins_go_and_their_block_stays(tag):
    body = f'<div>before <{tag} src="/film"></{tag}> after</div>'
    assert found(body) == [(tag, TagRule.PLUGIN)]
    assert blocks(body)[0] == ("before after", None)


def test_a_frame_without_src_is_no_plugin():
    assert found("<iframe></iframe>") == []


SOCIAL = ["www.facebook.com/sharer", "twitter.com/x", "plus.google.com/1", "pinterest.com/pin", "www.linkedin.com/in/x"]


@pytest.mark.parametrize("address", [*SOCIAL, "www.youtube.com/user/x", "m.facebook.com"])
def test_a_link_to_a_social_site_takes_its_block(address):
    assert blocks(f'<div>Follow, <a href="https://{address}"><i></i></a></div><div>news</div>') == [
        ("Follow,", Reason.SOCIAL),
        ("news", None),
    ]


@pytest.mark.parametrize("address", ["https://www.google.com/maps", "/facebook.com", "https://notfacebook.com/"])
def test_other_links_are_not_social(address):
    assert found(f'<div><a href="{address}">x</a></div>') == []


def test_links_of_a_social_sites_own_page_are_not_social():
    assert found('<div><a href="https://www.linkedin.com/in/y">x</a></div>', url="https://de.linkedin.com/in/x") == []


def test_a_share_link_in_the_articles_own_div_takes_the_article():
    share = '<a href="https://www.facebook.com/sharer.php?u=x">Share</a>'
    assert blocks(f"<div><p>The ferry left, at last.</p><p>{share}</p></div>") == [
        ("The ferry left, at last. Share", Reason.SOCIAL)
    ]


def test_the_link_rule_takes_neither_inner_nor_outer_blocks():
    share = '<a href="https://twitter.com/x">Share</a>'
    assert blocks(f"<div>outer<div>{share}<div>inner</div></div></div>") == [
        ("outer", None),
        ("Share", Reason.SOCIAL),
        ("inner", None),
    ]


def test_a_link_in_an_advertisement_says_nothing_of_its_block():
    body = '<div>news <span class="ad">by <a href="https://twitter.com/x">us</a></span></div>'
    assert blocks(body) == [("news", None), ("by us", Reason.ADVERTISEMENT)]


@pytest.mark.parametrize(
    "link",
    [
        '<a href="/1">Terms and Conditions</a>',
        '<a href="/1">Our <b>Disclaimer</b></a>',
        '<a href="/1">Publisher information</a>',
        '<a href="/1">Copyright</a>',
        '<a href="/1">Privacy\n Policy</a>',
        '<a href="/1">Contact us</a>',
        '<a href="/about/terms-of-use.html">Rules</a>',
        '<a href="/contactUs">Write</a>',
    ],
)
def test_a_link_to_legal_notes_takes_its_block(link):
    assert blocks(f"<div>x {link}</div>")[0][1] is Reason.LEGAL


@pytest.mark.parametrize(
    "text", ["Copyright Example", "©2020 Example", "Terms &amp; Conditions apply", "DISCLAIMER: none"]
)
def test_legal_notes_in_the_blocks_own_text_take_it(text):
    found = blocks(f"<div>{text}<div>inner</div></div>")
    assert [reason for _, reason in found] == [Reason.LEGAL, None]


@pytest.mark.parametrize(
    "body",
    [
        "In terms of speed, the publisher said.",
        "<a>terms</a> without a target",
        '<a href="/determs">x</a>',
        '<a href="/c">contact</a><a href="/u">us</a>',
        '<a href="http://[terms">x</a>',
    ],
)
def test_words_that_only_look_like_legal_notes(body):
    assert [reason for _, reason in blocks(f"<div>{body}</div>")] == [None]


@pytest.mark.parametrize(
    "field",
    [
        '<input type="search">',
        '<input name="q">',
        '<form class="site-search"><input></form>',
        '<form action="/search"></form>',
        '<p role="search"></p>',
    ],
)
def test_a_search_bar_takes_its_block(field):
    assert blocks(f"<div>Find {field}</div><div>news</div>") == [("Find", Reason.FORM), ("news", None)]


@pytest.mark.parametrize(
    "field", ['<input name="email">', '<form action="/research"></form>', '<p class="search"></p>']
)
def test_other_forms_are_no_search_bars(field):
    assert found(f"<div>{field}</div>") == []


def test_text_outside_any_block_and_blocks_without_text_have_their_reasons():
    assert blocks("bare<div></div><div>news</div><p>more</p>") == [
        ("bare", Reason.UNBLOCKED),
        ("", Reason.EMPTY),
        ("news", None),
        ("more", Reason.UNBLOCKED),
    ]


def test_a_block_whose_tags_and_text_both_speak_against_it_has_the_first_rules_reason():
    body = '<div><input type="search"><a href="https://twitter.com/">t</a> Copyright</div>'
    assert [reason for _, reason in blocks(body)] == [Reason.FORM]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topAd300_wide-Banner", "top ad wide banner"),
        ("ADBanner", "ad banner"),
        ("überAd", "über ad"),
        ("", ""),
    ],
)
def test_words_of_attributes(text, expected):
    assert attribute_words(text) == expected.split()


@given(st.text() | st.text().map("https://".__add__))
def test_any_attribute_is_read(value):
    page = parse("<body><div><a>x</a><img></div></body>", value)
    for element in page.root.iter("div", "a", "img"):
        for name in ("href", "src", "class", "style", "width", "height"):
            element.set(
                name, "".join(char for char in value if char.isprintable() and not 0xD800 <= ord(char) < 0xE000)
            )
    assert [leaf.block.text for leaf in cut_by_tag_rules(page)] == ["x"]
