"""From scores to decisions: which blocks are kept, and why the others are dropped."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib import resources
from itertools import chain, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning._native import load_compiled
from cleaning.blocks import Decision, Kind, PageType, Reason
from cleaning.classifier.features import running_sums
from cleaning.leaf_table import Column

if TYPE_CHECKING:
    from cleaning._native.words import HintWords
    from cleaning.blocks import Block
    from cleaning.classifier.model import Prediction
    from cleaning.leaf_table import LeafTable
    from cleaning.options import Options


_LETTERS = re.compile("[a-z]+")
# Shares of a page's prose around which words of each level are believed against the trained model: some sites wrap all
# of a page in an `aside`.
_MAX_PROSE_SHARES = {"certain": 0.9, "sure": 0.4, "likely": 0.0}


class Hint(NamedTuple):
    """Why an element would be no content; this overrules the model where at most `most` of a page's prose is inside."""

    reason: Reason
    most: float


def read_hints(tags: list[str], signs: list[str]) -> list[Hint | None]:
    """Return what `read_hint` does of each element."""
    known = _compiled_hints()
    return list(map(read_hint, tags, signs)) if known is None else known.read(tags, signs)


@cache
def _compiled_hints() -> HintWords | None:
    module = load_compiled("words")
    if module is None:
        return None
    hints: HintWords = module.HintWords(_hint_table())
    return hints


@lru_cache(maxsize=1 << 13)
def read_hint(tag: str, signs: str) -> Hint | None:
    """Return what an element's tag and the words of its signs say, the surest of them; None for nothing."""
    table = _hint_table()
    own = table.get(f"<{tag}>")
    words = _LETTERS.findall(signs.lower())
    if _first_words().isdisjoint(words):
        return own
    pairs = (f"{first}-{second}" for first, second in pairwise(words))
    found = (table[word] for word in chain(words, pairs) if word in table)
    return max(chain((own,) if own else (), found), key=attrgetter("most"), default=None)


@cache
def _first_words() -> frozenset[str]:
    """Return the words with which an entry of the table begins."""
    return frozenset(word.partition("-")[0] for word in _hint_table())


@cache
def _hint_table() -> dict[str, Hint]:
    source = resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8")
    return {
        word: Hint(Reason(reason), _MAX_PROSE_SHARES[level])
        for reason, levels in tomllib.loads(source).items()
        for level, words in levels.items()
        for word in words.split()
    }


# The weight of recall against precision in the expected score that the choice makes best (van Rijsbergen's beta).
_BETAS = {"balanced": 1.0, "precision": 0.5, "recall": 2.0}
_FEW_WORDS = 5
_MAX_LINKED_SHARE = 0.5
_PROSE_MIN_CHARS = 60  # outside links
# A page whose best choice is not expected to score this has no main text: a shell that scripts fill, a notice.
_MIN_EXPECTED_F1 = 0.4
# A text of so many words is kept in one place only; lines of code and cells of tables repeat on purpose.
_MIN_REPEATED_WORDS = 3
_REPEATING_KINDS = (Kind.CODE, Kind.TABLE_CELL)


def decide(scan: LeafTable, found: Prediction, options: Options) -> list[Decision]:
    """Return a decision on each block of a scan, from what the model makes of it."""
    scores = found.scores
    hints = _PageHints(scan, found.type)
    kept = choose_blocks(
        np.where(hints.overruled, 0.0, scores), scan.counts[:, Column.WORDS] + 1, _BETAS[options.favour]
    )
    why = _PageReasons(scan, kept & ~hints.overruled, hints)
    reasons = [why.of(place, block) for place, block in enumerate(scan.blocks)]
    if options.comments:
        reasons = [_keep_comment(*each) for each in zip(reasons, scan.blocks, strict=True)]
    return _make_decisions(scan.blocks, scores.tolist(), reasons)


def _make_decisions(blocks: list[Block], scores: list[float], reasons: list[Reason]) -> list[Decision]:
    module = load_compiled("leaf_table")
    if module is None:
        return list(map(Decision, blocks, scores, reasons))
    decisions: list[Decision] = module.make_decisions(blocks, scores, reasons)
    return decisions


