"""The address of each page of a job, decided as in a crawl of the same records.

Of several answers from one address the one of the latest date counts, as with `REPLAY`. Then the addresses that pages
state (rel=canonical) are believed or doubted by the rules of `crawler.storage.addresses`. An address is contested if
more than one page states it, or if a page is there. Only the pages of contested addresses are compared, each with the
page that is at the address so far. Of each page the `_SKETCH_TERMS` smallest hashes of its terms are compared. The
result is exact for two pages that have no more different terms each.

Each stage is a function on the rows of one partition, as in `stages`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from pyarrow import parquet
from xxhash import xxh32_intdigest, xxh64_intdigest

from cleaning.terms import terms
from crawler.batch.clean_file import cleaned_names
from crawler.batch.columns import read_table
from crawler.batch.duplicates.plan import DECISION
from crawler.batch.output import partition_name, partition_names, read_partition, spread, write_partitions
from crawler.monitoring.exit_status import CANONICAL_STAT
from crawler.storage.addresses import texts_agree
from crawler.storage.tables import signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from crawler.batch.duplicates.plan import Plan
    from crawler.batch.output import OutputFolder, Rows

_SKETCH_TERMS = 1_024
"""The number of hashes that stand for the terms of a page: few pages have more."""

_NO_TERM = np.uint32(0xFFFFFFFF)
_ROWS_PER_READ = 5_000
_ANSWER = np.dtype(
    [("high", "i8"), ("low", "i8"), ("at", "i8"), ("order", "i8"), ("page_id", "i8"), ("transient", "?")]
)
_STATED = np.dtype([("high", "i8"), ("low", "i8"), ("page_id", "i8")])
_CONTESTED = np.dtype([("page_id", "i8"), ("high", "i8"), ("low", "i8"), ("is_owner", "?")])
_CLAIM = np.dtype(
    [
        *((name, _CONTESTED[name]) for name in _CONTESTED.names or ()),
        ("body_hash", "i8"),
        ("title", "i8"),
        ("has_title", "?"),
        ("sketch", "u4", _SKETCH_TERMS),
    ]
)


def send_addresses(output: OutputFolder, plan: Plan, range_number: int) -> dict[str, int]:
    """Send the address of each answer of a range, and the one that its page states, to their partitions."""
    answers = [np.empty(0, _ANSWER)]
    stated = [np.empty(0, _STATED)]
    names = (*(_ANSWER.names or ()), "stated_high", "stated_low")
    for number in plan.files_of(range_number):
        table = read_table(output, cleaned_names(number)["addresses"], names)
        answers.append(_answers(table))
        stating = table.filter(table["stated_high"].is_valid())
        rows = np.zeros(len(stating), _STATED)
        rows["high"] = stating["stated_high"].to_numpy()
        rows["low"] = stating["stated_low"].to_numpy()
        rows["page_id"] = stating["page_id"].to_numpy()
        stated.append(rows)
    for stage, rows in (("addresses", np.concatenate(answers)), ("stated", np.concatenate(stated))):
        targets = spread([rows["high"], rows["low"]], plan.partitions)
        write_partitions(output, partition_name(stage, range_number), rows, targets, plan.partitions)
    return {}


def find_repeated(output: OutputFolder, plan: Plan, partition: int) -> dict[str, int]:
    """Find the pages that a later answer replaces. As with `REPLAY`, the last answer that is not temporary counts.

    The last one is that of the latest date, and of several with one date that of the last record.

    Send the pages of contested addresses to their ranges.
    """
    rows = read_partition(output, partition_names("addresses", plan.partitions), partition, _ANSWER)
    rows = rows[np.lexsort((rows["order"], rows["at"], ~rows["transient"], rows["low"], rows["high"]))]
    is_last = np.ones(len(rows), bool)
    is_last[:-1] = (rows["high"][1:] != rows["high"][:-1]) | (rows["low"][1:] != rows["low"][:-1])
    has_page = rows["page_id"] >= 0
    is_repeated = ~is_last & has_page
    ends = np.flatnonzero(is_last)
    last = ends[np.searchsorted(ends, np.flatnonzero(is_repeated))]
    decisions = np.zeros(len(last), DECISION)
    decisions["page_id"] = rows["page_id"][is_repeated]
    decisions["is_earlier"] = rows["at"][is_repeated] < rows["at"][last]
    decisions.sort(order="page_id")
    _send(output, plan, partition_name("repeated", partition), decisions)
    stated = read_partition(output, partition_names("stated", plan.partitions), partition, _STATED)
    _send(output, plan, partition_name("contested", partition), _contested(stated, rows[is_last & has_page]))
    return {"record/repeated": len(decisions)}


def send_claims(output: OutputFolder, plan: Plan, range_number: int) -> dict[str, int]:
    """Send what a range's pages of contested addresses are compared by to the partitions of these addresses."""
    contested = read_partition(output, partition_names("contested", plan.partitions), range_number, _CONTESTED)
    repeated = read_partition(output, partition_names("repeated", plan.partitions), range_number, DECISION)
    contested = contested[~np.isin(contested["page_id"], repeated["page_id"])]
    contested = contested[np.argsort(contested["page_id"], kind="stable")]
    claims = [np.empty(0, _CLAIM)]
    if len(contested):
        claims += [_claims_of_file(output, number, contested) for number in plan.files_of(range_number)]
    rows = np.concatenate(claims)
    targets = spread([rows["high"], rows["low"]], plan.partitions)
    write_partitions(output, partition_name("claims", range_number), rows, targets, plan.partitions)
    return {}


