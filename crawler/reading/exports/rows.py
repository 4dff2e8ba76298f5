"""The rows of an export: their columns, the queries that read them, and the cursor for incremental exports."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal, Protocol

from sqlalchemy import and_, func, select
from xxhash import xxh32_hexdigest

from cleaning.structure.writers.chunks import Chunker
from crawler import urls
from crawler.errors import ExportError
from crawler.storage.change_log import Horizon, changed_blocks, changed_pages
from crawler.storage.page_columns import FIRST_COLUMNS, LATER_COLUMNS
from crawler.storage.structure import read_structure_nodes
from crawler.storage.tables import (
    block,
    change_log,
    headline,
    informative_block,
    near_duplicate_page,
    page,
    page_event,
    page_structure,
    page_text,
    placed_block,
)
from crawler.visit import TextForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from sqlalchemy import CompoundSelect, FromClause, Select
    from sqlalchemy.engine import Connection, RowMapping

    from cleaning.structure.nodes import StructureNode
    from crawler.storage.database import DatabasePosition

EXPORT_VERSION = 1
"""Version of the columns and of the cursor. It changes when a column is removed or changes its meaning."""

Row = tuple[Any, ...]
"""The values of an export's columns."""

_ROWS_PER_READ = 2_000

_BLOCKS_PER_BATCH = 500

_PAGES_PER_BATCH = 50

_ID_COLUMNS = 3  # schema, change and id

_CURSOR = re.compile(r"([0-9]{1,6})\.(.{1,50000})", re.ASCII)

_CURSOR_BODY = re.compile(
    r"(blocks|pages|chunks)\.([0-9a-f]{32})\.([0-9a-f]{8})\.([0-9]{1,18})((?:\.[0-9]{1,18})*)", re.ASCII
)

_SHOWN_CHARS = 80


class ExportContent(StrEnum):
    """The content of a row of an export."""

    BLOCKS = "blocks"
    PAGES = "pages"
    CHUNKS = "chunks"


