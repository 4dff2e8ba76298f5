"""The fingerprint scheme of a database: fingerprints of two schemes cannot be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from crawler.errors import StoreError
from crawler.storage.engine import place, reading
from crawler.storage.models import page

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine


def check(engine: Engine, scheme: str) -> None:
    """Raise StoreError if the database holds a page whose fingerprints are of another scheme."""
    with reading(engine) as connection:
        # Two look-ups at the ends of an index, whatever the number of pages.
        schemes = {connection.scalar(select(end(page.c.scheme))) for end in (func.min, func.max)}
    if others := schemes - {None, scheme}:
        raise StoreError(
            f"the database {place(engine)} holds fingerprints of scheme {others.pop()!r}, this version of "
            f"Blocksieve with this FINGERPRINT_WEIGHTING makes {scheme!r}, and the two cannot be compared; set it "
            "as it was, make all of them anew with `scrapy dedup --refingerprint`, or use another DATABASE_URL"
        )