def decide_claims(output: OutputFolder, plan: Plan, partition: int) -> dict[str, int]:
    """Decide in the order of the records which pages are one, and which count under their own address."""
    claims = _Claims()
    for name in partition_names("claims", plan.partitions):
        # One range after the other: the pages of a site that states one address everywhere are all in this partition.
        for row in read_partition(output, [name], partition, _CLAIM):
            claims.add(row)
    decisions = np.zeros(len(claims.repeated) + len(claims.doubted), DECISION)
    decisions["page_id"] = np.array([*claims.repeated, *claims.doubted], np.int64)
    decisions["is_doubted"][len(claims.repeated) :] = True
    _send(output, plan, partition_name("decided", partition), decisions)
    return {"record/repeated": len(claims.repeated), CANONICAL_STAT: len(claims.doubted)}


@dataclass(slots=True)
class _Claims:
    """The page at each contested address so far, as a crawl that stores one page after the other has it.

    `doubted_keys` are the addresses that are not believed any more.
    """

    pages: dict[tuple[int, int], Any] = field(default_factory=dict)
    doubted_keys: set[tuple[int, int]] = field(default_factory=set)
    repeated: list[int] = field(default_factory=list)
    doubted: list[int] = field(default_factory=list)

    def add(self, claim: Any) -> None:
        """Take the next page that states a contested address, or is there."""
        key = (int(claim["high"]), int(claim["low"]))
        stored = self.pages.get(key)
        if stored is not None and not _is_same_page(claim, stored):
            self.doubted_keys.add(key)
            self._give_way(key)
            stored = None
        if not claim["is_owner"] and key in self.doubted_keys and (stored is None or not stored["is_owner"]):
            self._give_way(key)
            self.doubted.append(int(claim["page_id"]))
            return
        if stored is not None and not claim["is_owner"]:
            self.repeated.append(int(claim["page_id"]))
            return
        if stored is not None:
            self.repeated.append(int(stored["page_id"]))
        # A row of an array would keep all rows of it.
        self.pages[key] = claim.copy()

    def _give_way(self, key: tuple[int, int]) -> None:
        """Doubt the address of the page that states it and is stored there; the page that is there stays."""
        stored = self.pages.get(key)
        if stored is not None and not stored["is_owner"]:
            self.doubted.append(int(stored["page_id"]))
            del self.pages[key]


