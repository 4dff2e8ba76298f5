"""All tables and views of the database: their columns, indexes and types.

A block's text is stored once. Another page with the same text, or nearly the same, has a sighting of that block, with
its own text where the two differ. A page that is nearly the same as another has a row in `near_duplicate_page`. A
later visit deletes nothing: it sets `gone_at` on the blocks and sightings that the page no longer shows.

The views `informative_block` and `page_text` leave out site boilerplate: texts with `boilerplate_since` set in
`document_frequency`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    column,
    table,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from crawler.storage.page_columns import FIRST_COLUMNS, LATER_COLUMNS, PAGE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import TableClause
    from sqlalchemy.engine import Connection, Dialect
    from sqlalchemy.schema import SchemaItem

    from crawler.storage.page_columns import PageColumn

_Item = TypeVar("_Item")

_SIGN = 1 << 63
_MODULUS = 1 << 64

# The key in the `info` of a table, column or index that only one kind of database has.
ONLY_ON = "only_on"

# SQLite takes 32,766 bound values in a statement, PostgreSQL 65,535.
_BATCH_SIZE = 10_000


class Bits64(TypeDecorator[int]):
    """64 bits: unsigned in Python, signed in the database, which has no unsigned integers."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — SQLAlchemy's
        return None if value is None else signed(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — as above
        return None if value is None else unsigned(value)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC. SQLite stores it as text that sorts by time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 — as above
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the database stores times in UTC")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 — as above
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)


# SQLite numbers rows by itself only where the type is exactly INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")
# Texts for look-ups compare byte by byte on both databases. A server's locale can change with its operating system,
# which damages an index in that order.
Key = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def signed(bits: int) -> int:
    """Return 64 unsigned bits as the signed number that the database stores."""
    return bits - _MODULUS if bits >= _SIGN else bits


def unsigned(number: int) -> int:
    """Return a stored signed number as 64 unsigned bits."""
    return number % _MODULUS


def batched(items: Sequence[_Item], size: int = _BATCH_SIZE) -> Iterator[Sequence[_Item]]:
    """Yield the items in parts of at most `size`, few enough for one statement; nothing for no items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def insert_on_conflict(connection: Connection, into: Table) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT of the connection's dialect, which has ON CONFLICT."""
    return sqlite.insert(into) if connection.dialect.name == "sqlite" else postgresql.insert(into)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to insert: the names of their columns, which hold neither bytes nor JSON, and the values of each row."""

    names: tuple[str, ...]
    values: Sequence[tuple[Any, ...]]


def to_json(values: Sequence[Any]) -> str:
    """Return a list as JSON for a statement's parameter, in a tenth of the time that the module `json` takes."""
    return msgspec.json.encode(values).decode()


def insert_rows(connection: Connection, into: Table, rows: Rows, *, at_once: bool = False) -> None:
    """Insert rows: the same statement for any number of them.

    SQLAlchemy would build a VALUES list of their number, which psycopg parses anew each time. SQLite runs a statement
    for each row, or with `at_once` one for all.
    """
    if not rows.values:
        return
    if connection.dialect.name == "sqlite" and not at_once:
        statement = _insert_statement(into, rows.names, connection.dialect)
        connection.exec_driver_sql(statement.sql, statement.values(rows.values))
    else:
        _insert_json(connection, into, rows)


def update_rows(connection: Connection, table: Table, rows: Mapping[int, Mapping[str, Any]]) -> None:
    """Set columns of rows, given by id; the same columns of several rows in one statement."""
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row_id, values in sorted(rows.items()):
        names = tuple(sorted(values))
        by_columns[names].append({"row": row_id} | {f"new_{name}": values[name] for name in names})
    for names, parameters in by_columns.items():
        new = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in names}
        connection.execute(update(table).where(table.c.id == bindparam("row")).values(new), parameters)


