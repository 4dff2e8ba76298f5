"""From scores to decisions: which blocks are kept, and why the others are dropped."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from cleaning._native import load_compiled
from cleaning.blocks import KEPT, Decision, Kind, Reason
from cleaning.classifier.features import running_sums, without_digits
from cleaning.classifier.hints import HINT_LEVELS, read_page_hints
from cleaning.leaf_table import Column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cleaning.blocks import Block
    from cleaning.classifier.hints import PageHints
    from cleaning.classifier.model import Prediction
    from cleaning.leaf_table import LeafTable
    from cleaning.options import Options

# The weight of recall against precision in the expected score (van Rijsbergen's beta), by the option `favour`.
_BETAS = {"balanced": 1.0, "precision": 0.5, "recall": 2.0}
# A hint names the reason of the dropped blocks in its element if at most this share of the element's words is kept.
_MAX_KEPT_SHARE = 0.5
_SURE = HINT_LEVELS["sure"]
_FEW_WORDS = 5
_MAX_LINKED_SHARE = 0.5
# A page with a lower expected F1 has no main text: an empty shell for scripts, a notice.
_MIN_EXPECTED_F1 = 0.3
# Blocks that are added after the choice. By cross-validation on a fifth of the hosts they give +.004 on snippets, and
# nothing on the other sets.
_LIST_TAGS = frozenset({"ul", "ol"})
_MIN_ITEM_SCORE, _MIN_CELL_SCORE, _MIN_OPENER_SCORE, _MIN_HEADING_SCORE = 0.2, 0.15, 0.1, 0.25
_MIN_CODE_SCORE = 0.25
_MOSTLY, _MIN_CELLS, _MAX_CELL_WORDS = 0.5, 4, 15
# The cells of a table have similar scores, and the choice may cut somewhere among them.
_PARTLY = 1 / 3
_OPENER_TAGS = frozenset({"button", "summary", "label", "dt"})
_MAX_OPENER_WORDS, _MIN_OPENED_WORDS, _OPENED_SHARE = 20, 15, 0.6
# A text with this many words is kept in one place only; lines of code and table cells repeat on purpose.
_MIN_REPEATED_WORDS = 3
_REPEATING_KINDS = (Kind.CODE, Kind.TABLE_CELL)


def decide(table: LeafTable, predicted: Prediction, options: Options) -> list[Decision]:
    """Return a decision on each block, from the model's prediction for the page."""
    scores = predicted.scores
    kept = choose_blocks(scores, table.counts[:, Column.WORDS] + 1, _BETAS[options.favour])
    if kept.any():
        kept = _complete_openers(table, scores, _complete_lists(table, scores, kept))
        kept = _complete_code(table, scores, _complete_headings(table, scores, kept))
    reasons = _page_reasons(table, kept, predicted.hints or read_page_hints(table))
    if options.comments:
        reasons = [_keep_comment(reason, block) for reason, block in zip(reasons, table.blocks, strict=True)]
    return _make_decisions(table.blocks, scores.tolist(), reasons)


def choose_blocks(scores: np.ndarray, weights: np.ndarray, beta: float) -> np.ndarray:
    """Return which blocks (n, bool) to keep for the best expected F-beta of their words.

    The expected number of right words among the kept ones is the sum of weight x score. The best choice is always the k
    highest scores, for some k (Lewis 1995). If the expected F1 of that choice is less than 0.3, no block is kept.
    """
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum((scores * weights)[order])
    kept = np.cumsum(weights[order])
    expected = (1 + beta**2) * right / (kept + beta**2 * right[-1] + 1e-9)
    chosen = np.zeros(len(scores), bool)
    if (2 * right / (kept + right[-1] + 1e-9)).max() >= _MIN_EXPECTED_F1:  # F1, whatever `favour` says
        chosen[order[: expected.argmax() + 1]] = True
    return chosen


