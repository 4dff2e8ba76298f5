"""The stored structure of pages: Markdown, places and links, and the queries that docs/structure.md shows."""

from dataclasses import replace
from pathlib import Path

import pytest
from cleaned_pages import STRUCTURED, address, visit
from sqlalchemy import select

from cleaning import clean
from cleaning.structure.nodes import NodeType
from crawler.storage.change_log import Horizon, changed_pages
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import read_position, read_transaction
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.structure import read_structure_nodes
from crawler.storage.tables import page_structure
from crawler.visit import Outcome, Visit


def query(name):
    """The query that docs/structure.md shows below these words."""
    (_, following_text) = ROOT.joinpath("docs", "structure.md").read_text("utf-8").split(f"{name}:\n\n```sql\n")
    return following_text.partition("```")[0]


ROOT = Path(__file__).parents[3]
TABLES = ("page_structure", "block_place", "block_link")


@pytest.fixture
def counts(rows):
    """The number of rows of each of the tables."""

    def count():
        return [rows(f"SELECT count(*) AS number FROM {name}")[0]["number"] for name in TABLES]

    return count


@pytest.fixture
def changed_since(engine):
    """Return a function of a horizon; of None the present one, otherwise the ids of the pages changed since."""

    def read(since=None):
        with read_transaction(engine) as connection:
            if since is None:
                return read_position(connection).horizon
            return list(connection.scalars(changed_pages(since)))

    return read


def test_markdown_places_and_links_are_stored_with_the_page(save, rows, counts):
    saved = save(visit(1, STRUCTURED, structure=True))
    cleaned = clean(STRUCTURED, address(1))
    assert rows("SELECT page_id, markdown FROM page_structure") == [
        {"page_id": saved[0].page_id, "markdown": cleaned.markdown}
    ]
    assert "| Adults who travel in both directions | 12.50 | 9.00 |" in cleaned.markdown
    places = cleaned.places()
    place_rows = rows("SELECT * FROM block_place ORDER BY position")
    assert [row["position"] for row in place_rows] == [place.position for place in places]
    assert [row["section_position"] for row in place_rows] == [place.section for place in places]
    assert [bool(row["header"]) for row in place_rows] == [bool(place.header) for place in places]
    assert rows("SELECT url, text FROM block_link") == [
        {"url": "https://lake.example.org/harbour", "text": "the harbour office"}
    ]
    assert counts() == [1, len(places), 1]


def test_one_query_selects_a_table(save, rows):
    save(visit(1, STRUCTURED, structure=True))
    cells = rows(query("The tables of a page, cell by cell").replace("https://news.example.org/a-story", address(1)))
    assert [cell["text"] for cell in cells if cell["header"]] == ["Passenger", "Summer fare", "Winter fare"]
    assert [(cell["table_row"], cell["table_column"], cell["text"]) for cell in cells][3:6] == [
        (2, 1, "Adults who travel in both directions"),
        (2, 2, "12.50"),
        (2, 3, "9.00"),
    ]


def test_one_query_selects_a_column_of_all_tables(save, rows):
    save(visit(1, STRUCTURED, structure=True), visit(2, STRUCTURED, structure=True))
    cells = rows(query('The columns named "Price" of all tables').replace("Price", "Summer fare"))
    assert [(cell["url"], cell["text"]) for cell in cells] == [
        (address(number), fare) for number in (1, 2) for fare in ("12.50", "6.25")
    ]


def test_one_query_selects_a_section_with_the_sections_below_it(save, rows):
    save(visit(1, STRUCTURED, structure=True))
    query_text = query("The sections under a heading, with the sections inside them")
    texts = [row["text"] for row in rows(query_text.replace("Results", "Fares"))]
    assert texts[0] == "Fares"
    assert "Reductions" in texts
    assert "Schools of the district pay nothing at all in winter" in texts
    assert "Timetable" not in texts


def test_a_text_has_a_place_on_each_page_that_shows_it(save, rows):
    other = STRUCTURED.replace("<h2>Fares</h2>", "").replace("Ferries", "Boats")
    save(visit(1, STRUCTURED, structure=True), visit(2, other, structure=True))
    cell_rows = rows("SELECT page_id, text FROM placed_block WHERE table_row = 2 ORDER BY page_id, table_column")
    cells = ["Adults who travel in both directions", "12.50", "9.00"]
    assert [row["text"] for row in cell_rows] == cells * 2
    assert rows("SELECT count(*) AS number FROM sighting WHERE page_id = 2")[0]["number"] > len(cells)


