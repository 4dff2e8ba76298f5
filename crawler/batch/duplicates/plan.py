"""How the stages of a job divide it among tasks, and the files that the tasks of one stage write for the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawler.batch.clean_file import ID_BITS
from crawler.batch.duplicates.decisions import BLOCKS_PER_TASK
from crawler.batch.output import partition_name, partition_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DECISION = np.dtype([("page_id", "i8"), ("is_doubted", "?"), ("is_earlier", "?")])
"""A page that does not count because a later one does, or whose stated address is doubted (see `addresses`)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the stages divide a job: ranges of input files in their order, and as many partitions.

    `range_starts` has the first input file of each range, and the number of all files at its end. `max_distance` is the
    number of bits within which blocks of different pages are near-duplicates; None compares no pages. The stages run
    twice, for blocks and for pages: `prefix` tells their files apart.
    """

    range_starts: tuple[int, ...]
    max_distance: int | None
    prefix: str = ""

    @classmethod
    def of(cls, blocks: Sequence[int], max_distance: int | None, blocks_per_task: int = BLOCKS_PER_TASK) -> Plan:
        """Return the plan for input files, given the number of kept blocks of each."""
        starts, held = [0], 0
        for number, count in enumerate(blocks):
            if held and held + count > blocks_per_task:
                starts.append(number)
                held = 0
            held += count
        return cls((*starts, len(blocks)), max_distance)

    @property
    def partitions(self) -> int:
        return len(self.range_starts) - 1

    def file(self, stage: str, number: int) -> str:
        """Return the name of the file of rows that a task of a stage writes."""
        return partition_name(self.prefix + stage, number)

    def files(self, stage: str, count: int | None = None) -> list[str]:
        """Return the names of the files of rows that the tasks of a stage write, as many as there are partitions."""
        return partition_names(self.prefix + stage, self.partitions if count is None else count)

    def files_of(self, range_number: int) -> range:
        """Return the numbers of a range's input files."""
        return range(self.range_starts[range_number], self.range_starts[range_number + 1])

    def ranges_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the range of each page or block."""
        starts = np.array(self.range_starts[1:-1], np.int64)
        return np.searchsorted(starts, ids >> ID_BITS, "right").astype(np.int64)
