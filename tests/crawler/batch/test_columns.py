"""The tables of a batch job as Parquet files."""

import pyarrow as pa
import pytest

from crawler.batch.columns import BLOCKS, PAGES, SIGHTINGS, create_table, read_rows, read_table
from crawler.batch.output import OutputFolder
from crawler.errors import BatchError
from crawler.reading.exports.rows import EXPORT_COLUMNS, STORED_COLUMNS, ExportContent

SMALL = pa.schema([("id", pa.int64()), ("text", pa.string())])


@pytest.fixture
def output(tmp_path):
    return OutputFolder(str(tmp_path))


def test_the_tables_begin_with_the_columns_of_an_export():
    for schema, content in ((PAGES, ExportContent.PAGES), (BLOCKS, ExportContent.BLOCKS)):
        exported = [column.name for column in EXPORT_COLUMNS[content] if column.name not in STORED_COLUMNS]
        assert schema.names[: len(exported)] == exported
    assert {"block_id", "distance", "exact"} <= set(SIGHTINGS.names)


def test_rows_are_read_as_they_were_written(output):
    with create_table(output, "small", SMALL) as writer:
        writer.add((1, "one"))
        writer.add_columns([[2, 3], ["two", None]])
        writer.add_table(pa.table({"id": [4], "text": ["four"]}, schema=SMALL))
    texts = ["one", "two", None, "four"]
    assert [(row["id"], row["text"]) for row in read_rows(output, "small", rows=2)] == list(enumerate(texts, 1))
    assert read_table(output, "small", ["text"]).column("text").to_pylist() == texts


def test_a_table_that_is_not_finished_does_not_appear(output):
    with pytest.raises(pa.ArrowInvalid), create_table(output, "small", SMALL) as writer:
        writer.add(("no number", "one"))
    assert not output.exists("small")


def test_a_damaged_table_is_named(output):
    with output.create("small") as file:
        file.write(b"PAR1 is not enough")
    with pytest.raises(BatchError, match=r"small in .* is damaged"):
        read_table(output, "small", ["id"])
