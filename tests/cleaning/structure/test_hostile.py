"""The structure of hostile pages: the work and the output grow no faster than the page."""

import hostile_pages
import pytest
from calls import count_calls

from cleaning import PageError, parse
from cleaning._native import load_compiled
from cleaning.leaves import walk
from cleaning.structure.marks import TextMarks
from cleaning.structure.nodes import MAX_NESTING, NodeType
from cleaning.structure.places import block_places
from cleaning.structure.reader import read_structure
from cleaning.structure.writers.chunks import Chunker
from cleaning.structure.writers.fragment import to_html
from cleaning.structure.writers.markdown import to_markdown

KINDS = hostile_pages.KINDS | hostile_pages.STRUCTURE_KINDS
SMALL_BYTES, TIMES_LARGER = 2_000, 4
MOST_TIMES_THE_CALLS = 1.6 * TIMES_LARGER
# A cell may be repeated 20 times, and stands in a Markdown table with its signs; a sign in a text is escaped.
MOST_TIMES_THE_BYTES, FREE_BYTES = 60, 60_000


def kept_whole(body):
    page = parse(body, "https://a.example/x/")
    blocks = [leaf.block for leaf in walk(page.root)]
    return page, TextMarks(blocks, b"\1" * len(blocks))


def everything(document):
    markdown = to_markdown(document, links="references", images=True)
    assert Chunker(document, 50, 10, "words", links=True).chunks() or not markdown
    return len(markdown) + len(to_html(document, images=True)) + len(block_places(document))


@pytest.fixture
def pure(monkeypatch):
    """Let Python do all the work, so that its calls can be counted."""
    monkeypatch.setenv("BLOCKSIEVE_PURE", "1")
    load_compiled.cache_clear()
    yield
    monkeypatch.undo()
    load_compiled.cache_clear()


def count_reading(page, marks):
    return count_calls(lambda: everything(read_structure(page, marks)))


@pytest.mark.slow
@pytest.mark.usefixtures("pure")
@pytest.mark.parametrize("kind", KINDS)
def test_the_work_grows_no_faster_than_a_hostile_page(kind):
    count_reading(*kept_whole("<p>x<ul><li>y</ul>"))  # what is loaded at first use
    start = len(KINDS[kind][0])
    small, _ = count_reading(*kept_whole(hostile_pages.hostile_page(kind, start + SMALL_BYTES)))
    page = hostile_pages.hostile_page(kind, start + TIMES_LARGER * SMALL_BYTES)
    large, size = count_reading(*kept_whole(page))
    assert large <= MOST_TIMES_THE_CALLS * small
    assert size <= MOST_TIMES_THE_BYTES * len(page) + FREE_BYTES


def test_ten_thousand_nested_lists():
    page, marks = kept_whole("<ul><li>x" * 10_000)
    document = read_structure(page, marks)
    lists = [node for node in document.walk() if node.type is NodeType.LIST]
    assert 0 < len(lists) <= MAX_NESTING
    assert to_markdown(document).count("x") == len(marks.blocks)


@pytest.mark.slow
def test_a_table_of_a_million_cells_is_refused_and_a_smaller_one_is_whole():
    def table(rows, columns):
        return f"<table>{('<tr>' + '<td>1' * columns) * rows}</table>"

    with pytest.raises(PageError, match="elements"):
        parse(table(1_000, 1_000))
    rows, columns = 350, 340
    page, marks = kept_whole(table(rows, columns))
    lines = to_markdown(read_structure(page, marks)).splitlines()
    assert len(lines) == rows + 1
    assert {len(line) for line in lines[2:]} == {4 * columns + 1}


def test_a_megabyte_of_backticks():
    text = "`" * 1_000_000
    as_text = to_markdown(read_structure(*kept_whole(f"<p>x {text}</p>")))
    assert as_text == "x " + "\\`" * 1_000_000 + "\n"
    as_code = to_markdown(read_structure(*kept_whole(f"<pre>x {text}</pre>")))
    assert len(as_code) < 4_000_000
    assert as_code.startswith(f"{text}`\nx ")
    as_span = to_markdown(read_structure(*kept_whole(f"<p><code>x {text}</code></p>")))
    assert as_span == f"` x {text} `\n"


def test_a_megabyte_of_full_stops_in_bold():
    text = "." * 1_000_000
    markdown = to_markdown(read_structure(*kept_whole(f"<p>x<b>a{text}b</b>y<b>a{text}</b>y</p>")))
    assert markdown == f"x**a{text}b**y**a**{text}y\n"


def test_cells_that_ask_for_a_billion_places():
    body = "<table><tr><th colspan=1000000000 rowspan=1000000000>x</th><td>y</td></tr><tr><td>z</td></tr></table>"
    assert len(to_markdown(read_structure(*kept_whole(body)))) < 100_000
    many = "<tr><td rowspan=65534 colspan=1000>x</td></tr>" * 300
    document = read_structure(*kept_whole(f"<table>{many}<tr><th>a<th>b</table>"))
    assert len(to_markdown(document)) < 500_000
