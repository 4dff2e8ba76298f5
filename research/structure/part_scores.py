"""How well the parts of a Markdown text agree with those that a reader marked: shares kept, F1, edit distance, TEDS."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

if TYPE_CHECKING:
    from structure_parts import Parts

# A table or a block of code is found if it agrees at least so far with one of the page.
_FOUND = 0.5
EXACT = ("headings", "items", "quotes", "links")
GRADED = ("tables", "code", "formulas")


@dataclass(frozen=True)
class PartScore:
    """The scores of one kind of parts on one page, from 0 to 1; `agreement` is that of tables, code and formulas."""

    kept: float
    precision: float
    f1: float
    agreement: float | None = None


def score_parts(parts: Parts, expected: Parts, open_: Parts) -> dict[str, PartScore]:
    """Return the scores of the kinds that the page has; parts that a reader left open do not count."""
    scores = {}
    for kind in EXACT:
        if wanted := getattr(expected, kind):
            scores[kind] = _exact(getattr(parts, kind), wanted, getattr(open_, kind))
    for kind in GRADED:
        if wanted := getattr(expected, kind):
            likeness = teds if kind == "tables" else Levenshtein.normalized_similarity
            scores[kind] = _graded(getattr(parts, kind), wanted, getattr(open_, kind), likeness)
    return scores


def _exact(parts, expected, open_) -> PartScore:
    gold = Counter(expected)
    counted = Counter(parts)
    hits = (gold & counted).total()
    extra = counted - gold
    return _score(hits, len(expected), hits + (extra - Counter(open_)).total())


def _graded(parts, expected, open_, likeness) -> PartScore:
    """Pair the parts, the most alike first."""
    values = {
        (gold_place, place): likeness(gold_part, part)
        for gold_place, gold_part in enumerate(expected)
        for place, part in enumerate(parts)
    }
    paired, used = {}, {}
    for gold_place, place in sorted(values, key=lambda pair: (-values[pair], abs(pair[0] - pair[1]))):
        if gold_place not in paired and place not in used and values[gold_place, place] > 0:
            paired[gold_place] = used[place] = values[gold_place, place]
    hits = sum(value >= _FOUND for value in paired.values())
    rest = [part for place, part in enumerate(parts) if used.get(place, 0) < _FOUND]
    extra = sum(1 for part in rest if not any(likeness(open_part, part) >= _FOUND for open_part in open_))
    score = _score(hits, len(expected), hits + extra)
    return PartScore(score.kept, score.precision, score.f1, sum(paired.values()) / len(expected))


def _score(hits, expected, answered) -> PartScore:
    kept = hits / expected
    precision = hits / answered if answered else 0.0
    return PartScore(kept, precision, 2 * kept * precision / (kept + precision) if hits else 0.0)


# Tables -------------------------------------------------------------------------------------------------------------


def teds(table, other_table) -> float:
    """Return the tree-edit-distance similarity of two tables: 1 - distance / nodes of the larger one.

    A table is a tree of rows and cells. Rows match rows and cells match cells, at the cost of the edit distance of
    their texts; a row or a cell that is added or lost costs 1 for each node. A cell that takes several places may stand
    in each of them or in the first one only, so the nearer reading of the two counts.
    """
    return max(_teds(reading, other_table) for reading in (table, [_once(row) for row in table]))


def _once(row):
    return [text if place == 0 or text != row[place - 1] else "" for place, text in enumerate(row)]


def _teds(table, other_table) -> float:
    nodes = max(1 + len(rows) + sum(map(len, rows)) for rows in (table, other_table))
    return 1 - _distance(*_unequal(table, other_table), lambda row: 1 + len(row), _row_distance) / nodes


def _unequal(first, second):
    """Return two tables without the equal rows at their beginnings and ends: long tables are compared in time."""
    start = _shared(first, second)
    first, second = first[start:], second[start:]
    end = _shared(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _shared(first, second) -> int:
    pairs = list(zip(first, second, strict=False))
    return next((place for place, (row, other_row) in enumerate(pairs) if row != other_row), len(pairs))


def _row_distance(row, other_row) -> float:
    if row == other_row:
        return 0.0
    return _distance(row, other_row, lambda _: 1, Levenshtein.normalized_distance)


def _distance(first, second, size, change) -> float:
    """Return the edit distance of two sequences."""
    before = [0.0]
    for added in second:
        before.append(before[-1] + size(added))
    for lost in first:
        now = [before[0] + size(lost)]
        for place, added in enumerate(second):
            now.append(
                min(before[place + 1] + size(lost), now[place] + size(added), before[place] + change(lost, added))
            )
        before = now
    return before[-1]
