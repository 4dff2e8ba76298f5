"""Whole pages by MinHash and locality-sensitive hashing, as corpora of training texts are made.

Broder, "On the resemblance and containment of documents" (1997); Indyk and Motwani, "Approximate nearest neighbors"
(1998). A page is the set of its n-grams of words or characters. Its signature has the smallest value of each of
several hash functions over this set: two pages with the Jaccard similarity J have the same value with probability J.
The signature is cut into bands. Pages with an equal band are one group, whether by one pair or by a chain of pairs.
With b bands of r values, a pair is found with probability 1 - (1 - J^r)^b.

    rules = MinHashRules.read("14x8x5w")
    rules.find_probability(0.8)             # 0.92
    rules.bands_of("the text of a page")    # an array of 14 numbers
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from xxhash import xxh64_intdigest

from cleaning.terms import fold, tokenise

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORM = re.compile(r"([0-9]{1,3})x([0-9]{1,3})x([0-9]{1,3})([wc])", re.ASCII)
_VALUES_MAX = 1_024
_SEED = 1
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
# The hash functions are evaluated for this many values at a time: it bounds the memory that a long page takes.
_VALUES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class MinHashRules:
    """The bands of a signature, the hash functions of a band, and the length of the n-grams.

    The default is that of datatrove: 14 bands of 8 hashes over 5-grams of words. `20x13x24c` is that of NeMo Curator:
    20 bands of 13 hashes over 24-grams of characters.
    """

    bands: int = 14
    hashes: int = 8
    length: int = 5
    unit: str = "w"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the rules that a text such as `14x8x5w` states. Raises ValueError."""
        form = _FORM.fullmatch(text)
        bands, hashes, length = (int(number) for number in form.groups()[:3]) if form else (0, 0, 0)
        if form is None or min(bands, hashes, length) < 1 or bands * hashes > _VALUES_MAX:
            raise ValueError(
                f"{text!r} has not the form BANDSxHASHESxLENGTH with a w for words or a c for characters, such as "
                f"14x8x5w, with at most {_VALUES_MAX:,} hashes in all bands"
            )
        return cls(bands, hashes, length, form[4])

    def __str__(self) -> str:
        return f"{self.bands}x{self.hashes}x{self.length}{self.unit}"

    def find_probability(self, similarity: float) -> float:
        """Return the probability that two pages with this Jaccard similarity (0 to 1) have an equal band."""
        return 1 - (1 - similarity**self.hashes) ** self.bands

    def bands_of(self, text: str) -> NDArray[np.uint64]:
        """Return a number for each band; an empty array for a text that is shorter than an n-gram."""
        signature = self.signature(text)
        if not len(signature):
            return np.empty(0, np.uint64)
        values = signature.reshape(self.bands, self.hashes)
        return np.array([xxh64_intdigest(band.tobytes()) for band in values], np.uint64)

    def signature(self, text: str) -> NDArray[np.uint32]:
        """Return the smallest value of each hash function; an empty array for a text that is shorter than an n-gram."""
        grams = np.unique(_grams(self._units(text), self.length))
        if not len(grams):
            return np.empty(0, np.uint32)
        factors, summands = _functions(self.bands * self.hashes)
        smallest = np.full(len(factors), np.iinfo(np.uint32).max, np.uint32)
        rows = max(1, _VALUES_AT_ONCE // len(factors))
        for start in range(0, len(grams), rows):
            # Multiply-shift (Dietzfelbinger, 1996): the upper half of a product and a sum.
            values = (grams[start : start + rows, None] * factors + summands) >> _HALF
            np.minimum(smallest, values.min(axis=0).astype(np.uint32), out=smallest)
        return smallest

    def _units(self, text: str) -> NDArray[np.uint64]:
        if self.unit == "c":
            characters = " ".join(fold(text).split()).encode("utf-32-le", "surrogatepass")
            return np.frombuffer(characters, "<u4").astype(np.uint64)
        return np.array([_hash(word) for word in tokenise(text)], np.uint64)


def _grams(units: NDArray[np.uint64], length: int) -> NDArray[np.uint64]:
    """Return a number below 2^32 for each n-gram of consecutive units."""
    count = max(0, len(units) - length + 1)
    grams = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for place in range(length):
            grams = (grams ^ units[place : place + count]) * _MIX
            grams ^= grams >> np.uint64(29)
    return grams >> _HALF


@lru_cache(maxsize=1 << 16)
def _hash(word: str) -> int:
    return xxh64_intdigest(word.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=4)
def _functions(count: int) -> tuple[Any, Any]:
    """Return the factors and summands of the hash functions: the same in each process."""
    random = np.random.Generator(np.random.PCG64(_SEED))
    factors, summands = random.integers(0, 1 << 64, (2, count), dtype=np.uint64, endpoint=False)
    return factors | np.uint64(1), summands
