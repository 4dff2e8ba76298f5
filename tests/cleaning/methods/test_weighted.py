"""Weighted block scoring, checked against the paper's tables step by step and as a whole; the tag rules."""

from fractions import Fraction
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import Reason, clean, parse
from cleaning.leaves import walk
from cleaning.methods.weighted import (
    PageWordTotals,
    TagRule,
    WordCounts,
    _attribute_words,
    _block_score,
    _cut_by_tag_rules,
    _exact_score,
    _find_minimum_subtree,
    _match_tag_rules,
    _with_text_in,
    _without_punctuation,
    segment,
)
from cleaning.options import Options

URL = "https://www.tutorials.example/data_mining/evaluation.htm"
OPTIONS = Options()

# Table 4: title, link and content words of a block, its distinct content words, T, L, C, score. N = 12, 9, 227.
TABLE_4 = {
    "b2": (WordCounts(7, 0, 39), 28, (0.583, 0, 0.172), 0.756),
    "b3": (WordCounts(0, 4, 36), 25, (0, 0.444, 0.159), 0.803),
    "b6": (WordCounts(0, 0, 33), 27, (0, 0, 0.145), 0.942),
    "b8": (WordCounts(7, 7, 55), 33, (0.583, 0.778, 0.242), 0.495),
    "b11": (WordCounts(10, 6, 52), 42, (0.833, 0.667, 0.229), 0.458),
    "b12": (WordCounts(0, 0, 36), 36, (0, 0, 0.159), 0.937),
    "b13": (WordCounts(0, 0, 41), 36, (0, 0, 0.181), 0.928),
}
TOTALS = PageWordTotals(12, 9, 227)


def decided(html, **options):
    return [
        (decision.block.text, decision.reason) for decision in clean(html, URL, method="weighted", **options).decisions
    ]


def reasons(html, **options):
    return [reason for _, reason in decided(html, **options)]


@pytest.mark.parametrize("block", TABLE_4)
def test_scores_of_table_4(block):
    counts, _, _, expected = TABLE_4[block]
    score = _block_score(counts, TOTALS, OPTIONS)
    assert round(score, 3) == expected
    assert (score > 7 / 14) is (block not in {"b8", "b11"})


@pytest.mark.parametrize("block", TABLE_4)
def test_ratios_of_table_4(block):
    counts, _, ratios, _ = TABLE_4[block]
    weights = (OPTIONS.weighted_alpha, OPTIONS.weighted_beta, OPTIONS.weighted_gamma)
    for name, weight, expected in zip(WordCounts._fields, weights, ratios, strict=True):
        alone = WordCounts(0, 0, 0)._replace(**{name: getattr(counts, name)})
        assert round((1 - _block_score(alone, TOTALS, OPTIONS)) / weight, 3) == expected


def test_the_divisor_of_content_words_is_the_sum_of_table_4():
    assert sum(distinct for _, distinct, _, _ in TABLE_4.values()) == TOTALS.content


def test_weights_are_options():
    score = _block_score(WordCounts(1, 1, 1), PageWordTotals(2, 4, 8), Options(weighted_alpha=0.1, weighted_gamma=0.6))
    assert score == pytest.approx(1 - 0.1 / 2 - 0.3 / 4 - 0.6 / 8)


def test_a_ratio_to_nothing_is_0():
    assert _block_score(WordCounts(0, 0, 0), PageWordTotals(0, 0, 0), OPTIONS) == 1
    assert _block_score(WordCounts(0, 0, 5), PageWordTotals(0, 0, 5), OPTIONS) == pytest.approx(0.6)


def test_a_long_article_has_a_negative_score():
    assert _block_score(WordCounts(20, 5, 900), PageWordTotals(5, 9, 420), OPTIONS) == pytest.approx(-1.224, abs=5e-4)


@pytest.mark.parametrize(("content", "positive"), [(249, True), (251, False)])
def test_content_words_alone_bring_the_score_to_0_at_two_and_a_half_times_the_distinct_ones(content, positive):
    assert (_block_score(WordCounts(0, 0, content), PageWordTotals(5, 9, 100), OPTIONS) > 0) is positive