def test_a_table_has_all_its_cells_also_those_that_cleaning_dropped(save, rows):
    save(visit(1, STRUCTURED, structure=True, dropped=("6.25", "Winter fare")))
    cell_rows = rows(
        "SELECT block_id, text FROM placed_block WHERE table_row IS NOT NULL ORDER BY table_row, table_column"
    )
    assert [row["text"] for row in cell_rows][-3:] == ["Children who travel in both directions", "6.25", "4.50"]
    assert [row["text"] for row in cell_rows if row["block_id"] is None] == ["Winter fare", "6.25"]
    assert rows("SELECT text FROM block WHERE text = '6.25'") == []


def test_a_later_visit_replaces_the_structure_or_deletes_it(save, rows, counts):
    save(visit(1, STRUCTURED, structure=True))
    shorter = STRUCTURED.replace("<h3>Reductions</h3>", "")
    save(visit(1, STRUCTURED, day=1, structure=True), visit(1, shorter, day=2, structure=True))
    assert rows("SELECT markdown FROM page_structure") == [{"markdown": clean(shorter, address(1)).markdown}]
    assert rows("SELECT text FROM placed_block WHERE heading_level = 3") == []
    save(visit(1, shorter, day=3))
    assert counts() == [0, 0, 0]


def test_a_page_stored_twice_in_a_batch_has_the_last_structure(save, counts):
    save(visit(1, STRUCTURED, structure=True), visit(1, STRUCTURED, day=1))
    assert counts() == [0, 0, 0]


def test_an_unchanged_page_keeps_its_structure_and_a_retired_one_loses_it(save, store, counts):
    store.join_crawl("test", {}, CrawlPolicy())
    first = visit(1, STRUCTURED, structure=True)
    save(first)
    before = counts()
    save(Visit(address(1), first.at, Outcome.NOT_MODIFIED, 304))
    assert counts() == before != [0, 0, 0]
    save(Visit(address(1), first.at, Outcome.NOT_FOUND, 410))
    assert counts() == [0, 0, 0]


def test_a_pruned_page_has_no_structure(save, engine, rows, counts):
    save(visit(1, STRUCTURED, structure=True), visit(2, STRUCTURED, structure=True))
    before = counts()
    prune_pages(engine, PruneSelection.of(url=address(1)))
    assert counts() == [number // 2 for number in before]
    cells = rows("SELECT text FROM placed_block WHERE table_row = 2 ORDER BY table_column")
    assert [cell["text"] for cell in cells] == ["Adults who travel in both directions", "12.50", "9.00"]


def test_the_tree_of_nodes_is_read_back(save, engine):
    save(visit(1, STRUCTURED, structure=True), visit(2))
    with read_transaction(engine) as connection:
        trees = read_structure_nodes(connection, [1, 2])
        stored = connection.scalar(select(page_structure.c.nodes))
    assert trees == {1: clean(STRUCTURED, address(1)).structure}
    assert len(stored) < len(STRUCTURED) / 2


def test_a_change_of_structure_alone_is_a_change_of_the_page(save, changed_since):
    first = visit(1, STRUCTURED, structure=True)
    save(first, visit(2, structure=True))
    before = changed_since()
    save(visit(1, STRUCTURED, day=1, structure=True))
    assert changed_since(before) == []
    save(visit(1, STRUCTURED.replace("<h3>", "<h4>").replace("</h3>", "</h4>"), day=2, structure=True))
    assert changed_since(before) == [1]
    before = changed_since()
    save(visit(2, day=1))
    assert changed_since(before) == [2]
    assert isinstance(before, Horizon)


def test_signs_that_no_database_takes_are_stored_as_others(save, rows, counts):
    hostile = STRUCTURED.replace("Passenger<", "Pass&#0;enger&#xD800;<").replace("next_ferry", "next\x00ferry\ud800")
    hostile = hostile.replace('"/harbour"', '"/har&#0;bour?a=&#xDFFF;"')
    save(visit(1, hostile.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), structure=True))
    assert all(counts())
    assert "\x00" not in rows("SELECT markdown FROM page_structure")[0]["markdown"]


def test_a_page_without_text_has_an_empty_structure(save, rows):
    empty = visit(1, "<html><body><nav><a href='/'>Home</a></nav></body></html>", structure=True)
    empty = replace(empty, page=replace(empty.page, blocks=()))
    assert empty.page.structure.read((), None).type is NodeType.DOCUMENT
    save(empty)
    assert rows("SELECT markdown FROM page_structure") == [{"markdown": ""}]
