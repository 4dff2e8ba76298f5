"""Somebody who follows a database by increments, as a search index or a corpus would."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from crawler.export.columns import Content
from crawler.export.source import Filter, changes, everything, source
from crawler.storage import lineage, schema
from crawler.storage.engine import opened, reading

PAUSE_SECONDS = 0.1


class Follower:
    """Holds what exports of one kind gave until now, by id."""

    def __init__(self, engine, content=Content.BLOCKS, rows=Filter()):  # noqa: B008 — frozen
        self._engine, self._content, self._filter = engine, content, rows
        self._horizon = None
        self.rows, self.whole, self.times = {}, None, 0

    def catch_up(self):
        """Take an increment, the first time everything; return its rows as (change, id)."""
        with reading(self._engine) as connection:
            taken = list(self._read(connection))
            self._horizon = lineage.position(connection).horizon
        for _, change, identity, *values in taken:
            if change == "gone":
                self.rows.pop(identity, None)
            else:
                self.rows[identity] = tuple(values)
        return [(change, identity) for _, change, identity, *_ in taken]

    def expected(self):
        """Return what a whole export gives now."""
        with reading(self._engine) as connection:
            found = everything(source(connection, self._content, self._filter))
            return {identity: tuple(values) for _, _, identity, *values in found}

    def _read(self, connection):
        found = source(connection, self._content, self._filter)
        if self._horizon is None:
            return everything(found)
        return changes(connection, found, self._content, self._horizon)


@contextmanager
def following(url):
    """Follow a database, made now if it is none, while others write it; give the followers, of blocks and of pages.

    At the end each has all there is, which `whole` says too; `times` are those that brought anything.
    """
    with opened(url) as engine, ThreadPoolExecutor() as threads:
        schema.prepare(engine)
        followers, over = [Follower(engine, content) for content in Content], Event()
        running = [threads.submit(follow, follower, over) for follower in followers]
        try:
            yield followers
        finally:
            over.set()
            for one in running:
                one.result()


def follow(follower, over):
    while not over.wait(PAUSE_SECONDS):
        follower.times += bool(follower.catch_up())
    follower.catch_up()
    follower.whole = follower.expected()
