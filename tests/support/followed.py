"""Somebody who follows a database by increments, as a search index or a corpus would."""

from crawler.export.columns import Content
from crawler.export.source import Filter, changes, everything, source
from crawler.storage import lineage
from crawler.storage.engine import reading


class Follower:
    """Holds what exports of one kind gave until now, by id."""

    def __init__(self, engine, content=Content.BLOCKS, rows=Filter()):  # noqa: B008 — frozen
        self._engine, self._content, self._filter = engine, content, rows
        self._horizon = None
        self.rows = {}

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
