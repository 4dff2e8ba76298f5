"""An explanation as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawler.explain.meanings import MEANINGS, SCALES

if TYPE_CHECKING:
    from crawler.explain.explained import Explained, Row
    from crawler.explain.origin import Found
    from crawler.storage.queries import PageContents, StoredText

_DIGITS = 6


def record(found: Found, explained: Explained) -> dict[str, Any]:
    """Return everything about the page and each of its blocks, as plain values."""
    cleaned = explained.cleaned
    words = explained.word_counts()
    return {
        "name": found.name,
        "url": found.url,
        "origin": found.origin,
        "method": cleaned.method,
        "score": SCALES[cleaned.method],
        "threshold": explained.threshold,
        "lowest_kept": explained.lowest_kept,
        "type": cleaned.type,
        "confidence": cleaned.confidence,
        "encoding": cleaned.encoding,
        "parse_warnings": list(cleaned.parse_warnings),
        "title": cleaned.title,
        "stored": None if explained.contents is None else _contents(explained.contents, explained.missing),
        "reasons": {
            reason: {"blocks": count, "words": words[reason], "meaning": MEANINGS[reason]}
            for reason, count in explained.counts().items()
        },
        "blocks": [_row(row) for row in explained.rows],
    }


def _contents(contents: PageContents, missing: int) -> dict[str, Any]:
    original = contents.mirrors
    return {
        "url": contents.url,
        "method": contents.method,
        "first_seen": contents.first_seen.isoformat(),
        "last_seen": contents.last_seen.isoformat(),
        "visits": contents.visits,
        "retired": None if contents.retired is None else contents.retired.isoformat(),
        "html_kept": contents.html is not None,
        "mirror_of": None if original is None else {"url": original.url, "distance": original.distance},
        "texts": len(contents.texts),
        "not_kept_now": missing,
        "gone": contents.gone,
    }


def _row(row: Row) -> dict[str, Any]:
    block, repeats = row.block, row.repeats
    return {
        "position": block.position,
        "kept": row.decision.kept,
        "reason": row.decision.reason,
        "score": round(row.decision.score, _DIGITS),
        "priority": block.priority,
        "overruled": row.overruled,
        "kind": block.kind,
        "words": block.words,
        "link_words": block.link_words,
        "path": block.path,
        "text": block.text,
        "repeats": None if repeats is None else {"position": repeats.position, "distance": repeats.distance},
        "stored": None if row.stored is None else _stored(row.stored),
    }


def _stored(text: StoredText) -> dict[str, Any]:
    return {
        "block": text.block_id,
        "duplicate": text.distance is not None,
        "distance": text.distance or 0,
        "url": text.url,
        "template": text.template,
    }
