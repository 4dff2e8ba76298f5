"""Which method keeps which text node."""

from pathlib import Path

import pytest

from cleaning.blocks import Page, Reason
from cleaning.clean import decide_leaves
from cleaning.leaves import walk
from cleaning.methods import METHODS
from cleaning.options import Options
from cleaning.parse import parse
from cleaning.terms import normalise
from crawler.compare.marks import mark
from crawler.compare.run import Compared, Result

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*/page.html"))


def letters(text):
    return "".join(normalise(text).split())


@pytest.mark.parametrize("page", GOLDEN, ids=lambda path: path.parent.name)
def test_every_text_has_the_mark_of_every_method_and_none_is_lost(compare, page, raw_methods):
    compared = compare(page.read_bytes())
    marked = list(mark(compared, 20_000))
    assert [letters("".join(run.text for run in one.runs)) for one in marked] == [
        letters(leaf.block.text) for leaf in compared.leaves
    ]
    for place, name in enumerate(raw_methods):
        assert all(run.marks[place] is not None for one in marked for run in one.runs), name


@pytest.mark.parametrize("page", GOLDEN, ids=lambda path: path.parent.name)
def test_what_is_marked_kept_is_what_the_method_keeps(compare, page):
    compared = compare(page.read_bytes())
    marked = list(mark(compared, 20_000))
    for place, result in enumerate(compared.results.values()):
        shown = [run.text for one in marked for run in one.runs if run.marks[place] is Reason.KEPT]
        # Some methods make a block of the title, which is not in the body.
        kept = [block.text for block in result.kept if "/head[" not in block.path]
        assert sorted(letters("".join(shown))) == sorted(letters("".join(kept)))


def test_a_leaf_is_cut_where_a_method_changes_its_mind(compare):
    (marked,) = mark(compare("<p>Words outside <a href='/x'>words inside</a> outside again.</p>", ["default"]), 10)
    assert [(run.text, run.linked) for run in marked.runs] == [
        ("Words outside ", False),
        ("words inside", True),
        (" outside again.", False),
    ]


def test_repeated_texts_are_told_apart_by_their_order(compare):
    html = "<p>A sentence that stands twice, and is long enough to be kept.</p>" * 2 + "<p>A third.</p>"
    marked = list(mark(compare(html, ["pab"]), 10))
    assert [one.runs[0].marks[0] for one in marked[:2]] == [Reason.KEPT, Reason.PAGE_DUPLICATE]


def test_a_rendered_page_is_matched_by_its_texts(source):
    """Its tree is another one: here it lacks a paragraph and has one more."""
    raw = parse("<p>First words.</p><p>Gone words.</p><p>Same.</p><p>Same.</p>")
    drawn = parse("<div><p>First  words.</p><p>New words.</p><p>Same.</p><p>Same.</p></div>")
    compared = Compared(source(""), raw, walk(raw.root), 0.0, 0.0, {"default": rendered(drawn)})
    assert [one.runs[0].marks[0] is not None for one in mark(compared, 10)] == [True, False, True, True]


def rendered(page: Page):
    return Result(decide_leaves(page, METHODS["default"], Options()), 0.0, rendered=True)


def test_only_the_first_leaves_are_marked(compare):
    assert len(list(mark(compare("<p>a</p>" * 50, ["default"]), 7))) == 7
