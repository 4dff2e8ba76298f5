"""Writing on through an outage: a transaction is tried again until its database is back."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from threading import Event, main_thread
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from crawler.errors import StoreError, StoreUnavailableError
from crawler.storage.engine import backend, place, reading, writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Connection, Engine

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 10.0


class Patience:
    """How long a writer waits for a database that went away, in seconds; 0 does not wait.

    Once it has waited in vain it waits no more: a crawl that is closing writes what it can.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._over = Event()

    def end(self) -> None:
        """Stop waiting, now and from now on; any thread may say so."""
        self._over.set()

    def write(self, engine: Engine, work: Callable[[Connection], Result]) -> Result:
        """Do the work in one transaction, from its start again after a failure that passes, and return its result.

        The work is done once, also where the answer to a commit was lost. Raises StoreError, after the wait.
        """
        attempt = _Attempt(engine, work)
        pause, since = _FIRST_PAUSE_SECONDS, None
        while True:
            try:
                result = attempt.run()
            except StoreUnavailableError as error:
                if since is None:
                    since = monotonic()
                    logger.warning("%s; trying again for up to %g s", error, self._seconds)
                self._wait(pause, since, error)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                if since is not None:
                    logger.warning("The database is back after %.1f s", monotonic() - since)
                return result

    def _wait(self, pause: float, since: float, error: StoreError) -> None:
        left = since + self._seconds - monotonic()
        # Python ends a process only when its threads have ended, and a second Ctrl-C tells nobody but the main one.
        if left > 0 and main_thread().is_alive() and not self._over.wait(min(pause, left)):
            return
        self._over.set()
        raise StoreError(f"{error}; waited {monotonic() - since:.0f} s of DATABASE_WAIT_SECONDS={self._seconds:g}")


@dataclass(frozen=True, slots=True)
class _Done(Generic[Result]):
    """Work that was about to be committed."""

    transaction_id: str
    result: Result


class _Attempt(Generic[Result]):
    """Work that is tried again, but not where it was committed after all."""

    def __init__(self, engine: Engine, work: Callable[[Connection], Result]) -> None:
        self._engine = engine
        self._work = work
        self._done: _Done[Result] | None = None

    def run(self) -> Result:
        if self._done is not None and self._was_committed(self._done):
            return self._done.result
        self._done = None
        with writing(self._engine) as connection:
            result = self._work(connection)
            transaction_id = backend(self._engine).transaction_id(connection)
            self._done = None if transaction_id is None else _Done(transaction_id, result)
        return result

    def _was_committed(self, done: _Done[Result]) -> bool:
        with reading(self._engine) as connection:
            committed = backend(self._engine).was_committed(connection, done.transaction_id)
        if committed is None:
            raise StoreUnavailableError(f"the database {place(self._engine)} has not ended the last transaction yet")
        return committed
