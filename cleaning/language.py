"""The language of a text, recognised by py3langid's model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_CLASSIFIED_CHARS = 2_000
_FEWEST_CHARS = 60


def identify(text: str) -> str | None:
    """Return the two-letter code of a text's language; None for a text that is too short to tell."""
    return load_model()(text[:_CLASSIFIED_CHARS])[0] if len(text) >= _FEWEST_CHARS else None


@cache
def load_model() -> Callable[[str], tuple[str, float]]:
    """Load the model, half a second's work, and return its classifier; done by the first `identify` otherwise.

    Raises OSError where the model cannot be unpacked: py3langid needs some 30 MB in the folder for temporary files.
    """
    from py3langid import classify  # noqa: PLC0415 — as above

    classify("")
    classifier: Callable[[str], tuple[str, float]] = classify
    return classifier
