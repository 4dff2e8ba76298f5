"""The sentences about a page and its blocks that the terminal and the HTML page share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawler.explain.meanings import SCALES
from crawler.explain.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.explain.explained import Explained, Row
    from crawler.explain.origin import Found
    from crawler.storage.queries import StoredText

_WHOLE_FROM = 1_000


def number(value: float) -> str:
    """Return a score or priority for readers."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.2f}"


def origin(found: Found, explained: Explained) -> str:
    """Return where the page was read, and what the database says of it as a whole."""
    contents = found.contents
    if contents is None:
        return "a saved page" if found.origin is Origin.FILE else "fetched now; not stored"
    seen = f"{contents.last_seen:%Y-%m-%d %H:%M} UTC"
    parts = [f"stored, last seen {seen}"]
    if found.origin is Origin.STORED:
        parts.append("decided anew from its stored HTML")
    else:
        parts += ["its HTML was not kept"] * (contents.html is None) + ["fetched now"]
    if contents.method != explained.cleaned.method:
        parts.append(f"its crawl used the method {contents.method}")
    if contents.retired is not None:
        parts.append(f"the page was gone on {contents.retired:%Y-%m-%d}")
    if contents.mirrors is not None:
        parts.append(f"mirror of {contents.mirrors.url} ({contents.mirrors.distance} bits)")
    return "; ".join(parts)


def difference(explained: Explained) -> str | None:
    """Return how far the stored texts are not those kept now; None where they are, or nothing is stored."""
    if explained.contents is None:
        return None
    new = sum(row.decision.kept and row.stored is None for row in explained.rows)
    if not new and not explained.missing:
        return None
    return (
        f"the database holds something else than what is kept now: {explained.missing:,} stored texts are not kept, "
        f"{new:,} kept blocks are not stored"
    )


def verdict(explained: Explained) -> Iterator[str]:
    """Yield what the method says of the whole page, and what its score means."""
    cleaned = explained.cleaned
    if cleaned.type is not None and cleaned.confidence is not None:
        yield f"page type {cleaned.type}, {cleaned.confidence:.0%} sure"
    yield f"score: {SCALES[cleaned.method]}"
    if cleaned.method == "default":
        yield f"favour {explained.options.favour}"
    if explained.threshold is not None:
        yield f"kept above {number(explained.threshold)}"
    if explained.lowest_kept is not None:
        yield f"lowest score kept {number(explained.lowest_kept)}"


def notes(row: Row) -> Iterator[str]:
    """Yield what is to say of a block beside its decision, score and priority."""
    if row.overruled:
        yield "its score would do, but the words of an element around it overrule that"
    if row.repeats is not None:
        yield f"repeats block {row.repeats.position}{_bits(row.repeats.distance)}"
    if row.stored is not None:
        yield from _stored(row.stored)


def _stored(text: StoredText) -> Iterator[str]:
    if text.distance is None:
        yield f"stored as block {text.block_id}"
    else:
        yield f"duplicate of stored block {text.block_id}{_bits(text.distance)} of {text.url}"
    if text.template:
        yield "template: on many pages of the site"


def _bits(distance: int) -> str:
    return f" but for {distance} bit{'s' * (distance != 1)}" if distance else ""
