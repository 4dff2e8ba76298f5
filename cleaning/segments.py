"""Blocks for the methods of the papers: the text nodes of the walk's leaves, split or regrouped by element."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.blocks import Decision, Kind, Reason
from cleaning.leaves import (
    IMAGE_TENTHS,
    PRIORITY_TENTHS,
    ElementPaths,
    Leaf,
    Node,
    Piece,
    body_of,
    make_block,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.options import Options

# Inline tags nest deeper only on hostile pages, where climbing them for each text would take quadratic time.
_MAX_INLINE_LEVELS = 100


class LeafPiece(NamedTuple):
    """A text node and the leaf that it is part of."""

    piece: Piece
    leaf: Leaf


class LeafPart(NamedTuple):
    """A part of a leaf whose text nodes have the same mark."""

    leaf: Leaf
    mark: object


def leaf_pieces(leaves: Iterable[Leaf]) -> Iterator[LeafPiece]:
    """Yield the text nodes of the leaves in reading order, white space between them included."""
    return (LeafPiece(piece, leaf) for leaf in leaves for piece in leaf.pieces)


def split_leaves(leaves: Sequence[Leaf], mark: Callable[[Piece], object]) -> list[LeafPart]:
    """Return the leaves, cut where the mark of their text nodes changes; a leaf with one mark stays whole.

    A text node of white space belongs to the part before it. Every text is in exactly one part.
    """
    parts: list[LeafPart] = []
    for leaf in leaves:
        runs = _runs(leaf.pieces, mark)
        if len(runs) == 1:
            parts.append(LeafPart(at_position(leaf, len(parts)), runs[0][0]))
            continue
        for part_mark, pieces in runs:
            block = make_block(len(parts), leaf.block.path, leaf.block.kind, [pieces], _part_tenths(pieces, leaf))
            if block.text:
                parts.append(LeafPart(Leaf(block, leaf.node, tuple(pieces)), part_mark))
    return parts


def regroup(
    leaves: Sequence[Leaf],
    root: HtmlElement,
    begins: Callable[[HtmlElement], bool],
    *,
    nested: bool,
    removed: Mapping[HtmlElement, Reason] | None = None,
) -> list[Leaf]:
    """Return one leaf for each element of the body that begins a block, in the order of their opening tags.

    A block holds the text that is in its element and in no block inside it. With `nested` False, an element inside a
    block begins no block. A block may be empty. Text in no block becomes leaves that are dropped as UNBLOCKED, and
    text in a removed element becomes leaves that are dropped for the element's reason. A block inside a removed element
    stays whole and is dropped for that reason. A leaf's `node` is the block's element.
    """
    owners = _Owners(body_of(root), begins, nested, removed or {})
    return _Regrouped(owners, leaves).run()


class _Owners:
    """The block that each element belongs to, and the reason why it was removed; one pass, outer elements first."""

    def __init__(
        self,
        start: HtmlElement,
        begins: Callable[[HtmlElement], bool],
        nested: bool,
        removed: Mapping[HtmlElement, Reason],
    ) -> None:
        self.start = start
        self.blocks: list[HtmlElement] = []
        self.block_of: dict[HtmlElement, HtmlElement | None] = {}
        self.reason_of: dict[HtmlElement, Reason | None] = {}
        self.tenths: dict[HtmlElement, int] = {}
        for element in start.iter(etree.Element):
            parent = None if element is start else element.getparent()
            owner = self.block_of.get(parent)
            reason = self.reason_of.get(parent) or removed.get(element)
            if (nested or owner is None) and element is not start and begins(element):
                owner = element
                self.blocks.append(element)
            self.block_of[element] = owner
            self.reason_of[element] = reason
            if owner is not None and reason is self.reason_of[owner]:
                self.tenths[owner] = self.tenths.get(owner, 0) + priority_tenths(element)


class _Regrouped:
    """The leaves of blocks in the order of the blocks' opening tags, with the texts outside any block between them."""

    def __init__(self, owners: _Owners, leaves: Sequence[Leaf]) -> None:
        self._owners = owners
        self._paths = ElementPaths(owners.start)
        self._leaves: list[Leaf] = []
        self._ahead = iter(owners.blocks)
        self._opened: set[HtmlElement] = set()
        self._inside: dict[HtmlElement, list[LeafPiece]] = {}
        runs = groupby(
            leaf_pieces(leaves), lambda text: (self._owner_of(text), text.leaf if self._is_loose(text) else None)
        )
        self._runs = [(place, list(run)) for (place, _), run in runs]

    def run(self) -> list[Leaf]:
        for (block, reason), run in self._runs:
            if block is not None and reason is None:
                self._inside.setdefault(block, []).extend(run)
        for (block, reason), run in self._runs:
            if block is not None:
                self._open_up_to(block)
            if block is None or reason is not None:
                self._add_loose(run, reason or Reason.UNBLOCKED)
        self._open_up_to(None)
        return self._leaves

    def _owner_of(self, text: LeafPiece) -> tuple[HtmlElement | None, Reason | None]:
        element = text.piece.element
        block = self._owners.block_of.get(element)
        reason = self._owners.reason_of.get(element)
        removed_as_a_whole = block is not None and reason is self._owners.reason_of[block]
        return block, None if removed_as_a_whole else reason

    def _is_loose(self, text: LeafPiece) -> bool:
        block, reason = self._owner_of(text)
        return block is None or reason is not None

    def _open_up_to(self, block: HtmlElement | None) -> None:
        """Add the blocks up to this one, in the order of their tags; with None, all remaining blocks."""
        while block not in self._opened:
            following = next(self._ahead, None)
            if following is None:
                return
            self._opened.add(following)
            self._add(following)

    def _add(self, element: HtmlElement) -> None:
        inside = self._inside.get(element, [])
        kind = inside[0].leaf.node.kind if inside else Kind.PARAGRAPH
        parts = [[text.piece for text in part] for _, part in groupby(inside, lambda text: text.leaf)]
        tenths = self._owners.tenths.get(element, 0)
        block = make_block(len(self._leaves), self._paths.of(element), kind, parts, tenths)
        node = Node(element, element.tag, None, kind)
        dropped = self._owners.reason_of[element] if block.text else Reason.EMPTY
        self._leaves.append(Leaf(block, node, join_parts(parts, element), dropped))

    def _add_loose(self, run: list[LeafPiece], reason: Reason) -> None:
        leaf, pieces = run[0].leaf, [text.piece for text in run]
        block = make_block(len(self._leaves), leaf.block.path, leaf.block.kind, [pieces], _part_tenths(pieces, leaf))
        if block.text:
            self._leaves.append(Leaf(block, leaf.node, tuple(pieces), reason))


