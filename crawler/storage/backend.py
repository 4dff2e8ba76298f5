"""What the kinds of database differ in: opening one, transactions, failures, size, erasing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from crawler.mask import MASK, mask_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import URL, Connection, Engine
    from sqlalchemy.exc import DBAPIError

    from crawler.storage.claim import Claim
    from crawler.storage.journal import Horizon


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a driver's error means and what to do, as the end of a sentence that begins with the database.

    `passing` tells that the same transaction may succeed later, without anybody doing anything.
    """

    advice: str
    passing: bool = False


class Backend(Protocol):
    """One kind of database."""

    example: str
    """How its URLs look."""
    reading: Mapping[str, Any]
    """Execution options of a transaction that sees one state of the database and writes nothing."""
    writing: Mapping[str, Any]
    """Execution options of a transaction that writes."""

    def open(self, url: URL, *, must_exist: bool, busy_seconds: float) -> Engine:
        """Return an engine that waits so long for others' locks; raises StoreError for a URL that cannot be used."""

    def location(self, url: URL) -> str:
        """Return where the database is, fit for a log."""

    def size_bytes(self, engine: Engine) -> int:
        """Return how large the database is on disk."""

    def diagnose(self, error: DBAPIError) -> Diagnosis | None:
        """Return what an error of the driver means; None for one that a user cannot act on."""

    def scrub(self, engine: Engine) -> None:
        """Get rid of what deleted rows leave behind."""

    def claim(self, engine: Engine, crawl_id: int) -> Claim | None:
        """Take part in a crawl, as a process; None where only time tells which processes are alive."""

    def server(self, connection: Connection) -> str:
        """Return what tells the server, and the database on it, from others; "" where a file is all there is."""

    def mark(self, connection: Connection) -> int | None:
        """Return the mark of the running transaction, which is to write; None where the table lineage is empty."""

    def horizon(self, connection: Connection, number: int) -> Horizon:
        """Return which transactions a reader sees; `number` is that of the lineage."""

    def number_after(self, connection: Connection, last_mark: int) -> int:
        """Return the number of a lineage whose marks from now on are greater than one."""

    def transaction_id(self, connection: Connection) -> str | None:
        """Return the id by which the fate of the running transaction can be asked; None where commits are local."""

    def was_committed(self, connection: Connection, transaction_id: str) -> bool | None:
        """Tell whether an earlier transaction was committed; None while the server has not ended it."""


def masked(url: str) -> str:
    """Return a database URL fit for a log: without its password, also where it is malformed."""
    try:
        return mask_text(make_url(url).render_as_string(hide_password=True))
    except (ArgumentError, ValueError):
        return re.sub(r"[^/\s]*@", f"{MASK}@", re.sub(r"//.*@", f"//{MASK}@", url))