def _answers(table: Any) -> Rows:
    rows = np.zeros(len(table), _ANSWER)
    for name in _ANSWER.names or ():
        rows[name] = table[name].to_numpy()
    return rows


def _contested(stated: Rows, answers: Rows) -> Rows:
    """Return the pages of addresses that several pages state, or that one page states and another one has."""
    rows = np.zeros(len(stated) + len(answers), _CONTESTED)
    for name in ("page_id", "high", "low"):
        rows[name] = np.concatenate((stated[name], answers[name]))
    rows["is_owner"][len(stated) :] = True
    _, group, count = np.unique(rows[["high", "low"]], return_inverse=True, return_counts=True)
    is_stated = np.bincount(group, ~rows["is_owner"], len(count)) > 0
    contested: Rows = rows[(is_stated & (count > 1))[group]]
    return contested


def _claims_of_file(output: OutputFolder, number: int, contested: Rows) -> Rows:
    """Return the claims of an input file's pages; a page may have two, one for its own and one for another address."""
    table = read_table(output, cleaned_names(number)["pages"], ("id", "title", "body_hash"))
    table = table.filter(np.isin(table["id"].to_numpy(), contested["page_id"]))
    ids = table["id"].to_numpy()
    pages = np.zeros(len(ids), _CLAIM)
    pages["body_hash"] = table["body_hash"].to_numpy()
    pages["title"] = [signed(xxh64_intdigest(_encoded(title or ""))) for title in table["title"].to_pylist()]
    pages["has_title"] = table["title"].is_valid().to_numpy()
    pages["sketch"] = _NO_TERM
    for page_id, sketch in _sketches(output, number, ids):
        pages["sketch"][np.searchsorted(ids, page_id)] = sketch
    own = contested[np.isin(contested["page_id"], ids)]
    claims: Rows = pages[np.searchsorted(ids, own["page_id"])]
    for name in _CONTESTED.names or ():
        claims[name] = own[name]
    return claims


def _sketches(output: OutputFolder, number: int, ids: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """Yield the sketches of the pages that have kept blocks."""
    for page_id, blocks in groupby(_blocks_of(output, number, ids), key=lambda block: block[0]):
        hashes = {xxh32_intdigest(_encoded(term)) for _, text in blocks for term in terms(text)} - {int(_NO_TERM)}
        sketch = np.full(_SKETCH_TERMS, _NO_TERM)
        smallest = sorted(hashes)[:_SKETCH_TERMS]
        sketch[: len(smallest)] = smallest
        yield page_id, sketch


def _blocks_of(output: OutputFolder, number: int, ids: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """Yield the page and text of each kept block of these pages."""
    if not len(ids):
        return
    with output.open(cleaned_names(number)["blocks"]) as file:
        for batch in parquet.ParquetFile(file).iter_batches(_ROWS_PER_READ, columns=["page_id", "text"]):
            chosen = batch.filter(np.isin(batch.column("page_id").to_numpy(), ids))
            yield from zip(chosen.column("page_id").to_pylist(), chosen.column("text").to_pylist(), strict=True)


def _is_same_page(claim: Any, other: Any) -> bool:
    """Return True if two pages probably show the texts of one page (see `crawler.storage.addresses`)."""
    if claim["body_hash"] == other["body_hash"]:
        return True
    has_title = bool(claim["has_title"] and other["has_title"] and claim["title"] == other["title"])
    own, others = (side["sketch"][side["sketch"] != _NO_TERM] for side in (claim, other))
    # Of a full sketch, nothing is known of the terms beyond its end.
    known = min((side[-1] for side in (own, others) if len(side) == _SKETCH_TERMS), default=_NO_TERM)
    own, others = own[own <= known], others[others <= known]
    return texts_agree(len(np.intersect1d(own, others)), len(own), len(others), has_title=has_title)


def _send(output: OutputFolder, plan: Plan, name: str, rows: Rows) -> None:
    """Send rows to the ranges of their pages."""
    write_partitions(output, name, rows, plan.ranges_of(rows["page_id"]), plan.partitions)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
