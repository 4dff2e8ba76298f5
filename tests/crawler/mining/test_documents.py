"""Documents of a database and of its exports are the same."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cleaned_pages import address, fill

from crawler.errors import ExportError
from crawler.mining import Document, read_documents, read_export
from crawler.reading import open_database
from crawler.reading.exports.export import ExportRequest, write_export
from crawler.reading.exports.rows import ExportContent
from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, fresh_url):
    url = fresh_url(request.param)
    with opened_engine(url) as engine:
        prepare_schema(engine)
        fill(Store(engine), 5)
    return url


@pytest.mark.parametrize("unit", ["pages", "blocks"])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".jsonl.gz", ".csv"])
def test_an_export_has_the_documents_of_its_database(url, tmp_path, unit, suffix):
    path = tmp_path / f"out{suffix}"
    with opened_engine(url) as engine:
        write_export(engine, ExportRequest(path, suffix, ExportContent(unit)), lambda _: None)
    with open_database(url) as corpus:
        stored = read_documents(corpus, unit)
    exported = read_export(path)
    assert exported == [replace(row, columns=own.columns) for row, own in zip(stored, exported, strict=True)]
    assert {row.label("site") for row in exported} == {"example.org"}


def test_pages_begin_with_their_title(url):
    with open_database(url) as corpus:
        first, *_ = read_documents(corpus, site="example.org")
        assert read_documents(corpus, language="de") == []
    assert first.url == address(0)
    assert first.text.startswith("Ferry 0 is late\n")
    assert first.moment == datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "level", "label"),
    [
        ("news/science/space", 2, "news/science"),
        ("Computers:Software", 1, "Computers"),
        ("news", 1, "news"),
        (None, 1, None),
    ],
)
def test_levels_of_labels(value, level, label):
    assert Document(1, "", None, "", {"section": value}).label("section", level) == label


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "is no export"),
        ("a.jsonl", '{"id": 1}\n', "has no column"),
        ("a.parquet", "no Parquet", "cannot be read"),
        ("none.csv", None, "cannot be read"),
    ],
)
def test_another_file_is_named(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ExportError, match=message):
        read_export(tmp_path / name)
