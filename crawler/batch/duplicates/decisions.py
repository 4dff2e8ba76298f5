"""The decision which blocks of a job are sightings of an earlier one: the same as in a crawl in the same order.

A crawl compares each block with the blocks stored before it. A block with the same terms is a
duplicate, and a fingerprint within DEDUP_DISTANCE bits is one; of several, the nearest counts, and of these the first.
A sighting is never the original of another block. These steps come to the same decisions for all blocks at once:

1. Blocks are grouped by digest. The hash `check` stands for their terms.
2. Blocks are grouped by fingerprint. Only the first of a fingerprint, its leader, can be an original: if it is a
   sighting of an earlier block, the others are near that block too. A heading has no fingerprint but may have the terms
   of a paragraph; a paragraph after such a heading cannot be a leader.
3. Pairs of leaders that are near each other are found by bands (see `near`).
4. In rounds: a leader without an undecided earlier neighbour is an original if none of its earlier neighbours is one.
5. Each block takes the nearest original before it.

Each step is a function on the rows of one partition; `stages` reads and writes them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows = Any
"""A structured array."""

BLOCKS_PER_TASK = 500_000
"""The blocks of a partition: the number bounds the memory of a task, see docs/scale.md."""


class PageComparisonMode(StrEnum):
    """How the whole pages of a job are compared (see `pages`)."""

    OFF = "off"
    EXACT = "exact"
    NEAR = "near"


NOTHING = -1
"""The id of no block."""

KEY = np.dtype([("id", "i8"), ("digest", "i8"), ("check", "i8"), ("fingerprint", "i8"), ("has", "?")])
"""A block that is compared with others; `has` says that it has a fingerprint."""

MEMBER = np.dtype(
    [("fingerprint", "i8"), ("id", "i8"), ("digest", "i8"), ("heading", "i8"), ("paragraph", "i8"), ("is_heading", "?")]
)
"""A block of a fingerprint. `heading` and `paragraph` are the first blocks without and with a fingerprint that have its
terms, or NOTHING; they are set if there are both. A heading is a member for the fingerprint of its terms.
"""

LEADER = np.dtype([("fingerprint", "i8"), ("id", "i8"), ("digest", "i8")])
"""The first block of a fingerprint that can be an original."""

EDGE = np.dtype(
    [("fingerprint", "i8"), ("id", "i8"), ("near", "i8"), ("near_id", "i8"), ("near_digest", "i8"), ("bits", "i1")]
)
"""Two leaders that are near each other, as the one sees the other; each pair has two edges."""

STATUS = np.dtype([("fingerprint", "i8"), ("is_original", "?")])
"""A leader that has been decided."""

SIGHTING = np.dtype(
    [
        ("id", "i8"),
        ("original", "i8"),
        ("bits", "i1"),
        ("exact", "?"),
        ("digest", "i8"),
        ("fingerprint", "i8"),
        ("has", "?"),
    ]
)
"""A block that is a sighting, its original, and digest and fingerprint of that."""


class Grouped(NamedTuple):
    """Blocks grouped by terms: sightings that are certain, and members of fingerprints."""

    sightings: Rows
    members: Rows


def group_by_terms(keys: Rows) -> Grouped:
    """Return for each block of a partition by digest whether it is an original or a sighting."""
    keys = keys[np.lexsort((keys["id"], keys["check"], keys["digest"]))]
    group = _group_numbers(keys, ("digest", "check"))
    count = int(group[-1]) + 1 if len(keys) else 0
    heading = _first_of(group, keys["id"], ~keys["has"], count)
    paragraph = _first_of(group, keys["id"], keys["has"], count)
    fingerprint = np.zeros(count, np.int64)
    fingerprint[group[keys["has"]]] = keys["fingerprint"][keys["has"]]

    both = (heading != NOTHING) & (paragraph != NOTHING)
    # A heading is decided here unless a paragraph with its terms comes first.
    decided = ~keys["has"] & (~both | (heading < paragraph))[group]
    repeated = keys[decided & (keys["id"] != heading[group])]
    originals = heading[group][decided & (keys["id"] != heading[group])]
    sightings = _sightings(repeated["id"], originals, repeated["digest"])

    rest, own = keys[~decided], group[~decided]
    members = np.zeros(len(rest), MEMBER)
    for name in ("id", "digest"):
        members[name] = rest[name]
    members["fingerprint"] = np.where(rest["has"], rest["fingerprint"], fingerprint[own])
    members["heading"] = np.where(both[own], heading[own], NOTHING)
    members["paragraph"] = np.where(both[own], paragraph[own], NOTHING)
    members["is_heading"] = ~rest["has"]
    return Grouped(sightings, members)


def find_leaders(members: Rows) -> Rows:
    """Return the leader of each fingerprint of a partition, ordered by fingerprint; some fingerprints have none."""
    barred = (members["heading"] != NOTHING) & (members["heading"] < members["paragraph"])
    able = members[~members["is_heading"] & ~barred]
    able = able[np.lexsort((able["id"], able["fingerprint"]))]
    first = np.ones(len(able), bool)
    first[1:] = able["fingerprint"][1:] != able["fingerprint"][:-1]
    leaders = np.zeros(int(first.sum()), LEADER)
    for name in LEADER.names or ():
        leaders[name] = able[name][first]
    return leaders


def edges_of(leaders: Rows, first: NDArray[np.int64], second: NDArray[np.int64], bits: NDArray[np.int8]) -> Rows:
    """Return both edges of each pair of leaders."""
    edges = np.zeros(2 * len(first), EDGE)
    starts = np.concatenate((first, second))
    ends = np.concatenate((second, first))
    edges["fingerprint"], edges["id"] = leaders["fingerprint"][starts], leaders["id"][starts]
    edges["near"], edges["near_id"] = leaders["fingerprint"][ends], leaders["id"][ends]
    edges["near_digest"] = leaders["digest"][ends]
    edges["bits"] = np.concatenate((bits, bits))
    return edges


class Decisions:
    """The leaders of a partition with a near leader, and which of them are known to be originals.

    `near_status` and `status` are 1 for an original, 0 for a sighting and NOTHING for undecided; the latter is by the
    ordered `fingerprints`.
    """

    def __init__(self, edges: Rows) -> None:
        self.edges = edges[np.lexsort((edges["near_id"], edges["fingerprint"]))]
        self.near_status = np.full(len(edges), NOTHING, np.int8)
        self.fingerprints, starts = np.unique(self.edges["fingerprint"], return_index=True)
        self.status = np.full(len(self.fingerprints), NOTHING, np.int8)
        self._starts = starts
        self._own = np.searchsorted(self.fingerprints, self.edges["fingerprint"])
        self._is_earlier = self.edges["near_id"] < self.edges["id"]

    @property
    def undecided(self) -> int:
        return int((self.status == NOTHING).sum())

    def learn(self, decided: Rows) -> None:
        """Take over what is decided of near leaders, of this partition or others."""
        if not len(decided) or not len(self.edges):
            return
        decided = decided[np.argsort(decided["fingerprint"])]
        place = np.searchsorted(decided["fingerprint"], self.edges["near"])
        place = np.minimum(place, len(decided) - 1)
        known = decided["fingerprint"][place] == self.edges["near"]
        self.near_status[known] = decided["is_original"][place[known]]

    def decide(self) -> Rows:
        """Decide all leaders that can be decided, one after the other, and return them as rows of STATUS."""
        decisions = [np.empty(0, STATUS)]
        while len(batch := self._decide_once()):
            decisions.append(batch)
            self.learn(batch)
        return np.concatenate(decisions)

    def _decide_once(self) -> Rows:
        if not len(self.edges):
            return np.empty(0, STATUS)
        is_near_original = self._is_earlier & (self.near_status == 1)
        is_open = self._is_earlier & (self.near_status == NOTHING)
        has_original = np.logical_or.reduceat(is_near_original, self._starts)
        has_open = np.logical_or.reduceat(is_open, self._starts)
        open_now = self.status == NOTHING
        becomes_original = open_now & ~has_original & ~has_open
        becomes_sighting = open_now & has_original
        self.status[becomes_original] = 1
        self.status[becomes_sighting] = 0
        changed = becomes_original | becomes_sighting
        decided = np.zeros(int(changed.sum()), STATUS)
        decided["fingerprint"] = self.fingerprints[changed]
        decided["is_original"] = becomes_original[changed]
        return decided


def find_sightings(members: Rows, leaders: Rows, decisions: Decisions) -> Rows:
    """Return the members of a partition that are sightings, each with the nearest original before it."""
    if not len(members):
        return np.empty(0, SIGHTING)
    members = members[np.lexsort((members["id"], members["fingerprint"]))]
    leader = _leader_of(members, leaders, decisions)
    headings = _sightings_of_headings(members, leader)
    paragraphs = members[~members["is_heading"]]
    leader = leader[~members["is_heading"]]
    options = [
        _own_leader_options(paragraphs, leader),
        _heading_options(paragraphs, leader),
        _near_options(paragraphs, leader, decisions),
    ]
    options_of = np.concatenate([option.member for option in options])
    rows = np.concatenate([option.rows for option in options])
    order = np.lexsort((rows["original"], rows["bits"], options_of))
    options_of, rows = options_of[order], rows[order]
    first = np.ones(len(rows), bool)
    first[1:] = options_of[1:] != options_of[:-1]
    return np.concatenate((headings, rows[first]))


class _Options(NamedTuple):
    """Possible originals of members, by the members' places."""

    member: NDArray[np.int64]
    rows: Rows