class RowChange(StrEnum):
    """How a row changed since the export that the cursor is from. In a full export all rows are new."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """A column. `kind` is its type in Parquet. In a row that is gone, all but `schema`, `change` and `id` are null."""

    name: str
    kind: str
    meaning: str


_ROW_COLUMNS = (
    ExportColumn("schema", "int16", f"version of these columns: {EXPORT_VERSION}"),
    ExportColumn("change", "string", "`new`, `changed` or `gone`; in a whole export always `new`"),
)

_FIRST_COLUMNS, _LATER_COLUMNS = (
    tuple(ExportColumn(column.name, column.kind, column.meaning) for column in columns)
    for columns in (FIRST_COLUMNS, LATER_COLUMNS)
)

_STORED_COLUMNS = (
    ExportColumn("duplicate_of", "int64", "id of the page that it nearly repeats as a whole; null if there is none"),
    ExportColumn(
        "event",
        "string",
        "the latest that its publisher did to it: `new`, `changed`, `moved` or `returned`; null if it is from a time "
        "before events",
    ),
    ExportColumn("event_at", "timestamp", "when a visit found that, in UTC"),
)

STORED_COLUMNS = frozenset(column.name for column in _STORED_COLUMNS)
"""The columns that need a database: a batch job knows one visit of each page, and compares the pages by itself."""

EXPORT_COLUMNS: Mapping[ExportContent, tuple[ExportColumn, ...]] = {
    ExportContent.BLOCKS: (
        *_ROW_COLUMNS,
        ExportColumn("id", "int64", "the block's id; it stays in later visits, and is never given out twice"),
        ExportColumn("page_id", "int64", "id of the page that the block was first found on"),
        *_FIRST_COLUMNS,
        ExportColumn("position", "int32", "place among the page's blocks, from 0"),
        ExportColumn("kind", "string", "`heading`, `paragraph`, `list item`, `table cell`, `code`, `quote`"),
        ExportColumn("text", "string", "the block's text"),
        ExportColumn("words", "int32", "number of words"),
        ExportColumn("score", "double", "score by the page's method"),
        ExportColumn("priority", "double", "tag priority (PAB)"),
        ExportColumn("first_seen", "timestamp", "when the block was first found, in UTC"),
        *_LATER_COLUMNS,
    ),
    ExportContent.PAGES: (
        *_ROW_COLUMNS,
        ExportColumn("id", "int64", "the page's id; it stays in later visits, and is never given out twice"),
        *_FIRST_COLUMNS,
        ExportColumn("first_seen", "timestamp", "when the page was first visited, in UTC"),
        ExportColumn("blocks", "int32", "number of its blocks and sightings, without boilerplate"),
        ExportColumn("words", "int32", "number of words in them"),
        ExportColumn("text", "string", "their texts in reading order, one a line, or as `--text-style` says"),
        ExportColumn("markdown", "string", "the main text as Markdown, with boilerplate; null without `STRUCTURE`"),
        ExportColumn(
            "headline", "string", "the heading that the page shows; null if it has none, or before its next visit"
        ),
        ExportColumn("stated_title", "string", "the page's title element, with the site's name; null as above"),
        *_LATER_COLUMNS,
        ExportColumn(
            "doubted_canonical", "string", "key of the address that the page states for itself, if it is not believed"
        ),
        *_STORED_COLUMNS,
    ),
    ExportContent.CHUNKS: (
        *_ROW_COLUMNS,
        ExportColumn("id", "int64", "the page's id; all chunks of a page have it"),
        ExportColumn("number", "int32", "place among the page's chunks, from 0"),
        *_FIRST_COLUMNS,
        ExportColumn("headings", "list<element: string>", "the headings above the chunk, the highest first"),
        ExportColumn("anchor", "string", "the place of its innermost heading: `url`, `#` and it; null if it has none"),
        ExportColumn("positions", "list<element: int64>", "positions of the page's texts in it"),
        ExportColumn(
            "block_ids", "list<element: int64>", "ids of their blocks; a dropped headline or cell of a table has none"
        ),
        ExportColumn("size", "int32", "its size in words, or in the given unit"),
        ExportColumn("text", "string", "the chunk as Markdown, without addresses of links unless `--links` says so"),
        *_LATER_COLUMNS,
    ),
}


@dataclass(frozen=True, slots=True)
class RowFilter:
    """The rows that are exported: those of one site, of one language, or all."""

    site: str | None = None
    language: str | None = None

    @classmethod
    def read(cls, site: str | None, language: str | None) -> Self:
        """Return the filter for a site and a language as people write them; raises QueryError as `parse_site` does."""
        return cls(
            None if site is None else urls.parse_site(site), None if language is None else language.strip().lower()
        )

    def of(self, statement: Select[Any], table: FromClause) -> Select[Any]:
        """Return the statement with the filter's conditions on a table that has the columns `site` and `language`."""
        wanted = {"site": self.site, "language": self.language}
        return statement.where(*(table.c[name] == value for name, value in wanted.items() if value is not None))


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """How pages are cut into chunks: the largest size and the overlap, in this unit."""

    size: int
    overlap: int = 0
    unit: Literal["words", "characters"] = "words"


CHUNK_FORM = TextForm(links=False)
"""How chunks are written if no option says so."""


