"""The rows of tables `block` and `sighting`: read, inserted, refreshed, marked gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, insert, or_, select, update

from crawler.storage import tokens
from crawler.storage.compare import Earlier, Original
from crawler.storage.models import block, sighting
from crawler.storage.tokens import Worded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Table, Update
    from sqlalchemy.engine import Connection

    from crawler.storage.compare import Kept
    from crawler.visit import Candidate


@dataclass(frozen=True, slots=True)
class Home:
    """The page that blocks are stored for, when it was visited, and the mark of the transaction."""

    page_id: int
    site: str
    at: datetime
    mark: int


@dataclass(frozen=True, slots=True)
class Sighted:
    """A candidate that is a duplicate of a stored block, word for word (`exact`) or nearly."""

    candidate: Candidate
    original: Original
    distance: int
    exact: bool


_BLOCKS = select(
    block.c.id, block.c.position, block.c.digest, block.c.fingerprint, block.c.text, block.c.gone_at
).where(block.c.page_id == bindparam("page"))
_SIGHTINGS = (
    select(
        sighting.c.id,
        sighting.c.position,
        sighting.c.digest,
        sighting.c.text,
        sighting.c.gone_at,
        sighting.c.block_id,
        block.c.text.label("original_text"),
        block.c.digest.label("original_digest"),
        block.c.fingerprint.label("original_fingerprint"),
    )
    .join(block, block.c.id == sighting.c.block_id)
    .where(sighting.c.page_id == bindparam("page"))
)
_INSERT_BLOCK = insert(block).returning(block.c.id, block.c.position)
_INSERT_SIGHTING = insert(sighting)
_REFRESHED: dict[str, Any] = {
    name: bindparam(f"new_{name}")
    for name in ("position", "kind", "path", "words", "score", "priority", "text", "last_seen")
}


def _refresh(table: Table) -> Update:
    """Return the statement that refreshes a row; the mark is written where it is not as exports had it."""
    shown = [name for name in _REFRESHED if name not in {"path", "last_seen"}]
    differs = [table.c[name].is_distinct_from(bindparam(f"new_{name}", type_=table.c[name].type)) for name in shown]
    changed = case((or_(table.c.gone_at.is_not(None), *differs), bindparam("mark")), else_=table.c.changed)
    values = _REFRESHED | {"gone_at": None, "changed": changed}
    return update(table).where(table.c.id == bindparam("row")).values(values)


_REFRESH_BLOCK = _refresh(block)
_REFRESH_SIGHTING = _refresh(sighting)
_REWORD = (
    update(sighting)
    .where(sighting.c.block_id == bindparam("of_block"))
    .values(text=func.nullif(func.coalesce(sighting.c.text, bindparam("old_text")), bindparam("new_text")))
)
_GONE: dict[str, Any] = {"gone_at": bindparam("at"), "changed": bindparam("mark")}
_MARK_BLOCK = update(block).where(block.c.id == bindparam("row")).values(_GONE)
_MARK_SIGHTING = update(sighting).where(sighting.c.id == bindparam("row")).values(_GONE)


def earlier(connection: Connection, page_id: int) -> list[Earlier]:
    """Return all that a page ever held, as blocks and as sightings, those gone included."""
    page = {"page": page_id}
    blocks = [
        Earlier(
            row_id=row.id,
            is_sighting=False,
            original=Original(row.id, row.text, row.digest, row.fingerprint),
            position=row.position,
            digest=row.digest,
            text=row.text,
            gone=row.gone_at is not None,
        )
        for row in connection.execute(_BLOCKS, page)
    ]
    sightings = [
        Earlier(
            row_id=row.id,
            is_sighting=True,
            original=Original(row.block_id, row.original_text, row.original_digest, row.original_fingerprint),
            position=row.position,
            digest=row.digest,
            text=row.original_text if row.text is None else row.text,
            gone=row.gone_at is not None,
        )
        for row in connection.execute(_SIGHTINGS, page)
    ]
    return blocks + sightings


def add_blocks(connection: Connection, home: Home, candidates: Sequence[Candidate]) -> dict[int, Original]:
    """Insert blocks and return them, with their ids, by position."""
    if not candidates:
        return {}
    own = {"site": home.site, "added": home.mark}
    rows = [_content(one, home) | own | {"text": one.decision.block.text} for one in candidates]
    ids = {row.position: row.id for row in connection.execute(_INSERT_BLOCK, rows)}
    tokens.add(connection, [_worded(ids[one.decision.block.position], one) for one in candidates])
    return {one.decision.block.position: _original(one, ids[one.decision.block.position]) for one in candidates}


def add_sightings(connection: Connection, home: Home, sightings: Sequence[Sighted]) -> None:
    """Insert sightings, each with its own text where it differs at all from the block's."""
    if not sightings:
        return
    rows = [
        _content(one.candidate, home)
        | {
            "block_id": one.original.block_id,
            "distance": one.distance,
            "text": _own_text(one.candidate, one.original),
        }
        for one in sightings
    ]
    connection.execute(_INSERT_SIGHTING, rows)


