"""PAB and ENIW: blocks, priorities, outer links, duplicates, search (pab.txt, tables 3.1 and 3.2, equation 4)."""

import pytest
from hypothesis import strategies as st

from cleaning import Reason, clean
from cleaning.methods.pab import keyword_density, search_rank

URL = "http://www.example.com/x"
IN = '<a href="/in">x</a>'
OUT = '<a href="http://other.org/">y</a>'
TAGS = st.sampled_from(["div", "p", "b", "i", "a", "form", "table", "li", "h1", "noscript", "span", "title", "marquee"])
TREES = st.recursive(
    st.sampled_from(["x", "y z", " ", "Fox, dog.", '<img alt="z">', OUT]),
    lambda inner: st.builds(lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", TAGS, st.lists(inner, max_size=4)),
    max_leaves=20,
)


def decisions(page, url=URL, **options):
    return clean(page, url, method="pab", **options).decisions


def blocks(page, url=URL, **options):
    """Return text, priority and reason of each block."""
    return [
        (decision.block.text, decision.block.priority, decision.reason) for decision in decisions(page, url, **options)
    ]


def priorities(page, url=URL):
    return [decision.block.priority for decision in decisions(page, url)]


@pytest.mark.parametrize(
    ("page", "priority"),
    [
        ("<h1>Heading</h1>", 1.0),
        (f"<b>Sponsored{OUT * 10}</b>", 0.0),
        ("<p>t <b>one</b> u <b>two</b></p>", 0.9),
        ("<p>t <i>one</i> u <b>two</b></p>", 0.7),
        ("<p>t <b>one</b></p>", 0.5),
        ("<p>t</p>", 0.1),
        (f"<p>t <i>one</i>{IN * 4}</p>", 1.1),
        (f"<p>t <b>one</b>{IN * 4}</p>", 1.3),  # as row 7 prints its tags
        (f"<p>t{IN * 5}{OUT * 5}</p>", 2.1),
        (f"<p>t{IN * 4}{OUT * 5}</p>", 0.0),
        ("<li>plain</li>", 0.0),
        (f"<li>{IN}</li>", 0.2),
        ('<p><img alt="cat"></p>', 0.4),
        ("<p><img></p>", 0.1),
        ('<p><img alt=" "></p>', 0.1),
        ("<h2>x <b>y</b></h2>", 1.3),
        ("<p><em>x</em></p>", 0.1),
        (f'<p><a href="mailto:fox@other.org">m</a>{OUT}</p>', 0.5),
        ("<p>x <strong>y</strong></p>", 0.5),
    ],
)
def test_priority_is_the_sum_over_a_blocks_tags(page, priority):
    assert priorities(page) == [priority]


@pytest.mark.parametrize(
    ("tag", "priority"), [("h1", 1.0), ("h2", 0.9), ("h3", 0.8), ("h4", 0.7), ("h5", 0.6), ("h6", 0.5), ("b", 0.4)]
)
def test_each_tag_has_its_priority(tag, priority):
    assert priorities(f"<{tag}>x</{tag}>") == [priority]


def test_score_is_the_priority():
    assert [decision.score for decision in decisions("<h2>x</h2><p>t</p><li>plain</li>")] == [0.9, 0.1, 0.0]


def test_seven_blocks_of_a_page_with_a_title():
    rows = (
        "<h1>Heading</h1>",
        f"<b>Sponsored{OUT * 10}</b>",
        "<p>t <b>one</b> u <b>two</b></p>",
        "<p>v <i>three</i> w <b>four</b></p>",
        "<p>q <b>five</b></p>",
        "<p>r</p>",
        f"<p>s <i>six</i>{IN * 4}</p>",
    )
    page = f"<html><head><title>A title</title></head><body><div>{''.join(rows)}</div></body></html>"
    assert priorities(page) == [1.0, 1.0, 0.0, 0.9, 0.7, 0.5, 0.1, 1.1]
    assert [text for text, _, reason in blocks(page) if reason is not Reason.KEPT] == ["Sponsored" + "y" * 10]


def test_title_is_the_first_block_and_a_heading():
    page = clean("<title> A\ntitle </title><p>t</p>", URL, method="pab")
    first = page.decisions[0]
    assert (first.block.text, first.block.path, first.block.kind, first.score) == (
        "A title",
        "/html/head[1]/title[1]",
        "heading",
        1.0,
    )
    assert [decision.block.position for decision in page.decisions] == [0, 1]


@pytest.mark.parametrize("title", ["", "<title></title>", "<title> \n</title>"])
def test_page_without_a_title_has_no_title_block(title):
    assert blocks(f"{title}<p>t</p>") == [("t", 0.1, Reason.KEPT)]


def test_title_in_the_body_is_a_block_in_its_place():
    assert blocks("<body><p>t</p><title>late</title></body>") == [("t", 0.1, Reason.KEPT), ("late", 1.0, Reason.KEPT)]


def test_title_of_a_picture_is_no_title():
    assert blocks("<p>t</p><svg><title>icon</title></svg>") == [("t", 0.1, Reason.KEPT)]


def test_text_outside_every_block_is_unblocked():
    assert blocks("<div>bare<p>para</p>tail</div>") == [
        ("bare", 0.0, Reason.UNBLOCKED),
        ("para", 0.1, Reason.KEPT),
        ("tail", 0.0, Reason.UNBLOCKED),
    ]


def test_bare_text_between_line_breaks_is_lost():
    page = "<div>One fox ran.<br><br>Two dogs slept.<br><br><b>The end</b></div>"
    assert [reason for _, _, reason in blocks(page)] == [Reason.UNBLOCKED, Reason.UNBLOCKED, Reason.KEPT]


@pytest.mark.parametrize("tag", ["em", "div", "span", "td", "ul"])
def test_other_tags_begin_no_block(tag):
    assert [reason for _, _, reason in blocks(f"<{tag}>x</{tag}><p>t</p>")] == [Reason.UNBLOCKED, Reason.KEPT]


def test_page_without_a_block_tag_is_one_block_without_priority():
    assert blocks("<div>one<div>two</div></div>") == [("one two", 0.0, Reason.NO_PRIORITY)]


def test_picture_gives_a_page_of_one_block_its_priority():
    assert blocks('<div>one<img alt="fox"></div>') == [("one", 0.3, Reason.KEPT)]


def test_page_without_text_has_no_blocks():
    assert blocks("<div> </div>") == []


def test_layout_table_is_one_block_of_all_its_tags():
    page = "<table><tr><td><h2>x</h2></td><td><p>y <b>z</b></p></td></tr></table>"
    assert blocks(page) == [("x y z", 1.4, Reason.KEPT)]


def test_block_without_text_is_empty_and_keeps_its_priority():
    assert blocks('<p><img alt="cat"></p>') == [("", 0.4, Reason.EMPTY)]
    assert decisions('<p><img alt="cat"></p>')[0].score == 0.0


def test_block_without_a_priority_is_noise():
    assert blocks("<li>plain</li>") == [("plain", 0.0, Reason.NO_PRIORITY)]


def test_form_is_removed_with_its_blocks():
    assert blocks("<p>t</p><form>a <p>b <b>c</b></p></form>") == [
        ("t", 0.1, Reason.KEPT),
        ("a", 0.0, Reason.FORM),
        ("b c", 0.5, Reason.FORM),
    ]


def test_form_in_a_block_takes_neither_its_tags_nor_its_links_into_account():
    page = f"<table><tr><td>x {IN}<form>y <b>z</b> {OUT * 3}</form></td></tr></table>"
    cells = blocks(page)
    assert (cells[0][0], cells[0][1], cells[0][2]) == ("x x", 0.2, Reason.KEPT)
    assert {reason for _, _, reason in cells[1:]} == {Reason.FORM}


def test_page_that_is_all_form_keeps_nothing():
    assert {reason for _, _, reason in blocks("<form><h1>x</h1>y</form>")} == {Reason.FORM}


@pytest.mark.parametrize("tag", ["script", "style", "iframe", "object", "svg", "template"])
def test_unread_elements_have_no_blocks_tags_or_links(tag):
    page = f"<p>t <{tag}><b>x</b>{OUT}</{tag}></p><{tag}><p>y</p></{tag}>"
    assert blocks(page) == [("t", 0.1, Reason.KEPT)]


def test_noscript_counts_where_it_is_read():
    words = "fox " * 120
    assert blocks(f"<p>t</p><noscript><p>{words}</p></noscript>")[1][2] is Reason.KEPT
    assert blocks(f"<p>{words}</p><noscript><p>y</p></noscript>") == [(words.strip(), 0.1, Reason.KEPT)]


@pytest.mark.parametrize(
    "href",
    [
        "/in",
        "in.html",
        "#top",
        "",
        "?q=http://other.org/",
        "mailto:fox@other.org",
        "tel:1",
        "javascript:void(0)",
        "http://blog.example.com/",
        "HTTPS://EXAMPLE.COM/",
        "http://[broken/",
        "http://",
    ],
)
def test_links_within_the_site_are_inner(href):
    assert priorities(f'<p>t <a href="{href}">x</a></p>') == [0.3]


@pytest.mark.parametrize("href", ["http://other.org", " https://www.other.org/a", "//other.org/a", "HTTP://other.org/"])
def test_links_to_other_sites_are_outer(href):
    assert blocks(f'<p>t <a href="{href}">x</a></p>') == [("t x", 0.0, Reason.OUTER_LINKS)]


def test_anchor_without_address_is_no_link():
    assert blocks(f'<p>t <a name="n">x</a>{OUT}</p>') == [("t xy", 0.0, Reason.OUTER_LINKS)]


def test_banner_without_text_is_empty_and_without_priority():
    assert blocks('<a href="http://other.org/"><img alt="Buy"></a>') == [("", 0.0, Reason.EMPTY)]


def test_share_of_outer_links_is_an_option():
    page = f"<p>t{IN}{OUT}</p>"
    assert blocks(page)[0][2] is Reason.KEPT
    assert blocks(page, pab_outer_share=0.4)[0][2] is Reason.OUTER_LINKS
    assert blocks(f"<p>t{OUT}</p>", pab_outer_share=1.0)[0][2] is Reason.KEPT


def test_without_the_pages_address_every_link_is_inner():
    assert priorities(f"<p>t {OUT}</p>", url=None) == [0.3]


@pytest.mark.parametrize(
    "head", [f'<base href="{URL}">', f'<link rel="canonical" href="{URL}">', f'<link rel="Canonical x" href="{URL}">']
)
def test_site_comes_from_base_or_canonical_links(head):
    page = f"<html><head>{head}</head><body><p>t {OUT}</p></body></html>"
    assert priorities(page, url=None) == [0.0]
    assert priorities(page, url="http://other.org/") == [0.3]


def test_duplicates_become_one_block_of_the_highest_priority():
    assert blocks("<p>One  fox</p><p>Two</p><h2>One fox</h2><p>One fox</p>") == [
        ("One fox", 0.9, Reason.KEPT),
        ("Two", 0.1, Reason.KEPT),
        ("One fox", 0.9, Reason.PAGE_DUPLICATE),
        ("One fox", 0.1, Reason.PAGE_DUPLICATE),
    ]


def test_noise_is_no_duplicate():
    assert [reason for _, _, reason in blocks("<li>One</li><p>One</p><li>One</li>")] == [
        Reason.NO_PRIORITY,
        Reason.KEPT,
        Reason.NO_PRIORITY,
    ]


def test_heading_that_repeats_the_title_is_a_duplicate():
    assert [reason for _, _, reason in blocks("<title>Fox</title><h1>Fox</h1>")] == [
        Reason.KEPT,
        Reason.PAGE_DUPLICATE,
    ]


def test_blocks_of_other_methods_have_priorities_too():
    page = f"<div><h1>Heading</h1><p>t <b>one</b> u <b>two</b></p><p>v{IN}</p><li>plain</li>bare</div>"
    values = [decision.block.priority for decision in clean(page, URL).decisions]
    assert values == [1.0, 0.9, 0.3, 0.0, 0.0]


def test_rank_is_priority_times_density():
    assert search_rank(0.9, "fox two three four", "Fox") == pytest.approx(9 / 40)
    assert search_rank(1.1, "a fox b c d e f g h FOX", "fox") == pytest.approx(0.22)
    assert search_rank(1.0, "The fox runs", "fox") == pytest.approx(1 / 3)


def test_title_ranks_first():
    ranks = {
        "paragraph": search_rank(0.9, "fox two three four", "fox"),
        "links": search_rank(1.1, "a fox b c d e f g h fox", "fox"),
        "title": search_rank(1.0, "The fox runs", "fox"),
    }
    assert sorted(ranks, key=ranks.get, reverse=True) == ["title", "paragraph", "links"]


def test_density_counts_whole_words_only():
    assert keyword_density("Foxes and fox", "fox") == pytest.approx(1 / 3)


def test_density_of_a_phrase_counts_where_its_words_follow_one_another():
    assert keyword_density("the red fox and the fox", "red fox") == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("text", "keyword", "density"),
    [
        ("Nelson's column", "nelson", 0.5),
        ("Nelson’s column", "Nelson's", 0.5),
        ("新新新新", "新新", 1.0),
        ("新新新新", "新", 1.0),
        ("计算机 科学", "计算", 1 / 3),
        ("red red red red", "red red", 0.5),
        ("Café au lait", "CAFE", 1 / 3),
    ],
)
def test_density_counts_as_a_search_does_and_is_a_share(text, keyword, density):
    assert keyword_density(text, keyword) == pytest.approx(density)


