"""Features in C are the rows that numpy makes, to the last bit, on any page."""

import corpus
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleaning import parse
from cleaning._native import load_compiled
from cleaning.classifier import features
from cleaning.classifier.features import LexiconScores, PageTotals
from cleaning.classifier.hints import HINT_REASONS, Hints, PageHints, read_page_hints
from cleaning.classifier.shipped import load_shipped_model
from cleaning.leaf_table import read_leaf_table

pytestmark = pytest.mark.skipif(
    load_compiled("features") is None, reason="COMPILER: Blocksieve was installed without its compiled core"
)
PROSE = "This is a text of many words, so that it counts as prose; it ends, as texts do, with a full stop."
pieces = st.one_of(
    st.sampled_from(["word", " ", "字", "<br>", PROSE, PROSE[:30], "Title", "<a href=x>linked</a>", "<b>bold</b>"]),
    st.builds(
        "<{} class={}>".format,
        st.sampled_from("p div li ul td table nav main h1 h2 pre b".split()),
        st.sampled_from("ad byline comment consent-overlay cookie share related".split()),
    ),
    st.sampled_from("p div li ul td table nav main h1 h2 pre".split()).map("<{}>".format),
    st.sampled_from(["</p>", "</div>", "</ul>", "</table>", "</h1>", "</main>"]),
)
PAGES = st.lists(pieces, max_size=40).map("".join).map("<p>x".__add__)


def scores_of(table, lexicon):
    texts = [block.text for block in table.blocks]
    return LexiconScores(
        lexicon.elements(table.tags, table.node_tokens), lexicon.inlines(table.inline_tokens), lexicon.texts(texts)[0]
    )


def filled(fill, width, *args):
    rows = np.full((args[0].size, width), np.nan, np.float32)
    fill(rows, *args)
    return rows


def assert_same_rows(table, title, scores):
    totals = PageTotals(table)
    core = load_compiled("features")
    assert_same(
        features.FIRST_STAGE_NAMES,
        features.pure_fill_first_stage,
        core.fill_first_stage,
        totals,
        title,
        scores_of(table, load_shipped_model().lexicon),
    )
    assert_same_hints(totals, read_page_hints(table))
    assert_same(
        features.NEIGHBOUR_NAMES,
        features.pure_fill_neighbours,
        core.fill_neighbours,
        totals,
        scores,
        scores * totals.chars,
    )


def assert_same_hints(totals, hints):
    compiled = load_compiled("features").fill_hints
    assert_same(features.FIRST_STAGE_NAMES, features.pure_fill_hints, compiled, totals, hints)


def assert_same(names, pure, compiled, *args):
    rows = filled(compiled, len(names), *args)
    want = filled(pure, len(names), *args)
    same = (rows == want) | (np.isnan(rows) & np.isnan(want))  # as the columns that neither fills
    different = np.flatnonzero(~same.all(axis=0))
    assert [names[column] for column in different] == []


@settings.get_profile("kernel")
@given(PAGES, st.sampled_from(["", "word", "Title", "A Title of words"]), st.randoms(use_true_random=False))
def test_rows_are_the_pure_ones(source, title, random):
    table = read_leaf_table(parse(source).root)
    assert_same_rows(table, title, np.array([random.choice((0.0, random.random(), 1.0)) for _ in table.blocks]))


def random_hints(random, numbers):
    """Return hints of any reason, level and number of entries for some of the numbers."""
    hinted = sorted(random.sample(range(numbers), random.randint(0, numbers)))
    rows = [
        (number, random.randrange(len(HINT_REASONS)), random.randint(1, 3), random.randint(1, 300)) for number in hinted
    ]
    return Hints(*np.array(rows, np.int32).reshape(-1, 4).T)


@settings.get_profile("kernel")
@given(PAGES, st.randoms(use_true_random=False))
def test_columns_of_any_hints_are_the_pure_ones(source, random):
    table = read_leaf_table(parse(source).root)
    hints = PageHints(random_hints(random, len(table.tags)), random_hints(random, len(table.blocks)))
    assert_same_hints(PageTotals(table), hints)


