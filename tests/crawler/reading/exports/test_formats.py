"""The files of an export contain the rows of the database."""

import csv
import gzip
import json
import re
from datetime import datetime

import pytest
from cleaned_pages import address
from exported import GERMAN, HOSTILE, URL
from openpyxl import load_workbook
from pyarrow import parquet
from sqlalchemy import text

from crawler.reading.exports.rows import EXPORT_COLUMNS, ChunkLimits, ExportContent, RowFilter

CONTENTS = (ExportContent.BLOCKS, ExportContent.PAGES)
FORMATS = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".xlsx")


def read(path):
    """Return the rows of an export as dictionaries, times as datetimes, and a CSV's cells without what guards them."""
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [plain(row) for row in csv.DictReader(file)]
    if path.suffix == ".xlsx":
        names, *rows = load_workbook(path).active.iter_rows(values_only=True)
        return [plain({name: cell_text(cell) for name, cell in zip(names, row, strict=True)}) for row in rows]
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [timed(json.loads(line)) for line in data.decode().splitlines()]


def cell_text(cell):
    """Return the text of a workbook's cell as CSV would have it."""
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    # A control character is written as a code.
    text = re.sub("_x([0-9A-F]{4})_", lambda code: chr(int(code[1], 16)), cell)
    return f"'{text}" if text.startswith("'") else text


def plain(row):
    kinds = {column.name: column.kind for columns in EXPORT_COLUMNS.values() for column in columns}
    parsers = {
        "string": lambda cell: cell[cell.startswith("'") :],
        "timestamp": datetime.fromisoformat,
        "double": float,
    }
    parsers |= {f"list<element: {kind}>": json.loads for kind in ("string", "int64")}
    return {name: parsers.get(kinds[name], int)(cell) if cell else None for name, cell in row.items()}


def timed(row):
    return row | ({"first_seen": datetime.fromisoformat(row["first_seen"])} if "first_seen" in row else {})


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_contains_the_rows_of_the_view(write, engine, ending):
    exported, path = write(f"blocks{ending}")
    with engine.connect() as connection:
        stored = [
            dict(row) for row in connection.execute(text("SELECT * FROM informative_block ORDER BY id")).mappings()
        ]
    rows = read(path)
    assert len(rows) == exported.rows == exported.new == len(HOSTILE) + 2
    assert all((row.pop("schema"), row.pop("change")) == (1, "new") for row in rows)
    for row, expected in zip(rows, stored, strict=True):
        moment = datetime.fromisoformat(expected.pop("first_seen")).replace(tzinfo=row["first_seen"].tzinfo)
        del expected["last_seen"]
        assert row == expected | {"first_seen": moment}
    assert [row["text"] for row in rows][: len(HOSTILE)] == list(HOSTILE)


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_contains_the_texts_of_pages(write, ending):
    _, path = write(f"pages{ending}", content=ExportContent.PAGES)
    first, second = read(path)
    assert (first["url"], first["text"], first["blocks"]) == (URL, "\n".join(HOSTILE), len(HOSTILE))
    assert (second["text"], second["blocks"]) == (f"kurz und gut\n{GERMAN}", 2)
    assert second["words"] == len(second["text"].split())


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_contains_markdown_and_chunks(write, structured, ending):
    _, path = write(f"pages{ending}", content=ExportContent.PAGES)
    assert [row["markdown"] for row in read(path)] == [None, None, structured.markdown, None]
    exported, path = write(f"chunks{ending}", content=ExportContent.CHUNKS, limits=ChunkLimits(50, 10))
    rows = read(path)
    expected = structured.chunks(50, overlap=10)
    assert exported.rows == len(rows) == len(expected) > 3
    for number, (row, chunk) in enumerate(zip(rows, expected, strict=True)):
        assert (row["id"], row["number"], row["url"], row["size"]) == (3, number, address(1), chunk.size)
        assert (row["text"], row["headings"], row["positions"]) == (
            chunk.text,
            list(chunk.headings),
            list(chunk.positions),
        )
    # The headline that begins the Markdown is a dropped block, so it is not stored.
    assert sum(len(row["positions"]) - len(row["block_ids"]) for row in rows) == 1


@pytest.mark.parametrize("content", list(ExportContent))
def test_columns_have_the_types_that_are_declared(write, structured, content):
    limits = ChunkLimits(50) if content is ExportContent.CHUNKS else None
    _, path = write("out.parquet", content=content, limits=limits)
    kinds = {"timestamp[us, tz=UTC]": "timestamp"}
    columns = [(field.name, kinds.get(str(field.type), str(field.type))) for field in parquet.read_schema(path)]
    assert columns == [(column.name, column.kind) for column in EXPORT_COLUMNS[content]]


def test_a_parquet_file_has_its_schema_and_cursor_in_the_metadata(write):
    exported, path = write("blocks.parquet")
    about = json.loads(parquet.read_schema(path).metadata[b"blocksieve"])
    assert about == {"schema": 1, "content": "blocks", "cursor": exported.cursor}


def test_no_cell_of_a_csv_file_is_a_formula_but_numbers_are_numbers(write):
    _, path = write("blocks.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        numbers = {
            row.pop(column.name)
            for column in EXPORT_COLUMNS[ExportContent.BLOCKS]
            if column.kind in {"double", "int32"}
        }
        assert "-0.5" in numbers
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())
    assert rows[0]["title"] == "'=HYPERLINK(1)"
    assert rows[4]["text"] == "''tis quoted"


def test_a_line_of_json_is_a_line_to_every_reader(write):
    exported, path = write("blocks.jsonl")
    assert len(path.read_text("utf-8").splitlines()) == exported.rows


def test_the_same_rows_give_the_same_bytes(write):
    assert write("one.jsonl.gz")[1].read_bytes() == write("two.jsonl.gz")[1].read_bytes()


@pytest.mark.parametrize("ending", FORMATS)
def test_an_empty_export_is_a_valid_file(write, ending):
    exported, path = write(f"none{ending}", rows=RowFilter(language="xx"))
    assert (exported.rows, read(path)) == (0, [])


@pytest.mark.parametrize(
    ("criteria", "sites"), [({"site": "b.example"}, {"b.example"}), ({"language": "en"}, {"a.example"})]
)
@pytest.mark.parametrize("content", CONTENTS)
def test_filters_select_sites_and_languages(write, criteria, sites, content):
    _, path = write("some.jsonl", rows=RowFilter(**criteria), content=content)
    assert {row["site"] for row in read(path)} == sites


def test_rows_that_are_gone_have_an_id_only(write, engine):
    exported, _ = write()
    with engine.begin() as connection:
        connection.execute(text("UPDATE page SET language = 'fr' WHERE id = 2"))
        connection.execute(text("UPDATE database_id SET sequence = sequence + 1"))
        connection.execute(
            text("UPDATE block SET gone_at = last_seen, changed = (SELECT sequence FROM database_id) WHERE id = 1")
        )
        connection.execute(text("UPDATE change_log SET changed = (SELECT sequence FROM database_id)"))
    later, path = write("later.parquet", since=exported.cursor)
    assert (later.rows, later.gone) == (1, 1)
    (row,) = read(path)
    assert {name: value for name, value in row.items() if value is not None} == {"schema": 1, "change": "gone", "id": 1}