def _leader_of(members: Rows, leaders: Rows, decisions: Decisions) -> NDArray[np.int64]:
    """Return for each member the id of its fingerprint's leader if that is an original, otherwise NOTHING."""
    leaders_of_members = np.full(len(members), NOTHING, np.int64)
    if not len(leaders):
        return leaders_of_members
    is_original = np.ones(len(leaders), bool)
    if len(decisions.fingerprints):
        place = np.minimum(
            np.searchsorted(decisions.fingerprints, leaders["fingerprint"]), len(decisions.fingerprints) - 1
        )
        has_near = decisions.fingerprints[place] == leaders["fingerprint"]
        is_original = ~has_near | (decisions.status[place] == 1)
    place = np.minimum(np.searchsorted(leaders["fingerprint"], members["fingerprint"]), len(leaders) - 1)
    led = (leaders["fingerprint"][place] == members["fingerprint"]) & is_original[place]
    leaders_of_members[led] = leaders["id"][place[led]]
    return leaders_of_members


def _sightings_of_headings(members: Rows, leader: NDArray[np.int64]) -> Rows:
    """Return the sightings among headings whose terms an earlier paragraph has: of it, or of the first heading."""
    chosen = members["is_heading"]
    headings, leader = members[chosen], leader[chosen]
    follows = leader == headings["paragraph"]
    original = np.where(follows, headings["paragraph"], headings["heading"])
    repeated = headings["id"] != original
    rows = _sightings(headings["id"][repeated], original[repeated], headings["digest"][repeated])
    rows["fingerprint"], rows["has"] = headings["fingerprint"][repeated], follows[repeated]
    return rows


