"""Documents for other frameworks: of databases, of exports and of pages, with their metadata."""

import pytest
from cleaned_pages import STRUCTURED, address, fill, html, visit

from cleaning import PageError
from crawler.errors import ExportError
from crawler.loaders.documents import database_documents, export_documents, page_documents
from crawler.reading.exports.export import ExportRequest, write_export
from crawler.reading.exports.rows import ExportContent
from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, fresh_url):
    """Three pages, the second with a structure."""
    url = fresh_url(request.param)
    with opened_engine(url) as engine:
        prepare_schema(engine)
        store = Store(engine)
        crawl = fill(store, 3)
        store.save(crawl, [visit(1, STRUCTURED, day=1, structure=True)])
    return url


def test_pages_are_markdown_if_they_have_a_structure(url):
    first, second, _ = database_documents(url)
    assert first.metadata["url"] == address(0)
    assert "Ferry 0 is late" in first.text
    assert second.text.startswith("# The ferries of the lake")
    assert all(isinstance(value, str | int | float) for value in second.metadata.values())
    assert "text" not in second.metadata


def test_chunks_have_their_headings_and_numbers_of_their_own(url):
    chunks = list(database_documents(url, "chunks", chunk_words=40))
    assert len({chunk.id for chunk in chunks}) == len(chunks) > 3
    assert chunks[-1].metadata["headings"] == "The ferries of the lake / Timetable"


def test_blocks_and_filters(url):
    blocks = list(database_documents(url, "blocks", site="example.org", language="en"))
    assert {block.metadata["kind"] for block in blocks} >= {"heading", "paragraph"}
    assert list(database_documents(url, "blocks", language="de")) == []


def test_an_export_gives_the_documents_of_its_database(url, tmp_path):
    path = tmp_path / "pages.jsonl"
    with opened_engine(url) as engine:
        write_export(engine, ExportRequest(path, ".jsonl", ExportContent.PAGES), lambda _: None)
    exported = list(export_documents(path))
    assert [(row.id, row.text) for row in exported] == [(row.id, row.text) for row in database_documents(url)]


def test_pages_are_cleaned():
    (page,) = page_documents([(html(5), address(5)), "<p>"])
    assert page.id == page.metadata["url"] == address(5)
    assert "Ferry 5 is late" in page.text
    with pytest.raises(PageError):
        list(page_documents([b"%PDF-1.7 \0"]))


def test_another_content_is_named(url):
    with pytest.raises(ExportError, match="content is 'words'; it is pages, chunks or blocks"):
        list(database_documents(url, "words"))
