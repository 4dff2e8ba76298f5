"""The stages of a job that find which blocks are sightings.

Each function here is one task: it reads the rows that the tasks of the stage before have sent to its partition, and
writes one file of rows for the next stage. `decisions` makes the decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crawler.batch.clean_file import cleaned_names
from crawler.batch.columns import read_table
from crawler.batch.duplicates.decisions import (
    BLOCKS_PER_TASK,
    EDGE,
    KEY,
    LEADER,
    MEMBER,
    SIGHTING,
    STATUS,
    Decisions,
    edges_of,
    find_leaders,
    find_sightings,
    group_by_terms,
)
from crawler.batch.duplicates.near import BAND_BITS, BANDS, band_of, near_pairs_of_band
from crawler.batch.duplicates.plan import DECISION
from crawler.batch.output import partition_names, read_partition, spread, write_partitions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawler.batch.duplicates.plan import Plan
    from crawler.batch.output import OutputFolder, Rows

BAND_ROWS_MAX = 4 * BLOCKS_PER_TASK
"""A band with more leaders than this is divided among several tasks."""

_BANDED = np.dtype([*((name, LEADER[name]) for name in LEADER.names or ()), ("band", "i1")])
_HEAVY = np.dtype([("band", "i8"), ("value", "i8"), ("chunks", "i8"), ("first", "i8")])


@dataclass(frozen=True, slots=True)
class AddressDecisions:
    """The pages of a range that do not count, because another one does, and those whose stated address is doubted.

    Of the repeated pages, the `earlier` ones are captures of an address that was captured later too.
    """

    repeated: NDArray[np.int64]
    doubted: NDArray[np.int64]
    earlier: NDArray[np.int64]


def read_decisions(output: OutputFolder, plan: Plan, range_number: int) -> AddressDecisions:
    """Return the decisions on a range's pages, each as sorted ids."""
    names = partition_names("repeated", plan.partitions) + partition_names("decided", plan.partitions)
    rows = read_partition(output, names, range_number, DECISION)
    chosen = (~rows["is_doubted"], rows["is_doubted"], rows["is_earlier"])
    return AddressDecisions(*(np.unique(rows["page_id"][is_chosen]) for is_chosen in chosen))


def send_keys(output: OutputFolder, plan: Plan, range_number: int) -> dict[str, int]:
    """Send the keys of a range's blocks to the partitions of their digest.

    Blocks that repeat another block of their page are left out, and so are the blocks of pages that do not count.
    """
    repeated = read_decisions(output, plan, range_number).repeated
    parts = [np.empty(0, KEY)]
    names = ("id", "page_id", "digest", "check", "fingerprint", "repeats")
    for number in plan.files_of(range_number):
        table = read_table(output, cleaned_names(number)["blocks"], names)
        keys = np.zeros(len(table), KEY)
        for name in ("id", "digest", "check"):
            keys[name] = table[name].to_numpy()
        keys["has"] = table["fingerprint"].is_valid().to_numpy()
        keys["fingerprint"] = table["fingerprint"].fill_null(0).to_numpy()
        compared = table["repeats"].to_numpy() < 0
        parts.append(keys[compared & ~np.isin(table["page_id"].to_numpy(), repeated)])
    rows = np.concatenate(parts)
    targets = spread([rows["digest"]], plan.partitions)
    write_partitions(output, plan.file("keys", range_number), rows, targets, plan.partitions)
    return {"compared": len(rows)}


def group_keys(output: OutputFolder, plan: Plan, partition: int) -> dict[str, int]:
    """Group the blocks of a partition by their terms."""
    grouped = group_by_terms(read_partition(output, plan.files("keys"), partition, KEY))
    members = grouped.members
    _send_sightings(output, plan, plan.file("sightings-of-headings", partition), grouped.sightings)
    targets = spread([members["fingerprint"]], plan.partitions)
    write_partitions(output, plan.file("members", partition), members, targets, plan.partitions)
    return {}


def count_bands(output: OutputFolder, plan: Plan, partition: int) -> dict[str, int]:
    """Count how often each band occurs among the leaders of a partition."""
    leaders = _leaders(output, plan, partition)
    fingerprints = _unsigned(leaders["fingerprint"])
    counts = [
        np.bincount(band_of(fingerprints, band).astype(np.int64), minlength=1 << BAND_BITS) for band in range(BANDS)
    ]
    with output.create(plan.file("band-counts", partition)) as file:
        file.write(np.concatenate(counts).astype("<i8").tobytes())
    return {"leaders": len(leaders)}


