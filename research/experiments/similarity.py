"""The ways to compare texts of experiment 2: what is kept of a text, and whether two of them are near-duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from datasketch import MinHash

from cleaning.fingerprint import distance, fingerprint_terms
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable

SIMILAR = 0.8  # of Jaccard and MinHash: the paper has no figure
MOST_BITS = 3
PERMUTATIONS = 128


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is kept of a sequence of terms, and when two of these are alike."""

    mark: Callable
    alike: Callable


def _minhash(sequence):
    sketch = MinHash(num_perm=PERMUTATIONS)
    sketch.update_batch([term.encode(errors="replace") for term in set(sequence)])
    return sketch


def _jaccard(first, second):
    return len(first & second) / len(first | second) >= SIMILAR


def _near(first, second):
    return distance(first, second) <= MOST_BITS


def _hybridhash(sequence):
    """Our reading of "can work on binary vectors": a simhash in which a term counts once, however often it occurs."""
    return fingerprint_terms(list(dict.fromkeys(sequence)), weighting="plain")


LIKENESSES = {
    "Jaccard": Likeness(frozenset, _jaccard),
    "MinHash": Likeness(_minhash, lambda first, second: first.jaccard(second) >= SIMILAR),
    "simhash": Likeness(lambda sequence: fingerprint_terms(sequence, weighting="plain"), _near),
    "hybridhash": Likeness(_hybridhash, _near),
    "modified simhash": Likeness(fingerprint_terms, _near),
}


def distinct(texts, likeness):
    """Return the places of the texts that are like no earlier one which stays; a text without terms stays."""
    places, marks = [], []
    for place, text in enumerate(texts):
        sequence = terms(text)
        mark = likeness.mark(sequence) if sequence else None
        if mark is not None and any(likeness.alike(mark, earlier) for earlier in marks):
            continue
        places.append(place)
        if mark is not None:
            marks.append(mark)
    return places