def test_inner_and_outer_blocks_are_separate():
    page = parse("<table><tr><td>A,<p>B</p><div>C.</div>D</td></tr></table>")
    leaves = segment(page, OPTIONS)
    assert [leaf.block.text for leaf in leaves] == ["A, B D", "C."]
    assert [leaf.threshold for leaf in leaves] == [1.0, 1.0]  # 2 distinct of 2


ARTICLE = """
<div>The old ferry left the harbour before sunrise, with forty passengers and nine bicycles.</div>
<div>Fishermen mended their nets along the quiet pier; gulls argued about breakfast above the customs house.</div>
"""


def test_nothing_is_kept_where_nothing_is_removed():
    assert reasons(ARTICLE) == [Reason.LOW_SCORE, Reason.LOW_SCORE]


def test_an_empty_block_counts_in_the_threshold():
    assert reasons(f"{ARTICLE}<div></div>") == [Reason.KEPT, Reason.KEPT, Reason.EMPTY]


def test_text_outside_any_block_does_not_count_in_the_threshold():
    assert reasons(f"<body>{ARTICLE}<p>bare.</p></body>") == [Reason.LOW_SCORE, Reason.LOW_SCORE, Reason.UNBLOCKED]


def test_the_score_must_exceed_the_threshold():
    # One distinct block of two: 1/2. Content 5 of 4 distinct: 1 - .4 * 5/4 = 1/2, which is not above it.
    assert reasons("<div>ferry harbour sunrise bicycle ferry.</div><div></div>") == [Reason.LOW_SCORE, Reason.EMPTY]
    assert reasons("<div>ferry harbour sunrise bicycle.</div><div></div>") == [Reason.KEPT, Reason.EMPTY]


def test_a_tie_is_dropped_although_floats_would_keep_it():
    # Table of section 3.4 with T = 4/3: 1 - .3 * 4/3 = .6 = 9/15, but in floats .6000000000000001.
    words = "ferry harbour sunrise"
    blocks = [f"<div>{words} ferry.</div>", *(f"<div>Word{letter}, alone.</div>" for letter in "abcdefgh")]
    html = f"<title>{words}</title>{''.join(blocks)}{'<div></div>' * 6}"
    first = clean(html, URL, method="weighted", weighted_small_words=0, weighted_distance=0).decisions[0]
    assert (first.score, first.reason) == (0.6, Reason.LOW_SCORE)


@given(
    st.tuples(*[st.integers(0, 60)] * 3), st.tuples(*[st.integers(0, 40)] * 3), st.integers(1, 30), st.integers(1, 30)
)
def test_scores_are_exact(counts, totals, distinct, blocks):
    exact = _exact_score(WordCounts(*counts), PageWordTotals(*totals), OPTIONS)
    ratios = [Fraction(count, total) if total else Fraction() for count, total in zip(counts, totals, strict=True)]
    assert exact == 1 - sum(map(mul, (Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)), ratios))
    assert _block_score(WordCounts(*counts), PageWordTotals(*totals), OPTIONS) == float(exact)
    assert (exact > Fraction(distinct, blocks)) >= (float(exact) > distinct / blocks)


def counted(html):
    alone = Options(weighted_small_words=0)
    return [leaf for leaf in segment(parse(html, URL), alone) if leaf.dropped is None]


def test_a_word_of_the_title_is_a_title_word_also_inside_a_link():
    page = (
        "<title>The Ferries</title><div>Ferry, ferries and boats: <a href='/1'>ferry boats</a> <a>oars</a> boats.</div>"
    )
    assert [(leaf.counts, leaf.totals) for leaf in counted(page)] == [(WordCounts(3, 1, 3), PageWordTotals(1, 1, 2))]