def keep_undropped(
    page: Page,  # noqa: ARG001 — all methods share this signature
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — as above
) -> list[Decision]:
    """Keep every leaf that `segment` did not drop: the third step of methods that decide while they cut."""
    return [
        Decision(leaf.block, score, leaf.dropped or Reason.KEPT) for leaf, score in zip(leaves, scores, strict=True)
    ]


def join_parts(parts: Sequence[Sequence[Piece]], element: HtmlElement) -> tuple[Piece, ...]:
    """Return the text nodes of a block's parts, with a space between two parts as in the block's text."""
    space = Piece(" ", element, None)
    return tuple(islice(chain.from_iterable((space, *part) for part in parts), 1, None))


def _runs(pieces: Sequence[Piece], mark: Callable[[Piece], object]) -> list[tuple[object, list[Piece]]]:
    runs: list[tuple[object, list[Piece]]] = []
    for piece in pieces:
        own = runs[-1][0] if runs and piece.text.isspace() else mark(piece)
        if runs and runs[-1][0] == own:
            runs[-1][1].append(piece)
        else:
            runs.append((own, [piece]))
    return runs


def at_position(leaf: Leaf, position: int) -> Leaf:
    """Return the leaf with this position on its page."""
    if leaf.block.position == position:
        return leaf
    return replace(leaf, block=replace(leaf.block, position=position))


def _part_tenths(pieces: Iterable[Piece], leaf: Leaf) -> int:
    """Return the priority of a part of a leaf: that of its element and of the inline tags around the pieces."""
    around: dict[HtmlElement, None] = {leaf.node.element: None}
    for piece in pieces:
        for element in islice(chain([piece.element], piece.element.iterancestors()), _MAX_INLINE_LEVELS):
            if element in around:
                break
            around[element] = None
    return sum(PRIORITY_TENTHS.get(element.tag, 0) for element in around)


def priority_tenths(element: HtmlElement) -> int:
    """Return the priority of one element, in tenths (pab.txt, table 3.1)."""
    if element.tag == "img":
        return IMAGE_TENTHS if (element.get("alt") or "").strip() else 0
    return PRIORITY_TENTHS.get(element.tag, 0)
