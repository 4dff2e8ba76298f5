"""CoreEx: sums, the set S, the best node and its output, worked out by hand."""

import pytest

from cleaning import Reason, clean

LINK = '<a href="/x">a link of six long words</a>'


def words(count):
    return " ".join(["word"] * count)


def judged(page, **options):
    return [(decision.block.words, decision.reason) for decision in clean(page, method="coreex", **options).decisions]


def score(page, **options):
    (best,) = {decision.score for decision in clean(page, method="coreex", **options).decisions if decision.kept}
    return best


# Text/links: nav 4/4; article 4 + 20 + 26 + 10/1 + 3/3 = 63/4; page 67/8.
ARTICLE = f"""
    <div>{"".join(f"<li>{LINK}</li>" for _ in range(4))}</div>
    <div><h1>{words(4)}</h1><p>{words(20)}</p><p>{words(26)}</p><p>{words(9)} {LINK}</p><ul>{LINK * 3}</ul></div>
"""


def test_the_article_is_the_best_node_and_its_set_the_output():
    assert judged(ARTICLE) == [
        *[(6, Reason.OUTSIDE)] * 4,
        (4, Reason.KEPT),
        (20, Reason.KEPT),
        (26, Reason.KEPT),
        (15, Reason.LINKS),  # 9 of 10 unlinked is not above .9
        (16, Reason.LINKS),  # three links that touch: "wordsa"
    ]


def test_its_score_is_the_unlinked_share_and_the_share_of_the_page():
    assert score(ARTICLE) == pytest.approx(0.99 * 50 / 50 + 0.01 * 50 / 67)


def test_a_larger_ratio_lets_the_paragraph_with_a_link_join():
    assert score(ARTICLE, coreex_link_ratio=0.89, coreex_weight=0.5) == pytest.approx(0.5 * 59 / 60 + 0.5 * 60 / 67)


def test_a_link_in_a_long_paragraph_counts_one_word():
    page = f"<div><p>{words(29)} {LINK} {words(30)}</p></div>"  # p 60/1; its own texts 59/0
    assert score(page) == pytest.approx(0.99 + 0.01 * 59 / 60)  # above the .99 · 59/60 + .01 of the div
    assert judged(page) == [(29, Reason.KEPT), (6, Reason.LINKS), (30, Reason.KEPT)]


def test_a_link_is_kept_where_the_text_around_it_outweighs_it():
    page = f"<div><p>{words(100)}</p><p>{words(99)} {LINK}</p></div>"  # div .99 · 199/200 + .01, p .99 + .01 · 100/200
    assert score(page) == pytest.approx(0.99 * 199 / 200 + 0.01)
    assert judged(page) == [(100, Reason.KEPT), (105, Reason.KEPT)]


def test_a_lower_weight_prefers_length():
    page = f"<div><p>{words(29)} {LINK} {words(30)}</p></div>"
    assert judged(page, coreex_weight=0.1) == [(65, Reason.KEPT)]


def test_the_first_of_equally_good_nodes_wins():
    page = f"<div><p>{words(5)}</p><p>{words(6)}</p><p>{words(20)} {LINK}</p></div>"
    assert judged(page, coreex_weight=1.0) == [(5, Reason.KEPT), (6, Reason.OUTSIDE), (26, Reason.OUTSIDE)]


def test_a_link_holds_no_nodes():
    page = f'<div><p>{words(3)}</p><a href="/"><div>{words(50)}</div></a></div>'
    assert judged(page) == [(3, Reason.KEPT), (50, Reason.LINKS)]


def test_an_anchor_without_address_is_no_link():
    assert judged(f'<p><a name="top">{words(5)}</a></p>') == [(5, Reason.KEPT)]


def test_a_picture_link_without_text_counts_as_a_link():
    page = f'<div><p>{words(18)}<a href="/x"><img src="y"></a><a href="/x"><img></a></p><p>{words(5)}</p></div>'
    assert judged(page) == [(18, Reason.KEPT), (5, Reason.OUTSIDE)]  # p 20/2 stays out of the div's set; alone it wins


def test_links_of_a_noscript_count_only_where_its_text_is_read():
    links = '<a href="/x"></a>' * 5
    page = f"<div><p>{words(18)}<noscript>{links}</noscript></p><p>{words(5)}</p></div>"
    assert judged(page) == [(18, Reason.KEPT), (5, Reason.KEPT)]
    shell = f"<noscript><p>{words(100)}</p>{links}</noscript>"
    assert judged(shell) == [(100, Reason.KEPT)]
    assert score(shell) == pytest.approx(0.99 + 0.01 * 100 / 105)


def test_a_mark_between_words_stays_with_the_output():
    assert judged("<p>one <b>two</b>, <i>three</i>!</p>") == [(3, Reason.KEPT)]


def test_a_page_of_links_has_no_output():
    assert judged(f"<ul><li>{LINK}</li><li>{LINK}</li></ul>") == [(6, Reason.OUTSIDE)] * 2


def test_nothing_passes_a_ratio_of_one():
    assert judged("<p>one two</p>", coreex_link_ratio=1.0) == [(2, Reason.OUTSIDE)]