def test_divisors_are_of_the_distinct_blocks():
    page = """<title>Ferry harbour</title>
    <div>oars without any mark of the kind that is counted here at all</div>
    <div>Nets and <a href="/1">gulls</a>, nets again.</div>
    <div>Nets <a href="/2">gulls piers</a>, oars.</div>
    <div>Nets <a href="/2">gulls piers</a>, oars.</div>"""
    leaves = counted(page)
    # Links are distinct on the page (gull, pier), content within each block (net; net, oar).
    assert [leaf.totals for leaf in leaves] == [PageWordTotals(2, 2, 3)] * 2
    assert [leaf.counts for leaf in leaves] == [WordCounts(0, 1, 2), WordCounts(0, 2, 2)]
    assert [leaf.threshold for leaf in leaves] == [2 / 4] * 2


def test_a_page_without_title_and_links_has_divisors_of_0():
    assert [leaf.totals for leaf in counted("<div>Nets, nets.</div>")] == [PageWordTotals(0, 0, 1)]


def test_stop_words_are_no_terms_and_a_block_of_them_scores_1():
    decisions = clean("<div>That is, of the.</div><div></div>", URL, method="weighted").decisions
    assert [(decision.score, decision.reason) for decision in decisions] == [(1.0, Reason.KEPT), (0.0, Reason.EMPTY)]


def test_blocks_without_terms_are_never_compared():
    assert Reason.PAGE_DUPLICATE not in reasons("<div>of the.</div><div>of the.</div>")


def test_the_earlier_of_two_near_duplicates_stays():
    edited = ARTICLE.replace("customs house", "customs office")
    assert reasons(ARTICLE + edited) == [Reason.KEPT, Reason.KEPT, Reason.PAGE_DUPLICATE, Reason.PAGE_DUPLICATE]


def test_the_distance_of_near_duplicates_is_an_option():
    edited = ARTICLE.replace("customs house", "customs office")
    assert reasons(ARTICLE + edited, weighted_distance=0).count(Reason.PAGE_DUPLICATE) == 1


def test_of_a_very_long_block_the_beginning_is_compared():
    start = " ".join(f"start{place}," for place in range(5_000))
    ends = [" ".join(f"{end}{place}" for place in range(5_000)) for end in ("one", "two")]
    assert reasons("".join(f"<div>{start} {end}</div>" for end in ends))[1] is Reason.PAGE_DUPLICATE
    assert Reason.PAGE_DUPLICATE not in reasons("".join(f"<div>{end}, {start}</div>" for end in ends))


LONG = "ten words of text in a row without any mark whatever"


def punctuation(*texts):
    leaves = [
        leaf for leaf in _cut_by_tag_rules(parse("".join(f"<div>{text}</div>" for text in texts))) if not leaf.dropped
    ]
    plain = _without_punctuation(leaves, 10)
    return [leaf not in plain for leaf in leaves]


@pytest.mark.parametrize("mark", [*",.;:!?", *"。，、；：！？"])
def test_a_block_with_a_punctuation_mark_stays(mark):
    assert punctuation(f"{LONG}{mark}") == [True]


@pytest.mark.parametrize("mark", [*"|»-–()/", ""])
def test_marks_of_menus_are_no_punctuation(mark):
    assert punctuation(f"{LONG}{mark}") == [False]


def test_a_chinese_block_needs_chinese_marks():
    chinese = "清晨的渡轮载着四十名乘客离开了安静的港口"
    assert punctuation(chinese, f"{chinese}。") == [False, True]


def test_a_small_block_joins_the_next_one():
    assert punctuation("Headline", f"{LONG}.", LONG) == [True, True, False]
    assert punctuation("Headline", LONG, f"{LONG}.") == [False, False, True]


def test_a_run_of_small_blocks_joins_the_block_after_it():
    assert punctuation("Headline", "Byline", f"{LONG}.") == [True, True, True]
    assert punctuation(f"{LONG}.", "Headline", "Byline", LONG) == [True, False, False, False]


