"""What describes a page: each column is in the table, view, exports, batch jobs, feeds and the JSON of the web page."""

import json
from datetime import UTC, datetime

import msgspec
import pytest
from sqlalchemy import inspect, text

from cleaning.blocks import Metadata
from cleaning.structure.clean_page import CleanPage
from crawler.batch.columns import BLOCKS, PAGES
from crawler.page import PageItem, page_item, stored_item
from crawler.reading.exports.export import ExportRequest, write_export
from crawler.reading.exports.rows import EXPORT_COLUMNS, STORED_COLUMNS, ExportContent
from crawler.storage.database import read_transaction
from crawler.storage.page_columns import FIRST_COLUMNS, LATER_COLUMNS, PAGE_COLUMN_NAMES, PAGE_COLUMNS, describe
from crawler.storage.queries import read_stored_item
from crawler.web.records import PageAnswer

FIRST = ["url", "site", "section", "title", "author", "published", "language"]
LATER = [column.name for column in LATER_COLUMNS]
A = "https://a.example/1"
STATED = {
    "description": "How the mill works.",
    "keywords": ("mills", "water"),
    "license": "https://creativecommons.org/licenses/by/4.0/",
}
DESCRIBED = STATED | {"keywords": "mills, water"}
OF_BLOCKS = ["position", "kind", "text", "words", "score", "priority", "first_seen"]


def view_columns(engine, name):
    return [column["name"] for column in inspect(engine).get_columns(name)]


def test_the_columns_of_the_first_version_stay_in_their_order():
    assert [column.name for column in FIRST_COLUMNS] == FIRST
    assert [column.name for column in PAGE_COLUMNS] == [*FIRST, *LATER]


def test_the_table_has_each_column_with_its_type(engine):
    columns = {column["name"]: column for column in inspect(engine).get_columns("page")}
    for column in PAGE_COLUMNS:
        python_type = columns[column.name]["type"].python_type
        assert (python_type is int) == (column.kind == "int32"), column.name
        assert columns[column.name]["nullable"] != column.required


def test_the_view_begins_with_the_first_columns_and_ends_with_the_later_ones(engine):
    assert view_columns(engine, "informative_block") == ["id", "page_id", *FIRST, *OF_BLOCKS, "last_seen", *LATER]


@pytest.mark.parametrize(
    ("content", "own"),
    [
        (ExportContent.BLOCKS, OF_BLOCKS),
        (ExportContent.PAGES, ["first_seen", "blocks", "words", "text", "markdown", "headline", "stated_title"]),
        (ExportContent.CHUNKS, ["headings", "anchor", "positions", "block_ids", "size", "text"]),
    ],
)
def test_exports_have_the_first_columns_where_they_were(content, own):
    names = [column.name for column in EXPORT_COLUMNS[content] if column.name not in STORED_COLUMNS]
    later = [*LATER, "doubted_canonical"] if content is ExportContent.PAGES else LATER
    assert names[names.index("url") :] == [*FIRST, *own, *later]


def test_the_tables_of_batch_jobs_begin_with_the_columns_of_exports():
    for schema, content in ((PAGES, ExportContent.PAGES), (BLOCKS, ExportContent.BLOCKS)):
        names = [column.name for column in EXPORT_COLUMNS[content] if column.name not in STORED_COLUMNS]
        assert schema.names[: len(names)] == names


def test_feeds_begin_with_the_columns():
    assert list(PageItem.fields)[: len(PAGE_COLUMNS)] == [*FIRST, *LATER]
    assert list(PageItem.fields)[len(PAGE_COLUMNS) :] == [
        *("modified", "site_name", "image", "canonical", "type", "fetched", "text", "markdown", "blocks")
    ]


def test_the_answer_of_the_web_page_has_each_column_with_its_meaning():
    (_, schemas) = msgspec.json.schema_components([PageAnswer])
    properties = schemas["PageAnswer"]["properties"]
    assert list(properties)[: len(PAGE_COLUMNS)] == list(PAGE_COLUMN_NAMES)
    for column in PAGE_COLUMNS:
        assert properties[column.name]["description"] == column.meaning
        assert column.name in schemas["PageAnswer"]["required"]


def test_a_page_is_described_by_what_it_states():
    metadata = Metadata(title=" The\nmill ", authors=("Ada", "Bea"), published="2024-05-03", language="en")
    values = describe("https://me:secret@www.a.example/1", CleanPage(None, "default", None, metadata, ()))
    stated = {"title": "The mill", "author": "Ada, Bea", "published": "2024-05-03", "language": "en"}
    expected = dict.fromkeys(FIRST) | stated | {"url": "https://www.a.example/1", "site": "a.example"}
    assert {name: values[name] for name in FIRST} == expected


def test_keywords_end_where_there_is_no_room_for_another_one():
    keywords = tuple(f"{number:03}" + "x" * 97 for number in range(50))
    values = describe(A, CleanPage(None, "default", None, Metadata(keywords=keywords), ()))
    assert values["keywords"] == ", ".join(keywords[:9])


def test_description_keywords_and_licence_are_stored_exported_and_in_feeds(save, visit, engine, tmp_path):
    visited = visit(A, "one bridge", **STATED)
    save(visited)
    names = ", ".join(DESCRIBED)
    with read_transaction(engine) as connection:
        for table in ("page", "informative_block"):
            (row,) = connection.execute(text(f"SELECT {names} FROM {table}")).mappings()
            assert row == DESCRIBED
        stored = stored_item(read_stored_item(connection, A, A), datetime(2024, 5, 1, tzinfo=UTC))
    for content in (ExportContent.BLOCKS, ExportContent.PAGES):
        path = tmp_path / f"{content}.jsonl"
        write_export(engine, ExportRequest(path, ".jsonl", content), lambda _: None)
        assert json.loads(path.read_text()).items() >= DESCRIBED.items()
    assert dict(page_item(visited)).items() >= DESCRIBED.items() <= dict(stored).items()


def test_another_description_is_a_change_for_exports_but_not_of_the_page(save, visit, rows):
    save(visit(A, "one bridge", **STATED))
    before = rows("SELECT described FROM change_log")
    (saved,) = save(visit(A, "one bridge", day=1, **STATED | {"description": "How a mill works."}))
    assert saved.state == "unchanged"
    assert rows("SELECT description FROM page") == [{"description": "How a mill works."}]
    assert rows("SELECT described FROM change_log") != before