def _complete_lists(table: LeafTable, scores: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the kept blocks (n, bool) with the rest of lists and tables.

    A list that is mostly kept keeps its other items, a table of short cells if a third is kept. A table of short cells
    beside a kept block, with kept blocks before and after it, is kept whole.
    """
    completed = kept.copy()
    words = table.counts[:, Column.WORDS] + 1
    of_all = running_sums(words)
    of_kept = running_sums(words * kept)
    right = running_sums(words * scores)
    for number, tag in enumerate(table.tags):
        if tag not in _LIST_TAGS and tag != "table":
            continue
        first = int(table.first[number])
        last = int(table.last[number])
        inside = slice(first, last)
        total = of_all[last] - of_all[first]
        kept_share = (of_kept[last] - of_kept[first]) / total
        if tag != "table":
            if kept_share >= _MOSTLY and last - first > 1:
                completed[inside] |= scores[inside] >= _MIN_ITEM_SCORE
        elif last - first >= _MIN_CELLS and words[inside].max() <= _MAX_CELL_WORDS:
            inside_text = kept[:first].any() and kept[last:].any() and (kept[first - 1] or kept[last])
            if inside_text and right[last] - right[first] >= _MIN_CELL_SCORE * total:
                completed[inside] = True
            elif kept_share >= _PARTLY:
                completed[inside] |= scores[inside] >= _MIN_CELL_SCORE
    return completed


def _complete_openers(table: LeafTable, scores: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the kept blocks (n, bool) with the questions of accordions and the titles of whole posts.

    An opener is added if the rest of its element is kept, and so is the rest of another element of this kind. A button
    or the like is also added if a kept text follows it, and another element of its kind.
    """
    words = table.counts[:, Column.WORDS]
    openers = np.flatnonzero(~kept & (scores >= _MIN_OPENER_SCORE) & (words <= _MAX_OPENER_WORDS))
    opened = [(index, number) for index in openers.tolist() for number in _opened_by(table, index)]
    buttons = [index for index in openers.tolist() if table.tags[table.node[index]] in _OPENER_TAGS]
    if not opened and not buttons:
        return kept
    completed = kept.copy()
    of_all = running_sums(words + 1)
    of_kept = running_sums((words + 1) * kept)
    begin, end = table.first + 1, table.last
    total = of_all[end] - of_all[begin]
    whole = (total >= _MIN_OPENED_WORDS) & (of_kept[end] - of_kept[begin] >= _OPENED_SHARE * total)
    parents = {int(table.parent[number]) for _, number in opened}
    near = (number for number in np.flatnonzero(whole).tolist() if table.parent[number] in parents)
    beside = Counter(_kind_of(table, number) for number in near)
    for index, number in opened:
        if whole[number] and beside[_kind_of(table, number)] > 1:
            completed[index] = True
    followed = np.append(kept[1:] & (words[1:] >= _MIN_OPENED_WORDS), [False])
    rows = Counter(_kind_of(table, int(table.node[index])) for index in np.flatnonzero(followed).tolist())
    for index in buttons:
        completed[index] |= followed[index] and rows[_kind_of(table, int(table.node[index]))] > 1
    return completed


def _complete_headings(table: LeafTable, scores: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the kept blocks (n, bool) with the subheadings between a kept block and a kept text."""
    completed = kept.copy()
    first = int(kept.argmax())
    words = table.counts[:, Column.WORDS]
    below = ~kept[:-1] & kept[1:] & (words[1:] >= _MIN_OPENED_WORDS) & (scores[:-1] >= _MIN_HEADING_SCORE)
    for index in np.flatnonzero(below).tolist():
        if index > first and table.blocks[index].kind is Kind.HEADING:
            completed[index] = True
    return completed


def _complete_code(table: LeafTable, scores: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the kept blocks (n, bool) with the lines of code that stand between two kept texts."""
    between = ~kept[1:-1] & kept[:-2] & kept[2:] & (scores[1:-1] >= _MIN_CODE_SCORE)
    code = [index for index in (np.flatnonzero(between) + 1).tolist() if table.blocks[index].kind is Kind.CODE]
    if not code:
        return kept
    completed = kept.copy()
    completed[code] = True
    return completed


def _kind_of(table: LeafTable, number: int) -> tuple[int, str, str]:
    """Return the kind of an element: its parent, its tag, and its tokens without digits."""
    return int(table.parent[number]), table.tags[number], without_digits(table.node_tokens[number])


def _opened_by(table: LeafTable, index: int) -> list[int]:
    """Return the elements that begin with a heading, button or the like and hold more blocks, innermost first."""
    number = int(table.node[index])
    if table.blocks[index].kind is not Kind.HEADING and table.tags[number] not in _OPENER_TAGS:
        return []
    numbers = []
    while number > 0 and table.first[number] == index:
        if table.last[number] > index + 1:
            numbers.append(number)
        number = int(table.parent[number])
    return numbers


def _page_reasons(table: LeafTable, kept: np.ndarray, hints: PageHints) -> list[Reason]:
    """Return the reasons of a page's blocks. A hint names the reason of the dropped blocks in its element."""
    named = _hinted_reasons(table, kept, hints)
    copies = _repeated_blocks(table, kept)
    reasons = [hinted or plain for hinted, plain in zip(named, _plain_reasons(table, kept), strict=True)]
    for index in np.flatnonzero(kept).tolist():
        reasons[index] = Reason.PAGE_DUPLICATE if index in copies else KEPT
    return reasons


def _hinted_reasons(table: LeafTable, kept: np.ndarray, hints: PageHints) -> list[Reason | None]:
    """Return for each block the reason of the outermost sure hint around it; without one, of the outermost likely one.

    The hint of an element that is mostly kept has no effect.
    """
    numbers = hints.elements.numbers
    words = table.counts[:, Column.WORDS] + 1
    first, last = table.first[numbers], table.last[numbers]
    of_all = running_sums(words)
    of_kept = running_sums(words * kept)
    dropped = of_kept[last] - of_kept[first] <= _MAX_KEPT_SHARE * (of_all[last] - of_all[first])
    spans = list(zip(hints.elements.reasons, first.tolist(), last.tolist(), strict=True))
    sure = _spread(len(kept), compress(spans, (dropped & (hints.elements.levels >= _SURE)).tolist()))
    likely = _spread(len(kept), compress(spans, dropped.tolist()))
    reasons = [certain or other for certain, other in zip(sure, likely, strict=True)]
    for index, reason in zip(hints.inlines.numbers.tolist(), hints.inlines.reasons, strict=True):
        reasons[index] = reasons[index] or reason
    return reasons


def _spread(size: int, spans: Iterable[tuple[Reason, int, int]]) -> list[Reason | None]:
    """Return for each block the reason of the outermost span around it, given outer spans first.

    A span is the reason of a hint and the blocks in its element: first <= block < last. Plain tuples: a page has
    hundreds.
    """
    reasons: list[Reason | None] = [None] * size
    for reason, first, last in spans:
        if reasons[first] is None:  # else the span is inside another one
            reasons[first:last] = [reason] * (last - first)
    return reasons


# By the order of the conditions in `_plain_reasons`.
_PLAIN_REASONS = (Reason.LINKS, Reason.OUTSIDE, Reason.SHORT, Reason.LOW_SCORE)


def _plain_reasons(table: LeafTable, kept: np.ndarray) -> list[Reason]:
    """Return the reasons of dropped blocks without a hint, from their words, links and place."""
    words, linked = table.counts[:, Column.WORDS], table.counts[:, Column.LINK_WORDS]
    inside = np.zeros(len(kept), bool)
    indexes = np.flatnonzero(kept)
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