def reserve_ids(connection: Connection, counts: Mapping[Table, int]) -> dict[Table, Iterable[int]]:
    """Return so many ids for new rows of each table; nobody else gets them.

    On SQLite, where no other transaction writes meanwhile, they follow the greatest id that was ever given.
    AUTOINCREMENT remembers it, but a migration that copies the table forgets it.
    """
    if connection.dialect.name == "sqlite":
        last = ", ".join(
            f"max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{table.name}'), 0), "  # noqa: S608 — of our own names
            f"coalesce((SELECT max(id) FROM {table.name}), 0))"
            for table in counts
        )
        row = connection.exec_driver_sql(f"SELECT {last}").one()
        return {table: count(number + 1) for table, number in zip(counts, row, strict=True)}
    sequences = ", ".join(
        f"ARRAY(SELECT nextval('{table.name}_id_seq') FROM generate_series(1, %s))"  # noqa: S608 — of our own names
        for table in counts
    )
    row = connection.exec_driver_sql(f"SELECT {sequences}", tuple(counts.values())).one()
    return dict(zip(counts, row, strict=True))


def _insert_json(connection: Connection, into: Table, rows: Rows) -> None:
    statement = _insert_statement(into, rows.names, connection.dialect, from_json=True)
    json_rows: list[Any] = statement.values(rows.values)
    if connection.dialect.name != "sqlite":
        json_rows = [dict(zip(rows.names, values, strict=True)) for values in json_rows]
    connection.exec_driver_sql(statement.sql, (to_json(json_rows),))


