"""The judge of structure: what is read from pages, marks and Markdown, and how they are compared."""

import corpus
import outline_marks
import pytest
import structure_quality
from outline_marks import MarkedPage, parse_marks, read_marks, write_marks
from page_outline import read_outline
from part_scores import score_parts, teds
from structure_parts import Parts, markdown_parts, open_parts, reference_parts

PAGE = """<body><nav><ul><li><a href=/>Home</a></ul></nav><h2>A title<span class=mw-editsection>[edit]</span></h2>
<p>Some <a href=b?c#d>linked words</a><br>of text, <math><semantics><mi>x</mi><annotation encoding=application/x-tex>
{\\displaystyle x^{2}}</annotation></semantics></math>.</p>
<ol><li>one<ul><li>inner</ul><li><p>two</p><p>more</p></ol>
<table><caption>Sizes</caption><tr><th rowspan=2>a<th>b<tr><td>2</table>
<div class=highlight><pre><span class=lineno>1</span>def f():
<div>    pass</div></pre></div><blockquote>Said <b>so</b>.</blockquote><p style="display: none">unseen</p></body>"""
URL = "https://a.example/x/"


class Sample:
    id, url, text, body = "1", URL, "", PAGE.encode()


def page(marks):
    return MarkedPage("set", Sample(), parse_marks(marks.split()))


def test_the_outline_has_the_texts_with_what_is_around_them():
    units = read_outline(PAGE.encode(), URL).units
    assert [unit.text for unit in units.values()] == [
        "Home",
        "A title",
        "Some linked words of text, \u27e6\u27e7 .",
        "one",
        "inner",
        "two",
        "more",
        "Sizes",
        "a",
        "b",
        "2",
        "1def f(): pass",
        "Said so.",
    ]
    assert (units[2].level, units[5].lists, units[12].code, units[13].quote) == (2, (2, 3), 1, 1)


def test_the_parts_of_a_marked_page():
    parts = reference_parts(page("main=2-13"))
    assert parts == Parts(
        [(2, "atitle")],
        [(1, True, "one"), (2, False, "inner"), (1, True, "twomore")],
        [[["a", "b"], ["a", "2"]]],
        ["def f():\n    pass"],
        ["saidso"],
        [("a.example/x/b?c", "linkedwords")],
        ["x^{2}"],
    )


def test_what_a_reader_says_an_element_is_not_counts_less():
    parts = reference_parts(page("main=2-13 layout=1 unlisted=2 unquoted=1 code=1"))
    assert (parts.tables, parts.items, parts.quotes, parts.code) == ([], [(1, False, "inner")], [], [])
    assert open_parts(page("main=2-13 open=1 unquoted=1")).quotes == ["saidso"]


def test_the_parts_of_markdown_are_those_of_the_page():
    markdown = """## A title

Some [linked words](https://a.example/x/b?c#e) of text, $x^{2}$.

1. one
   - inner
2. two

   more

| a | b |
| --- | --- |
| a | 2 |

```python
def f():
    pass
```

> Said **so**.
"""
    expected = reference_parts(page("main=2-13"))
    assert markdown_parts(markdown) == expected
    scores = score_parts(markdown_parts(markdown), expected, Parts())
    assert len(scores) == 7
    assert all((score.kept, score.f1) == (1, 1) for score in scores.values())


def test_parts_that_a_reader_left_open_do_not_count():
    parts = Parts(headings=[(1, "a"), (2, "b"), (2, "c")])
    scores = score_parts(parts, Parts(headings=[(1, "a"), (1, "d")]), Parts(headings=[(2, "b")]))
    assert (scores["headings"].kept, scores["headings"].precision) == (0.5, 0.5)


def test_code_that_was_changed_agrees_less():
    scores = score_parts(Parts(code=["abcd", "other"]), Parts(code=["abce"]), Parts())
    assert (scores["code"].agreement, scores["code"].kept, scores["code"].precision) == (0.75, 1, 0.5)


def test_a_lost_page_scores_zero():
    scores = score_parts(Parts(), Parts(tables=[[["a"]]], links=[("b", "c")]), Parts())
    assert {(score.kept, score.f1) for score in scores.values()} == {(0, 0)}


def test_teds_counts_lost_rows_cells_and_letters():
    table = [["a", "bb"], ["c", "dd"], ["e", "ff"]]
    assert teds(table, table) == 1
    assert teds(table, table[:2]) == pytest.approx(1 - 3 / 10)
    assert teds(table, [["a", "bx"], *table[1:]]) == pytest.approx(1 - 0.5 / 10)
    assert teds([["a", "a"], ["b", "c"]], [["a", ""], ["b", "c"]]) == 1


def test_marks_are_stored_without_text_and_read_again(tmp_path, monkeypatch):
    path = tmp_path / "marks.tsv"
    monkeypatch.setattr(outline_marks.Samples, "find", lambda *_: Sample())
    write_marks([page("main=2-4,7 open=1")], path)
    assert path.read_text("utf-8").split("\t")[4] == "main=2-4,7 open=1\n"
    assert read_marks(path)[0].marks == parse_marks(["main=2,3,4,7", "open=1"])
    path.write_text(path.read_text("utf-8").replace("set\t1\t", "set\t1\t0"), "utf-8")
    with pytest.raises(ValueError, match="is not the one that was marked"):
        read_marks(path)


def test_another_word_is_no_mark():
    with pytest.raises(ValueError, match="'text=1' is not a mark"):
        parse_marks(["text=1"])


@pytest.fixture(scope="module")
def marked():
    if not corpus.DATA.is_dir():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {corpus.DATA}")
    return read_marks(every=3)


def test_our_structure_of_the_marked_pages_stays_above_its_floors(marked, monkeypatch):
    ours = {structure_quality.OURS: structure_quality.our_markdown}
    monkeypatch.setattr(structure_quality, "makers", lambda: ours)
    scores_by_kind = structure_quality.measure(marked)[structure_quality.OURS]
    means = {
        kind: sum(score.f1 for score in scores.values()) / len(scores)
        for kind, scores in scores_by_kind.items()
        if scores
    }
    assert all(means[kind] >= floor for kind, floor in FLOORS.items()), means


FLOORS = {"headings": 0.97, "items": 0.84, "tables": 0.95, "code": 0.95, "quotes": 0.9, "links": 0.88}
