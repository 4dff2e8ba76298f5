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
from cleaning.blocks import KEPT, Decision, Kind, PageType, Reason
from cleaning.classifier.features import running_sums
from cleaning.leaf_table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning._native.words import HintWords
    from cleaning.blocks import Block
    from cleaning.classifier.model import Prediction
    from cleaning.leaf_table import LeafTable
    from cleaning.options import Options

_LETTERS = re.compile("[a-z]+")
# The largest share of a page's prose around which a hint of each level overrules the trained model: some sites wrap the
# whole page in an `aside`.
_MAX_PROSE_SHARES = {"certain": 0.9, "sure": 0.4, "likely": 0.0}
# The weight of recall against precision in the expected score (van Rijsbergen's beta), by the option `favour`.
_BETAS = {"balanced": 1.0, "precision": 0.5, "recall": 2.0}
# On a page whose comments have more of the expected main text, they are the posts of a discussion.
_DISCUSSION_SHARE = 0.5
_FEW_WORDS = 5
_MAX_LINKED_SHARE = 0.5
_PROSE_MIN_CHARS = 60  # outside links
# A page with a lower expected F1 has no main text: an empty shell for scripts, a notice.
_MIN_EXPECTED_F1 = 0.3
# A text with this many words is kept in one place only; lines of code and table cells repeat on purpose.
_MIN_REPEATED_WORDS = 3
_REPEATING_KINDS = (Kind.CODE, Kind.TABLE_CELL)


def decide(table: LeafTable, predicted: Prediction, options: Options) -> list[Decision]:
    """Return a decision on each block, from the model's prediction for the page."""
    scores = predicted.scores
    hints = _PageHints(table, predicted)
    kept = choose_blocks(
        np.where(hints.overruled, 0.0, scores), table.counts[:, Column.WORDS] + 1, _BETAS[options.favour]
    )
    reasons = _page_reasons(table, kept & ~hints.overruled, hints)
    if options.comments:
        reasons = [_keep_comment(*each) for each in zip(reasons, table.blocks, strict=True)]
    return _make_decisions(table.blocks, scores.tolist(), reasons)


def choose_blocks(scores: np.ndarray, weights: np.ndarray, beta: float) -> np.ndarray:
    """Return which blocks (n, bool) to keep for the best expected F-beta of their words.

    The expected number of right words among the kept ones is the sum of weight x score. The best choice is always some
    number of the highest scores (Lewis 1995). If the expected F1 of that choice is too low, no block is kept.
    """
    order = np.argsort(-scores, kind="stable")
    right, kept = np.cumsum((scores * weights)[order]), np.cumsum(weights[order])
    expected = (1 + beta**2) * right / (kept + beta**2 * right[-1] + 1e-9)
    chosen = np.zeros(len(scores), bool)
    if (2 * right / (kept + right[-1] + 1e-9)).max() >= _MIN_EXPECTED_F1:  # F1, whatever `favour` says
        chosen[order[: expected.argmax() + 1]] = True
    return chosen


class Hint(NamedTuple):
    """Why an element is no content; overrules the model if at most `max_share` of the page's prose is inside."""

    reason: Reason
    max_share: float


class _HintedElement(NamedTuple):
    """An element with a hint: first <= block < last are the blocks in it, `share` is their part of the page's prose."""

    hint: Hint
    first: int
    last: int
    share: float


class _PageHints:
    """The elements with hints, outer ones first, and the blocks for which a sure hint overrules the model."""

    def __init__(self, table: LeafTable, predicted: Prediction) -> None:
        counts = table.counts
        unlinked = counts[:, Column.CHARS] - counts[:, Column.LINK_CHARS]
        words = counts[:, Column.WORDS] - counts[:, Column.LINK_WORDS]
        prose = running_sums(np.where(unlinked > _PROSE_MIN_CHARS, words, 0))
        found = read_hints(table.tags, table.node_tokens)
        first, last = table.first[list(found)], table.last[list(found)]
        shares = (prose[last] - prose[first]) / max(1, prose[-1])
        columns = found.values(), first.tolist(), last.tolist(), shares.tolist()
        self.elements = [_HintedElement(*row) for row in zip(*columns, strict=True)]
        self.of_inline = read_hints([""] * len(table.blocks), table.inline_tokens)
        self._overrule(len(table.blocks), Reason.COMMENT if predicted.type is PageType.FORUM else None)
        if self._is_discussion(predicted.scores * (counts[:, Column.WORDS] + 1)):
            self._overrule(len(table.blocks), Reason.COMMENT)

    def _overrule(self, size: int, doubted: Reason | None) -> None:
        """Set `sure`, the sure reason around each block, and `overruled`; the doubted reason is not used."""
        own = [_sure_reason(element.hint, element.share, doubted) for element in self.elements]
        self.sure = _spread(size, self.elements, own)
        self.overruled = np.array([reason is not None for reason in self.sure], bool)
        self.overruled[[index for index, hint in self.of_inline.items() if _sure_reason(hint, 0.0, doubted)]] = True

    def _is_discussion(self, expected: np.ndarray) -> bool:
        """Return True if the comments have most of the page's expected main text (n, words)."""
        if Reason.COMMENT not in self.sure:
            return False
        comments = np.array([reason is Reason.COMMENT for reason in self.sure], bool)
        among = expected[comments | ~self.overruled].sum()
        return bool(expected[comments].sum() > _DISCUSSION_SHARE * among)


