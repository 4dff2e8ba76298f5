"""The rule that nothing on the demo site repeats or resembles anything else, except where that is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cleaning.fingerprint import digest, distance, fingerprint
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable

# Two texts within this many bits are near-duplicates; unrelated ones must stay clear of twice as many, so
# that no choice of representative can join them.
NEAR_BITS = 3
UNRELATED_BITS = 6
# Shorter texts are matched by digest alone: their fingerprints say too little.
MIN_TERMS = 20

_MAX_ATTEMPTS = 500


class Originals:
    """The texts accepted so far, by digest and fingerprint."""

    def __init__(self) -> None:
        self._digests: set[int] = set()
        self._fingerprints: list[int] = []

    def fresh(self, write: Callable[[], str]) -> str:
        """Return the first text written that is unlike all accepted ones, and accept it.

        Raises RuntimeError when many attempts in a row resemble earlier texts: the vocabulary is too small.
        """
        for _ in range(_MAX_ATTEMPTS):
            text = write()
            if self.admits(text):
                self.accept(text)
                return text
        raise RuntimeError(f"{_MAX_ATTEMPTS} texts in a row resemble earlier ones; the last: {text!r}")

    def admits(self, text: str) -> bool:
        if digest(text) in self._digests:
            return False
        mark = fingerprint(text)
        return not has_fingerprint(text) or all(distance(mark, other) > UNRELATED_BITS for other in self._fingerprints)

    def accept(self, text: str) -> None:
        self._digests.add(digest(text))
        if has_fingerprint(text):
            self._fingerprints.append(fingerprint(text))


def has_fingerprint(text: str) -> bool:
    """Tell whether the text is long enough to be compared by fingerprint."""
    return len(set(terms(text))) >= MIN_TERMS
