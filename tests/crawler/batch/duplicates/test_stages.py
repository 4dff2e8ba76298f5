"""The stages that find sightings: any number of partitions gives the same blocks."""

import pytest
from batch_jobs import options, rows

from crawler.batch.job import run_batch

pytestmark = pytest.mark.slow


def test_the_same_blocks_come_out_of_any_number_of_partitions(archives, finished, tmp_path):
    """And a job begins with `resume` too, if there is none to continue."""
    run_batch(options(tmp_path, archives, blocks_per_task=4, resume=True))
    for table in ("pages", "blocks", "sightings", "rejected"):
        assert rows(tmp_path / "out", table) == rows(finished[1], table)