def find_heavy_bands(output: OutputFolder, plan: Plan, rows_max: int) -> dict[str, int]:
    """Divide each band with too many leaders into chunks; one task compares each pair of chunks."""
    totals = np.zeros(BANDS << BAND_BITS, np.int64)
    for name in plan.files("band-counts"):
        with output.open(name) as file:
            totals += np.frombuffer(file.read(), "<i8")
    places = np.flatnonzero(totals > rows_max)
    heavy = np.zeros(len(places), _HEAVY)
    heavy["band"], heavy["value"] = places >> BAND_BITS, places & ((1 << BAND_BITS) - 1)
    heavy["chunks"] = -(-2 * totals[places] // rows_max)
    pairs = heavy["chunks"] * (heavy["chunks"] + 1) // 2
    heavy["first"] = plan.partitions + np.cumsum(pairs) - pairs
    with output.create(f"work/{plan.prefix}heavy-bands") as file:
        file.write(heavy.tobytes())
    return {"heavy_bands": len(heavy), "extra_tasks": int(pairs.sum())}


def send_leaders(output: OutputFolder, plan: Plan, partition: int) -> dict[str, int]:
    """Send each leader of a partition to the partitions of its four bands."""
    leaders = _leaders(output, plan, partition)
    heavy = _heavy_bands(output, plan)
    parts, targets = [], []
    for band in range(BANDS):
        values = band_of(_unsigned(leaders["fingerprint"]), band).astype(np.int64)
        rows = np.zeros(len(leaders), _BANDED)
        for name in LEADER.names or ():
            rows[name] = leaders[name]
        rows["band"] = band
        is_heavy = np.isin(values, heavy["value"][heavy["band"] == band])
        parts.append(rows[~is_heavy])
        targets.append(spread([np.full(len(values), band), values], plan.partitions)[~is_heavy])
        for heavy_band in heavy[heavy["band"] == band]:
            for chunk_rows, target in _divided(rows[values == heavy_band["value"]], heavy_band):
                parts.append(chunk_rows)
                targets.append(np.full(len(chunk_rows), target))
    rows = np.concatenate(parts)
    all_targets = np.concatenate(targets)
    write_partitions(output, plan.file("banded", partition), rows, all_targets, plan.partitions + _pair_count(heavy))
    return {}


def compare_bands(output: OutputFolder, plan: Plan, partition: int) -> dict[str, int]:
    """Compare the leaders of a partition that are equal in a band, and send both edges of each pair."""
    assert plan.max_distance is not None
    rows = read_partition(output, plan.files("banded"), partition, _BANDED)
    edge_parts, compared = [np.empty(0, EDGE)], 0
    for band in range(BANDS):
        band_rows = rows[rows["band"] == band]
        first, second, bits, count = near_pairs_of_band(_unsigned(band_rows["fingerprint"]), band, plan.max_distance)
        compared += count
        if partition >= plan.partitions:
            kept = _is_of_pair(band_rows, first, second, _heavy_bands(output, plan), partition)
            first, second, bits = first[kept], second[kept], bits[kept]
        edge_parts.append(edges_of(band_rows, first, second, bits))
    edges = np.concatenate(edge_parts)
    targets = spread([edges["fingerprint"]], plan.partitions)
    write_partitions(output, plan.file("edges", partition), edges, targets, plan.partitions)
    return {"near_pairs": len(edges) // 2, "compared_pairs": compared}


def decide_leaders(output: OutputFolder, plan: Plan, round_number: int, partition: int) -> dict[str, int]:
    """Decide what can be decided in this round, and send it to the partitions of the leaders near by."""
    decisions, decided = _replay(output, plan, partition, round_number)
    is_new = np.isin(decisions.edges["fingerprint"], decided["fingerprint"])
    edges = decisions.edges[is_new]
    told = np.zeros(len(edges), STATUS)
    told["fingerprint"] = edges["fingerprint"]
    place = np.searchsorted(decisions.fingerprints, edges["fingerprint"])
    told["is_original"] = decisions.status[place] == 1
    targets = spread([edges["near"]], plan.partitions)
    write_partitions(output, plan.file(f"round-{round_number}", partition), told, targets, plan.partitions)
    return {"undecided": decisions.undecided}


def send_sightings(output: OutputFolder, plan: Plan, rounds: int, partition: int) -> dict[str, int]:
    """Find the nearest original of each sighting of a partition, and send it to the range of its file."""
    members = _members(output, plan, partition)
    decisions, _ = _replay(output, plan, partition, rounds)
    sightings = find_sightings(members, find_leaders(members), decisions)
    _send_sightings(output, plan, plan.file("sightings", partition), sightings)
    return {}


def read_sightings(output: OutputFolder, plan: Plan, range_number: int) -> Rows:
    """Return the sightings among the blocks of a range, ordered by id."""
    names = plan.files("sightings") + plan.files("sightings-of-headings")
    rows = read_partition(output, names, range_number, SIGHTING)
    return rows[np.argsort(rows["id"])]


def heavy_tasks(output: OutputFolder, plan: Plan) -> int:
    """Return the number of tasks for the bands that are divided."""
    return _pair_count(_heavy_bands(output, plan))


def _send_sightings(output: OutputFolder, plan: Plan, name: str, sightings: Rows) -> None:
    write_partitions(output, name, sightings, plan.ranges_of(sightings["id"]), plan.partitions)


def _members(output: OutputFolder, plan: Plan, partition: int) -> Rows:
    return read_partition(output, plan.files("members"), partition, MEMBER)


def _leaders(output: OutputFolder, plan: Plan, partition: int) -> Rows:
    return find_leaders(_members(output, plan, partition))


def _replay(output: OutputFolder, plan: Plan, partition: int, rounds: int) -> tuple[Decisions, Rows]:
    """Return the decisions of a partition after some rounds, and what was decided last.

    Rounds are few, so they are repeated from what was sent instead of storing a state.
    """
    edges = np.empty(0, EDGE)
    if plan.max_distance:
        count = plan.partitions + heavy_tasks(output, plan)
        edges = read_partition(output, plan.files("edges", count), partition, EDGE)
    decisions = Decisions(edges)
    decided = decisions.decide()
    for number in range(rounds):
        names = [plan.file(f"round-{number}", sender) for sender in range(plan.partitions)]
        decisions.learn(_unique(read_partition(output, names, partition, STATUS)))
        decided = decisions.decide()
    return decisions, decided


def _unique(rows: Rows) -> Rows:
    _, places = np.unique(rows["fingerprint"], return_index=True)
    return rows[places]


def _divided(rows: Rows, heavy: Any) -> list[tuple[Rows, int]]:
    """Return the rows of a heavy band with the task that they go to, once for each pair of chunks they are in."""
    count = int(heavy["chunks"])
    chunk = _chunks(rows, count)
    return [
        (rows[(chunk == first) | (chunk == second)], int(heavy["first"]) + number)
        for number, (first, second) in enumerate(_chunk_pairs(count))
    ]


def _is_of_pair(
    rows: Rows, first: NDArray[np.int64], second: NDArray[np.int64], heavy: Rows, partition: int
) -> NDArray[np.bool_]:
    """Return True for each pair of rows that this task finds alone: other tasks have the same chunks too."""
    own = heavy[np.searchsorted(heavy["first"], partition, "right") - 1]
    count = int(own["chunks"])
    low, high = _chunk_pairs(count)[partition - int(own["first"])]
    first_chunk = _chunks(rows[first], count)
    second_chunk = _chunks(rows[second], count)
    kept: NDArray[np.bool_] = (np.minimum(first_chunk, second_chunk) == low) & (
        np.maximum(first_chunk, second_chunk) == high
    )
    return kept


def _chunks(rows: Rows, count: int) -> NDArray[np.int64]:
    return spread([rows["fingerprint"], rows["fingerprint"]], count)


def _chunk_pairs(count: int) -> list[tuple[int, int]]:
    return [(first, second) for first in range(count) for second in range(first, count)]


def _pair_count(heavy: Rows) -> int:
    return int((heavy["chunks"] * (heavy["chunks"] + 1) // 2).sum())


def _heavy_bands(output: OutputFolder, plan: Plan) -> Rows:
    with output.open(f"work/{plan.prefix}heavy-bands") as file:
        return np.frombuffer(file.read(), _HEAVY)


def _unsigned(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(numbers).view(np.uint64)
