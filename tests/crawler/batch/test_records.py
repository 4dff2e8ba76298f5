"""Input files, and the answers in them."""

import gzip
import json
import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyarrow import parquet
from warcs import article, paragraph, record, write_warc

from crawler.batch.filters import Filtered, RecordFilter
from crawler.batch.inputs import find_inputs
from crawler.batch.records import read_records
from crawler.errors import InputError
from crawler.fetching.answers import Answer, LostAnswer, OtherRequests, Passed, PassedRecord

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PAGE = article("Storm", paragraph(1))
LIMIT = 1_000_000


def read(path, records=RecordFilter(), others=None):  # noqa: B008 — frozen
    (file,) = find_inputs([str(path)])
    return list(read_records(file, records, LIMIT, others or OtherRequests()))


def answers(records):
    return [(record.url, record.body) for record in records if isinstance(record, Answer)]


def passed(records):
    return [record.reason for record in records if isinstance(record, PassedRecord)]


def test_what_is_filtered_is_not_unpacked(tmp_path):
    pages = [
        {"url": "https://a.example/1", "body": PAGE},
        {"url": "https://b.example/2", "body": PAGE},
        {"url": "https://a.example/3", "body": b"no gzip", "status": 404, "headers": (("Content-Encoding", "gzip"),)},
        {"url": "https://a.example/4", "body": b"%PDF", "headers": (("Content-Type", "application/pdf"),)},
    ]
    record_filter = RecordFilter.of(hosts=["a.example"], types=["text/html"], statuses=["200"])
    records = read(write_warc(tmp_path / "a.warc.gz", pages), record_filter)
    assert answers(records) == [("https://a.example/1", PAGE.encode())]
    assert passed(records) == [Filtered.HOST, Filtered.STATUS, Filtered.TYPE]


def test_the_answer_to_a_post_is_known(tmp_path):
    pages = [
        {"url": "https://a.example/1", "body": PAGE, "method": "POST"},
        {"url": "https://a.example/2", "body": PAGE},
    ]
    others = OtherRequests()
    records = read(write_warc(tmp_path / "a.warc", pages, packed=False), others=others)
    assert [record.record_id in others.answer_ids for record in records if isinstance(record, Answer)] == [True, False]


def test_the_lines_of_a_wet_file_are_paragraphs(tmp_path):
    path = tmp_path / "a.warc.wet.gz"
    document = record("conversion", "https://a.example/1", b"First <line>\n\nSecond", media_type="text/plain")
    path.write_bytes(gzip.compress(document))
    ((_, body),) = answers(read(path))
    assert b"<p>First &lt;line&gt;</p>\n<p>Second</p>" in body


def lines(*rows):
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("name", "pack"), [("a.jsonl", bytes), ("a.ndjson.gz", gzip.compress), ("a.jsonl.zst", zstd.compress)]
)
def test_the_objects_of_json_lines_are_answers(tmp_path, name, pack):
    path = tmp_path / name
    row = {"url": "https://a.example/1", "html": PAGE, "date": "2026-03-01T12:00:00Z", "more": [1]}
    path.write_bytes(pack(lines(row, "", {"url": "https://a.example/2"}, "no JSON", {"url": 7, "html": PAGE}, row)))
    records = read(path)
    assert answers(records) == [("https://a.example/1", PAGE.encode())] * 2
    assert records[0].at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert [(record.reason, record.place.offset) for record in records if isinstance(record, PassedRecord)] == [
        (Passed.OTHER, 1),
        (LostAnswer.UNREADABLE, 2),
        (LostAnswer.UNREADABLE, 3),
    ]


