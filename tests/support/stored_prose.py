"""Texts long enough to have a fingerprint."""

import random

_WORDS = [f"{first}{last}" for first in ("ba", "de", "fi", "go", "ku", "li", "mo") for last in ("lt", "rn", "sk", "tz")]


def prose(seed, words=60):
    """Return a text long enough to have a fingerprint, another for each seed."""
    return " ".join(random.Random(seed).choices(_WORDS, k=words))
