"""Cursors: where an export ended, as a text that the next one begins at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xxhash import xxh32_hexdigest

from crawler.errors import ExportError
from crawler.export.columns import VERSION, Content
from crawler.storage.journal import Horizon

if TYPE_CHECKING:
    from crawler.export.source import Filter
    from crawler.storage.lineage import Position

_FORM = re.compile(r"([0-9]{1,6})\.(.{1,50000})", re.ASCII)
_BODY = re.compile(r"(blocks|pages)\.([0-9a-f]{32})\.([0-9a-f]{8})\.([0-9]{1,18})((?:\.[0-9]{1,18})*)", re.ASCII)
_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where an export ended: what it held, of which rows, and the state of the database that it read."""

    content: Content
    rows: Filter
    position: Position

    def __str__(self) -> str:
        horizon = self.position.horizon
        parts = (self.content.value, self.position.lineage, _digest(self.rows), horizon.following, *horizon.running)
        return ".".join(map(str, (VERSION, *parts)))

    def since(self, text: str) -> Horizon:
        """Return where an earlier export ended, by its cursor.

        Raises ExportError for a text that is no cursor, one of another version, database or selection, and one of a
        state that this database has not come to.
        """
        form = _FORM.fullmatch(text)
        if form is not None and int(form[1]) != VERSION:
            raise ExportError(
                f"--since is a cursor of version {form[1]}, this version of Blocksieve writes version {VERSION}; "
                "export without --since, or with the version that made the cursor"
            )
        body = form and _BODY.fullmatch(form[2])
        if not body:
            shown = text[:_SHOWN_CHARS]
            raise ExportError(f"--since is {shown!r}, which is no cursor; it takes what an earlier export printed")
        if body[2] != self.position.lineage:
            raise ExportError(
                "--since is a cursor of another database, or of this one before it was restored; export without --since"
            )
        if body[1] != self.content or body[3] != _digest(self.rows):
            raise ExportError(
                f"--since is a cursor of an export of {body[1]}, made with other options than these; use the same "
                "--pages or --blocks, --site and --language, or export without --since"
            )
        horizon = Horizon(int(body[4]), tuple(int(one) for one in body[5].split(".") if one))
        if horizon.following > self.position.horizon.following:
            raise ExportError(
                "--since is a cursor of a later state than the database is in, as after restoring a backup; export "
                "without --since"
            )
        return horizon


def _digest(rows: Filter) -> str:
    return xxh32_hexdigest(f"{rows.site!r} {rows.language!r}".encode())
