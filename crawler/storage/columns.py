"""What the tables' columns are made of: their types, their collation, and the metadata that all tables share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, DateTime, Identity, Index, Integer, MetaData, Text, TypeDecorator, text

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

_SIGN = 1 << 63
_MODULUS = 1 << 64


class Bits64(TypeDecorator[int]):
    """64 bits: unsigned in Python, signed in the database, which knows no others."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — SQLAlchemy's
        return None if value is None else signed(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — as above
        return None if value is None else unsigned(value)


class Moment(TypeDecorator[datetime]):
    """A point in time, aware, in UTC; on SQLite as text that sorts like the time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 — as above
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the database stores moments in UTC")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 — as above
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)


def signed(bits: int) -> int:
    """Return 64 unsigned bits as the signed number that the database stores."""
    return bits - _MODULUS if bits >= _SIGN else bits


def unsigned(number: int) -> int:
    """Return a stored signed number as 64 unsigned bits."""
    return number % _MODULUS


# SQLite numbers rows by itself only where the type is exactly INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")
# Texts that are looked up compare byte by byte on both: a server's locale can change with its operating system,
# and an index in its order is damaged then.
Key = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def required(name: str, kind: Any, *arguments: Any, **options: Any) -> Column[Any]:
    return Column(name, kind, *arguments, nullable=False, **options)


def row_id() -> Column[Any]:
    return required("id", Id, Identity(), primary_key=True)


def seen() -> list[Column[Any]]:
    return [required("first_seen", Moment), required("last_seen", Moment)]


def visited() -> list[Column[Any]]:
    """Return the history by which the next visit is decided, and that visit."""
    return [
        *seen(),
        required("last_changed", Moment),
        required("visits", Integer),
        required("changes", Integer),
        Column("next_visit", Moment),
    ]


def watched() -> list[Column[Any]]:
    """Return what tells whether something is still there: visits in a row that found nothing, when we gave up."""
    return [required("misses", Integer, server_default="0"), Column("retired_at", Moment)]


def partial_index(name: str, *columns: Any, where: str) -> Index:
    """Return an index of the rows that meet a condition, on both kinds of database."""
    condition = text(where)
    return Index(name, *columns, sqlite_where=condition, postgresql_where=condition)