def test_the_last_small_blocks_join_the_block_before_them():
    assert punctuation(LONG, f"{LONG}.", "Credit", "Place") == [False, True, True, True]
    assert punctuation(f"{LONG}.", LONG, "Credit", "Place") == [True, False, False, False]


def test_a_page_of_small_blocks_is_one_group():
    assert punctuation("Headline", "Byline") == [False, False]
    assert punctuation("Headline", "By me, myself") == [True, True]


def test_joined_blocks_stay_separate():
    page = f"<div>Headline</div><div>{LONG}.</div><div></div><div></div>"
    assert decided(page)[:2] == [("Headline", Reason.KEPT), (f"{LONG}.", Reason.KEPT)]


def test_ten_words_are_not_small_and_the_bound_is_an_option():
    ten = "one two three four five six seven eight nine ten"
    assert reasons(f"<div>{ten}</div><div>{LONG}.</div>")[0] is Reason.PUNCTUATION
    assert reasons(f"<div>{ten}</div><div>{LONG}.</div>", weighted_small_words=11)[0] is not Reason.PUNCTUATION


def subtree_of(html):
    page = parse(html)
    return _find_minimum_subtree(page.root, walk(page.root))


def test_minimum_subtree_is_the_deepest_element_that_holds_all_text():
    page = "<div id=a><p></p><div id=b><div id=c><h3>x</h3><p>y</p></div><div id=d>z</div></div></div>"
    assert subtree_of(page).get("id") == "b"


def test_an_elements_own_text_beside_its_child_makes_it_the_subtree():
    assert subtree_of("<div id=a>own<div id=b>inner</div></div>").get("id") == "a"
    assert subtree_of("<div id=a><div id=b>inner</div>tail</div>").get("id") == "a"


def test_minimum_subtree_of_one_text_is_its_parent():
    assert subtree_of("<div><p>x <b></b></p></div>").tag == "p"


def test_minimum_subtree_of_a_page_without_text_is_the_body():
    assert subtree_of("<div></div>").tag == "body"


@given(
    st.recursive(
        st.sampled_from(["", "x", "y, z"]),
        lambda inner: st.lists(inner, max_size=3).map(lambda parts: "".join(f"<div>{part}</div>" for part in parts)),
    )
)
def test_every_block_with_text_is_in_the_minimum_subtree(html):
    page = parse(html)
    leaves = [leaf for leaf in _cut_by_tag_rules(page) if leaf.block.text]
    assert _with_text_in(_find_minimum_subtree(page.root, leaves), leaves) == leaves


def test_text_outside_a_subtree_is_not_in_it():
    page = parse("<div>x</div><div id=b>y</div>")
    leaves = _cut_by_tag_rules(page)
    assert _with_text_in(page.root.find(".//div[@id='b']"), leaves) == leaves[1:]


def test_the_bound_on_blocks_changes_no_decision_within_it():
    text = "<div>{0} ferry{0} left{0} harbour{0}, {0}.</div><div></div><div><a href='/{0}'>link{0}</a> pier.</div>"
    page = "".join(text.format(place) for place in range(60))
    free = clean(page, URL, method="weighted").decisions
    bound = clean(page, URL, method="weighted", max_blocks=100).decisions
    assert bound[:100] == free[:100]
    assert {decision.reason for decision in bound[100:]} == {Reason.TRUNCATED}


