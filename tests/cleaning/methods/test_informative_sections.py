"""FE, K-FE and CE: blocks by tags, their probability of having text, clusters, templates."""

from dataclasses import replace

import pytest
from cpu_time import bounded_cpu_time
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh64_intdigest

from cleaning import Reason, clean, parse
from cleaning.errors import OptionError
from cleaning.methods.informative_sections import _top_cluster_minimum, learn_template

FOX = "The quick brown fox jumps over the lazy dog."


def judged(page):
    return [(decision.block.text, decision.reason, decision.score) for decision in clean(page, method="fe").decisions]


def scores(page):
    return [score for _, reason, score in judged(page) if reason not in {Reason.EMPTY, Reason.UNBLOCKED}]


def test_blocks_are_tables_rows_paragraphs_and_lists_without_their_inner_blocks():
    page = "<table><tr><td>cell<p>para</p><ul><li>item <b>one</b></li><li>two</li></ul>tail</td></tr></table>"
    assert [text for text, _, _ in judged(page)] == ["", "cell tail", "para", "item one two"]


def test_text_in_no_block_is_unblocked():
    assert judged("<div>bare<p>para</p></div>") == [("bare", Reason.UNBLOCKED, 0), ("para", Reason.KEPT, 1)]


def test_rule_and_empty_table_are_empty_blocks():
    assert judged("<p>x</p><hr>")[1] == ("", Reason.EMPTY, 0)


@pytest.mark.parametrize(
    ("inside", "probability"),
    [
        ("four words of text", 1),
        ("four words of text<img>", 0.8),
        ("three words and <a>a link</a>", 0.75),
        ("<a>only a link</a>", 0),
        ("one <input><button></button><object></object><script></script>", 0.2),
        ("two words <i></i><b></b><br><span></span>", 1),
    ],
)
def test_probability_is_the_share_of_words_outside_links_among_features(inside, probability):
    assert scores(f"<p>{inside}</p>") == [probability]


def test_features_of_an_inner_block_are_not_those_of_its_outer():
    assert scores("<table><tr><td>one<p>two<img></p></td></tr></table>") == [1, 0.5]


def test_features_outside_any_block_count_for_none():
    assert scores("<div><img><a>x</a><p>one</p></div>") == [1]


def test_block_of_the_highest_probability_is_kept():
    page = f"<p>{FOX}<a>More</a></p><p>Short text</p><p>{FOX} {FOX}<img></p>"
    assert [(reason, text) for text, reason, _ in judged(page) if reason is Reason.KEPT] == [
        (Reason.KEPT, "Short text")
    ]
    assert [reason for _, reason, _ in judged(page)].count(Reason.LOW_SCORE) == 2


def test_longest_of_equally_probable_blocks_is_kept():
    assert clean(f"<p>Short</p><p>{FOX}</p><p>Middle one</p>", method="fe").text == FOX


def test_first_of_equally_long_blocks_is_kept():
    assert clean("<p>abc</p><p>def</p>", method="fe").text == "abc"


def test_page_of_links_keeps_nothing():
    assert judged("<p><a>x</a></p><ul><li><a>y</a></li></ul>") == [
        ("x", Reason.LOW_SCORE, 0),
        ("y", Reason.LOW_SCORE, 0),
    ]


def test_page_without_blocks_keeps_nothing():
    assert judged("<div>x</div>") == [("x", Reason.UNBLOCKED, 0)]
    assert judged("") == []


@pytest.mark.slow
@pytest.mark.parametrize("page", ["<p>x<img></p>" * 20_000, "<div><ul><li>x" * 1_000, "<p>" + "<b>x" * 2_000])
def test_time_is_bounded(page):
    with bounded_cpu_time():
        assert judged(page)


PAGE = (
    f"<p>{FOX}</p><p>{FOX} <a>Fox</a></p><p>By <a>a</a> <a>b</a></p><p>In <a>c</a></p>"
    "<ul><li><a>Home</a></li><li><a>News</a></li></ul>"
)


@pytest.mark.parametrize(
    ("values", "clusters", "least"),
    [
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 3, 0.9),
        ([1, 0.55, 0, 0.9, 0.5, 0.1], 3, 0.9),  # in any order
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 2, 0.5),  # centres .1 + .9, then .05 + .7375
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 1, 0),
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 100, 1),
        ([0, 0, 0, 0.9, 1, 1, 1], 2, 0.9),
        ([0.5, 0.5, 0.5], 3, 0.5),
        ([0.2], 3, 0.2),
        ([], 3, 0),
    ],
)
def test_least_value_of_the_top_cluster(values, clusters, least):
    assert _top_cluster_minimum(values, clusters) == least


@given(st.lists(st.integers(0, 50).map(lambda n: n / 50), min_size=1, max_size=60), st.integers(1, 8))
def test_top_cluster_begins_at_a_value_and_holds_the_highest(values, clusters):
    least = _top_cluster_minimum(values, clusters)
    assert least in values
    assert least <= max(values)
    assert _top_cluster_minimum(sorted(values), clusters) == least


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_top_cluster_ends_where_neighbouring_means_meet(values):
    least = _top_cluster_minimum(values, 2)
    low, high = [v for v in values if v < least], [v for v in values if v >= least]
    if low:
        border = (sum(low) / len(low) + sum(high) / len(high)) / 2
        assert max(low) <= border + 1e-9
        assert min(high) >= border - 1e-9