@pytest.mark.parametrize(("text", "keyword"), [("", "fox"), ("fox", ""), ("fox", "red fox"), ("fox", "!")])
def test_density_of_nothing_is_zero(text, keyword):
    assert keyword_density(text, keyword) == 0.0


def blocks_of_eniw(page, method="eniw"):
    return [
        (decision.block.text, decision.score, decision.reason) for decision in clean(page, URL, method=method).decisions
    ]


def reasons(page, method="eniw"):
    return [reason for _, _, reason in blocks_of_eniw(page, method)]


def test_block_with_text_is_informative():
    assert blocks_of_eniw("<title>A title</title><p>t</p>") == [("A title", 1.0, Reason.KEPT), ("t", 1.0, Reason.KEPT)]


def test_neither_priorities_nor_outer_links_matter():
    page = f"<li>plain</li><p>{OUT * 3}</p>"
    assert reasons(page) == [Reason.KEPT, Reason.KEPT]
    assert reasons(page, "pab") == [Reason.NO_PRIORITY, Reason.OUTER_LINKS]


def test_duplicates_stay():
    assert reasons("<p>t</p><p>t</p>") == [Reason.KEPT, Reason.KEPT]


def test_block_without_text_is_noise():
    assert blocks_of_eniw('<p></p><p><img alt="cat"></p>') == [("", 0.0, Reason.EMPTY), ("", 0.0, Reason.EMPTY)]


