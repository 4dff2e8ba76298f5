"""The documents that loaders hand out: pages, chunks or blocks of a database or an export, or pages cleaned now."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from cleaning import clean_many
from crawler.errors import ExportError
from crawler.reading import open_database
from crawler.reading.exports.file import read_export_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from cleaning.structure.clean_page import CleanPage

Content = Literal["pages", "chunks", "blocks"]
_CHUNK_WORDS = 300
# What a framework keeps beside the text. Vector stores take texts and numbers only.
_LEFT_OUT = frozenset({"schema", "change", "text", "markdown", "positions", "block_ids"})


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A text with its metadata: texts and numbers, without empty values. `id` stays the same in later loads."""

    id: str
    text: str = field(repr=False)
    metadata: dict[str, str | int | float]


def database_documents(
    url: str,
    content: Content = "pages",
    *,
    chunk_words: int = _CHUNK_WORDS,
    overlap: int = 0,
    site: str | None = None,
    language: str | None = None,
) -> Iterator[LoadedDocument]:
    """Yield the pages of the database at a SQLAlchemy URL, their chunks, or their blocks.

    A page is its Markdown if its structure is stored, else its text. Chunks need the structure. The filters are those
    of `Corpus.pages`. Raises StoreError if there is no such database.
    """
    with open_database(url) as corpus:
        rows: Iterable[Any]
        match content:
            case "pages":
                rows = corpus.pages(site=site, language=language)
            case "blocks":
                rows = corpus.blocks(site=site, language=language)
            case "chunks":
                rows = corpus.chunks(chunk_words, overlap=overlap, site=site, language=language)
            case _:
                raise ExportError(f"content is {content!r}; it is pages, chunks or blocks")
        yield from (_document(row._asdict()) for row in rows)


def export_documents(path: str | Path) -> Iterator[LoadedDocument]:
    """Yield the rows of a file that `scrapy export` wrote. Raises ExportError for another file."""
    yield from map(_document, read_export_rows(path))


def page_documents(
    pages: Iterable[bytes | str | tuple[bytes | str, str | None]], *, processes: int = 1, **options: Any
) -> Iterator[LoadedDocument]:
    """Yield the main texts of pages as Markdown, cleaned by `clean_many` with these options.

    Pages without main text are left out. Raises what cleaning a page raises.
    """
    for number, page in enumerate(clean_many(pages, processes=processes, **options)):
        if isinstance(page, Exception):
            raise page
        if page.text:
            yield cleaned_document(page, page.url or str(number))


def cleaned_document(page: CleanPage, name: str) -> LoadedDocument:
    """Return the main text of a cleaned page as a document with a name of its own."""
    described = {
        "url": page.url,
        "title": page.title,
        "author": page.author,
        "published": page.published,
        "language": page.language,
        "type": page.type and page.type.value,
    }
    return LoadedDocument(name, page.markdown, _metadata(described))


def _document(row: Mapping[str, Any]) -> LoadedDocument:
    number = f"{row['id']}-{row['number']}" if "number" in row else str(row["id"])
    return LoadedDocument(number, row.get("markdown") or row["text"] or "", _metadata(row))


def _metadata(values: Mapping[str, Any]) -> dict[str, str | int | float]:
    metadata = {}
    for name, value in values.items():
        if value in (None, "") or name in _LEFT_OUT:
            continue
        plain = value.isoformat() if isinstance(value, datetime) else value
        metadata[name] = " / ".join(plain) if isinstance(plain, list) else plain
    return metadata
