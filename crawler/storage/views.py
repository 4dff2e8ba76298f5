"""The views, which are what programs that read the database, and exports, rely on; the migrations make them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Float, Integer, TableClause, Text, column, table

from crawler.storage.columns import Moment

_TYPES: dict[str, Any] = {
    "id": BigInteger,
    "page_id": BigInteger,
    "position": Integer,
    "words": Integer,
    "score": Float,
    "priority": Float,
    "first_seen": Moment,
    "last_seen": Moment,
}


def _view(name: str, columns: str) -> TableClause:
    return table(name, *(column(each, _TYPES.get(each, Text)) for each in columns.split()))


informative_block = _view(
    "informative_block",
    "id page_id url site section title author published language position kind text words score priority first_seen "
    "last_seen",
)
page_text = _view("page_text", "page_id position kind text words score")
