"""The stored pages and blocks as Python values and tables: what programs read a database with.

    from crawler.reading import open_database

    with open_database("sqlite:///blocks.db") as corpus:
        for page in corpus.pages(site="example.org"):
            print(page.url, page.words)
        frame = corpus.blocks(language="en").to_pandas()

Nothing is written. Each iteration reads one state of the database, whatever crawls write meanwhile.
"""

from __future__ import annotations

from contextlib import closing
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from crawler import urls
from crawler.errors import ExportError
from crawler.reading.changes import ChangeFilters, read_changes
from crawler.reading.copies import iterate_page_copies, read_site_copies
from crawler.reading.exports.formats import arrow_schema
from crawler.reading.exports.rows import (
    EXPORT_COLUMNS,
    ChunkLimits,
    ExportColumn,
    ExportContent,
    RowFilter,
    read_rows,
)
from crawler.reading.feedback import search_like
from crawler.reading.search import Rank, search
from crawler.reading.search_filters import SearchFilters
from crawler.storage.database import open_engine, read_transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Literal, Self

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from sqlalchemy.engine import Connection, Engine

    from crawler.reading.changes import PageChange
    from crawler.reading.copies import PageCopies
    from crawler.reading.search import FoundPage

_ROWS_PER_BATCH = 10_000
_CHANGES_PER_READ = 500
_PAIRS_MAX = 1_000_000
_QUERY_SECONDS = 600.0
_SCHEMA_COLUMNS = 2  # schema and change, which are those of an export

RowT = TypeVar("RowT")


class CorpusBlock(NamedTuple):
    """A block that a page shows now, as `scrapy export --blocks` describes its columns."""

    id: int
    page_id: int
    url: str
    site: str
    section: str | None
    title: str | None
    author: str | None
    published: str | None
    language: str | None
    position: int
    kind: str
    text: str
    words: int
    score: float
    priority: float
    first_seen: datetime
    description: str | None
    keywords: str | None
    license: str | None
    record_id: str | None
    access: str | None


class CorpusPage(NamedTuple):
    """A page with its whole text, as `scrapy export --pages` describes its columns."""

    id: int
    url: str
    site: str
    section: str | None
    title: str | None
    author: str | None
    published: str | None
    language: str | None
    first_seen: datetime
    blocks: int
    words: int
    text: str
    markdown: str | None
    headline: str | None
    stated_title: str | None
    description: str | None
    keywords: str | None
    license: str | None
    record_id: str | None
    access: str | None
    doubted_canonical: str | None
    duplicate_of: int | None
    event: str | None
    event_at: datetime | None


class CorpusChunk(NamedTuple):
    """A part of a page, as `scrapy export --chunks` describes its columns."""

    id: int
    number: int
    url: str
    site: str
    section: str | None
    title: str | None
    author: str | None
    published: str | None
    language: str | None
    headings: list[str]
    anchor: str | None
    positions: list[int]
    block_ids: list[int]
    size: int
    text: str
    description: str | None
    keywords: str | None
    license: str | None
    record_id: str | None
    access: str | None


