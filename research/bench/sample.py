"""Fingerprints as a store holds them, queries as pages bring them, and the truth by brute force.

All of it comes from fixed seeds: each run has the same.
"""

from __future__ import annotations

import numpy as np

PAGE = 50
_RELATED = 0.3  # share of the stored that belong to families: texts made from one template
_LARGEST_FAMILY = 2_000
_ZIPF = 1.7  # half of the families have one member, the average is some 15
_BITS_IN_FAMILY = (4, 12)  # from its centre; what is nearer was found to be a duplicate, and not stored
_NEAR = 3
_PART = 100_000  # bounds the memory that choosing bits takes


def stored_fingerprints(size):
    """Return so many distinct fingerprints in random order."""
    random = np.random.default_rng(1)
    related = int(size * _RELATED)
    centres = random.integers(0, 1 << 64, related // 8 + 1, np.uint64)
    members = np.resize(np.repeat(centres, np.minimum(random.zipf(_ZIPF, len(centres)), _LARGEST_FAMILY)), related)
    least, most = _BITS_IN_FAMILY
    members = flipped(members, random.integers(least, most + 1, related), random)
    fingerprints = np.unique(np.concatenate([members, random.integers(0, 1 << 64, size - related, np.uint64)]))
    while len(fingerprints) < size:
        fingerprints = np.unique(
            np.append(fingerprints, random.integers(0, 1 << 64, size - len(fingerprints), np.uint64))
        )
    return random.permutation(fingerprints)


def queries(stored, pages):
    """Return queries for so many pages: half are 0 to 3 bits from a stored one, half random, in random order."""
    random = np.random.default_rng(2)
    count = pages * PAGE
    near = random.choice(stored, count // 2)
    near = flipped(near, random.integers(0, _NEAR + 1, len(near)), random)
    return random.permutation(np.concatenate([near, random.integers(0, 1 << 64, count - len(near), np.uint64)]))


def new_fingerprints(pages):
    return np.random.default_rng(3).integers(0, 1 << 64, pages * PAGE, np.uint64)


def flipped(fingerprints, counts, random):
    """Return each fingerprint with so many different bits of it flipped."""
    result = fingerprints.copy()
    for start in range(0, len(result), _PART):
        part = slice(start, start + _PART)
        bits = random.random((len(result[part]), 64), np.float32).argsort(axis=1)[:, : _BITS_IN_FAMILY[1]]
        chosen = np.arange(bits.shape[1]) < counts[part, None]
        masks = np.where(chosen, np.uint64(1) << bits.astype(np.uint64), np.uint64(0))
        result[part] ^= np.bitwise_xor.reduce(masks, axis=1)
    return result


def neighbours(stored, queries):
    """Return pairs of a query and the number of a stored one within 3 bits of it, by comparing all with all."""
    matches = [(query, np.flatnonzero(np.bitwise_count(stored ^ query) <= _NEAR)) for query in np.unique(queries)]
    return {(int(query), int(number)) for query, numbers in matches for number in numbers}