@pytest.mark.parametrize("rows", [[(3, 0, 1, 1)], [(-1, 0, 1, 1)], [(0, 12, 1, 1)], [(0, 0, 0, 1)], [(1, 0, 1, 1)] * 2])
def test_hints_that_lead_nowhere_are_refused(rows):
    totals = PageTotals(read_leaf_table(parse("<p>x</p><p>y").root))
    hints = Hints(*np.array(rows, np.int32).T)
    nothing = Hints(*np.zeros((4, 0), np.int32))
    table = np.empty((2, 200), np.float32)
    with pytest.raises(ValueError, match="hint"):
        load_compiled("features").fill_hints(table, totals, PageHints(hints, nothing))
    with pytest.raises(ValueError, match="the table is"):
        load_compiled("features").fill_hints(table[:1], totals, PageHints(nothing, nothing))
    if not 0 <= rows[0][0] < 2:
        with pytest.raises(ValueError, match="hint"):
            load_compiled("features").fill_hints(table, totals, PageHints(nothing, hints))


@pytest.mark.parametrize("name", ["wcxb-dev", "fundus-dev"])
def test_saved_pages_have_the_pure_rows(data, name):
    for sample in corpus.pin(corpus.read_samples(name), 40):
        page = parse(sample.body, sample.url)
        table = read_leaf_table(page.root)
        if table.blocks:
            size = len(table.blocks)
            assert_same_rows(table, page.root.findtext(".//title") or "", np.linspace(0, 1, size) ** 2)
            within = table.head(size // 2 + 1)
            assert_same_rows(within, "", np.linspace(1, 0, len(within.blocks)))


def test_a_deep_page_has_the_pure_rows():
    table = read_leaf_table(parse("<div><nav>" * 30 + "a" + "</nav>b" * 30).root)
    assert_same_rows(table, "", np.linspace(0, 1, len(table.blocks)))


def changed(table, **columns):
    return type(table)(*(columns.get(name, getattr(table, name)) for name in type(table).__dataclass_fields__))


@pytest.mark.parametrize(
    "columns",
    [
        {"first": [-1, 0, 1]},
        {"last": [2, 1, 3]},
        {"last": [2, 1]},
        {"first": [0, 0]},
    ],
)
def test_numbers_that_lead_nowhere_are_refused(columns):
    table = read_leaf_table(parse("<p>x</p><p>y").root)
    assert (table.first.tolist(), table.last.tolist()) == ([0, 0, 1], [2, 1, 2])
    totals = PageTotals(changed(table, **{name: np.array(values, np.int32) for name, values in columns.items()}))
    rows = np.empty((2, 200), np.float32)
    scores = np.zeros(2)
    with pytest.raises(ValueError, match=r"blocks outside|differ in length"):
        load_compiled("features").fill_first_stage(rows, totals, "", scores_of(table, load_shipped_model().lexicon))
    with pytest.raises(ValueError, match=r"blocks outside|differ in length"):
        load_compiled("features").fill_neighbours(rows, totals, scores, scores)


@pytest.mark.parametrize("shape", [(1, 200), (3, 200), (2, 20)])
def test_a_table_that_is_too_small_is_refused(shape):
    table = read_leaf_table(parse("<p>x</p><p>y").root)
    totals = PageTotals(table)
    rows = np.empty(shape, np.float32)
    scores = np.zeros(2)
    with pytest.raises(ValueError, match="the table is"):
        load_compiled("features").fill_first_stage(rows, totals, "", scores_of(table, load_shipped_model().lexicon))
    with pytest.raises(ValueError, match="the table is"):
        load_compiled("features").fill_neighbours(rows, totals, scores, scores)


def test_columns_of_other_lengths_are_refused():
    table = read_leaf_table(parse("<p>x</p><p>y").root)
    totals = PageTotals(table)
    rows = np.empty((2, 200), np.float32)
    scores = np.zeros(3)
    short = LexiconScores(*(column[:, 1:] for column in scores_of(table, load_shipped_model().lexicon)))
    with pytest.raises(ValueError, match="differ in length"):
        load_compiled("features").fill_first_stage(rows, totals, "", short)
    with pytest.raises(ValueError, match="blocks"):
        load_compiled("features").fill_neighbours(rows, totals, scores, scores)
