"""Which pages of a job repeat an earlier one: the whole text, whatever its length, or nearly the whole text.

`exact` compares the digests of the texts. `near` compares the fingerprints of pages as well, by the stages and rules of
blocks: a page counts as the duplicate of the nearest earlier page that is none itself, as in a crawl.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pyarrow import parquet

from crawler.batch.clean_file import cleaned_names
from crawler.batch.duplicates.decisions import KEY, SIGHTING
from crawler.batch.duplicates.stages import read_decisions
from crawler.batch.output import read_partition, spread, write_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from crawler.batch.duplicates.plan import Plan
    from crawler.batch.output import OutputFolder, Rows

PAGE_PREFIX = "page-"
"""Where the stages of pages keep their files."""

_ROWS_PER_READ = 1_000


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


def read_repeats(output: OutputFolder, plan: Plan, range_number: int) -> Rows:
    """Return the pages of a range that repeat another, ordered by id."""
    page_plan = replace(plan, prefix=PAGE_PREFIX)
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