def _spread(size: int, elements: Sequence[_HintedElement], reasons: Sequence[Reason | None]) -> list[Reason | None]:
    """Return for each block the reason of the outermost element around it that has one."""
    found: list[Reason | None] = [None] * size
    for element, reason in zip(elements, reasons, strict=True):
        if reason is not None and found[element.first] is None:  # else it is inside an element that has a reason
            found[element.first : element.last] = [reason] * (element.last - element.first)
    return found


def _page_reasons(table: LeafTable, kept: np.ndarray, hints: _PageHints) -> list[Reason]:
    """Return the reasons of a page's blocks; a hint gives the reason if nothing in its element was kept."""
    sums = running_sums(kept)
    own = [one.hint.reason if sums[one.first] == sums[one.last] else None for one in hints.elements]
    likely = _spread(len(kept), hints.elements, own)
    around = [sure or other for sure, other in zip(hints.sure, likely, strict=True)]
    for index, hint in hints.of_inline.items():
        around[index] = around[index] or hint.reason
    copies = _repeated_blocks(table, kept)
    reasons = [hinted or plain for hinted, plain in zip(around, _plain_reasons(table, kept), strict=True)]
    for index in np.flatnonzero(kept).tolist():
        reasons[index] = Reason.PAGE_DUPLICATE if index in copies else KEPT
    return reasons


# By the order of the conditions in `_plain_reasons`.
_PLAIN_REASONS = (Reason.LINKS, Reason.OUTSIDE, Reason.SHORT, Reason.LOW_SCORE)


def _plain_reasons(table: LeafTable, kept: np.ndarray) -> list[Reason]:
    """Return why blocks without a hint are dropped, from what they are and where they stand."""
    words, linked = table.counts[:, Column.WORDS], table.counts[:, Column.LINK_WORDS]
    inside, indexes = np.zeros(len(kept), bool), np.flatnonzero(kept)
    if len(indexes):
        inside[indexes[0] : indexes[-1] + 1] = True
    codes = np.select([linked > _MAX_LINKED_SHARE * words, ~inside, words <= _FEW_WORDS], [0, 1, 2], 3)
    return [_PLAIN_REASONS[code] for code in codes.tolist()]


def _repeated_blocks(table: LeafTable, kept: np.ndarray) -> set[int]:
    """Return the indexes of the kept blocks that repeat the text of an earlier one in another element.

    In the same element texts may repeat, like the lines of a refrain.
    """
    parents = table.parent[table.node].tolist()
    first: dict[str, int] = {}
    copies: set[int] = set()
    for index in np.flatnonzero(kept).tolist():
        block = table.blocks[index]
        if block.words < _MIN_REPEATED_WORDS or block.kind in _REPEATING_KINDS:
            continue
        if first.setdefault(block.text, parents[index]) != parents[index]:
            copies.add(index)
    return copies


def _sure_reason(hint: Hint, share: float, doubted: Reason | None) -> Reason | None:
    """Return the reason of a hint that overrules the model around this share of the page's prose."""
    return hint.reason if 0 < hint.max_share >= share and hint.reason is not doubted else None


def _make_decisions(blocks: list[Block], scores: list[float], reasons: list[Reason]) -> list[Decision]:
    module = load_compiled("leaf_table")
    if module is None:
        return list(map(Decision, blocks, scores, reasons))
    decisions: list[Decision] = module.make_decisions(blocks, scores, reasons)
    return decisions


def _keep_comment(reason: Reason, block: Block) -> Reason:
    return KEPT if reason is Reason.COMMENT and _has_content(block) else reason


def _has_content(block: Block) -> bool:
    return block.words > _FEW_WORDS and block.link_words <= _MAX_LINKED_SHARE * block.words


def read_hints(tags: list[str], tokens: list[str]) -> dict[int, Hint]:
    """Return the hints of the elements that have one, by their number, given all tags and attribute tokens."""
    known = _compiled_hints()
    if known is None:
        both = enumerate(zip(tags, tokens, strict=True))
        return {number: hint for number, each in both if (hint := read_hint(*each)) is not None}
    return known.read(tags, tokens)


@lru_cache(maxsize=1 << 13)
def read_hint(tag: str, tokens: str) -> Hint | None:
    """Return the surest hint of an element's tag and the words of its tokens; None if they give none."""
    known = _hint_table()
    own = known.get(f"<{tag}>")
    words = _LETTERS.findall(tokens.lower())
    if _first_words().isdisjoint(words):
        return own
    pairs = (f"{first}-{second}" for first, second in pairwise(words))
    found = (known[word] for word in chain(words, pairs) if word in known)
    return max(chain((own,) if own else (), found), key=attrgetter("max_share"), default=None)


@cache
def _compiled_hints() -> HintWords | None:
    module = load_compiled("words")
    if module is None:
        return None
    hints: HintWords = module.HintWords(_hint_table())
    return hints


@cache
def _first_words() -> frozenset[str]:
    """Return the first words of the table's entries."""
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
