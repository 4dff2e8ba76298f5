"""The features of both stages: each column has its place and a finite value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import parse
from cleaning.classifier import features
from cleaning.classifier.features import (
    FEATURE_GROUPS,
    FIRST_STAGE_NAMES,
    NEIGHBOUR_NAMES,
    PAGE_FEATURE_NAMES,
    VOCABULARY_NAMES,
    PageTotals,
    read_first_stage,
    read_neighbours,
    read_vocabulary,
)
from cleaning.classifier.lexicon import Lexicon
from cleaning.classifier.signals import PageSignals, read_signals
from cleaning.leaf_table import build_leaf_table, read_leaf_table
from cleaning.leaves import walk
from cleaning.metadata.statements import read_statements

LEXICON = Lexicon({"<p>": 1.0, "<nav>": -2.0, "footer": -1.5, "t:more": -3.0, "i:byline": -0.5})
PROSE = "The quick brown fox jumps over the lazy dog, and the cat on the warm stove looks at it all day long."
PAGE = (
    "<title>Of foxes</title><nav><ul><li><a href=/>Home</a><li><a href=/b>More</a></ul></nav>"
    f"<main><h1>Of foxes</h1><p>{PROSE}</p><p>{PROSE} Twice!</p></main><div class=footer>1999</div>"
)
pieces = st.one_of(
    st.sampled_from(["word", " ", PROSE, "字字字。", "12", "a\u0301", "| » ·"]),
    st.builds(
        "<{}{}>".format,
        st.sampled_from("p div li ul h1 h2 td table a b span pre blockquote nav footer article section".split()),
        st.sampled_from(["", " class=footer", ' class="a b"', " hidden"]),
    ),
    st.sampled_from(["</p>", "</div>", "</ul>", "</a>", "</table>"]),
    st.text(max_size=6),
)


def read(source, url="https://www.example.org/a/the-fox-12.html?x=1", scanned=read_leaf_table):
    page = parse(source, url)
    return read_first_stage(scanned(page.root), read_signals(page, read_statements(page.root)), LEXICON)


def columns(source, *names, **more):
    """Return the values of these columns by block."""
    rows = read(source, **more).rows
    return [[pytest.approx(float(row[FIRST_STAGE_NAMES.index(name)]), abs=1e-6) for name in names] for row in rows]


def test_names_are_unique_and_page_features_come_last():
    assert len(FIRST_STAGE_NAMES) == len(set(FIRST_STAGE_NAMES)) == sum(map(len, FEATURE_GROUPS.values()))
    assert FIRST_STAGE_NAMES[-len(PAGE_FEATURE_NAMES) :] == PAGE_FEATURE_NAMES


@given(st.lists(pieces, min_size=1, max_size=40).map("".join))
def test_every_column_of_any_page_is_finite(source):
    page = parse(source)
    table = read_leaf_table(page.root)
    if not table.blocks:
        return
    seen = read_first_stage(table, read_signals(page, read_statements(page.root)), LEXICON)
    assert seen.rows.shape == (len(table.blocks), len(FIRST_STAGE_NAMES))
    assert seen.rows.dtype == np.float32
    assert np.isfinite(seen.rows).all()
    around = features.read_neighbours(seen.totals, np.linspace(0, 1, len(table.blocks)))
    assert around.shape == (len(table.blocks), len(features.NEIGHBOUR_NAMES))
    assert np.isfinite(around).all()


@given(st.lists(pieces, max_size=40).map("<p>x".__add__("{}").format) | st.just(PAGE))
def test_rows_are_the_same_from_both_leaf_tables(source):
    pure = read(source, scanned=lambda root: build_leaf_table(walk(root)))
    assert np.array_equal(pure.rows, read(source).rows)


def test_text_is_counted():
    names = "words", "link_share", "ends", "repeated", "title", "h1s"
    assert columns(PAGE, *names) == [
        [1, 1, 0, 1, 0, 1],
        [1, 1, 0, 1, 0, 1],
        [2, 0, 0, 1, 1, 1],
        [22, 0, 1, 1, 0, 1],
        [23, 0, 2, 1, 0, 1],
        [1, 0, 0, 1, 0, 1],
    ]


def test_place_is_relative_to_the_headline_and_to_prose():
    names = "place", "blocks_after_h1", "since_prose", "until_prose", "since_heading"
    assert columns(PAGE, *names) == [
        [0, -2, 99, 3, 99],
        [1 / 6, -1, 99, 2, 99],
        [2 / 6, 0, 99, 1, 0],
        [3 / 6, 1, 0, 0, 1],
        [4 / 6, 2, 0, 0, 2],
        [5 / 6, 3, 1, 99, 3],
    ]


def test_elements_around_have_their_distance():
    assert columns(PAGE, "in_nav", "in_main", "in_ul", "in_figure") == [
        [3, 0, 2, 0],
        [3, 0, 2, 0],
        [0, 2, 0, 0],
        [0, 2, 0, 0],
        [0, 2, 0, 0],
        [0, 0, 0, 0],
    ]


def test_words_count_through_the_lexicon():
    assert columns(PAGE, "least_sign", "greatest_sign", "least_text")[1] == [-2, 0, -3]
    assert columns(PAGE, "least_sign", "greatest_sign", "least_text")[5] == [-1.5, 0, 0]


def test_shares_of_an_element_are_of_the_page():
    inside = columns(
        f"<div><p>{PROSE}</p></div><div><p>{PROSE}</p></div>", "chars_1", "prose_1", "leaves_1", "leaves_2"
    )
    assert inside == [[0.5, 0.5, 1, 2]] * 2


def test_stated_body_gives_overlap_features():
    body = f"{PROSE} And then the night came over the hills and all of them went home to sleep."
    stated = f'<script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{body}"}}</script>'
    overlaps = columns(f"{stated}<p>{PROSE}</p><p>Something else is said here, of other beasts.</p>", "body_share")
    assert overlaps == [[1], [0]]
    assert columns(f"<p>{PROSE}</p>", "body_share", "body_covered", "body_words") == [[-1, -1, 0]]


def test_summary_is_compared_with_the_descriptions():
    source = f'<meta name="description" content="{PROSE}"><p>{PROSE}</p><p>Of other beasts, at other times.</p>'
    (same,), (other,) = columns(source, "summary_share")
    assert same == 1
    assert other.expected < 0.2


def test_address_and_stated_types_are_of_the_page():
    stated = '<script type="application/ld+json">{"@type": "NewsArticle"}</script><p>x</p>'
    names = "path_parts", "slug_chars", "slug_hyphens", "path_digits", "query", "type_news", "type_product"
    assert columns(stated, *names) == [[2, 15, 2, 2, 1, 1, 0]]
    assert columns("<p>x</p>", *names, url=None) == [[0] * 7]


def test_chinese_characters_count_as_letters_of_an_alphabet_do():
    assert columns("<p>我们的新桥明天开放</p>", "words", "chars", "digits") == [[5, 22, 0]]
    assert columns("<p>我们的新桥 2024 年开放</p>", "digits") == [[4 / 14]]
    assert columns("<p>a b c d e</p>", "words", "chars") == [[5, 9]]
    assert columns("<p>สะพานใหม่จะเปิดพรุ่งนี้</p>", "chars") == [[23]]  # Thai has an alphabet, though no spaces


# Four blocks of ten characters each; the second and the third are in one section.
FOUR_BLOCKS = "<p>aaaa bbbbb</p><section><p>aaaa ccccc</p><p>aaaa ddddd</p></section><p>aaaa eeeee</p>"
SCORES = np.array([0.1, 0.9, 0.7, 0.3])


def neighbour_column(name, scores=SCORES, source=FOUR_BLOCKS):
    rows = read_neighbours(PageTotals(read_leaf_table(parse(source).root)), scores)
    return [pytest.approx(float(value), abs=1e-5) for value in rows[:, NEIGHBOUR_NAMES.index(name)]]


def test_neighbours_are_seen_and_0_beyond_the_edges():
    assert neighbour_column("score") == [0.1, 0.9, 0.7, 0.3]
    assert neighbour_column("score_-1") == [0, 0.1, 0.9, 0.7]
    assert neighbour_column("score_+2") == [0.7, 0.3, 0, 0]
    assert neighbour_column("score_+5") == [0] * 4


def test_elements_have_their_mean_score_and_their_part_of_the_page():
    assert neighbour_column("scores_0") == [0.1, 0.9, 0.7, 0.3]
    assert neighbour_column("scores_1") == [0.5, 0.8, 0.8, 0.5]
    assert neighbour_column("part_of_scores_1") == [1, 0.8, 0.8, 1]


def test_windows_and_groups_have_means():
    assert neighbour_column("scores_within_3") == [0.5] * 4
    assert neighbour_column("scores_same_path") == [0.2, 0.8, 0.8, 0.2]


THREAD = '<div class="post p1"><p>aaaa bbbbb</p></div><div class="post p2"><p>aaaa ccccc</p></div><p>aaaa ddddd</p>'


def test_elements_of_one_shape_tell_about_each_other():
    scores = np.array([0.1, 0.9, 0.5])
    assert neighbour_column("shape_count_1", scores, THREAD) == [2, 2, 1]
    assert neighbour_column("shape_index_1", scores, THREAD) == [0, 1, 0]
    assert neighbour_column("shape_scores_1", scores, THREAD) == [0.9, 0.1, 0]
    assert neighbour_column("shape_greatest_1", scores, THREAD) == [0.9, 0.9, 0.5]
    assert neighbour_column("shape_count_0", scores, THREAD) == [3, 3, 3]
    prose = neighbour_column("shape_prose_0", scores, f"<p>{PROSE}</p><li>a</li><p>{PROSE}</p>")
    assert prose == [1, 0, 1]


def test_order_is_relative_to_the_surest_blocks():
    assert neighbour_column("before") == [0, 0.05, 0.5, 0.85]
    assert neighbour_column("after") == [0.95, 0.5, 0.15, 0]
    assert neighbour_column("since_sure") == [-1, 0, 1, 2]
    assert neighbour_column("until_sure") == [1, 0, -1, -2]


def test_without_a_sure_block_the_page_is_all_between():
    doubtful = np.full(4, 0.4)
    assert neighbour_column("since_sure", doubtful) == [0, 1, 2, 3]
    assert neighbour_column("until_sure", doubtful) == [4, 3, 2, 1]


def test_page_features_are_the_same_for_every_block():
    assert neighbour_column("page_scores") == [0.5] * 4
    assert neighbour_column("page_likely") == [0.5] * 4
    assert neighbour_column("page_greatest") == [0.9] * 4
    assert neighbour_column("page_kept") == [np.log(5)] * 4


WORD_LEXICON = Lexicon({"w:aa": 1.0, "w:bb": -2.0, "w:cc": -1.0, "w:dd": -0.5, "w:0": 4.0})
WORDS_PAGE = "<section><p>aa bb cc dd</p><p>aa aa unheard</p></section><p>1999</p><p>unheard</p>"


def word_column(name):
    rows = read_vocabulary(read_first_stage(read_leaf_table(parse(WORDS_PAGE).root), PageSignals(), WORD_LEXICON))
    assert rows.dtype == np.float32
    return [pytest.approx(float(value)) for value in rows[:, VOCABULARY_NAMES.index(name)]]


def test_block_has_the_scores_of_its_words():
    assert word_column("mean_word") == [-2.5 / 4, 1, 4, 0]
    assert word_column("least_word") == [-2, 1, 4, 0]
    assert word_column("greatest_word") == [1, 1, 4, 0]
    assert word_column("least_words") == [-3.5 / 3, 1, 4, 0]


def test_elements_have_the_mean_of_all_words_in_them():
    assert word_column("mean_word_0") == word_column("mean_word")
    assert word_column("mean_word_1") == [-1.5 / 5, -1.5 / 5, 2.5 / 6, 2.5 / 6]
    assert word_column("mean_word_2") == [2.5 / 6] * 4


def test_hints_around_a_block_stand_in_the_columns_of_their_reasons():
    source = (
        f"<main class=promo><p>{PROSE}</p><div id=comments><p>{PROSE}</p></div><p><b class=byline>x</b> y</p></main>"
    )
    names = "hint_advertisement", "hint_comment", "hint_level", "inline_hint"
    assert columns(source, *names) == [[1, 0, 1, 0], [1, 2, 2, 0], [1, 0, 1, 2]]


def test_shares_of_prose_tell_a_word_that_is_around_everything():
    part = columns(f"<p>{PROSE}</p><aside><p>{PROSE}</p></aside>", "hint_prose", "reason_prose", "hinted_prose")
    assert part == [[0, 0, 0.5], [0.5, 0.5, 0.5]]
    every = columns(f"<p class=comment>{PROSE}</p>" * 4, "hint_prose", "reason_prose", "hinted_prose")
    assert every == [[0.25, 1, 1]] * 4


def test_word_around_everything_is_no_worse_than_beside_the_prose():
    (first,), (second,) = columns(f"<div class=footer><p>{PROSE}</p><p>{PROSE} Twice.</p></div>", "least_sign_beside")
    assert first == second == 0
    part = columns(f"<p>{PROSE}</p><p>{PROSE}</p><p>{PROSE}</p><div class=footer>x</div>", "least_sign_beside")
    assert part[-1] == [-1.5]


def test_prose_in_the_element_with_the_least_word_is_a_share():
    shares = columns(f"<p>{PROSE}</p><div class=footer><p>{PROSE}</p></div>", "least_prose")
    assert shares == [[1], [0.5]]