def refresh(connection: Connection, home: Home, kept: Iterable[Kept], originals: Mapping[int, Original]) -> None:
    """Bring kept rows up to date, and those gone back; `originals` are the kept blocks as they read now, by id.

    Where a block's wording changed without changing its terms, its sightings keep theirs.
    """
    blocks = [each for each in kept if not each.earlier.is_sighting]
    sightings = [each for each in kept if each.earlier.is_sighting]
    if reworded := [_reworded(each) for each in blocks if each.earlier.text != each.text]:
        connection.execute(_REWORD, reworded)
    if blocks:
        connection.execute(_REFRESH_BLOCK, [_renewed(each, home, each.text) for each in blocks])
        changed = [each for each in blocks if each.earlier.text != each.text]
        tokens.renew(connection, [_worded(each.earlier.row_id, each.candidate) for each in changed])
    if sightings:
        now = [originals.get(each.earlier.original.block_id, each.earlier.original) for each in sightings]
        rows = [
            _renewed(each, home, _own_text(each.candidate, original))
            for each, original in zip(sightings, now, strict=True)
        ]
        connection.execute(_REFRESH_SIGHTING, rows)


def mark_gone(connection: Connection, home: Home, rows: Iterable[Earlier]) -> None:
    """Note that blocks and sightings are on their page no more; nothing is deleted."""
    values = {"at": home.at, "mark": home.mark}
    blocks = [{"row": row.row_id} | values for row in rows if not row.is_sighting]
    sightings = [{"row": row.row_id} | values for row in rows if row.is_sighting]
    if blocks:
        connection.execute(_MARK_BLOCK, blocks)
    if sightings:
        connection.execute(_MARK_SIGHTING, sightings)


def _original(candidate: Candidate, block_id: int) -> Original:
    return Original(block_id, candidate.decision.block.text, candidate.digest, candidate.fingerprint)


def _worded(block_id: int, candidate: Candidate) -> Worded:
    found = candidate.decision.block
    return Worded(block_id, found.text, found.words, found.priority)


def _content(candidate: Candidate, home: Home) -> dict[str, Any]:
    found = candidate.decision.block
    return {
        "page_id": home.page_id,
        "position": found.position,
        "kind": found.kind.value,
        "path": found.path,
        "words": found.words,
        "score": candidate.decision.score,
        "priority": found.priority,
        "digest": candidate.digest,
        "fingerprint": candidate.fingerprint,
        "first_seen": home.at,
        "last_seen": home.at,
        "changed": home.mark,
    }


def _renewed(kept: Kept, home: Home, text: str | None) -> dict[str, Any]:
    found = kept.candidate.decision.block
    return {
        "row": kept.earlier.row_id,
        "new_position": found.position,
        "new_kind": found.kind.value,
        "new_path": found.path,
        "new_words": found.words,
        "new_score": kept.candidate.decision.score,
        "new_priority": found.priority,
        "new_text": text,
        "new_last_seen": home.at,
        "mark": home.mark,
    }


def _reworded(kept: Kept) -> dict[str, Any]:
    return {"of_block": kept.earlier.row_id, "old_text": kept.earlier.text, "new_text": kept.text}


def _own_text(candidate: Candidate, original: Original) -> str | None:
    text = candidate.decision.block.text
    return None if text == original.text else text