def test_a_very_long_line_is_lost_alone(tmp_path):
    path = tmp_path / "a.jsonl"
    row = {"url": "https://a.example/1", "html": PAGE}
    path.write_bytes(
        lines({"url": "https://a.example/0", "html": "x" * 7 * LIMIT}, row, {**row, "html": "y" * 2 * LIMIT})
    )
    records = read(path)
    assert [type(record).__name__ for record in records] == ["PassedRecord", "Answer", "Answer"]
    assert len(records[2].body) == LIMIT + 1


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_a_packed_file_that_is_cut_is_named(tmp_path, name):
    path = tmp_path / name
    pack = gzip.compress if name.endswith(".gz") else zstd.compress
    path.write_bytes(pack(lines({"url": "https://a.example/1", "html": PAGE}) * 2_000)[:-20])
    with pytest.raises(InputError, match="cannot be read to its end"):
        read(path)


def test_a_file_of_another_format_is_named(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError, match="cannot be read to its end"):
        read(path)


def test_the_rows_of_a_parquet_file_are_answers(tmp_path):
    path = tmp_path / "a.parquet"
    table = {"url": ["https://a.example/1", None, "https://b.example/2"], "html": [PAGE, PAGE, None], "more": [1, 2, 3]}
    parquet.write_table(pa.table(table), path)
    records = read(path)
    assert answers(records) == [("https://a.example/1", PAGE.encode())]
    assert passed(records) == [Passed.OTHER, Passed.OTHER]


def test_a_row_that_cannot_be_read_is_lost_alone(tmp_path):
    """A text that is not UTF-8 and a moment that no calendar has are values of columns that can be read."""
    path, count = tmp_path / "a.parquet", 3
    urls = pa.array([f"https://a.example/{number}".encode() for number in range(count)])
    pages = pa.array([b"<p>caf\xe9</p>", PAGE.encode(), PAGE.encode()])
    pages = pa.Array.from_buffers(pa.string(), count, pages.buffers())
    dates = pa.array([0, 2**62, 86_400_000_000], pa.timestamp("us", "No/Where"))
    parquet.write_table(pa.table({"url": urls, "html": pages, "date": dates}), path)
    records = read(path)
    assert [record.body for record in records] == [b"<p>caf\xe9</p>", PAGE.encode(), PAGE.encode()]
    assert [record.at for record in records] == [
        datetime(1970, 1, 1, tzinfo=UTC),
        None,
        datetime(1970, 1, 2, tzinfo=UTC),
    ]


@pytest.mark.parametrize(
    "dates",
    [
        pa.array([19_783], pa.date32()),
        pa.array([1_709_251_200_000], pa.date64()),
        pa.array([1_709_251_200], pa.timestamp("s")),
        pa.array([1_709_251_200_000_000_001], pa.timestamp("ns")),
        pa.array(["2024-03-01"]),
        pa.array(["2024-03-01T01:00:00+01:00"]).dictionary_encode(),
    ],
    ids=lambda dates: str(dates.type),
)
def test_days_times_and_texts_are_dates(tmp_path, dates):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"url": ["https://a.example/"], "html": [PAGE], "date": dates}), path)
    (record,) = read(path)
    assert record.at == datetime(2024, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("html", pa.array([1]), "'html' .* has the type int64; it must have the type string or binary"),
        ("url", pa.array([["a"]]), "'url' .* has the type list<"),
        ("date", pa.array([1_709_251_200]), "'date' .* has the type int64; it must have the type timestamp or date"),
    ],
)
def test_a_column_of_another_type_is_named(tmp_path, name, values, message):
    path = tmp_path / "a.parquet"
    table = {"url": pa.array(["https://a.example/"]), "html": pa.array([PAGE]), name: values}
    parquet.write_table(pa.table(table), path)
    with pytest.raises(InputError, match=message):
        read(path)


def test_a_date_before_the_first_year_is_none(tmp_path):
    page = {"url": "https://a.example/", "body": PAGE, "date": "0001-01-01T00:00:00+05:00"}
    (record,) = read(write_warc(tmp_path / "a.warc.gz", [page]))
    assert record.at is None


def test_a_parquet_file_without_the_columns_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"address": ["https://a.example/"], "html": [PAGE]}), path)
    with pytest.raises(InputError, match="has no column 'url'; its columns are address, html"):
        read(path)
