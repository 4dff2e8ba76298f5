"""Somebody who follows a database by increments, as a search index or a corpus would."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from crawler.reading.exports.rows import ExportContent, RowFilter, read_rows
from crawler.storage import database, schema
from crawler.storage.database import opened_engine, read_transaction

PAUSE_SECONDS = 0.1


class Follower:
    """Holds what exports of one kind gave until now, by id."""

    def __init__(self, engine, content=ExportContent.BLOCKS, rows=RowFilter()):  # noqa: B008 — frozen
        self._engine, self._content, self._filter = engine, content, rows
        self._horizon = None
        self.rows, self.whole, self.times = {}, None, 0

    def catch_up(self):
        """Take an increment, the first time everything; return its rows as (change, id)."""
        with read_transaction(self._engine) as connection:
            taken = list(read_rows(connection, self._content, self._filter, self._horizon))
            self._horizon = database.read_position(connection).horizon
        for _, change, identity, *values in taken:
            if change == "gone":
                self.rows.pop(identity, None)
            else:
                self.rows[identity] = tuple(values)
        return [(change, identity) for _, change, identity, *_ in taken]

    def expected(self):
        """Return what a whole export gives now."""
        with read_transaction(self._engine) as connection:
            rows = read_rows(connection, self._content, self._filter)
            return {identity: tuple(values) for _, _, identity, *values in rows}


@contextmanager
def following(url):
    """Follow a database, made now if it is none, while others write it; give the followers, of blocks and of pages.

    At the end each has all there is, which `whole` says too; `times` are those that brought anything.
    """
    with opened_engine(url) as engine, ThreadPoolExecutor() as threads:
        schema.prepare_schema(engine)
        followers, over = (
            [Follower(engine, content) for content in (ExportContent.BLOCKS, ExportContent.PAGES)],
            Event(),
        )
        running = [threads.submit(follow, follower, over) for follower in followers]
        try:
            yield followers
        finally:
            over.set()
            for task in running:
                task.result()


def follow(follower, over):
    while not over.wait(PAUSE_SECONDS):
        follower.times += bool(follower.catch_up())
    follower.catch_up()
    follower.whole = follower.expected()