def choose_blocks(scores: np.ndarray, weights: np.ndarray, beta: float) -> np.ndarray:
    """Return which blocks (n, bool) to keep for the best expected F-beta of their words.

    The expected number of words that are right, of so many kept, is the sum of weight x score. The best choice is
    some number of the highest scores (Lewis 1995): sure pages have a threshold near one half, doubtful ones a lower.
    None are kept where even that choice is expected to score too little.
    """
    order = np.argsort(-scores, kind="stable")
    right, kept = np.cumsum((scores * weights)[order]), np.cumsum(weights[order])
    expected = (1 + beta**2) * right / (kept + beta**2 * right[-1] + 1e-9)
    chosen = np.zeros(len(scores), bool)
    if (2 * right / (kept + right[-1] + 1e-9)).max() >= _MIN_EXPECTED_F1:  # of F1, whatever is favoured
        chosen[order[: expected.argmax() + 1]] = True
    return chosen


def _repeated_blocks(scan: LeafTable, kept: np.ndarray) -> set[int]:
    """Return the places of the kept blocks that say in another part of the page what one before them says.

    Not in the same element: the lines of a refrain stand side by side.
    """
    parents = scan.parent[scan.node].tolist()
    first: dict[str, int] = {}
    copies: set[int] = set()
    for place in np.flatnonzero(kept).tolist():
        block = scan.blocks[place]
        if block.words < _MIN_REPEATED_WORDS or block.kind in _REPEATING_KINDS:
            continue
        if first.setdefault(block.text, parents[place]) != parents[place]:
            copies.add(place)
    return copies


class _PageHints:
    """What the words of each element say, and which blocks a sure one rules out."""

    def __init__(self, scan: LeafTable, page_type: PageType) -> None:
        counts = scan.counts
        unlinked = counts[:, Column.CHARS] - counts[:, Column.LINK_CHARS]
        words = counts[:, Column.WORDS] - counts[:, Column.LINK_WORDS]
        prose = running_sums(np.where(unlinked > _PROSE_MIN_CHARS, words, 0))
        shares = ((prose[scan.last] - prose[scan.first]) / max(1, prose[-1])).tolist()
        self.of_elements = read_hints(scan.tags, scan.node_signs)
        self.of_inline = read_hints([""] * len(scan.blocks), scan.signs)
        doubted = Reason.COMMENT if page_type is PageType.FORUM else None
        self.sure: list[Reason | None] = []
        for parent, hint, share in zip(scan.parent.tolist(), self.of_elements, shares, strict=True):
            outer = self.sure[parent] if parent >= 0 else None
            self.sure.append(outer or _sure_reason(hint, share, doubted))
        inline = [_sure_reason(hint, 0.0, doubted) is not None for hint in self.of_inline]
        self.overruled = np.array([reason is not None for reason in self.sure])[scan.node] | np.array(inline, bool)


class _PageReasons:
    """Why blocks of a page were kept or dropped: what the words around them say, where nothing around them was kept."""

    def __init__(self, scan: LeafTable, kept: np.ndarray, hints: _PageHints) -> None:
        sums = running_sums(kept)
        clear = (sums[scan.last] == sums[scan.first]).tolist()
        self._hints = hints
        self._kept, self._numbers = kept.tolist(), scan.node.tolist()
        self._copies = _repeated_blocks(scan, kept)
        self._likely: list[Reason | None] = []
        for parent, hint, empty in zip(scan.parent.tolist(), hints.of_elements, clear, strict=True):
            outer = self._likely[parent] if parent >= 0 else None
            self._likely.append(outer or _reason_of(hint if empty else None))
        places = np.flatnonzero(kept)
        self._first = int(places[0]) if len(places) else len(kept)
        self._last = int(places[-1]) if len(places) else -1

    def of(self, place: int, block: Block) -> Reason:
        if self._kept[place]:
            return Reason.PAGE_DUPLICATE if place in self._copies else Reason.KEPT
        number = self._numbers[place]
        found = self._hints.sure[number] or self._likely[number] or _reason_of(self._hints.of_inline[place])
        if found:
            return found
        if block.link_words > _MAX_LINKED_SHARE * block.words:
            return Reason.LINKS
        if not self._first < place < self._last:
            return Reason.OUTSIDE
        return Reason.SHORT if block.words <= _FEW_WORDS else Reason.LOW_SCORE


def _sure_reason(hint: Hint | None, share: float, doubted: Reason | None) -> Reason | None:
    """Return the reason of a hint that overrules the model around so large a share of the page's prose."""
    return hint.reason if hint and 0 < hint.most >= share and hint.reason is not doubted else None


def _reason_of(hint: Hint | None) -> Reason | None:
    return hint.reason if hint else None


def _keep_comment(reason: Reason, block: Block) -> Reason:
    return Reason.KEPT if reason is Reason.COMMENT and _says_something(block) else reason


def _says_something(block: Block) -> bool:
    return block.words > _FEW_WORDS and block.link_words <= _MAX_LINKED_SHARE * block.words
