"""What tags and the words of class, id and role say of an element: navigation, footer, caption and the like."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib import resources
from itertools import chain, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from cleaning.blocks import Reason
from cleaning.compiled import compiled_words

if TYPE_CHECKING:
    from cleaning._words import Hints

_WORD = re.compile("[a-z]+")
# Shares of a page's prose around which words of each level are believed against the trained model: some sites wrap all
# of a page in an `aside`.
_LEVELS = {"certain": 0.9, "sure": 0.4, "likely": 0.0}


class Hint(NamedTuple):
    """Why an element would be no content; this overrules the model where at most `most` of a page's prose is inside."""

    reason: Reason
    most: float


def read_hints(tags: list[str], signs: list[str]) -> list[Hint | None]:
    """Return what `read_hint` does of each element."""
    known = _compiled()
    return list(map(read_hint, tags, signs)) if known is None else known.read(tags, signs)


@cache
def _compiled() -> Hints | None:
    module = compiled_words()
    if module is None:
        return None
    hints: Hints = module.Hints(_table())
    return hints


@lru_cache(maxsize=1 << 13)
def read_hint(tag: str, signs: str) -> Hint | None:
    """Return what an element's tag and the words of its signs say, the surest of them; None for nothing."""
    table = _table()
    own = table.get(f"<{tag}>")
    words = _WORD.findall(signs.lower())
    if _beginnings().isdisjoint(words):
        return own
    pairs = (f"{first}-{second}" for first, second in pairwise(words))
    found = (table[word] for word in chain(words, pairs) if word in table)
    return max(chain((own,) if own else (), found), key=attrgetter("most"), default=None)


@cache
def _beginnings() -> frozenset[str]:
    """Return the words with which an entry of the table begins."""
    return frozenset(word.partition("-")[0] for word in _table())


@cache
def _table() -> dict[str, Hint]:
    source = resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8")
    return {
        word: Hint(Reason(reason), _LEVELS[level])
        for reason, levels in tomllib.loads(source).items()
        for level, words in levels.items()
        for word in words.split()
    }
