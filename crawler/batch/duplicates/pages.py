"""Which pages of a job repeat an earlier one: the whole text, whatever its length, or nearly the whole text.

`exact` compares the digests of the texts. `near` compares the fingerprints of pages as well, by the stages and rules of
blocks: a page counts as the duplicate of the nearest earlier page that is none itself, as in a crawl. `minhash` groups
pages by the bands of their MinHash signatures instead; of each group, the first page is the original.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pyarrow import parquet

from crawler.batch.clean_file import cleaned_names
from crawler.batch.duplicates.decisions import KEY, SIGHTING, PageComparisonMode
from crawler.batch.duplicates.stages import read_decisions
from crawler.batch.output import read_partition, spread, write_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from crawler.batch.duplicates.minhash import MinHashRules
    from crawler.batch.duplicates.plan import Plan
    from crawler.batch.output import OutputFolder, Rows

PAGE_PREFIX = "page-"
"""Where the stages of pages keep their files."""

_ROWS_PER_READ = 1_000
_TEXT_BAND = -1
_BANDED = np.dtype([("band", "i2"), ("value", "i8"), ("check", "i8"), ("id", "i8")])
"""A page in a band of its signature. In the band of its text, `value` and `check` are the digest."""

_LINK = np.dtype([("id", "i8"), ("first", "i8"), ("exact", "?")])
"""A page and the first page with the same band."""


def send_page_keys(output: OutputFolder, plan: Plan, range_number: int) -> dict[str, int]:
    """Send the digests of a range's pages, and their fingerprints if the plan has a distance, to their partitions."""
    parts = [np.empty(0, KEY)]
    for table in _read_pages(output, plan, range_number, ("id", "text_digest", "page_fingerprint")):
        keys = np.zeros(len(table), KEY)
        keys["id"] = table["id"].to_numpy()
        keys["digest"], keys["check"] = _digests(table)
        if plan.max_distance is not None:
            keys["has"] = table["page_fingerprint"].is_valid().to_numpy(zero_copy_only=False)
            keys["fingerprint"] = table["page_fingerprint"].fill_null(0).to_numpy()
        parts.append(keys)
    rows = np.concatenate(parts)
    targets = spread([rows["digest"]], plan.partitions)
    write_partitions(output, plan.file("keys", range_number), rows, targets, plan.partitions)
    return {}


def send_page_bands(output: OutputFolder, plan: Plan, rules: MinHashRules, range_number: int) -> dict[str, int]:
    """Send each page of a range to the partitions of its bands, and of the digest of its text."""
    parts = [np.empty(0, _BANDED)]
    for table in _read_pages(output, plan, range_number, ("id", "text_digest", "text")):
        ids = table["id"].to_numpy()
        texts = np.zeros(len(table), _BANDED)
        texts["id"] = ids
        texts["band"] = _TEXT_BAND
        texts["value"], texts["check"] = _digests(table)
        parts.append(texts)
        for page_id, text in zip(ids.tolist(), table["text"].to_pylist(), strict=True):
            values = rules.bands_of(text)
            rows = np.zeros(len(values), _BANDED)
            rows["id"] = page_id
            rows["band"] = np.arange(len(values))
            rows["value"] = values.view(np.int64)
            parts.append(rows)
    rows = np.concatenate(parts)
    targets = spread([rows["band"], rows["value"]], plan.partitions)
    write_partitions(output, plan.file("bands", range_number), rows, targets, plan.partitions)
    return {}


def link_pages(output: OutputFolder, plan: Plan, partition: int) -> dict[str, int]:
    """Link each page of a partition to the first one with the same value of a band."""
    rows = read_partition(output, plan.files("bands"), partition, _BANDED)
    rows = rows[np.lexsort((rows["id"], rows["check"], rows["value"], rows["band"]))]
    names = ["band", "value", "check"]
    begins = np.ones(len(rows), bool)
    begins[1:] = rows[names][1:] != rows[names][:-1]
    starts = np.flatnonzero(begins)
    first = rows["id"][starts][np.cumsum(begins) - 1] if len(rows) else rows["id"]
    links = np.zeros(int((~begins).sum()), _LINK)
    links["id"], links["first"] = rows["id"][~begins], first[~begins]
    links["exact"] = rows["band"][~begins] == _TEXT_BAND
    write_partitions(output, plan.file("links", partition), links, np.zeros(len(links), np.int64), 1)
    return {"page_links": len(links)}


def group_pages(output: OutputFolder, plan: Plan) -> dict[str, int]:
    """Find the groups of linked pages, and send each page but the first of its group to the range of its file."""
    links = read_partition(output, plan.files("links"), 0, _LINK)
    ids = np.unique(np.concatenate((links["id"], links["first"])))
    originals = ids[first_of_groups(np.searchsorted(ids, links["id"]), np.searchsorted(ids, links["first"]), len(ids))]
    repeated = originals != ids
    rows = np.zeros(int(repeated.sum()), SIGHTING)
    rows["id"], rows["original"], rows["bits"] = ids[repeated], originals[repeated], -1
    same_texts = links[links["exact"]]
    first = dict(zip(same_texts["id"].tolist(), same_texts["first"].tolist(), strict=True))
    rows["exact"] = [first.get(page_id) == original for page_id, original in rows[["id", "original"]].tolist()]
    rows["bits"][rows["exact"]] = 0
    write_partitions(output, plan.file("sightings", 0), rows, plan.ranges_of(rows["id"]), plan.partitions)
    return {"page_groups": len(np.unique(rows["original"]))}


def first_of_groups(one_end: NDArray[np.int64], other_end: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the smallest number of each number's group, for numbers from 0 to `count` and links between them."""
    first = np.arange(count)
    while True:
        # Each root takes the smallest root that it is linked to; then all jump to the root of their root.
        linked = np.minimum(first[one_end], first[other_end])
        following = first.copy()
        np.minimum.at(following, first[one_end], linked)
        np.minimum.at(following, first[other_end], linked)
        while not np.array_equal(following, following[following]):
            following = following[following]
        if np.array_equal(following, first):
            return first
        first = following


def read_repeats(output: OutputFolder, plan: Plan, mode: PageComparisonMode, range_number: int) -> Rows:
    """Return the pages of a range that repeat another, ordered by id; `bits` is -1 if they were not counted."""
    page_plan = replace(plan, prefix=PAGE_PREFIX)
    names = [page_plan.file("sightings", 0)]
    if mode is not PageComparisonMode.MINHASH:
        names = page_plan.files("sightings") + page_plan.files("sightings-of-headings")
    rows = read_partition(output, names, range_number, SIGHTING)
    return rows[np.argsort(rows["id"])]


def _read_pages(output: OutputFolder, plan: Plan, range_number: int, columns: tuple[str, ...]) -> Iterator[Rows]:
    """Yield some columns of the pages of a range that count and have a text."""
    repeated = read_decisions(output, plan, range_number).repeated
    for number in plan.files_of(range_number):
        with output.open(cleaned_names(number)["pages"]) as file:
            for batch in parquet.ParquetFile(file).iter_batches(_ROWS_PER_READ, columns=list(columns)):
                counted = ~np.isin(batch.column("id").to_numpy(), repeated)
                yield batch.filter(counted & batch.column("text_digest").is_valid().to_numpy(zero_copy_only=False))


def _digests(table: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two halves of the digests of some pages' texts."""
    numbers = np.array(
        [[int(text[:16], 16), int(text[16:], 16)] for text in table["text_digest"].to_pylist()], np.uint64
    )
    halves = numbers.reshape(-1, 2).view(np.int64)
    return halves[:, 0], halves[:, 1]
