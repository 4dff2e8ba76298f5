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


def score_parts(found: Parts, expected: Parts, open_: Parts) -> dict[str, PartScore]:
    """Return the scores of the kinds that the page has; parts that a reader left open do not count."""
    scores = {}
    for kind in EXACT:
        if wanted := getattr(expected, kind):
            scores[kind] = _exact(getattr(found, kind), wanted, getattr(open_, kind))
    for kind in GRADED:
        if wanted := getattr(expected, kind):
            likeness = teds if kind == "tables" else Levenshtein.normalized_similarity
            scores[kind] = _graded(getattr(found, kind), wanted, getattr(open_, kind), likeness)
    return scores


def _exact(found, expected, open_) -> PartScore:
    wanted, given = Counter(expected), Counter(found)
    hits = (wanted & given).total()
    extra = given - wanted
    return _score(hits, len(expected), hits + (extra - Counter(open_)).total())


def _graded(found, expected, open_, likeness) -> PartScore:
    """Pair the parts, the most alike first."""
    values = {(at, to): likeness(one, other) for at, one in enumerate(expected) for to, other in enumerate(found)}
    paired, used = {}, {}
    for at, to in sorted(values, key=lambda pair: (-values[pair], abs(pair[0] - pair[1]))):
        if at not in paired and to not in used and values[at, to] > 0:
            paired[at] = used[to] = values[at, to]
    hits = sum(value >= _FOUND for value in paired.values())
    rest = [one for to, one in enumerate(found) if used.get(to, 0) < _FOUND]
    extra = sum(1 for one in rest if not any(likeness(other, one) >= _FOUND for other in open_))
    score = _score(hits, len(expected), hits + extra)
    return PartScore(score.kept, score.precision, score.f1, sum(paired.values()) / len(expected))


def _score(hits, expected, given) -> PartScore:
    kept = hits / expected
    precision = hits / given if given else 0.0
    return PartScore(kept, precision, 2 * kept * precision / (kept + precision) if hits else 0.0)


# Tables -------------------------------------------------------------------------------------------------------------


def teds(one, other) -> float:
    """Return the tree-edit-distance similarity of two tables: 1 - distance / nodes of the larger one.

    A table is a tree of rows and cells. Rows match rows and cells match cells, at the cost of the edit distance of
    their texts; a row or a cell that is added or lost costs 1 for each node. A cell that takes several places may stand
    in each of them or in the first one only, so the nearer reading of the two counts.
    """
    return max(_teds(reading, other) for reading in (one, [_once(row) for row in one]))


def _once(row):
    return [text if at == 0 or text != row[at - 1] else "" for at, text in enumerate(row)]


def _teds(one, other) -> float:
    nodes = max(1 + len(rows) + sum(map(len, rows)) for rows in (one, other))
    return 1 - _distance(*_unequal(one, other), lambda row: 1 + len(row), _row_distance) / nodes


def _unequal(one, other):
    """Return two tables without the equal rows at their beginnings and ends: long tables are compared in time."""
    start = _shared(one, other)
    one, other = one[start:], other[start:]
    end = _shared(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _shared(one, other) -> int:
    pairs = list(zip(one, other, strict=False))
    return next((at for at, (row, its) in enumerate(pairs) if row != its), len(pairs))


def _row_distance(one, other) -> float:
    if one == other:
        return 0.0
    return _distance(one, other, lambda _: 1, Levenshtein.normalized_distance)


def _distance(one, other, size, change) -> float:
    """Return the edit distance of two sequences."""
    before = [0.0]
    for added in other:
        before.append(before[-1] + size(added))
    for lost in one:
        now = [before[0] + size(lost)]
        for at, added in enumerate(other):
            now.append(min(before[at + 1] + size(lost), now[at] + size(added), before[at] + change(lost, added)))
        before = now
    return before[-1]