class CorpusRows(Generic[RowT]):
    """Rows of a database: a value each when iterated, a table by `to_arrow`, `to_pandas` and `to_polars`.

    They are read anew each time. A row may be several rows of the table: a page that a search found has one for each
    hit. The tables of no rows have all columns.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[RowT]],
        columns: Sequence[ExportColumn],
        records: Callable[[RowT], Iterator[tuple[Any, ...]]],
    ) -> None:
        self._read = read
        self._records = records
        self.columns = tuple(columns)

    def __iter__(self) -> Iterator[RowT]:
        return self._read()

    def to_arrow(self, rows_per_batch: int = _ROWS_PER_BATCH) -> pa.RecordBatchReader:
        """Return an Arrow reader, which holds one batch in memory at a time; close it if you do not read to its end.

        Raises ExportError without pyarrow, which the extra `parquet` installs.
        """
        if rows_per_batch < 1:
            raise ExportError(f"rows_per_batch is {rows_per_batch}; it must be 1 or more")
        arrow, schema = arrow_schema(self.columns)

        def batches() -> Iterator[pa.RecordBatch]:
            records = (record for row in self for record in self._records(row))
            while batch := list(islice(records, rows_per_batch)):
                values = zip(zip(*batch, strict=True), schema.types, strict=True)
                yield arrow.RecordBatch.from_arrays(
                    [arrow.array(column, kind) for column, kind in values], schema=schema
                )

        reader: pa.RecordBatchReader = arrow.RecordBatchReader.from_batches(schema, batches())
        return reader

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as a DataFrame of pandas, which the extra `mining` installs."""
        with closing(self.to_arrow()) as reader:
            return reader.read_all().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a DataFrame of Polars, which the extra `mining` installs."""
        try:
            import polars as pl  # noqa: PLC0415 — an extra
        except ImportError as error:
            raise ExportError(f"to_polars needs Polars: pip install 'blocksieve[mining]' ({error})") from error
        with closing(self.to_arrow()) as reader:
            frame = pl.from_arrow(reader.read_all())
        assert isinstance(frame, pl.DataFrame)  # of a table
        return frame


class Corpus:
    """The content of a database. Its methods check their arguments at once, and read when their rows are iterated."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    def blocks(self, *, site: str | None = None, language: str | None = None) -> CorpusRows[CorpusBlock]:
        """Return the blocks that pages show now, without site boilerplate, in order of their ids.

        `site` is a registered domain, host:port or any URL of the site; `language` is a code such as "en".
        """
        return self._exported(CorpusBlock, ExportContent.BLOCKS, RowFilter.read(site, language))

    def pages(self, *, site: str | None = None, language: str | None = None) -> CorpusRows[CorpusPage]:
        """Return the pages with their whole texts, in order of their ids; see `blocks` for the filters."""
        return self._exported(CorpusPage, ExportContent.PAGES, RowFilter.read(site, language))

    def chunks(
        self,
        size: int,
        *,
        overlap: int = 0,
        unit: Literal["words", "characters"] = "words",
        site: str | None = None,
        language: str | None = None,
    ) -> CorpusRows[CorpusChunk]:
        """Return the pages cut into parts of at most `size` words, each with the headings above it.

        Pages without a stored structure have none. Iterating raises ExportError if no page has one.
        """
        if size < 1 or not 0 <= overlap < size:
            raise ExportError(f"size is {size} and overlap {overlap}; 0 <= overlap < size must hold")
        limits = ChunkLimits(size, overlap, unit)
        return self._exported(CorpusChunk, ExportContent.CHUNKS, RowFilter.read(site, language), limits)

    def search(
        self,
        query: str,
        *,
        rank: Rank | str = Rank.PRIORITY,
        filters: SearchFilters | None = None,
        limit: int = 10,
    ) -> CorpusRows[FoundPage]:
        """Return at most `limit` pages with blocks that match a query, the page with the best block first.

        docs/export.md describes the query language. Iterating raises QueryError for a malformed query.
        """
        chosen_rank = Rank(rank)
        chosen_filters = filters or SearchFilters()
        return self._pages_with_hits(
            lambda connection: search(connection, query, rank=chosen_rank, filters=chosen_filters, limit=limit)
        )

    def related(
        self,
        block_ids: Sequence[int],
        query: str = "",
        *,
        filters: SearchFilters | None = None,
        limit: int = 10,
    ) -> CorpusRows[FoundPage]:
        """Return at most `limit` pages with blocks like these, the most similar first (`search_like`)."""
        ids = list(block_ids)
        chosen_filters = filters or SearchFilters()
        return self._pages_with_hits(
            lambda connection: search_like(connection, ids, query, filters=chosen_filters, limit=limit)
        )

    def changes(
        self, *, since: date | None = None, until: date | None = None, site: str | None = None, kind: str | None = None
    ) -> CorpusRows[PageChange]:
        """Return what happened to pages, the latest first: days are in UTC and belong to the range.

        `kind` is one of those that docs/serve.md lists, such as "new" or "changed".
        """
        first, last = (day.date() if isinstance(day, datetime) else day for day in (since, until))
        filters = ChangeFilters(_site(site), None, kind, first, last)

        def read(connection: Connection) -> Iterator[PageChange]:
            cursor: str | None = None
            while True:
                part = read_changes(connection, filters, _CHANGES_PER_READ, cursor)
                yield from part.changes
                cursor = part.next
                if cursor is None:
                    return

        return self._rows(read, _CHANGE_COLUMNS, _change_records)

    def copies(self, *, original: str | None = None, site: str | None = None) -> CorpusRows[PageCopies]:
        """Return the pages that repeat texts of a page of another site, which was stored first.

        `original` and `site` restrict the two sites.
        """
        wanted = _site(original), _site(site)

        def read(connection: Connection) -> Iterator[PageCopies]:
            for pair in read_site_copies(connection, _PAIRS_MAX):
                if wanted[0] in {None, pair.original} and wanted[1] in {None, pair.site}:
                    yield from iterate_page_copies(connection, pair.original, pair.site)

        return self._rows(read, _COPY_COLUMNS, _copy_records)

    def _pages_with_hits(self, find: Callable[[Connection], list[FoundPage]]) -> CorpusRows[FoundPage]:
        return self._rows(lambda connection: iter(find(connection)), _HIT_COLUMNS, _hit_records)

    def _exported(
        self,
        row_type: Callable[..., RowT],
        content: ExportContent,
        row_filter: RowFilter,
        limits: ChunkLimits | None = None,
    ) -> CorpusRows[RowT]:
        def read(connection: Connection) -> Iterator[RowT]:
            for values in read_rows(connection, content, row_filter, limits=limits):
                yield row_type(*values[_SCHEMA_COLUMNS:])

        return self._rows(read, EXPORT_COLUMNS[content][_SCHEMA_COLUMNS:], _own_record)

    def _rows(
        self,
        read: Callable[[Connection], Iterator[RowT]],
        columns: Sequence[ExportColumn],
        records: Callable[[RowT], Iterator[tuple[Any, ...]]],
    ) -> CorpusRows[RowT]:
        def rows() -> Iterator[RowT]:
            with read_transaction(self._engine) as connection:
                yield from read(connection)

        return CorpusRows(rows, columns, records)