B2 = """Data mining query language was proposed, and it is based on the structured language of databases.
It can be designed to support interactive mining; primitives of the language specify the task."""
EXAMPLE = f"""<html><head><title>Evaluation Measures</title></head><body>
<div id="b1"><a href="https://www.facebook.com/x">f</a> <a href="https://plus.google.com/x">g</a> follow, please.</div>
<div id="b2">{B2}</div>
<div id="b3">Rows of <a href="/keys">tables with keys</a> come from a warehouse, where cubes hold the sums.</div>
<div id="b4">Selected reading and other pages of this book about the old history of the subject</div>
<div id="b5"><img src="/banners/468.gif" width="468" height="60" alt="Buy"></div>
<div id="b6">Clustering puts similar objects into groups, without any labels that a teacher gave before.</div>
<div id="b7">{B2.replace("primitives", "Primitives").lower()}</div>
<div id="b8">Evaluation measures, evaluation measures: evaluation of
<a href="/m">measures evaluation precision recall</a>. Evaluation measures.</div>
<div class="bottomgooglead" id="b9">Courses, cheap.</div>
<div class="rightgooglead" id="b10">Books, cheaper.</div>
<div id="b11">Measures of evaluation: measures, evaluation, <a href="/n">trust recall evaluation</a> and measures.</div>
<div id="b12">Regression predicts numbers from numbers; trees predict classes by asking one question at a time.</div>
<div id="b13">Outliers differ so much from all others that another mechanism may have made them, said Hawkins.</div>
<div id="b14"><a href="/privacy.htm">Privacy Policy</a> <a href="/contact.htm">Contact us</a></div>
</body></html>"""


def test_a_page_like_the_papers_example():
    expected = """social kept kept punctuation empty kept page_duplicate low_score advertisement advertisement low_score
    kept kept legal"""
    assert reasons(EXAMPLE) == expected.split()
    assert {leaf.threshold for leaf in segment(parse(EXAMPLE, URL), OPTIONS) if leaf.dropped is None} == {7 / 14}


NEWS_URL = "https://www.example.com/news.html"
TAGS_PAGE = """<body>
<div>A menu without punctuation</div>
<div>The ferry left, at last.</div>
<div>The ferry left, at last.</div>
<div><a href="https://twitter.com/x">Follow</a></div>
<div class="ad">Buy</div>
<div></div>
<table><tr><td>Cell <span class="banner">Buy</span></td></tr></table>
<p>Outside</p>
</body>"""


def test_only_the_tag_rules_decide():
    decisions = clean(TAGS_PAGE, NEWS_URL, method="tags").decisions
    assert [(decision.block.text, decision.score, decision.reason) for decision in decisions] == [
        ("A menu without punctuation", 1.0, Reason.KEPT),
        ("The ferry left, at last.", 1.0, Reason.KEPT),
        ("The ferry left, at last.", 1.0, Reason.KEPT),
        ("Follow", 0.0, Reason.SOCIAL),
        ("Buy", 0.0, Reason.ADVERTISEMENT),
        ("", 0.0, Reason.EMPTY),
        ("Cell", 1.0, Reason.KEPT),
        ("Buy", 0.0, Reason.ADVERTISEMENT),
        ("Outside", 0.0, Reason.UNBLOCKED),
    ]


def test_a_page_without_blocks_keeps_nothing():
    assert clean("<p>Text, in no block.</p>", NEWS_URL, method="tags").counts() == {Reason.UNBLOCKED: 1}


TAG_RULES_URL = "https://news.example.com/2020/page.html"


def matches(body, url=TAG_RULES_URL):
    return [
        (finding.element.tag, str(finding.rule)) for finding in _match_tag_rules(parse(f"<body>{body}</body>", url))
    ]


def blocks(body, url=TAG_RULES_URL):
    return [(leaf.block.text, leaf.dropped) for leaf in _cut_by_tag_rules(parse(f"<body>{body}</body>", url))]


@pytest.mark.parametrize(
    "body",
    [
        '<div background="sky.jpg">text</div>',
        '<div style="color: red; background-image: url(sky.jpg)">text</div>',
        '<div style="BACKGROUND:#fff">text</div>',
    ],
)
def test_backgrounds_are_found_and_cost_no_text(body):
    assert matches(body) == [("div", TagRule.BACKGROUND)]
    assert blocks(body) == [("text", None)]


@pytest.mark.parametrize("tag", ["body", "table", "tr", "td"])
def test_backgrounds_of_tables_and_the_body_are_found(tag):
    page = "<body><table><tr><td>x</td></tr></table></body>".replace(f"<{tag}>", f'<{tag} background="a.gif">')
    assert [(finding.element.tag, finding.rule) for finding in _match_tag_rules(parse(page))] == [
        (tag, TagRule.BACKGROUND)
    ]