def test_blocks_of_the_top_cluster_are_kept():
    cleaned = clean(PAGE, method="kfe")
    assert [block.text for block in cleaned.kept] == [FOX, f"{FOX} Fox"]
    assert cleaned.counts() == {Reason.KEPT: 2, Reason.LOW_SCORE: 3}
    assert [decision.score for decision in cleaned.decisions] == pytest.approx([1, 0.9, 1 / 3, 0.5, 0])


def test_clusters_are_an_option():
    assert [len(clean(PAGE, method="kfe", kfe_clusters=k).kept) for k in (1, 2, 5)] == [4, 2, 1]


def test_page_of_links_keeps_nothing_kfe():
    assert clean("<p><a>x</a></p><p><a>y</a></p>", method="kfe").counts() == {Reason.LOW_SCORE: 2}


def test_empty_and_unblocked_text_is_in_no_cluster():
    page = f"<div>bare</div><p></p><p>{FOX} <a>Fox</a></p>"
    assert clean(page, method="kfe").counts() == {Reason.UNBLOCKED: 1, Reason.EMPTY: 1, Reason.KEPT: 1}


def test_page_without_blocks_keeps_nothing_kfe():
    assert clean("<div>x</div>", method="kfe").text == ""
    assert clean("", method="kfe").decisions == ()


def test_time_is_bounded_kfe():
    values = [place / 1e6 for place in range(200_000)]
    with bounded_cpu_time():
        assert _top_cluster_minimum(values, 100) > 0.19


CAT = "The cat on the warm stove looks at the fox, and at nothing else."
NOTICE = "This long notice about cookies, terms and all our rights stands on every single page of the site. " * 2


def page(*texts, menu="<ul><li><a>Home</a></li></ul>"):
    return parse(f"{menu}{''.join(f'<p>{text}</p>' for text in texts)}<p>{NOTICE}</p>")


def cleaned(parsed, template):
    return clean(replace(parsed, template=template), method="ce")


def reasons(parsed, template):
    return [decision.reason for decision in cleaned(parsed, template).decisions]


def test_shared_blocks_are_dropped_and_the_longest_of_the_rest_kept():
    first = page("Of foxes", FOX)
    second = page("Of cats", CAT)
    template = learn_template([first, second])
    assert reasons(first, template) == [Reason.TEMPLATE, Reason.OUTSIDE, Reason.KEPT, Reason.TEMPLATE]
    assert cleaned(second, template).text == CAT


def test_page_that_was_not_learnt_from_is_cleaned_by_the_template():
    assert cleaned(page("New"), learn_template([page(FOX), page(CAT)])).text == "New"


def test_score_is_the_length_in_characters():
    parsed = page(FOX)
    assert [decision.score for decision in cleaned(parsed, frozenset()).decisions] == [4, len(FOX), len(NOTICE) - 1]


def test_pattern_is_the_text_and_the_tags_around_it():
    same = learn_template([parse("<p>one <b>two</b></p>"), parse("<p>one\n  <b>two</b></p>")])
    assert len(same) == 1
    assert learn_template([parse("<p>one <b>two</b></p>"), parse("<p>one <i>two</i></p>")]) == frozenset()
    assert learn_template([parse("<p>one</p>"), parse("<ul>one</ul>")]) == frozenset()
    assert learn_template([parse("<p>one</p>"), parse("<p>two</p>")]) == frozenset()


def test_repetition_inside_one_page_does_not_count():
    assert learn_template([parse("<p>x</p><p>x</p>"), parse("<p>y</p>")]) == frozenset()


def test_least_pages_is_how_many_must_share_a_pattern():
    pages = [page(FOX), page(FOX), page(CAT)]
    assert reasons(pages[0], learn_template(pages, 3)) == [Reason.TEMPLATE, Reason.KEPT, Reason.TEMPLATE]
    assert reasons(pages[0], learn_template(pages, 2)) == [Reason.TEMPLATE] * 3


def test_pages_are_read_one_at_a_time():
    assert learn_template(page(text) for text in (FOX, CAT)) == learn_template([page(FOX), page(CAT)])


@pytest.mark.parametrize("pages", [[], [page(FOX)]])
def test_fewer_than_two_pages_teach_nothing(pages):
    assert learn_template(pages) == frozenset()


def test_least_pages_below_two_is_refused():
    with pytest.raises(OptionError, match="least_pages is 1"):
        learn_template([], 1)


def test_page_given_twice_is_noise_altogether():
    parsed = page(FOX)
    assert set(reasons(parsed, learn_template([parsed, parsed]))) == {Reason.TEMPLATE}
    assert cleaned(parsed, learn_template([parsed, parsed])).text == ""


def test_text_outside_blocks_and_empty_blocks_are_neither_learnt_nor_kept():
    parsed = parse(f"<div>{FOX}</div><p></p><p>x</p>")
    template = learn_template([parsed, parse(f"<div>{FOX}</div><p></p><p>y</p>")])
    assert template == frozenset()
    assert reasons(parsed, template) == [Reason.UNBLOCKED, Reason.EMPTY, Reason.KEPT]


def test_first_of_equally_long_blocks_is_kept_ce():
    assert cleaned(parse("<p>abc</p><p>def</p>"), frozenset()).text == "abc"


def test_page_without_a_template_is_refused():
    with pytest.raises(OptionError, match="template"):
        clean("<p>x</p>", method="ce")


def test_pattern_is_the_hash_of_tags_and_text():
    assert learn_template([parse("<p>x</p>")] * 2) == {xxh64_intdigest(b"p p\nx")}


def test_odd_characters_do_no_harm():
    odd = parse("<p>\ud800\x01 x</p><\x7f>y</p>")
    assert cleaned(odd, learn_template([odd, odd])).text == ""