def open_database(url: str, *, query_seconds: float = _QUERY_SECONDS) -> Corpus:
    """Open the database at a SQLAlchemy URL for reading; use it in a `with` statement, or close it.

        with open_database("postgresql://reader@localhost/blocks") as corpus:
            corpus.pages().to_arrow()

    A single query that takes longer than `query_seconds` ends with StoreError. Raises StoreError if there is no such
    database.
    """
    return Corpus(open_engine(url, must_exist=True, query_seconds=query_seconds))


def _site(name: str | None) -> str | None:
    """Return the site as the database spells it. Raises QueryError for a text that names none."""
    return None if name is None else urls.parse_site(name)


def _own_record(row: Any) -> Iterator[tuple[Any, ...]]:
    yield row


_HIT_COLUMNS = (
    ExportColumn("page_id", "int64", "id of the page"),
    ExportColumn("url", "string", "address of the page"),
    ExportColumn("title", "string", "title of the page"),
    ExportColumn("site", "string", "its registered domain, or host:port"),
    ExportColumn("section", "string", "its section"),
    ExportColumn("language", "string", "its language"),
    ExportColumn("published", "string", "its date"),
    ExportColumn("block_id", "int64", "id of the block; null for a title"),
    ExportColumn("rank", "double", "rank of the hit"),
    ExportColumn("kind", "string", "kind of the block, or `title`"),
    ExportColumn("text", "string", "text of the block"),
)


def _hit_records(page: FoundPage) -> Iterator[tuple[Any, ...]]:
    described = tuple(getattr(page, column.name) for column in _HIT_COLUMNS[:7])
    for hit in page.hits:
        yield (*described, hit.block_id, hit.rank, hit.kind, hit.text)


_CHANGE_COLUMNS = (
    ExportColumn("id", "string", "id of the event"),
    ExportColumn("visited", "timestamp", "when the visit found it, in UTC"),
    ExportColumn("kind", "string", "`new`, `changed`, `moved`, `retired` or `returned`"),
    ExportColumn("page_id", "int64", "id of the page"),
    ExportColumn("url", "string", "address of the page"),
    ExportColumn("site", "string", "its registered domain, or host:port"),
    ExportColumn("title", "string", "title of the page as it is now"),
    ExportColumn("section", "string", "its section"),
    ExportColumn("language", "string", "its language"),
    ExportColumn("added", "list<element: string>", "texts that are new; of an edited text its new form"),
    ExportColumn("gone", "list<element: string>", "texts that are gone; of an edited text its old form"),
)


def _change_records(change: PageChange) -> Iterator[tuple[Any, ...]]:
    described = tuple(getattr(change, column.name) for column in _CHANGE_COLUMNS[:9])
    revision = change.revision
    added = [] if revision is None else [*revision.added, *(edit.new for edit in revision.edited)]
    gone = [] if revision is None else [*revision.gone, *(edit.old for edit in revision.edited)]
    yield (*described, [text.text for text in added], [text.text for text in gone])


_COPY_COLUMNS = (
    ExportColumn("original_id", "int64", "id of the page that was stored first"),
    ExportColumn("original_url", "string", "its address"),
    ExportColumn("copy_id", "int64", "id of the page that repeats it"),
    ExportColumn("copy_url", "string", "its address"),
    ExportColumn("texts", "int32", "number of repeated texts"),
    ExportColumn("words", "int32", "words in them"),
    ExportColumn("distance", "int32", "bits between the fingerprints of whole pages; null if they are not near"),
    ExportColumn("is_article", "bool", "whether so much is repeated that the page is a copied article"),
)


def _copy_records(pair: PageCopies) -> Iterator[tuple[Any, ...]]:
    original = (pair.original.id, pair.original.url)
    copy = (pair.copy.id, pair.copy.url)
    yield (*original, *copy, pair.texts, pair.words, pair.distance, pair.is_article)