@dataclass(frozen=True, slots=True)
class ExportCursor:
    """The content and filter of an export, and the database state that it read. The next export starts here."""

    content: ExportContent
    rows: RowFilter
    position: DatabasePosition
    limits: ChunkLimits | None = None
    text_form: TextForm | None = None

    def __str__(self) -> str:
        horizon = self.position.horizon
        parts = (
            self.content.value,
            self.position.database_id,
            self._selection,
            horizon.following,
            *horizon.running,
        )
        return ".".join(map(str, (EXPORT_VERSION, *parts)))

    def since(self, text: str) -> Horizon:
        """Return the database state of an earlier export from its cursor.

        Raises ExportError for a text that is not a cursor, for a cursor of another version, database or selection, and
        for a state later than the database's.
        """
        form = _CURSOR.fullmatch(text)
        if form is not None and int(form[1]) != EXPORT_VERSION:
            raise ExportError(
                f"--since is a cursor of version {form[1]}, but this version of Blocksieve writes version "
                f"{EXPORT_VERSION}; "
                "export without --since, or with the version that made the cursor"
            )
        body = form and _CURSOR_BODY.fullmatch(form[2])
        if not body:
            start = text[:_SHOWN_CHARS]
            raise ExportError(f"--since is {start!r}, which is not a cursor; use the cursor of an earlier export")
        if body[2] != self.position.database_id:
            raise ExportError(
                "--since is a cursor of another database, or of this one before it was restored; export without --since"
            )
        if body[1] != self.content or body[3] != self._selection:
            raise ExportError(
                f"--since is a cursor of an export of {body[1]}, made with other options than these; use the same "
                "--pages, --blocks or --chunks, --links, --no-html, --text-style, --site and --language, or export "
                "without --since"
            )
        horizon = Horizon(int(body[4]), tuple(int(number) for number in body[5].split(".") if number))
        if horizon.following > self.position.horizon.following:
            raise ExportError(
                "--since is a cursor of a later state than the database is in, as after restoring a backup or in a "
                "copy of the file; export without --since"
            )
        return horizon

    @property
    def _selection(self) -> str:
        options = "".join(f" {option}" for option in (self.limits, self.text_form) if option is not None)
        return xxh32_hexdigest(f"{self.rows.site!r} {self.rows.language!r}{options}".encode())


def read_rows(
    connection: Connection,
    content: ExportContent,
    rows: RowFilter,
    since: Horizon | None = None,
    limits: ChunkLimits | None = None,
    text_form: TextForm | None = None,
) -> Iterator[Row]:
    """Yield the rows of the database state that the connection sees, in order of their ids.

    With `since`, yield only the rows that differ from that earlier state: of a page that differs all chunks. A row that
    is gone has only an id. Raises ExportError for chunks and `text_form` if no page has a structure.
    """
    source = _row_source(connection, content, rows, limits, text_form)
    return _all_rows(source) if since is None else _changed_rows(connection, source, content, since)


def _row_source(
    connection: Connection,
    content: ExportContent,
    rows: RowFilter,
    limits: ChunkLimits | None,
    text_form: TextForm | None,
) -> _RowSource:
    if content is ExportContent.BLOCKS:
        return _BlockRows(connection, rows)
    if limits is None and text_form is None:
        return _PageRows(connection, rows)
    if connection.scalar(select(page_structure.c.page_id).limit(1)) is None:
        raise ExportError(
            "no stored page has a structure, which --chunks, --links, --no-html and --text-style need; crawl with "
            "-s STRUCTURE=True, or run `scrapy reclean -s STRUCTURE=True` once"
        )
    if limits is None:
        return _PageRows(connection, rows, text_form)
    return _ChunkRows(connection, rows, limits, text_form or CHUNK_FORM)


def _all_rows(source: _RowSource) -> Iterator[Row]:
    for values in source.read_all():
        yield (EXPORT_VERSION, RowChange.NEW.value, *values)


def _changed_rows(connection: Connection, source: _RowSource, content: ExportContent, since: Horizon) -> Iterator[Row]:
    nothing = (None,) * (len(EXPORT_COLUMNS[content]) - _ID_COLUMNS)
    ids = (row[0] for row in _stream_rows(connection, source.changed_ids(since)))
    while batch := list(islice(ids, source.batch_size)):
        present: dict[int, list[Row]] = defaultdict(list)
        for values in source.read(batch):
            present[values[0]].append(values)
        added = source.added_at(batch)
        for row_id in batch:
            is_new = row_id in added and since.hides(added[row_id])
            if row_id in present:
                change = (RowChange.NEW if is_new else RowChange.CHANGED).value
                yield from ((EXPORT_VERSION, change, *values) for values in present[row_id])
            elif not is_new:
                yield (EXPORT_VERSION, RowChange.GONE.value, row_id, *nothing)


