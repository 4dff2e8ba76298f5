"""The main part of a page: the smallest element that holds most of its text, with its headline and tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cleaning.blocks import Kind
from cleaning.features import enclosing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cleaning.features import Leaf, Node

# Shares of the weight that make an element, and a `main` one, the main element. .7 to .9 and .3 to .5 are within
# .006 F1 on news and .001 on mixed pages; lower shares lose more of a text that is split over containers.
_MAIN_SHARE, _MARKED_SHARE = 0.8, 0.4
# These are parts of a text, even where they hold most of its words.
_PARTS = frozenset({"p", "pre", "blockquote", "li", "ul", "ol", "dl"})


def find_region(nodes: Sequence[Node], leaves: Sequence[Leaf], weigh: Callable[[Leaf], int]) -> set[Leaf]:
    """Return those of the leaves that make the main part: in the main element, from the headline to it, tables beside.

    `nodes` are the elements of the page, outer ones before those inside them; `weigh` says how much a leaf counts.
    """
    main = _main_element(nodes, _sums(nodes, leaves, weigh))
    inside = _inside(nodes, {main, *_tables_beside(main, leaves)})
    places = [place for place, leaf in enumerate(leaves) if leaf.node in inside]
    first = places[0] if places else 0
    headlines = (place for place in range(first) if leaves[place].node.tag == "h1")
    return {leaves[place] for place in (*range(max(headlines, default=first), first), *places)}


def _sums(nodes: Sequence[Node], leaves: Iterable[Leaf], weigh: Callable[[Leaf], int]) -> Counter[Node]:
    sums: Counter[Node] = Counter()
    for leaf in leaves:
        sums[leaf.node] += weigh(leaf)
    for node in reversed(nodes):
        if node.parent:
            sums[node.parent] += sums[node]
    return sums


def _main_element(nodes: Sequence[Node], weights: Counter[Node]) -> Node | None:
    main = nodes[0] if nodes else None
    for node in nodes:
        if node.parent is main and node.tag not in _PARTS:
            marked = node.tag == "main" or "main" in node.hints.split()
            if weights[node] > weights[nodes[0]] * (_MARKED_SHARE if marked else _MAIN_SHARE):
                main = node
    return main


def _tables_beside(main: Node | None, leaves: Iterable[Leaf]) -> set[Node]:
    """Return the elements beside the main one that hold table cells: data sheets, above all; none beside the body's."""
    if main is None or main.parent is None or main.parent.parent is None:
        return set()
    cells = (leaf for leaf in leaves if leaf.block.kind is Kind.TABLE_CELL)
    return {node for node in enclosing(cells) if node.parent is main.parent}


def _inside(nodes: Iterable[Node], roots: set[Node | None]) -> set[Node | None]:
    inside = set(roots)
    for node in nodes:
        if node.parent in inside and node.parent is not None:
            inside.add(node)
    return inside
