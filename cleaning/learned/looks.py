"""Which elements of a page look alike: by tags, signs and the elements around them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cleaning.compiled import compiled_looks

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from cleaning.scan import Scan


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """What is alike in a scan of n blocks and m elements.

    `depth` (m, int32) tells how many elements are around each one, `siblings` (m, int32) how many elements with its tag
    and first sign its parent has, itself among them. `alike` (n, int32) has the same number for blocks where tags and
    signs of the element and of the one around it are the same, `same_path` (n, int32) where the tags of all elements
    around are; the numbers run from 0 in the order of the blocks.
    """

    depth: np.ndarray
    siblings: np.ndarray
    alike: np.ndarray
    same_path: np.ndarray


def read_looks(scan: Scan) -> Looks:
    """Return the looks of a scan that has blocks."""
    module = compiled_looks()
    if module is None:
        return pure_looks(scan)
    found: Looks = module.read_looks(scan)
    return found


def pure_looks(scan: Scan) -> Looks:
    """Return what `read_looks` does, counted by Python."""
    parents = scan.parent.tolist()
    depths: list[int] = []
    paths: list[int] = []
    known: dict[tuple[int, str], int] = {}
    for parent, tag in zip(parents, scan.tags, strict=True):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        paths.append(known.setdefault((paths[parent] if parent >= 0 else -1, tag), len(known)))
    first_signs = (signs.partition(" ")[0] for signs in scan.node_signs)
    keys = list(zip(parents, scan.tags, first_signs, strict=True))
    times = Counter(keys)
    looks = _numbered(zip(scan.tags, scan.node_signs, strict=True))
    pairs = [(looks[max(parent, 0)], look) for parent, look in zip(parents, looks, strict=True)]
    numbers = scan.node.tolist()
    return Looks(
        np.array(depths, np.int32),
        np.array([times[key] for key in keys], np.int32),
        np.array(_numbered(pairs[number] for number in numbers), np.int32),
        np.array(_numbered(paths[number] for number in numbers), np.int32),
    )


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    known: dict[Any, int] = {}
    return [known.setdefault(key, len(known)) for key in keys]