def _own_leader_options(members: Rows, leader: NDArray[np.int64]) -> _Options:
    places = np.flatnonzero((leader != NOTHING) & (leader < members["id"]))
    followers = members[places]
    rows = _sightings(followers["id"], leader[places], followers["digest"])
    rows["fingerprint"], rows["has"] = followers["fingerprint"], True
    # Another text with the same fingerprint is found near, at a distance of 0.
    rows["exact"] = followers["digest"] == _digest_of(members, leader[places])
    rows["digest"] = _digest_of(members, leader[places])
    return _Options(places, rows)


def _digest_of(members: Rows, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the digests of blocks that are among the members."""
    order = np.argsort(members["id"])
    digests: NDArray[np.int64] = members["digest"][order[np.searchsorted(members["id"], ids, sorter=order)]]
    return digests


def _heading_options(members: Rows, leader: NDArray[np.int64]) -> _Options:
    """Return the headings with the same terms that are originals.

    A heading is an original if it comes before all such paragraphs, or if no original paragraph precedes it.
    """
    heading, paragraph = members["heading"], members["paragraph"]
    is_original = (heading < paragraph) | (leader != paragraph)
    places = np.flatnonzero((heading != NOTHING) & is_original & (heading < members["id"]))
    headings = members[places]
    return _Options(places, _sightings(headings["id"], headings["heading"], headings["digest"]))


def _near_options(members: Rows, leader: NDArray[np.int64], decisions: Decisions) -> _Options:
    """Return the originals with another fingerprint, for the members that have none with their own."""
    edges = decisions.edges[decisions.near_status == 1]
    places = np.flatnonzero((leader == NOTHING) | (leader > members["id"]))
    start = np.searchsorted(edges["fingerprint"], members["fingerprint"][places], "left")
    end = np.searchsorted(edges["fingerprint"], members["fingerprint"][places], "right")
    counts = end - start
    member = np.repeat(places, counts)
    edge = np.repeat(start - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(len(member))
    earlier = edges["near_id"][edge] < members["id"][member]
    member, chosen = member[earlier], edges[edge[earlier]]
    rows = _sightings(members["id"][member], chosen["near_id"], chosen["near_digest"])
    rows["bits"], rows["fingerprint"], rows["has"] = chosen["bits"], chosen["near"], True
    rows["exact"] = False
    return _Options(member, rows)


def _sightings(ids: NDArray[np.int64], originals: NDArray[np.int64], digests: NDArray[np.int64]) -> Rows:
    """Return exact sightings of originals without a fingerprint."""
    rows = np.zeros(len(ids), SIGHTING)
    rows["id"], rows["original"], rows["digest"], rows["exact"] = ids, originals, digests, True
    return rows


def _group_numbers(rows: Rows, names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the number of each ordered row's group, from 0."""
    if not len(rows):
        return np.empty(0, np.int64)
    begins = np.zeros(len(rows), bool)
    for name in names:
        begins[1:] |= rows[name][1:] != rows[name][:-1]
    numbers: NDArray[np.int64] = np.cumsum(begins)
    return numbers


def _first_of(group: NDArray[np.int64], ids: NDArray[np.int64], chosen: Any, count: int) -> NDArray[np.int64]:
    """Return the smallest chosen id of each group, NOTHING for a group without one."""
    firsts = np.full(count, NOTHING, np.int64)
    # Assigned backwards, the first of ordered ids wins.
    firsts[group[chosen][::-1]] = ids[chosen][::-1]
    return firsts