class _RowSource(Protocol):
    """Reads the rows of one kind of content. The values start with the column `id`."""

    batch_size: int

    def read_all(self) -> Iterator[Row]:
        """Yield the values of all rows in order of their ids."""

    def read(self, ids: Sequence[int]) -> Iterator[Row]:
        """Yield the values of the rows with these ids that belong to the export now."""

    def changed_ids(self, since: Horizon) -> CompoundSelect[int]:
        """Return the query for the ids of the rows that may have changed."""

    def added_at(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the change sequence at which each id was added. Deleted rows have none."""


class _BlockRows:
    batch_size = _BLOCKS_PER_BATCH

    def __init__(self, connection: Connection, rows: RowFilter) -> None:
        self._connection = connection
        names = [column.name for column in EXPORT_COLUMNS[ExportContent.BLOCKS][_ID_COLUMNS - 1 :]]
        self._select = rows.of(select(*(informative_block.c[name] for name in names)), informative_block)

    def read_all(self) -> Iterator[Row]:
        return _stream_rows(self._connection, self._select.order_by(informative_block.c.id))

    def read(self, ids: Sequence[int]) -> Iterator[Row]:
        return _stream_rows(self._connection, self._select.where(informative_block.c.id.in_(ids)))

    def changed_ids(self, since: Horizon) -> CompoundSelect[int]:
        return changed_blocks(since)

    def added_at(self, ids: Sequence[int]) -> dict[int, int]:
        added = self._connection.execute(select(block.c.id, block.c.added).where(block.c.id.in_(ids)))
        return {row.id: row.added for row in added}


class _PageRows:
    """Reads the pages that have a text. Pages that are retired, or all boilerplate, have none.

    Without `text_form`, Markdown is as it is stored and a text has a block a line.
    """

    batch_size = _PAGES_PER_BATCH
    content = ExportContent.PAGES

    def __init__(self, connection: Connection, rows: RowFilter, text_form: TextForm | None = None) -> None:
        self._connection = connection
        self._text_form = text_form
        self._names = [column.name for column in EXPORT_COLUMNS[self.content][_ID_COLUMNS - 1 :]]
        columns = [page.c[name] for name in self._names if name in page.c]
        self._select = rows.of(select(*columns), page).order_by(page.c.id)

    def read_all(self) -> Iterator[Row]:
        rows = self._connection.execute(self._select.execution_options(yield_per=_ROWS_PER_READ)).mappings()
        while batch := list(islice(rows, self.batch_size)):
            yield from self._rows_of(batch)

    def read(self, ids: Sequence[int]) -> Iterator[Row]:
        return self._rows_of(list(self._connection.execute(self._select.where(page.c.id.in_(ids))).mappings()))

    def changed_ids(self, since: Horizon) -> CompoundSelect[int]:
        return changed_pages(since)

    def added_at(self, ids: Sequence[int]) -> dict[int, int]:
        added = select(page.c.id, change_log.c.added).join(change_log, change_log.c.page_id == page.c.id, isouter=True)
        return {row.id: row.added or 0 for row in self._connection.execute(added.where(page.c.id.in_(ids)))}

    def _read_markdown(self, ids: Sequence[int], documents: Mapping[int, StructureNode]) -> dict[int, str]:
        if self._text_form is not None:
            return {page_id: self._text_form.write(document) for page_id, document in documents.items()}
        columns = select(page_structure.c.page_id, page_structure.c.markdown)
        return {row[0]: row[1] for row in self._connection.execute(columns.where(page_structure.c.page_id.in_(ids)))}

    def _write_texts(self, documents: Mapping[int, StructureNode]) -> dict[int, str | None]:
        if self._text_form is None:
            return {}
        return {page_id: self._text_form.write_text(document) for page_id, document in documents.items()}

    def _read_facts(self, ids: Sequence[int]) -> dict[int, RowMapping]:
        """Return what other tables know of pages: their names, original and latest event."""
        latest = select(func.max(page_event.c.visited)).where(page_event.c.page_id == page.c.id)
        newest_visit = latest.correlate(page).scalar_subquery()
        columns = select(
            page.c.id,
            headline.c.headline,
            headline.c.stated_title,
            near_duplicate_page.c.original_id.label("duplicate_of"),
            page_event.c.kind.label("event"),
            page_event.c.visited.label("event_at"),
        )
        sources = (
            page.outerjoin(headline)
            .outerjoin(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
            .outerjoin(page_event, and_(page_event.c.page_id == page.c.id, page_event.c.visited == newest_visit))
        )
        rows = self._connection.execute(columns.select_from(sources).where(page.c.id.in_(ids))).mappings()
        return {row["id"]: row for row in rows}

    def _rows_of(self, pages: Sequence[RowMapping]) -> Iterator[Row]:
        described = {row["id"]: row for row in pages}
        texts = (
            select(page_text.c.page_id, page_text.c.words, page_text.c.text)
            .where(page_text.c.page_id.in_(list(described)))
            .order_by(page_text.c.page_id, page_text.c.position)
        )
        documents = {} if self._text_form is None else read_structure_nodes(self._connection, list(described))
        markdown = self._read_markdown(list(described), documents)
        layouts = self._write_texts(documents)
        facts = self._read_facts(list(described))
        for page_id, text_rows in groupby(_stream_rows(self._connection, texts), key=lambda row: row[0]):
            blocks = list(text_rows)
            layout = layouts.get(page_id)
            own = {
                "blocks": len(blocks),
                "words": sum(row[1] for row in blocks),
                "text": "\n".join(row[2] for row in blocks) if layout is None else layout,
                "markdown": markdown.get(page_id),
            }
            yield self._row({**described[page_id], **facts[page_id], **own})

    def _row(self, values: Mapping[str, Any]) -> Row:
        return tuple(values[name] for name in self._names)


class _ChunkRows(_PageRows):
    """Reads the pages that have a structure, and cuts them into chunks: a row each, with the page's id."""

    content = ExportContent.CHUNKS

    def __init__(self, connection: Connection, rows: RowFilter, limits: ChunkLimits, form: TextForm) -> None:
        super().__init__(connection, rows)
        self._form = form
        self._select = self._select.where(page.c.id.in_(select(page_structure.c.page_id)))
        self._limits = limits

    def _rows_of(self, pages: Sequence[RowMapping]) -> Iterator[Row]:
        limits, form = self._limits, self._form
        ids = [described["id"] for described in pages]
        columns = select(placed_block.c.page_id, placed_block.c.position, placed_block.c.block_id)
        places = columns.where(placed_block.c.page_id.in_(ids), placed_block.c.block_id.is_not(None))
        blocks = {(page_id, position): block_id for page_id, position, block_id in self._connection.execute(places)}
        structures = read_structure_nodes(self._connection, ids)
        for described in pages:
            page_id = described["id"]
            cut = Chunker(
                structures[page_id], limits.size, limits.overlap, limits.unit, links=form.links is True, html=form.html
            )
            for number, chunk in enumerate(cut.chunks()):
                own = {
                    "number": number,
                    "headings": list(chunk.headings),
                    "anchor": chunk.anchor,
                    "positions": list(chunk.positions),
                    "block_ids": [blocks[page_id, place] for place in chunk.positions if (page_id, place) in blocks],
                    "size": chunk.size,
                    "text": chunk.text,
                }
                yield self._row({**described, **own})


def _stream_rows(connection: Connection, statement: Select[Any] | CompoundSelect[Any]) -> Iterator[Row]:
    """Yield rows as they arrive, so that only a few are in memory."""
    result: Iterable[Any] = connection.execute(statement.execution_options(yield_per=_ROWS_PER_READ))
    for row in result:
        yield tuple(row)