def test_block_in_a_form_is_counted_and_dropped():
    assert blocks_of_eniw("<form><p>a <b>b</b></p><p></p></form><p>t</p>") == [
        ("a b", 0.0, Reason.FORM),
        ("", 0.0, Reason.EMPTY),
        ("t", 1.0, Reason.KEPT),
    ]


def test_form_in_a_block_is_dropped_from_it():
    page = "<table><tr><td>x<form>y <p>z</p></form></td></tr></table>"
    assert blocks_of_eniw(page) == [("x", 1.0, Reason.KEPT), ("y", 0.0, Reason.FORM), ("z", 0.0, Reason.FORM)]


def test_moving_text_is_dropped_here_and_kept_by_pab():
    page = "<p>x <marquee>y</marquee></p><marquee><p>z</p></marquee>"
    assert blocks_of_eniw(page) == [
        ("x", 1.0, Reason.KEPT),
        ("y", 0.0, Reason.IRRELEVANT),
        ("z", 0.0, Reason.IRRELEVANT),
    ]
    assert [text for text, _, reason in blocks_of_eniw(page, "pab") if reason is Reason.KEPT] == ["x y", "z"]


def test_text_outside_every_block_is_lost_as_in_pab():
    page = "<div>bare<p>para</p>tail</div>"
    assert reasons(page) == reasons(page, "pab") == [Reason.UNBLOCKED, Reason.KEPT, Reason.UNBLOCKED]


def test_page_without_a_block_tag_is_one_informative_block():
    assert blocks_of_eniw("<div>one<div>two</div></div>") == [("one two", 1.0, Reason.KEPT)]


@pytest.mark.parametrize("tag", ["script", "style", "iframe", "object"])
def test_unread_elements_are_in_no_block(tag):
    assert blocks_of_eniw(f"<p>t</p><{tag}><p>x</p></{tag}>") == [("t", 1.0, Reason.KEPT)]


def test_both_methods_cut_the_same_blocks():
    page = f"<title>A</title><h1>B</h1><p>c <b>d</b></p><ul><li>e</li><li>{OUT}</li></ul>f<table><tr><td>g</table>"
    assert [text for text, _, _ in blocks_of_eniw(page)] == [text for text, _, _ in blocks_of_eniw(page, "pab")]


def test_column_priority_is_the_sum_without_the_rule_of_links():
    assert [decision.block.priority for decision in clean(f"<p>x{OUT}</p>", URL, method="eniw").decisions] == [0.3]


def test_title_has_no_invisible_characters():
    decisions = clean("<title>Boats\u00ad and \ue001piers</title><p>The boats are late.</p>", method="pab").decisions
    assert decisions[0].block.text == "Boats and piers"