@dataclass(frozen=True, slots=True)
class _InsertStatement:
    """An INSERT of rows with certain columns, and the functions that convert some of their values for the driver."""

    sql: str
    processors: tuple[tuple[int, Callable[[Any], Any]], ...]

    def values(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        for number, process in self.processors:
            driver_values = {
                value: process(value) for value in set(columns[number])
            }  # the times of a page's rows are the same
            columns[number] = [driver_values[value] for value in columns[number]]
        return list(zip(*columns, strict=True))


@lru_cache(maxsize=256)
def _insert_statement(
    into: Table, names: tuple[str, ...], dialect: Dialect, *, from_json: bool = False
) -> _InsertStatement:
    types = [into.c[name].type.dialect_impl(dialect) for name in names]
    bind_processors = ((number, kind.bind_processor(dialect)) for number, kind in enumerate(types))
    processors = tuple((number, process) for number, process in bind_processors if process is not None)
    columns = ", ".join(map(dialect.identifier_preparer.quote, names))
    if not from_json:
        values = f"VALUES ({', '.join('?' * len(names))})"
    elif dialect.name == "sqlite":
        values = f"SELECT {', '.join(f'value ->> {number}' for number in range(len(names)))} FROM json_each(?)"  # noqa: S608 — of numbers
    else:
        values = f"SELECT {columns} FROM json_populate_recordset(NULL::{into.name}, %s::json)"  # noqa: S608 — of our own names
    return _InsertStatement(f"INSERT INTO {into.name} ({columns}) {values}", processors)


def exists_on(item: SchemaItem, dialect: str) -> bool:
    """Return True if a table, column or index is ours and this kind of database has it."""
    if isinstance(item, Table) and item.name.startswith(TOKENS_INDEX):
        return False
    return bool(item.info.get(ONLY_ON, dialect) == dialect)


def _required(name: str, kind: Any, *arguments: Any, **options: Any) -> Column[Any]:
    return Column(name, kind, *arguments, nullable=False, **options)


def _row_id() -> Column[Any]:
    return _required("id", Id, Identity(), primary_key=True)


def _sequence(name: str) -> Column[Any]:
    """Return a column for the change sequence of a transaction (see change_log.py); 0 is before the first one."""
    return _required(name, BigInteger, server_default="0")


def _seen_columns() -> list[Column[Any]]:
    return [_required("first_seen", UtcDateTime), _required("last_seen", UtcDateTime)]


def _visit_columns() -> list[Column[Any]]:
    """Return the visit history, from which the next visit is scheduled, and that visit."""
    return [
        *_seen_columns(),
        _required("last_changed", UtcDateTime),
        _required("visits", Integer),
        _required("changes", Integer),
        Column("next_visit", UtcDateTime),
    ]


def _absence_columns() -> list[Column[Any]]:
    """Return the count of visits in a row that did not find the page, and when it was retired for that."""
    return [_required("misses", Integer, server_default="0"), Column("retired_at", UtcDateTime)]


# The types of page columns by what they are in Parquet.
_COLUMN_TYPES: Mapping[str, Any] = MappingProxyType({"string": Text, "int32": Integer})


def _page_column(declared: PageColumn) -> Column[Any]:
    kind = Key if declared.indexed else _COLUMN_TYPES[declared.kind]
    return Column(declared.name, kind, nullable=not declared.required, index=declared.indexed or None)


def _content_columns() -> list[Column[Any]]:
    """Return the columns that block and sighting share, so that either can become the other without loss."""
    return [
        _required("page_id", Id, ForeignKey("page.id"), index=True),
        _required("position", Integer),
        _required("kind", Text),
        _required("path", Text),
        _required("words", Integer),
        _required("score", Float),
        _required("priority", Float),
        _required("digest", Bits64),
        Column("fingerprint", Bits64),
        *_seen_columns(),
        Column("gone_at", UtcDateTime),
        _sequence("changed"),
    ]


def _partial_index(name: str, *columns: Any, where: str) -> Index:
    """Return an index of the rows that meet a condition, for both kinds of database."""
    condition = text(where)
    return Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


# AUTOINCREMENT never gives an id out twice: programs that follow the tables remember the last id they read.
crawl = Table(
    "crawl",
    metadata,
    _row_id(),
    _required("spider", Text),
    _required("arguments", JSON),
    _required("state", Text),
    _required("started", UtcDateTime),
    Column("finished", UtcDateTime),
    Column("reason", Text),
    _required("totals", JSON),
    Column("settings", JSON),  # those of its last command line
    Column("seeded", UtcDateTime),  # when all its start requests were in the queue
    Column("active_until", UtcDateTime),  # until then a process has promised to work at it
    sqlite_autoincrement=True,
)

page = Table(
    "page",
    metadata,
    _row_id(),
    _page_column(PAGE_COLUMNS[0]),
    _required("url_key", Key, unique=True),
    *map(_page_column, PAGE_COLUMNS[1:]),
    *_visit_columns(),
    _required("crawl_id", Id, ForeignKey("crawl.id")),
    Column("etag", Text),
    Column("last_modified", Text),
    _required("body_hash", Bits64),
    Column("page_fingerprint", Bits64),
    _required("method", Text),
    _required("scheme", Key, index=True),
    Column("encoding", Text),
    # Compressed with zstd. SQLite reads past it to reach later columns, so only columns for re-crawls follow it.
    Column("html", LargeBinary),
    # How to visit the page again; null where that is unknown.
    Column("spider", Text),
    Column("callback", Text),
    Column("cb_kwargs", JSON(none_as_null=True)),
    Column("arguments", JSON(none_as_null=True)),
    Column("headers", JSON(none_as_null=True)),  # of the request
    Column("meta", JSON(none_as_null=True)),
    Column("settings", JSON(none_as_null=True)),  # by which it was read: crawler.config.PAGE_SETTINGS
    Column("children", Integer),  # what its callback yielded besides the page; null where that is unknown
    Column("options_hash", Bits64),  # xxh64 of the cleaning method's options
    Column("lastmod", Text),  # what a sitemap has said since the last visit
    *_absence_columns(),
    Column("doubted_canonical", Key),  # the URL key that the page states and is not stored under
    _partial_index("ix_page_next_visit", "next_visit", where="retired_at IS NULL"),
    _partial_index("ix_page_doubted_canonical", "doubted_canonical", where="doubted_canonical IS NOT NULL"),
    sqlite_autoincrement=True,
)

block = Table(
    "block",
    metadata,
    _row_id(),
    # A copy of the page's site: with DEDUP_SCOPE=site, a text is looked up within its site.
    _required("site", Key),
    _required("text", Text),
    *_content_columns(),
    _sequence("added"),
    Index(None, "digest", "site"),
    sqlite_autoincrement=True,
)

sighting = Table(
    "sighting",
    metadata,
    _row_id(),
    _required("block_id", Id, ForeignKey("block.id"), index=True),
    _required("distance", Integer),
    Column("text", Text),  # null: the text of the block
    *_content_columns(),
)


def _fingerprint_table(name: str, owner: str) -> Table:
    """Return the table of a fingerprint index; see near_duplicates.py.

    The owner has no foreign key: checking it on each deletion would need an index as large as the table.
    """
    return Table(
        name,
        metadata,
        _required("fingerprint", Bits64, primary_key=True),
        _required(owner, Id, primary_key=True),
        _required("low", BigInteger, info={ONLY_ON: "sqlite"}),  # the low 32 bits
        Index(f"ix_{name}_low", "low", info={ONLY_ON: "sqlite"}),
        *(
            Index(
                f"ix_{name}_{part}",
                text(bits),
                postgresql_include=["fingerprint", owner],
                info={ONLY_ON: "postgresql"},
            )
            # The primary key serves the upper half and the topmost 16 bits.
            for part, bits in (
                ("band_0", "((fingerprint >> 0) & 65535)"),
                ("low_half", "(fingerprint & 4294967295)"),
                ("band_2", "((fingerprint >> 32) & 65535)"),
            )
        ),
        sqlite_with_rowid=False,
    )


fingerprint = _fingerprint_table("fingerprint", "block_id")
page_fingerprint = _fingerprint_table("page_fingerprint", "page_id")

# Not a column of `page`: SQLite would read it across the page's HTML.
near_duplicate_page = Table(
    "near_duplicate_page",
    metadata,
    _required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    _required("original_id", Id, ForeignKey("page.id"), index=True),
    _required("distance", Integer),
    _required("first_seen", UtcDateTime),
)

# What each page is called, beside `page.title`: not columns of `page`, for the same reason. A page that was stored
# before this table existed has no row until it is read again.
headline = Table(
    "headline",
    metadata,
    _required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    Column("headline", Text),  # what the page shows
    Column("stated_title", Text),  # its title element
    Column("version", Text),  # of Blocksieve, which read the page's metadata; null if they were read by other rules
)

# What a page's headline, title, author or date was until a visit found another value.
former_metadata = Table(
    "former_metadata",
    metadata,
    _required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    _required("name", Key, primary_key=True),
    _required("visit", Integer, primary_key=True, autoincrement=False),  # number of the page's visits until then
    Column("value", Text),  # null: the page stated none
    *_seen_columns(),
    _required("gone_at", UtcDateTime),
    sqlite_with_rowid=False,
)

# What visits found of pages, a row for a page and visit. `kind` is `new`, `changed`, `moved`, `retired` or `returned`,
# `moved_from` the address that the page had before. The rows of a deleted page are deleted with it.
page_event = Table(
    "page_event",
    metadata,
    _required("visited", UtcDateTime, primary_key=True),
    _required("page_id", Id, primary_key=True, autoincrement=False, index=True),
    _required("site", Key),
    _required("kind", Key),
    _required("headline", Boolean),  # whether the page has another headline or title
    Column("moved_from", Text),
    Index("ix_page_event_site", "site", "visited", "page_id"),
    sqlite_with_rowid=False,
)

site = Table("site", metadata, _required("site", Key, primary_key=True), _required("pages", Integer))

# What repeats between the pages of a site, for the cleaning methods that need it.
template = Table(
    "template",
    metadata,
    _required("site", Key, primary_key=True),
    _required("patterns", JSON),  # unsigned 64-bit numbers
    _required("pages", Integer),  # that it was learned from
    _required("learned", UtcDateTime),
    Column("applied", UtcDateTime),  # when all pages had been cleaned by it
)

# What readers corrected, the last time of each page: crawler/teaching/records.py. `page` is a corrected page as
# cleaning/teaching/corrections.py writes it, without a text; `marks` counts the marked blocks.
correction = Table(
    "correction",
    metadata,
    _required("url_key", Key, primary_key=True),
    _required("url", Text),
    _required("site", Key, index=True),
    _required("reader", Text),
    _required("corrected", UtcDateTime),
    _required("method", Text),
    _required("model", Text),  # SHA-256 of the trained model
    _required("marks", Integer),
    _required("page", JSON),
)
# The accepted models of sites, in JSON, and the number of corrected pages that they were learned from.
site_model = Table(
    "site_model",
    metadata,
    _required("site", Key, primary_key=True),
    _required("model", Text),
    _required("pages", Integer),
    _required("accepted", UtcDateTime),
    _required("reader", Text),
)


# The class or cluster that mining gave to a page or a block, `value`, under the name of the label; `score` is its
# confidence or similarity. A name has labels of pages or of blocks, not of both. The rows of a deleted page or block
# are deleted with it.
def _label_table(unit: str) -> Table:
    parent = ForeignKey(f"{unit}.id", ondelete="CASCADE")
    return Table(
        f"{unit}_label",
        metadata,
        _required("name", Key, primary_key=True),
        _required(f"{unit}_id", Id, parent, primary_key=True, autoincrement=False, index=True),
        _required("value", Key),
        _required("score", Float),
        _required("labelled", UtcDateTime),
        Index(f"ix_{unit}_label_value", "name", "value"),
        sqlite_with_rowid=False,
    )


page_label = _label_table("page")
block_label = _label_table("block")

# The number of pages of a site that show a text now. Texts without terms are not counted.
document_frequency = Table(
    "document_frequency",
    metadata,
    _required("site", Key, primary_key=True),
    _required("digest", Bits64, primary_key=True),
    _required("pages", Integer),
    Column("boilerplate_since", UtcDateTime),
    Column("changed", BigInteger),  # the change sequence of the last decision
    # Indexes of the few texts that could become boilerplate, and of those that are boilerplate.
    _partial_index("ix_document_frequency_site_pages", "site", "pages", where="pages > 1"),
    _partial_index("ix_document_frequency_boilerplate", "site", where="boilerplate_since IS NOT NULL"),
    _partial_index("ix_document_frequency_changed", "changed", where="changed IS NOT NULL"),
    sqlite_with_rowid=False,
)

# The words of each block and of each page's title, for search (see search_index.py). The row of a title has minus its
# page's id. So one index holds both. No foreign key, as above.
block_tokens = Table(
    "block_tokens",
    metadata,
    _required("block_id", Id, primary_key=True, autoincrement=False),
    _required("words", Integer),  # as `cleaning.terms.tokenise` cuts them; the density of a query is a share of them
    _required("priority", Float),  # a copy of the block's: ranking reads no other table
    _required("length", Integer),  # the number of tokens
    _required("tokens", Text),
    Index(
        "ix_block_tokens_tokens",
        text("array_to_tsvector(string_to_array(btrim(tokens), '  '))"),
        postgresql_using="gin",
        # Every search scans the entries that are not in the index yet.
        postgresql_with={"gin_pending_list_limit": 512},
        info={ONLY_ON: "postgresql"},
    ),
)

# SQLite's full-text index of the tokens, a virtual table. FTS5 adds tables of its own with this name as prefix.
TOKENS_INDEX = "block_fts"

# The number of blocks and tokens, for BM25: the sum over all rows. FTS5 counts by itself.
search_total = Table(
    "search_total",
    metadata,
    _row_id(),
    _required("blocks", BigInteger),
    _required("length", BigInteger),
    info={ONLY_ON: "postgresql"},
)

# The progress of `scrapy reclean`: one row for each run that is not complete.
reclean = Table(
    "reclean",
    metadata,
    _required("key", Key, primary_key=True),  # what the run does, as JSON
    _required("after_page", Id),
    _required("pages", BigInteger),
    _required("started", UtcDateTime),
)

# A request keeps its row until the next crawl of its spider and arguments begins. Its key prevents a second copy,
# also after it has ended.
request = Table(
    "request",
    metadata,
    _row_id(),
    _required("crawl_id", Id, ForeignKey("crawl.id")),
    _required("key", Key),
    _required("url", Text),
    _required("host", Key),
    _required("method", Text),
    _required("headers", JSON),  # name -> list of texts
    Column("body", LargeBinary),
    Column("callback", Text),  # null: `parse`
    Column("errback", Text),
    _required("cb_kwargs", JSON),
    _required("meta", JSON),
    _required("priority", Integer),
    _required("state", Text),
    _required("attempts", Integer),  # without an end
    Column("not_before", UtcDateTime),
    Column("lease_id", Text),
    Column("lease_until", UtcDateTime),
    Column("outcome", Text),
    Column("error", Text),
    _required("added", UtcDateTime),
    Column("ended", UtcDateTime),
    Index("uq_request_crawl_id_key", "crawl_id", "key", unique=True),
    _partial_index("ix_request_leased", "crawl_id", "lease_until", where="state = 'leased'"),
    _partial_index("ix_request_failed", "crawl_id", where="state = 'failed'"),
    sqlite_autoincrement=True,  # an id given out twice would make an old lease token valid again
)
# In the order in which the requests of a host are leased. `not_before` lets the index skip those that wait.
_partial_index(
    "ix_request_queued",
    request.c.crawl_id,
    request.c.host,
    request.c.priority.desc(),
    request.c.id,
    request.c.not_before,
    where="state = 'queued'",
)

# Shared by all crawls: a host sees visitors, not crawls.
host = Table(
    "host",
    metadata,
    _required("host", Key, primary_key=True),
    Column("next_at", UtcDateTime),
    _required("delay", Float, server_default="0"),  # seconds
    Column("paused_until", UtcDateTime),
    Column("reason", Text),
    _required("refusals", Integer, server_default="0"),  # in a row
)

# Listings: they lead to pages, and are visited again for new links.
section = Table(
    "section",
    metadata,
    _row_id(),
    _required("url", Text),
    _required("url_key", Key, unique=True),
    _required("site", Key, index=True),
    _required("spider", Text),
    Column("callback", Text),
    _required("cb_kwargs", JSON),
    _required("arguments", JSON),
    _required("headers", JSON),
    _required("meta", JSON),
    _required("settings", JSON),  # as of page
    *_visit_columns(),
    _required("links_hash", Bits64),  # xxh64 of the sorted keys of the requests that it yielded
    Column("etag", Text),
    Column("last_modified", Text),
    *_absence_columns(),
    _partial_index("ix_section_next_visit", "next_visit", where="retired_at IS NULL"),
)

# Other addresses that lead to a page or section: those of its variants, and those that redirect to it for good.
address = Table(
    "address",
    metadata,
    _required("url_key", Key, primary_key=True),
    _required("leads_to", Key, index=True),  # the URL key of the page or section
)

# Addresses without a page of their own: the last of their visits in a row that brought none.
empty_address = Table(
    "empty_address",
    metadata,
    _required("url_key", Key, primary_key=True),
    _required("site", Key, index=True),
    _required("outcome", Text),
    _required("visits", Integer),
    _required("last_visit", UtcDateTime),
)

# The structure of pages (structure.py). A place belongs to a text of the page: a block, a sighting, or a cell that
# cleaning dropped from a table that is kept as a whole. Only the place of such a cell has the text.
page_structure = Table(
    "page_structure",
    metadata,
    _required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    _required("markdown", Text),
    _required("nodes", LargeBinary),  # MessagePack compressed with zstd: crawler/visit.py
)
block_place = Table(
    "block_place",
    metadata,
    _required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    _required("position", Integer, primary_key=True, autoincrement=False),
    Column("section_position", Integer),  # of the heading above
    Column("heading_level", Integer),
    Column("list_depth", Integer),
    Column("item_number", Integer),
    Column("table_number", Integer),
    Column("table_row", Integer),
    Column("table_column", Integer),
    Column("header", Boolean),
    Column("code_language", Text),
    Column("text", Text),
    sqlite_with_rowid=False,
)
block_link = Table(
    "block_link",
    metadata,
    _required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    _required("position", Integer, primary_key=True, autoincrement=False),
    _required("number", Integer, primary_key=True, autoincrement=False),
    _required("url", Text),
    _required("text", Text),
    sqlite_with_rowid=False,
)

# What each crawl met on a site: crawler/health/conditions.py explains the counts.
site_crawl = Table(
    "site_crawl",
    metadata,
    _required("site", Key, primary_key=True),
    _required("crawl_id", Id, primary_key=True, autoincrement=False),
    _required("ended", UtcDateTime),
    *(
        _required(name, Integer)
        for name in (
            "pages new changed not_modified sections revisits vanished refused failed other blocks_seen blocks_kept "
            "words"
        ).split()
    ),
    *(_required(name, Integer, server_default="0") for name in ("taught", "unlike")),
    sqlite_with_rowid=False,
)

# The conditions that hold on sites. `sent` is when somebody was told, `ended` when a condition was over and nobody was
# told that yet.
alert = Table(
    "alert",
    metadata,
    _required("site", Key, primary_key=True),
    _required("condition", Key, primary_key=True),
    _required("since", UtcDateTime),
    _required("sentence", Text),
    Column("sent", UtcDateTime),
    Column("ended", UtcDateTime),
    sqlite_with_rowid=False,
)

# The sitemaps of long indexes that runs have read. `lastmod` is what the index said of it then, and `known` is true if
# all its entries were known.
sitemap = Table(
    "sitemap",
    metadata,
    _required("url_key", Key, primary_key=True),
    _required("site", Key, index=True),
    _required("last_read", UtcDateTime),
    Column("lastmod", Text),
    _required("known", Boolean),
)

# How often the `<lastmod>` dates in a host's sitemaps were right.
sitemap_trust = Table(
    "sitemap_trust",
    metadata,
    _required("host", Key, primary_key=True),
    _required("right", Integer),
    _required("wrong", Integer),
)

# The change sequences of each page. The row stays when the page is pruned, so it has no foreign key; it holds nothing
# about the page but its id.
change_log = Table(
    "change_log",
    metadata,
    _required("page_id", Id, primary_key=True, autoincrement=False),
    _sequence("added"),
    _sequence("described"),
    _required("changed", BigInteger, index=True),
)

removed_block = Table(
    "removed_block",
    metadata,
    _required("block_id", Id, primary_key=True, autoincrement=False),
    _required("changed", BigInteger, index=True),
)

# One row. On SQLite `sequence` is the last change sequence; on PostgreSQL it is added to the transaction's id.
database_id = Table(
    "database_id",
    metadata,
    _required("id", Key, primary_key=True),
    _required("server", Text),
    _required("sequence", BigInteger),
)

# The values of crawler.config.DATABASE_SETTINGS that its last writer used.
database_setting = Table(
    "database_setting", metadata, _required("name", Key, primary_key=True), _required("value", JSON)
)


_VIEW_TYPES: dict[str, Any] = {
    **dict.fromkeys(("id", "page_id", "block_id"), BigInteger),
    **dict.fromkeys(("position", "words"), Integer),
    **dict.fromkeys(("score", "priority"), Float),
    **dict.fromkeys(("first_seen", "last_seen"), UtcDateTime),
    **{declared.name: _COLUMN_TYPES[declared.kind] for declared in PAGE_COLUMNS},
}


def _view(name: str, *columns: str) -> TableClause:
    return table(name, *(column(column_name, _VIEW_TYPES.get(column_name, Text)) for column_name in columns))


informative_block = _view(
    "informative_block",
    *("id", "page_id"),
    *(declared.name for declared in FIRST_COLUMNS),
    *("position", "kind", "text", "words", "score", "priority", "first_seen", "last_seen"),
    *(declared.name for declared in LATER_COLUMNS),
)
page_text = _view("page_text", "page_id", "position", "kind", "text", "words", "score")
placed_block = _view("placed_block", "page_id", "position", "block_id", "kind", "text")

_IS_BOILERPLATE = """
EXISTS (
    SELECT 1 FROM document_frequency
    WHERE document_frequency.site = {site} AND document_frequency.digest = {digest}
      AND document_frequency.boilerplate_since IS NOT NULL
)
"""
_BLOCK_IS_BOILERPLATE = _IS_BOILERPLATE.format(site="block.site", digest="block.digest")
_SIGHTING_IS_BOILERPLATE = _IS_BOILERPLATE.format(site="there.site", digest="sighting.digest")
_PLACE_COLUMNS = """
    section_position, heading_level, list_depth, item_number, table_number, table_row, table_column, header,
    code_language
"""
_SAME_PLACE = "block_place.page_id = {row}.page_id AND block_place.position = {row}.position"
_FIRST_OF_PAGE = "".join(f", page.{declared.name}" for declared in FIRST_COLUMNS)
_LATER_OF_PAGE = "".join(f", page.{declared.name}" for declared in LATER_COLUMNS)
VIEWS: Mapping[str, str] = MappingProxyType(
    {
        "informative_block": f"""
    SELECT block.id, block.page_id{_FIRST_OF_PAGE}, block.position, block.kind, block.text, block.words, block.score,
           block.priority, block.first_seen, block.last_seen{_LATER_OF_PAGE}
    FROM block JOIN page ON page.id = block.page_id
    WHERE (block.gone_at IS NULL AND NOT {_BLOCK_IS_BOILERPLATE})
       OR EXISTS (
           SELECT 1 FROM sighting JOIN page AS there ON there.id = sighting.page_id
           WHERE sighting.block_id = block.id AND sighting.gone_at IS NULL AND NOT {_SIGHTING_IS_BOILERPLATE}
       )
    """,  # noqa: S608 — of constants
        "page_text": f"""
    SELECT block.page_id, block.position, block.kind, block.text, block.words, block.score, block.digest,
           block.id AS block_id, NULL AS sighting_id, NULL AS distance
    FROM block
    WHERE block.gone_at IS NULL AND NOT {_BLOCK_IS_BOILERPLATE}
    UNION ALL
    SELECT sighting.page_id, sighting.position, sighting.kind, coalesce(sighting.text, block.text), sighting.words,
           sighting.score, sighting.digest, sighting.block_id, sighting.id, sighting.distance
    FROM sighting JOIN block ON block.id = sighting.block_id JOIN page AS there ON there.id = sighting.page_id
    WHERE sighting.gone_at IS NULL AND NOT {_SIGHTING_IS_BOILERPLATE}
    """,  # noqa: S608 — of constants
        "page_change": f"""
    SELECT page_event.page_id, page_event.visited, page_event.kind, page_event.headline AS renamed,
           page_event.moved_from{_FIRST_OF_PAGE}, headline.headline,
           near_duplicate_page.original_id AS duplicate_of{_LATER_OF_PAGE}
    FROM page_event JOIN page ON page.id = page_event.page_id
    LEFT JOIN headline ON headline.page_id = page.id
    LEFT JOIN near_duplicate_page ON near_duplicate_page.page_id = page.id
    """,  # noqa: S608 — of constants
        "placed_block": f"""
    SELECT block.page_id, block.position, block.id AS block_id, block.kind, block.text, {_PLACE_COLUMNS}
    FROM block JOIN block_place ON {_SAME_PLACE.format(row="block")}
    WHERE block.gone_at IS NULL
    UNION ALL
    SELECT sighting.page_id, sighting.position, sighting.block_id, sighting.kind, coalesce(sighting.text, block.text),
           {_PLACE_COLUMNS}
    FROM sighting JOIN block ON block.id = sighting.block_id JOIN block_place ON {_SAME_PLACE.format(row="sighting")}
    WHERE sighting.gone_at IS NULL
    UNION ALL
    SELECT block_place.page_id, block_place.position, NULL, NULL, block_place.text, {_PLACE_COLUMNS}
    FROM block_place WHERE block_place.text IS NOT NULL
    """,  # noqa: S608 — of constants
    }
)
"""The SELECT of each view."""
