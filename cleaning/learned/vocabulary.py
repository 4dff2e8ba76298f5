"""What the words of all texts say at the second look: in a block, and in the elements around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cleaning.learned.counted import Counted
    from cleaning.learned.lexicon import Lexicon

_LEVELS = 4  # elements around a block, the innermost first

NAMES = ["mean_word", "least_word", "greatest_word", "least_words", *(f"mean_word_{level}" for level in range(_LEVELS))]


def read_vocabulary(counted: Counted, lexicon: Lexicon) -> np.ndarray:
    """Return the scores of each block's words (n x len(NAMES), float32); 0 where none is known."""
    sums, counts, least, greatest, few = lexicon.sums(counted.texts)
    means = counted.inside(sums) / np.maximum(1, counted.inside(counts))
    of_block = [sums / np.maximum(1, counts), least, greatest, few]
    return np.stack([*of_block, *means[counted.chain[:_LEVELS]]], axis=1).astype(np.float32)
