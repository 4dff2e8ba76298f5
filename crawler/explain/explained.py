"""`explain`: each block of a page with its decision, and what it repeats."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cleaning.blocks import Page, ParseWarning, Reason
from cleaning.clean import clean, decide_leaves
from cleaning.methods import METHODS
from cleaning.methods.weighted import DistinctBlock
from cleaning.options import Options
from cleaning.parse import parse
from crawler.explain.repeats import Repeated, earlier_copies
from crawler.fingerprinting import Fingerprinter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Block, CleanPage, Decision
    from cleaning.leaves import Leaf
    from crawler.storage.queries import PageContents, StoredText


@dataclass(frozen=True, slots=True)
class Row:
    """A block of the page, with the text nodes that it is made of and the decision on it.

    `repeats` is the earlier block of the page that it is a duplicate of. `overruled` is True where the words of an
    element around it say more than its score, which others are kept with. `stored` is what stands for it in the
    database.
    """

    leaf: Leaf
    decision: Decision
    repeats: Repeated | None = None
    overruled: bool = False
    stored: StoredText | None = None

    @property
    def block(self) -> Block:
        return self.decision.block


@dataclass(frozen=True, slots=True)
class Explained:
    """A page with a row for each block, in the method's order; `cleaned` has its type, encoding and metadata.

    `threshold` is the score that the method asks of a block to be kept, None where it has no such number. `contents`
    is what the database knows of the page, `missing` how many of its texts are not among the blocks kept now.
    """

    page: Page
    cleaned: CleanPage
    options: Options
    rows: tuple[Row, ...]
    threshold: float | None = None
    contents: PageContents | None = None
    missing: int = 0

    @property
    def words(self) -> int:
        return sum(row.block.words for row in self.rows)

    @property
    def lowest_kept(self) -> float | None:
        """The lowest score of a kept block; None where nothing is kept."""
        return min((row.decision.score for row in self.rows if row.decision.kept), default=None)

    def counts(self) -> dict[Reason, int]:
        """Return blocks by reason, `kept` first, then the most frequent; they add up to the rows."""
        return _sorted(Counter(row.decision.reason for row in self.rows))

    def word_counts(self) -> dict[Reason, int]:
        """Return words by reason, in the order of `counts`; they add up to the page's words."""
        found: dict[Reason, int] = dict.fromkeys(self.counts(), 0)
        for row in self.rows:
            found[row.decision.reason] += row.block.words
        return found

    def beside(self, contents: PageContents) -> Explained:
        """Return the explanation with what the database knows of the page."""
        waiting: dict[str, deque[StoredText]] = {}
        for text in contents.texts:
            waiting.setdefault(text.text, deque()).append(text)
        rows = tuple(_with_stored(row, waiting) for row in self.rows)
        return replace(self, rows=rows, contents=contents, missing=sum(map(len, waiting.values())))


def explain(
    html: bytes | str | HtmlElement | Page,
    url: str | None = None,
    *,
    method: str = "default",
    encoding: str | None = None,
    fingerprinter: Fingerprinter | None = None,
    **options: Any,
) -> Explained:
    """Return why each block of a page is kept or dropped.

    It takes what `cleaning.clean` takes, decides the same and raises the same. Kept blocks are compared with one
    another as `fingerprinter` says. A page without text has no rows.
    """
    settled = Options.read(options)
    page = html if isinstance(html, Page) else parse(html, url, encoding, max_bytes=settled.max_bytes)
    cleaned = clean(page, method=method, **options)
    leaves = [judged.leaf for judged in decide_leaves(page, METHODS[method], settled)]
    decisions = cleaned.decisions
    repeated = earlier_copies(decisions, settled.weighted_distance if method == "weighted" else None)
    repeated |= _repeats(decisions, fingerprinter or Fingerprinter())
    overruled = _overruled(decisions) if method == "default" and not settled.comments else frozenset()
    rows = tuple(
        Row(leaf, decision, repeated.get(place), place in overruled)
        for place, (leaf, decision) in enumerate(zip(leaves, decisions, strict=True))
    )
    return Explained(page, cleaned, settled, rows, _threshold(leaves))


def is_empty(explained: Explained) -> bool:
    """Tell whether there was no element and no text at all."""
    return ParseWarning.EMPTY in explained.page.parse_warnings


def _repeats(decisions: Sequence[Decision], fingerprinter: Fingerprinter) -> dict[int, Repeated]:
    """Return, by place, the kept blocks that are stored as duplicates of an earlier one of the page."""
    places = [place for place, decision in enumerate(decisions) if decision.kept]
    blocks = fingerprinter.fingerprint(decisions).blocks
    return {
        place: Repeated(block.repeats, block.distance)
        for place, block in zip(places, blocks, strict=True)
        if block.repeats is not None
    }


def _overruled(decisions: Sequence[Decision]) -> frozenset[int]:
    """Return the places of dropped blocks with a higher score than kept ones: `default` keeps the highest it may."""
    chosen = (Reason.KEPT, Reason.PAGE_DUPLICATE)
    lowest = min((decision.score for decision in decisions if decision.reason in chosen), default=None)
    if lowest is None:
        return frozenset()
    return frozenset(
        place
        for place, decision in enumerate(decisions)
        if decision.reason not in (*chosen, Reason.TRUNCATED) and decision.score > lowest
    )


def _threshold(leaves: Sequence[Leaf]) -> float | None:
    return next((leaf.threshold for leaf in leaves if isinstance(leaf, DistinctBlock)), None)


def _sorted(counts: Mapping[Reason, int]) -> dict[Reason, int]:
    order = sorted(counts, key=lambda reason: (reason is not Reason.KEPT, -counts[reason], reason))
    return {reason: counts[reason] for reason in order}


def _with_stored(row: Row, waiting: Mapping[str, deque[StoredText]]) -> Row:
    texts = waiting.get(row.block.text) if row.decision.kept else None
    return replace(row, stored=texts.popleft()) if texts else row
