"""What tags and the words of class, id and role say of an element: navigation, footer, caption and the like."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from cleaning.blocks import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cleaning.features import Node

# A word that covers more than this share of the page's prose says nothing there. Swept on both development sets:
# .8 to .9 and .3 to .5 are within .002 F1; without the bound, forums lose their text (F1 .76 to .58).
_MOST_PROSE = {"sure": 0.9, "likely": 0.4}


def read_hints(nodes: Sequence[Node]) -> dict[Node, Reason]:
    """Return why elements are no content, for each hinted one and all that is inside it; {} where nothing is hinted.

    `nodes` are the elements of one page, outer ones before those inside them.
    """
    reasons: dict[Node, Reason] = {}
    for level, most in _MOST_PROSE.items():
        clear = [node for node in nodes if node not in reasons]
        words = {node: _words(level, node.tag, node.hints) for node in clear}
        total = nodes[0].prose if nodes else 0
        left = total - sum(node.prose for node in reasons if node.parent not in reasons)
        believed = {word for word, prose in _coverage(words).items() if prose < most * max(1, left)}
        found = ((node, word, reason) for node in clear for word, reason in words[node].items())
        reasons = spread(nodes, reasons | {node: reason for node, word, reason in found if word in believed})
    return reasons


def spread(nodes: Iterable[Node], reasons: Mapping[Node, Reason]) -> dict[Node, Reason]:
    """Return the reasons, each also for all that is inside its element; the outermost counts."""
    everywhere: dict[Node, Reason] = {}
    for node in nodes:
        above = everywhere.get(node.parent) if node.parent else None
        reason = above or reasons.get(node)
        if reason:
            everywhere[node] = reason
    return everywhere


def _coverage(hinted: Mapping[Node, Mapping[str, Reason]]) -> Counter[str]:
    """Return how many words of prose are inside elements that carry each hint."""
    covered: Counter[str] = Counter()
    above: dict[Node | None, frozenset[str]] = {}
    for node, words in hinted.items():
        outer = above.get(node.parent, frozenset())
        above[node] = outer.union(words) if words else outer
        for word in words.keys() - outer if words else ():
            covered[word] += node.prose
    return covered


@lru_cache(maxsize=1 << 13)
def _words(level: str, tag: str, hints: str) -> dict[str, Reason]:
    table = _tables()[level]
    return {word: table[word] for word in (f"<{tag}>", *re.findall("[a-z]+", hints)) if word in table}


@cache
def _tables() -> dict[str, dict[str, Reason]]:
    source = resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8")
    tables: dict[str, dict[str, Reason]] = {level: {} for level in _MOST_PROSE}
    for reason, levels in tomllib.loads(source).items():
        for level, words in levels.items():
            tables[level].update(dict.fromkeys(words.split(), Reason(reason)))
    return tables
