"""A plan divides input files into ranges, and names the files between the stages."""

from dataclasses import replace

import numpy as np
import pytest

from crawler.batch.clean_file import ID_BITS
from crawler.batch.duplicates.plan import Plan


@pytest.mark.parametrize(
    ("blocks", "starts"),
    [([], (0, 0)), ([3], (0, 1)), ([3, 3, 3], (0, 1, 2, 3)), ([1, 2, 9, 1], (0, 2, 3, 4)), ([0, 0, 5], (0, 3))],
)
def test_a_range_has_files_up_to_the_limit_or_one_that_is_larger(blocks, starts):
    plan = Plan.of(blocks, None, blocks_per_task=5)
    assert plan.range_starts == starts
    assert [number for place in range(plan.partitions) for number in plan.files_of(place)] == list(range(len(blocks)))


def test_an_id_belongs_to_the_range_of_its_file():
    plan = Plan.of([1, 2, 9, 1], None, blocks_per_task=5)
    ids = np.array([0, 1, 1 << ID_BITS, 2 << ID_BITS, (3 << ID_BITS) + 7])
    assert plan.ranges_of(ids).tolist() == [0, 0, 0, 1, 2]


def test_the_stages_of_pages_write_other_files():
    plan = Plan.of([9, 9], None, blocks_per_task=5)
    pages = replace(plan, prefix="page-")
    assert plan.files("keys") == ["work/keys/000000", "work/keys/000001"]
    assert pages.files("keys", 1) == [pages.file("keys", 0)] == ["work/page-keys/000000"]
