"""From scores to decisions: which blocks are kept, and what is to say of those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cleaning.blocks import Kind, PageType, Reason
from cleaning.compiled import decisions
from cleaning.hints import read_hints
from cleaning.learned.counted import running
from cleaning.scan import Count

if TYPE_CHECKING:
    from cleaning.blocks import Block, Decision
    from cleaning.hints import Hint
    from cleaning.learned.model import Judgement
    from cleaning.options import Options
    from cleaning.scan import Scan

# The weight of recall against precision in the expected score that the choice makes best (van Rijsbergen's beta).
_BETAS = {"balanced": 1.0, "precision": 0.5, "recall": 2.0}
_FEW_WORDS = 5
_MOST_LINKED = 0.5
_PROSE_CHARS = 60  # outside links
# A page whose best choice is not expected to score this has no main text: a shell that scripts fill, a notice.
_LEAST_EXPECTED = 0.4
# A text of so many words is kept in one place only; lines of code and cells of tables repeat on purpose.
_FEWEST_COPIED = 3
_REPEATING = (Kind.CODE, Kind.TABLE_CELL)


def decide(scan: Scan, found: Judgement, options: Options) -> list[Decision]:
    """Return a decision on each block of a scan, from what the model makes of it."""
    scores = found.scores
    hints = _Hints(scan, found.type)
    kept = choose(np.where(hints.overruled, 0.0, scores), scan.counts[:, Count.WORDS] + 1, _BETAS[options.favour])
    why = _Reasons(scan, kept & ~hints.overruled, hints)
    reasons = [why.of(place, block) for place, block in enumerate(scan.blocks)]
    if options.comments:
        reasons = [_with_comments(*each) for each in zip(reasons, scan.blocks, strict=True)]
    return decisions(scan.blocks, scores.tolist(), reasons)


def choose(scores: np.ndarray, weights: np.ndarray, beta: float) -> np.ndarray:
    """Return which blocks (n, bool) to keep for the best expected F-beta of their words.

    The expected number of words that are right, of so many kept, is the sum of weight x score. The best choice is
    some number of the highest scores (Lewis 1995): sure pages have a threshold near one half, doubtful ones a lower.
    None are kept where even that choice is expected to score too little.
    """
    order = np.argsort(-scores, kind="stable")
    right, kept = np.cumsum((scores * weights)[order]), np.cumsum(weights[order])
    expected = (1 + beta**2) * right / (kept + beta**2 * right[-1] + 1e-9)
    chosen = np.zeros(len(scores), bool)
    if (2 * right / (kept + right[-1] + 1e-9)).max() >= _LEAST_EXPECTED:  # of F1, whatever is favoured
        chosen[order[: expected.argmax() + 1]] = True
    return chosen


def _copies(scan: Scan, kept: np.ndarray) -> set[int]:
    """Return the places of the kept blocks that say in another part of the page what one before them says.

    Not in the same element: the lines of a refrain stand side by side.
    """
    parents = scan.parent[scan.node].tolist()
    first: dict[str, int] = {}
    copies: set[int] = set()
    for place in np.flatnonzero(kept).tolist():
        block = scan.blocks[place]
        if block.words < _FEWEST_COPIED or block.kind in _REPEATING:
            continue
        if first.setdefault(block.text, parents[place]) != parents[place]:
            copies.add(place)
    return copies


class _Hints:
    """What the words of each element say, and which blocks a sure one rules out."""

    def __init__(self, scan: Scan, page_type: PageType) -> None:
        counts = scan.counts
        unlinked = counts[:, Count.CHARS] - counts[:, Count.LINK_CHARS]
        words = counts[:, Count.WORDS] - counts[:, Count.LINK_WORDS]
        prose = running(np.where(unlinked > _PROSE_CHARS, words, 0))
        shares = ((prose[scan.last] - prose[scan.first]) / max(1, prose[-1])).tolist()
        self.of_elements = read_hints(scan.tags, scan.node_signs)
        self.of_inline = read_hints([""] * len(scan.blocks), scan.signs)
        doubted = Reason.COMMENT if page_type is PageType.FORUM else None
        self.sure: list[Reason | None] = []
        for parent, hint, share in zip(scan.parent.tolist(), self.of_elements, shares, strict=True):
            outer = self.sure[parent] if parent >= 0 else None
            self.sure.append(outer or _sure(hint, share, doubted))
        inline = [_sure(hint, 0.0, doubted) is not None for hint in self.of_inline]
        self.overruled = np.array([reason is not None for reason in self.sure])[scan.node] | np.array(inline, bool)


class _Reasons:
    """Why blocks of a page were kept or dropped: what the words around them say, where nothing around them was kept."""

    def __init__(self, scan: Scan, kept: np.ndarray, hints: _Hints) -> None:
        sums = running(kept)
        clear = (sums[scan.last] == sums[scan.first]).tolist()
        self._hints = hints
        self._kept, self._numbers = kept.tolist(), scan.node.tolist()
        self._copies = _copies(scan, kept)
        self._likely: list[Reason | None] = []
        for parent, hint, empty in zip(scan.parent.tolist(), hints.of_elements, clear, strict=True):
            outer = self._likely[parent] if parent >= 0 else None
            self._likely.append(outer or _reason(hint if empty else None))
        places = np.flatnonzero(kept)
        self._first = int(places[0]) if len(places) else len(kept)
        self._last = int(places[-1]) if len(places) else -1

    def of(self, place: int, block: Block) -> Reason:
        if self._kept[place]:
            return Reason.PAGE_DUPLICATE if place in self._copies else Reason.KEPT
        number = self._numbers[place]
        found = self._hints.sure[number] or self._likely[number] or _reason(self._hints.of_inline[place])
        if found:
            return found
        if block.link_words > _MOST_LINKED * block.words:
            return Reason.LINKS
        if not self._first < place < self._last:
            return Reason.OUTSIDE
        return Reason.SHORT if block.words <= _FEW_WORDS else Reason.LOW_SCORE


def _sure(hint: Hint | None, share: float, doubted: Reason | None) -> Reason | None:
    """Return the reason of a hint that overrules the model around so large a share of the page's prose."""
    return hint.reason if hint and 0 < hint.most >= share and hint.reason is not doubted else None


def _reason(hint: Hint | None) -> Reason | None:
    return hint.reason if hint else None


def _with_comments(reason: Reason, block: Block) -> Reason:
    return Reason.KEPT if reason is Reason.COMMENT and _says_something(block) else reason


def _says_something(block: Block) -> bool:
    return block.words > _FEW_WORDS and block.link_words <= _MOST_LINKED * block.words
