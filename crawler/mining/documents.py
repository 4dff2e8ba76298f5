"""The documents that are mined: pages or blocks of a database or of an export."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from crawler.reading.exports.file import read_export_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from crawler.reading import Corpus

Unit = Literal["pages", "blocks"]

# A page without a date counts in the week in which it was first seen.
_DATE_COLUMNS = ("published", "first_seen")
_LONG_COLUMNS = frozenset({"text", "markdown"})


@dataclass(frozen=True, slots=True)
class Document:
    """A page or a block: its id, address and text; `columns` has what else describes it, by which it can be labelled.

    `text` begins with the title of a page. `moment` is its date, or when it was first seen; None if neither is known.
    """

    id: int
    url: str
    title: str | None
    text: str = field(repr=False)
    columns: Mapping[str, Any] = field(repr=False)
    moment: datetime | None = None

    def label(self, by: str, level: int | None = None) -> str | None:
        """Return the value of a column, None if there is none; the first `level` parts of a path."""
        value = self.columns.get(by)
        if value is None or level is None:
            return None if value is None else str(value)
        separator = next((sign for sign in ("/", ":", ">") if sign in str(value)), None)
        return str(value) if separator is None else separator.join(str(value).split(separator)[:level])


def read_documents(
    corpus: Corpus, unit: Unit = "pages", *, site: str | None = None, language: str | None = None
) -> list[Document]:
    """Return the pages of a database with their texts, or its blocks, in order of their ids.

    A block belongs to the page on which it was found first, and site boilerplate is left out. The filters are those of
    `Corpus.pages`.
    """
    rows: Iterable[Any] = (corpus.pages if unit == "pages" else corpus.blocks)(site=site, language=language)
    return list(map(_document, (row._asdict() for row in rows)))


def read_export(path: str | Path) -> list[Document]:
    """Return the rows of an export of pages or blocks (Parquet, JSON lines, CSV); rows that are gone are left out.

    Raises ExportError for a file that is none.
    """
    return list(map(_document, read_export_rows(path)))


def _document(row: Mapping[str, Any]) -> Document:
    title = row.get("title")
    is_page = "position" not in row
    text = f"{title}\n{row['text']}" if is_page and title else row["text"] or ""
    columns = {name: value for name, value in row.items() if name not in _LONG_COLUMNS}
    return Document(int(row["id"]), row["url"], title, text, columns, _moment(row))


def _moment(row: Mapping[str, Any]) -> datetime | None:
    for name in _DATE_COLUMNS:
        value = row.get(name)
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            continue  # a month or a year alone names no week
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None
