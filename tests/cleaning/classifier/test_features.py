"""What the classifier sees: each column has its place and a finite value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import parse
from cleaning.classifier import features
from cleaning.classifier.features import FEATURE_GROUPS, FIRST_STAGE_NAMES, PAGE_FEATURE_NAMES, read_first_stage
from cleaning.classifier.lexicon import Lexicon
from cleaning.classifier.signals import read_signals
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


def test_every_name_stands_once_and_page_features_come_last():
    assert len(FIRST_STAGE_NAMES) == len(set(FIRST_STAGE_NAMES)) == sum(map(len, FEATURE_GROUPS.values()))
    assert FIRST_STAGE_NAMES[-len(PAGE_FEATURE_NAMES) :] == PAGE_FEATURE_NAMES


@given(st.lists(pieces, min_size=1, max_size=40).map("".join))
def test_every_column_of_any_page_is_finite(source):
    page = parse(source)
    found = read_leaf_table(page.root)
    if not found.blocks:
        return
    seen = read_first_stage(found, read_signals(page, read_statements(page.root)), LEXICON)
    assert seen.rows.shape == (len(found.blocks), len(FIRST_STAGE_NAMES))
    assert seen.rows.dtype == np.float32
    assert np.isfinite(seen.rows).all()
    around = features.read_neighbours(seen.counted, np.linspace(0, 1, len(found.blocks)))
    assert around.shape == (len(found.blocks), len(features.NEIGHBOUR_NAMES))
    assert np.isfinite(around).all()


@given(st.lists(pieces, max_size=40).map("<p>x".__add__("{}").format) | st.just(PAGE))
def test_rows_are_the_same_whoever_scans(source):
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


def test_place_is_told_from_the_headline_and_from_prose():
    names = "place", "blocks_after_h1", "since_prose", "until_prose", "since_heading"
    assert columns(PAGE, *names) == [
        [0, -2, 99, 3, 99],
        [1 / 6, -1, 99, 2, 99],
        [2 / 6, 0, 99, 1, 0],
        [3 / 6, 1, 0, 0, 1],
        [4 / 6, 2, 0, 0, 2],
        [5 / 6, 3, 1, 99, 3],
    ]


def test_elements_around_are_told_by_their_distance():
    assert columns(PAGE, "in_nav", "in_main", "in_ul", "in_figure") == [
        [3, 0, 2, 0],
        [3, 0, 2, 0],
        [0, 2, 0, 0],
        [0, 2, 0, 0],
        [0, 2, 0, 0],
        [0, 0, 0, 0],
    ]


def test_words_speak_through_the_lexicon():
    assert columns(PAGE, "least_sign", "greatest_sign", "least_text")[1] == [-2, 0, -3]
    assert columns(PAGE, "least_sign", "greatest_sign", "least_text")[5] == [-1.5, 0, 0]


def test_shares_of_an_element_are_of_the_page():
    inside = columns(
        f"<div><p>{PROSE}</p></div><div><p>{PROSE}</p></div>", "chars_1", "prose_1", "leaves_1", "leaves_2"
    )
    assert inside == [[0.5, 0.5, 1, 2]] * 2


def test_body_that_the_page_states_is_evidence():
    body = f"{PROSE} And then the night came over the hills and all of them went home to sleep."
    stated = f'<script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{body}"}}</script>'
    found = columns(f"{stated}<p>{PROSE}</p><p>Something else is said here, of other beasts.</p>", "body_share")
    assert found == [[1], [0]]
    assert columns(f"<p>{PROSE}</p>", "body_share", "body_covered", "body_words") == [[-1, -1, 0]]


def test_summary_is_compared_with_what_the_page_says_of_itself():
    source = f'<meta name="description" content="{PROSE}"><p>{PROSE}</p><p>Of other beasts, at other times.</p>'
    (same,), (other,) = columns(source, "summary_share")
    assert same == 1
    assert other.expected < 0.2


def test_address_and_stated_types_are_of_the_page():
    stated = '<script type="application/ld+json">{"@type": "NewsArticle"}</script><p>x</p>'
    names = "path_parts", "slug_chars", "slug_hyphens", "path_digits", "query", "type_news", "type_product"
    assert columns(stated, *names) == [[2, 15, 2, 2, 1, 1, 0]]
    assert columns("<p>x</p>", *names, url=None) == [[0] * 7]