def test_style_elements_are_found():
    assert matches("<style>p{}</style><div>text</div>") == [("style", TagRule.BACKGROUND)]


@pytest.mark.parametrize("tag", ["p", "span"])
def test_backgrounds_of_other_tags_and_other_properties_are_none(tag):
    assert matches(f'<{tag} style="background: red">x</{tag}><div style="my-background: red">x</div>') == []


@pytest.mark.parametrize("source", ["https://cdn.other.net/a.png", "//cdn.other.net/a.png", "http://10.0.0.1/a.png"])
def test_image_of_another_domain_is_removed_and_its_block_stays(source):
    assert matches(f'<div><img src="{source}">text</div>') == [("img", TagRule.FOREIGN_IMAGE)]
    assert blocks(f'<div><img src="{source}">text</div>') == [("text", None)]


@pytest.mark.parametrize(
    "source",
    "a.png|/a.png|https://cdn.example.com/a.png|//example.com/a.png|data:image/png;base64,Ad+Banner||http://[b/".split(
        "|"
    ),
)
def test_images_of_the_pages_own_domain_stay(source):
    assert matches(f'<img src="{source}">') == []


def test_images_of_a_page_without_url_are_its_own():
    assert matches('<img src="https://cdn.other.net/a.png">', url=None) == []


def test_alternative_text_of_a_removed_image_gives_no_priority():
    page = parse('<div>x<img alt="y" src="a.png"></div><div>x<img alt="y" src="//o.net/a.png"></div>', TAG_RULES_URL)
    assert [leaf.block.priority for leaf in _cut_by_tag_rules(page)] == [0.3, 0.0]


@pytest.mark.parametrize(
    "body",
    [
        '<a href="https://ad.doubleclick.net/x">buy</a>',
        '<p><object data="//pagead2.googlesyndication.com/x"></object></p>',
        '<span src="https://www.taboola.com/">buy</span>',
    ],
)
def test_urls_of_advertisement_providers(body):
    rules = [rule for _, rule in matches(body)]
    assert rules in ([TagRule.AD_PROVIDER], [TagRule.PLUGIN])


def test_an_element_with_a_providers_url_is_removed_with_its_text():
    body = '<div>Read on, <a href="https://ad.doubleclick.net/x">buy <b>now</b></a></div>'
    assert blocks(body) == [("Read on,", None), ("buy now", Reason.ADVERTISEMENT)]


@pytest.mark.parametrize(
    "href", ["https://notdoubleclick.net/", "https://doubleclick.net.example.org/", "/doubleclick.net"]
)
def test_other_hosts_are_no_providers(href):
    assert matches(f'<a href="{href}">x</a>') == []


def test_a_providers_own_page_has_no_providers_urls():
    assert matches('<a href="https://www.outbrain.com/jobs">x</a>', url="https://www.outbrain.com/") == []


@pytest.mark.parametrize(
    "value",
    ["ad", "Ads", "ad-slot", "topAd", "ad_300", "adsbygoogle", "top-banner", "AdSense", "ADSENSE", "googleAdSense"],
)
@pytest.mark.parametrize("attribute", ["id", "class", "name", "src", "href"])
def test_advertisement_keywords_as_whole_words(attribute, value):
    assert matches(f'<p {attribute}="x {value}">buy</p>') == [("p", TagRule.AD_KEYWORD)]


@pytest.mark.parametrize("value", ["read", "header", "load", "shadow", "Reader", "iPad", "bannered", "adsl", "addon"])
@pytest.mark.parametrize("attribute", ["id", "class", "name", "src", "href"])
def test_words_that_hold_a_keyword_are_none(attribute, value):
    assert matches(f'<p {attribute}="{value}">news</p>') == []


def test_keywords_in_other_attributes_do_not_count():
    assert matches('<p title="ad" data-ad="ad" alt="ad">news</p>') == []


