"""Chunks of a document for retrieval: along its headings and blocks, never inside a sentence, table or code block."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from cleaning.errors import OptionError
from cleaning.structure.nodes import NodeType, StructureNode, plain_text
from cleaning.structure.writers.markdown import MarkdownWriter
from cleaning.terms import count_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

Unit = Literal["words", "characters"] | Callable[[str], int]

# The end of a sentence, and what follows it in the text.
_SENTENCE_END = re.compile(
    "(?<=[.!?\u2026\u061f\u0964])[\"'\u2019\u201d)\\]]*\\s+|(?<=[\u3002\uff01\uff1f])[\u201d\u300d\uff09]*"
)
# A dot after these ends no sentence: titles, initials, and common short forms.
_SHORT_FORM = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|cf|No|Nr|Fig|Eq|al|ca|approx|Inc|Ltd|Co|z\.B|bzw|Abb)\.$"
)


_MAX_HEADINGS = 6


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a page's main text as Markdown.

    `headings` are the texts of the headings above it, the highest first. `positions` are those of the page's blocks in
    it, `size` is its measure in the unit that was asked for. `anchor` is the name of the place on the page where its
    innermost heading with one stands: the URL of the page, `#` and it lead there. None if no heading has one.
    """

    text: str
    headings: tuple[str, ...]
    positions: tuple[int, ...]
    size: int
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece that a chunk takes or leaves whole. `separator` stands before it, unless it begins its chunk."""

    text: str
    positions: tuple[int, ...]
    separator: str = "\n\n"
    is_heading: bool = False
    sentences: tuple[_Piece, ...] = ()


class _Heading(NamedTuple):
    """A heading above a section: its level, text and place on the page, "" if it has none."""

    level: int
    text: str
    anchor: str


@dataclass(slots=True)
class _Section:
    """The blocks under one heading, the heading included."""

    headings: tuple[str, ...]
    anchor: str = ""
    pieces: list[_Piece] = field(default_factory=list)

    @classmethod
    def below(cls, above: Sequence[_Heading]) -> Self:
        """Return an empty section below these headings."""
        anchors = [heading.anchor for heading in above if heading.anchor]
        return cls(tuple(heading.text for heading in above), anchors[-1] if anchors else "")


class Chunker:
    """Cuts a document; see `CleanPage.chunks`."""

    def __init__(
        self, document: StructureNode, size: int, overlap: int, unit: Unit, *, links: bool, html: bool = True
    ) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise OptionError(f"the size of chunks is {size!r}; it must be a whole number, 1 or more")
        if isinstance(overlap, bool) or not isinstance(overlap, int) or not 0 <= overlap < size:
            raise OptionError(
                f"the overlap of chunks is {overlap!r}; it must be a whole number from 0 to below size={size}"
            )
        self._document = document
        self._size = size
        self._overlap = overlap
        self._measure = _measure(unit)
        self._writer = MarkdownWriter(document, links=links, images=False, html=html)

    def chunks(self) -> list[Chunk]:
        """Return the chunks in reading order; empty for an empty document."""
        return [chunk for section in self._sections() for chunk in self._cut(section)]

    def _cut(self, section: _Section) -> Iterator[Chunk]:
        taken: list[_Piece] = []
        fresh = False  # there is more in the chunk than the end of the one before it
        for piece in self._fitting(section.pieces):
            if fresh and not self._fits([*taken, piece]) and not _are_headings(taken):
                yield self._chunk(taken, section)
                taken = self._repeated(taken, piece)
            taken.append(piece)
            fresh = True
        if fresh:
            yield self._chunk(taken, section)

    def _fitting(self, pieces: Sequence[_Piece]) -> Iterator[_Piece]:
        """Yield the pieces, those that are too large for a chunk as sentences."""
        for piece in pieces:
            if piece.sentences and not self._fits([piece]):
                yield from piece.sentences
            else:
                yield piece

    def _repeated(self, taken: Sequence[_Piece], following: _Piece) -> list[_Piece]:
        """Return the last sentences of a chunk that the next one begins with."""
        sentences: list[_Piece] = []
        if not self._overlap:
            return sentences
        for piece in reversed(taken):
            for sentence in reversed(piece.sentences or (piece,)):
                longer = [sentence, *sentences]
                if (
                    piece.is_heading
                    or self._measure(_joined(longer)) > self._overlap
                    or not self._fits([*longer, following])
                ):
                    return sentences
                sentences = longer
        return sentences

    def _fits(self, pieces: Sequence[_Piece]) -> bool:
        return self._measure(_joined(pieces)) <= self._size

    def _chunk(self, pieces: Sequence[_Piece], section: _Section) -> Chunk:
        text = _joined(pieces)
        positions = dict.fromkeys(position for piece in pieces for position in piece.positions)
        return Chunk(text, section.headings, tuple(positions), self._measure(text), section.anchor or None)

    # Pieces -------------------------------------------------------------------------------------------------------

    def _sections(self) -> list[_Section]:
        """Return the sections with their pieces. A heading without text below it joins the next section."""
        sections = [_Section(())]
        self._add_sections(self._document.content, [], sections)
        return [section for section in sections if section.pieces]

    def _add_sections(
        self, content: Sequence[StructureNode | str], above: list[_Heading], sections: list[_Section]
    ) -> None:
        for node in content:
            if isinstance(node, str):
                continue
            if node.type is NodeType.DEFINITIONS and any(map(_is_signature, node.content)):
                self._add_entries(node, above, sections)
            elif node.type is NodeType.HEADING:
                name = " ".join(plain_text(node.content).split())
                self._begin(node, _Heading(node.level, name, node.url), above, sections)
            else:
                sections[-1].pieces += self._pieces(node)

    def _add_entries(self, node: StructureNode, above: list[_Heading], sections: list[_Section]) -> None:
        """Add a section for each function or class of a list, below the heading above it."""
        level = above[-1].level + 1 if above else 1
        for part in node.content:
            if isinstance(part, StructureNode) and part.type is NodeType.DESCRIPTION:
                self._add_sections(part.content, above, sections)
            elif isinstance(part, StructureNode) and _is_signature(part):
                heading = StructureNode(NodeType.HEADING, part.content, part.positions, min(level, _MAX_HEADINGS))
                name = " ".join(plain_text(part.content).split()).partition("(")[0]
                self._begin(heading, _Heading(level, name, part.url), above, sections)
            else:
                sections[-1].pieces += self._pieces(StructureNode(node.type, [part]))
        above[:] = [heading for heading in above if heading.level < level]
        sections.append(_Section.below(above))

    def _begin(self, node: StructureNode, heading: _Heading, above: list[_Heading], sections: list[_Section]) -> None:
        above[:] = [*(other for other in above if other.level < heading.level), heading]
        bare = sections.pop().pieces if _are_headings(sections[-1].pieces) else []
        piece = _Piece(self._write([node]), tuple(node.positions), is_heading=True)
        section = _Section.below(above)
        section.pieces += [*bare, piece]
        sections.append(section)

    def _pieces(self, node: StructureNode) -> list[_Piece]:
        if node.type is NodeType.PARAGRAPH:
            whole = self._piece([node])
            return [_with_sentences(whole, self._sentences(node))] if whole.text else []
        if node.type is NodeType.LIST:
            return self._items(node)
        if node.type in (NodeType.QUOTE, NodeType.DEFINITIONS):
            parts = [StructureNode(node.type, [part]) for part in node.content]
            return [piece for piece in (self._piece([part]) for part in parts) if piece.text]
        piece = self._piece([node])
        return [piece] if piece.text else []

    def _items(self, node: StructureNode) -> list[_Piece]:
        """Return a piece for each item of a list."""
        pieces: list[_Piece] = []
        for item in node.content:
            piece = self._piece([StructureNode(NodeType.LIST, [item])])
            if piece.text:
                pieces.append(_Piece(piece.text, piece.positions, "\n" if pieces else "\n\n"))
        return pieces

    def _sentences(self, node: StructureNode) -> Iterator[_Piece]:
        """Yield the sentences of a paragraph. A format that spans several sentences is never cut."""
        content: list[StructureNode | str] = []
        for part in node.content:
            if not isinstance(part, str):
                content.append(part)
                continue
            *ended, rest = _split_sentences(part)
            for sentence in ended:
                content.append(sentence)
                yield self._piece([StructureNode(NodeType.PARAGRAPH, content, node.positions)])
                content = []
            content += [rest] if rest else []
        if content:
            yield self._piece([StructureNode(NodeType.PARAGRAPH, content, node.positions)])

    def _piece(self, nodes: list[StructureNode]) -> _Piece:
        positions = dict.fromkeys(position for node in nodes for inner in node.walk() for position in inner.positions)
        return _Piece(self._write(nodes), tuple(positions))

    def _write(self, nodes: Sequence[StructureNode]) -> str:
        return self._writer.write(nodes).rstrip("\n")


def _is_signature(part: StructureNode | str) -> bool:
    return isinstance(part, StructureNode) and part.type is NodeType.TERM and part.header


def _are_headings(pieces: Sequence[_Piece]) -> bool:
    """Return True for headings that wait for a text below them: at most one of each level."""
    return len(pieces) < _MAX_HEADINGS and all(piece.is_heading for piece in pieces)


def _with_sentences(piece: _Piece, sentences: Iterator[_Piece]) -> _Piece:
    filled = [sentence for sentence in sentences if sentence.text]
    joined = tuple(
        _Piece(sentence.text, sentence.positions, " " if number else "\n\n") for number, sentence in enumerate(filled)
    )
    return _Piece(piece.text, piece.positions, sentences=joined)


def _split_sentences(text: str) -> list[str]:
    """Return the sentences of a text; the last one may go on behind it."""
    sentences = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        sentence = text[start:end]
        following = text[end : end + 1]
        if end == start or _SHORT_FORM.search(sentence.rstrip()) or following.islower():
            continue
        sentences.append(sentence.rstrip())
        start = end
    return [*sentences, text[start:]]


def _joined(pieces: Sequence[_Piece]) -> str:
    return "".join(piece.separator + piece.text if number else piece.text for number, piece in enumerate(pieces))


def _measure(unit: Unit) -> Callable[[str], int]:
    if unit == "words":
        return count_words
    if unit == "characters":
        return len
    if callable(unit):
        return unit
    raise OptionError(f"the unit of chunks is {unit!r}; it takes 'words', 'characters' or a function of a text")