@pytest.mark.parametrize("value", ["bottomgooglead", "rightgooglead", "simplead"])
def test_classes_of_the_papers_example_page(value):
    assert blocks(f'<div class="{value}">buy<div>this</div></div><div>news</div>') == [
        ("buy", Reason.ADVERTISEMENT),
        ("this", Reason.ADVERTISEMENT),
        ("news", None),
    ]


def test_the_body_is_never_an_advertisement():
    page = parse('<body class="has-ads"><div>news</div></body>')
    assert [leaf.dropped for leaf in _cut_by_tag_rules(page)] == [None]


@pytest.mark.parametrize("size", [(234, 60), (468, 60), (120, 240), (745, 100), (728, 90), (300, 250)])
def test_banner_sizes(size):
    width, height = size
    assert matches(f'<img width="{width}" height="{height}px">') == [("img", TagRule.BANNER_SIZE)]
    assert matches(f'<img width="{height + 1}" height="{width}">') == []


@pytest.mark.parametrize(
    "attributes", ['width="468"', 'height="60"', 'width="468" height="60%"', 'width="a" height=""']
)
def test_sizes_that_are_not_whole_do_not_count(attributes):
    assert matches(f"<img {attributes}>") == []


@pytest.mark.parametrize("tag", ["embed", "object", "audio", "video", "iframe"])
def test_plugins_go_and_their_block_stays(tag):
    body = f'<div>before <{tag} src="/film"></{tag}> after</div>'
    assert matches(body) == [(tag, TagRule.PLUGIN)]
    assert blocks(body)[0] == ("before after", None)


def test_a_frame_without_src_is_no_plugin():
    assert matches("<iframe></iframe>") == []


SOCIAL = ["www.facebook.com/sharer", "twitter.com/x", "plus.google.com/1", "pinterest.com/pin", "www.linkedin.com/in/x"]


@pytest.mark.parametrize("address", [*SOCIAL, "www.youtube.com/user/x", "m.facebook.com"])
def test_a_link_to_a_social_site_takes_its_block(address):
    assert blocks(f'<div>Follow, <a href="https://{address}"><i></i></a></div><div>news</div>') == [
        ("Follow,", Reason.SOCIAL),
        ("news", None),
    ]


@pytest.mark.parametrize("address", ["https://www.google.com/maps", "/facebook.com", "https://notfacebook.com/"])
def test_other_links_are_not_social(address):
    assert matches(f'<div><a href="{address}">x</a></div>') == []


def test_links_of_a_social_sites_own_page_are_not_social():
    assert matches('<div><a href="https://www.linkedin.com/in/y">x</a></div>', url="https://de.linkedin.com/in/x") == []


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


def test_a_link_in_an_advertisement_does_not_affect_its_block():
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
    matches = blocks(f"<div>{text}<div>inner</div></div>")
    assert [reason for _, reason in matches] == [Reason.LEGAL, None]


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
    assert matches(f"<div>{field}</div>") == []


def test_text_outside_any_block_and_blocks_without_text_have_their_reasons():
    assert blocks("bare<div></div><div>news</div><p>more</p>") == [
        ("bare", Reason.UNBLOCKED),
        ("", Reason.EMPTY),
        ("news", None),
        ("more", Reason.UNBLOCKED),
    ]


def test_a_block_that_matches_by_tags_and_text_has_the_first_rules_reason():
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
    assert _attribute_words(text) == expected.split()


@given(st.text() | st.text().map("https://".__add__))
def test_any_attribute_is_read(value):
    page = parse("<body><div><a>x</a><img></div></body>", value)
    for element in page.root.iter("div", "a", "img"):
        for name in ("href", "src", "class", "style", "width", "height"):
            element.set(
                name, "".join(char for char in value if char.isprintable() and not 0xD800 <= ord(char) < 0xE000)
            )
    assert [leaf.block.text for leaf in _cut_by_tag_rules(page)] == ["x"]
