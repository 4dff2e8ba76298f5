"""The result of cleaning: every block of a page with its decision, and on demand the metadata and the structure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from cleaning.blocks import Decision, Metadata, PageType, ParseWarning, TextSource, kept_decisions
from cleaning.errors import StructureError
from cleaning.structure.grid import Table, read_table
from cleaning.structure.nodes import IMAGE, LINK, TABLE, StructureNode, block_text
from cleaning.structure.places import BlockImage, BlockLink, BlockPlace, block_places
from cleaning.structure.writers.chunks import Chunk, Chunker
from cleaning.structure.writers.fragment import to_html
from cleaning.structure.writers.markdown import to_markdown
from cleaning.structure.writers.text import check_text_style, to_layout_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cleaning.blocks import Block
    from cleaning.structure.writers.chunks import Unit
    from cleaning.structure.writers.markdown import Links
    from cleaning.structure.writers.text import TextStyle


LINK_FORMS: Mapping[str, Links] = MappingProxyType({"inline": True, "references": "references", "none": False})
"""The values of `links` by what commands call them."""


class StructureSource(Protocol):
    """The source of a page's structure: its tree, and the method and options that cleaned it."""

    def read(self, decisions: tuple[Decision, ...], title: str | None) -> StructureNode: ...


class MetadataReader(Protocol):
    """The reader of a page's metadata: it has the tree and its statements."""

    def read(self) -> Metadata: ...


# Without slots: `metadata` and `structure` are read once and kept.
@dataclass(frozen=True)
class CleanPage:  # noqa: PLW1641 — a frozen dataclass has a hash
    """Every block of a page with its decision, in reading order, and the page's metadata.

    `encoding` is the one that the page's bytes were read in, None for text and ready-made trees. `type` is the most
    probable page type, `confidence` its probability (0 to 1); both are None for a page without text, and with every
    method but `default`. `fits_site` says whether the model of the page's site fits the page, None without such a
    model; `taught` has the positions of the blocks that it decides otherwise than the trained scores.
    """

    url: str | None
    method: str
    encoding: str | None
    known_metadata: Metadata | None = field(compare=False)
    decisions: tuple[Decision, ...]
    parse_warnings: tuple[ParseWarning, ...] = ()
    type: PageType | None = None
    confidence: float | None = None
    embedded: TextSource = TextSource.TREE
    known_structure: StructureNode | None = field(default=None, repr=False, compare=False)
    source: StructureSource | None = field(default=None, repr=False, compare=False)
    metadata_reader: MetadataReader | None = field(default=None, repr=False, compare=False)
    fits_site: bool | None = None
    taught: frozenset[int] = frozenset()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CleanPage):
            return NotImplemented
        names = [field.name for field in fields(self) if field.compare]
        return all(getattr(self, name) == getattr(other, name) for name in [*names, "metadata"])

    def __repr__(self) -> str:
        return f"<CleanPage {self.url}: {len(self.kept)} of {len(self.decisions)} blocks kept by {self.method}>"

    @cached_property
    def metadata(self) -> Metadata:
        """What the page states and shows of itself; fields that it does not state are empty.

        It is read from the page's tree when it is first asked for, and when the page is pickled.
        """
        if self.known_metadata is not None:
            return self.known_metadata
        return Metadata() if self.metadata_reader is None else self.metadata_reader.read()

    @property
    def text_source(self) -> TextSource:
        """Where the page's text stands: in its tree, or where it was read because the tree shows no prose."""
        if self.embedded is TextSource.TREE and any("/noscript" in decision.block.path for decision in self.decisions):
            return TextSource.NOSCRIPT
        return self.embedded

    def texts(self) -> frozenset[str]:
        """Return all texts of the page, those kept and those dropped."""
        return frozenset([decision.block.text for decision in self.decisions])

    @property
    def title(self) -> str | None:
        return self.metadata.title

    @property
    def author(self) -> str | None:
        return self.metadata.author

    @property
    def published(self) -> str | None:
        return self.metadata.published

    @property
    def language(self) -> str | None:
        return self.metadata.language

    @property
    def kept(self) -> tuple[Block, ...]:
        """The kept blocks in reading order; empty if nothing was kept."""
        return tuple([decision.block for decision in kept_decisions(self.decisions)])

    @property
    def text(self) -> str:
        """The texts of the kept blocks in reading order, one a line; "" if nothing was kept."""
        return "\n".join(block.text for block in self.kept)

    @cached_property
    def structure(self) -> StructureNode:
        """The kept blocks in the elements that hold them, as a tree of nodes; and the page's headline, if dropped.

        It is read from the page's tree when it is first asked for, and when the page is pickled. Raises StructureError
        for a page that was detached from its tree before.
        """
        if self.known_structure is not None:
            return self.known_structure
        if self.source is None:
            raise StructureError(
                f"the page {self.url or 'without a URL'} has no structure: it was cleaned in another process, which "
                "did not send it; set STRUCTURE=True in a crawl, or structure=True for clean_many"
            )
        return self.source.read(self.decisions, self.title)

    @property
    def markdown(self) -> str:
        """The main text as Markdown, with links and without images; "" if nothing was kept."""
        return self.to_markdown()

    @property
    def html(self) -> str:
        """The main text as an HTML fragment of harmless tags, with links and without images; "" if nothing was kept."""
        return self.to_html()

    def to_markdown(self, *, links: Links = True, images: bool = False, html: bool = True) -> str:
        """Return the main text as Markdown: CommonMark with GitHub's tables, and formulas as `$TeX$`.

        >>> from cleaning import clean
        >>> page = clean("<p>See <a href='/b'>the <b>map</b></a>.</p>", "https://a.example/", method="pab")
        >>> print(page.to_markdown(), page.to_markdown(links=False), sep="", end="")
        See [the **map**](https://a.example/b).
        See the **map**.

        `links` False leaves out the addresses of links; "references" puts them at the end. `images` includes images:
        a program that shows the text then loads them from their sites. `html` False writes no HTML, also where Markdown
        has no form of its own: line breaks in table cells, raised and lowered figures. Raises OptionError for other
        values.
        """
        return to_markdown(self.structure, links=links, images=images, html=html)

    def to_text(self, *, style: TextStyle = "blocks") -> str:
        """Return the main text as plain text; "" if nothing was kept.

        >>> from cleaning import clean
        >>> page = clean("<h1>Ice</h1><ol><li>thin<li>thick</ol><table><tr><th>Month<th>cm<tr><td>May<td>3</table>")
        >>> print(page.to_text(style="layout"))
        Ice
        1. thin
        2. thick
        Month | cm
        May | 3

        The style "blocks" is `text`: each kept block on a line. "layout" has the headline even if it was dropped, signs
        before list items, and each row of a table on a line. Raises OptionError for another style.
        """
        check_text_style(style)
        return self.text if style == "blocks" else to_layout_text(self.structure)

    def to_html(self, *, links: bool = True, images: bool = False) -> str:
        """Return the main text as an HTML fragment of harmless tags; the options are as in `to_markdown`."""
        return to_html(self.structure, links=links, images=images)

    def chunks(self, size: int, *, overlap: int = 0, unit: Unit = "words", links: bool = False) -> list[Chunk]:
        """Return the main text in chunks of at most `size` words or characters, or as the function `unit` measures.

        A chunk ends between blocks, or between sentences of a long one, never inside a table or a code block: only a
        sentence, table or code block that is larger alone makes a larger chunk. A chunk begins with the last whole
        sentences of the one before it, up to `overlap`. Raises OptionError for a size below 1 and for an overlap that
        is negative or not smaller than the size.
        """
        return Chunker(self.structure, size, overlap, unit, links=links).chunks()

    def places(self) -> tuple[BlockPlace, ...]:
        """Return the place of each kept block: section, heading level, list, table cell, code language and links."""
        return block_places(self.structure)

    def links(self) -> tuple[BlockLink, ...]:
        """Return the links of the main text in reading order; a link that stands twice is there twice."""
        return tuple(
            BlockLink(node.url, block_text(node)) for node in self.structure.walk() if node.type is LINK and node.url
        )

    def images(self) -> tuple[BlockImage, ...]:
        """Return the images of the main text in reading order."""
        return tuple(BlockImage(node.url, node.text) for node in self.structure.walk() if node.type is IMAGE)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of the main text in reading order; `Table.to_pandas` makes DataFrames of them."""
        return tuple(read_table(node) for node in self.structure.walk() if node.type is TABLE)

    def described(self) -> CleanPage:
        """Return the page with its metadata, which is read now if it was not yet."""
        return replace(self, known_metadata=self.metadata, metadata_reader=None)

    def detached(self, *, structure: bool) -> CleanPage:
        """Return the page without its tree, to send it to another process; with its structure if that is asked for."""
        return replace(self.described(), source=None, known_structure=self.structure if structure else None)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling: in place of the tree the metadata and the structure, read now if need be."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        has_structure = self.known_structure is not None or self.source is not None
        state["known_structure"] = self.structure if has_structure else None
        return state | {"known_metadata": self.metadata, "metadata_reader": None, "source": None}

    def counts(self) -> dict[str, int]:
        """Return the number of blocks for each reason, `kept` included; they add up to the number of decisions."""
        counts: dict[str, int] = {}
        for decision in self.decisions:
            counts[decision.reason] = counts.get(decision.reason, 0) + 1
        return counts

    def _repr_html_(self) -> str:
        """Return the text, then all blocks with their reasons, as notebooks show them: harmless HTML."""
        counts = ", ".join(f"{count} {reason}" for reason, count in self.counts().items())
        head = f"<b>{_inert(self.title or self.url or 'page')}</b> ({_inert(self.method)}: {counts or 'no blocks'})"
        paragraphs = "".join(_html_paragraph(block.text) for block in self.kept[:_SHOWN_BLOCKS])
        text = f'<div style="{_KEPT_STYLE};padding:2px 12px">{paragraphs}</div>' if paragraphs else ""
        return f"<div><p>{head}</p>{text}{_count_more(len(self.kept))}{self._html_blocks()}</div>"

    def _html_blocks(self) -> str:
        if not self.decisions:
            return ""
        rows = "".join(map(_html_row, self.decisions[:_SHOWN_BLOCKS]))
        more = _count_more(len(self.decisions))
        return f"<details><summary>Every block and its reason</summary>{rows}{more}</details>"


# In a notebook. A page may have thousands of blocks, and a block the text of a book.
_SHOWN_BLOCKS = 300
_SHOWN_CHARS = 500
_EXCERPT_CHARS = 200
_LONGEST_WORD = 30
# Controls, marks that change the reading direction, and code points that UTF-8 cannot hold.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
# Okabe and Ito's palette is safe for the colour-blind, and the reason stands beside each colour. The notebook's theme
# gives the colours of text and paper, which shine through.
_KEPT_STYLE = "border-left:4px solid #009e73;background:rgba(0,158,115,.12)"
_DROPPED_STYLE = "border-left:4px solid #d55e00;opacity:.75"


def _html_paragraph(text: str) -> str:
    return f'<p dir="auto" style="margin:6px 0">{_inert(_excerpt(text, _SHOWN_CHARS))}</p>'


def _html_row(decision: Decision) -> str:
    style = _KEPT_STYLE if decision.kept else _DROPPED_STYLE
    label = f"{decision.reason} {decision.score:.2f} {decision.block.kind}"
    return (
        f'<div style="{style};margin:2px 0;padding:2px 8px"><small>{_inert(label)}</small> '
        f'<span dir="auto">{_inert(_excerpt(decision.block.text, _EXCERPT_CHARS))}</span></div>'
    )


def _count_more(number: int) -> str:
    return f"<p>and {number - _SHOWN_BLOCKS} more</p>" if number > _SHOWN_BLOCKS else ""


def _excerpt(text: str, chars: int) -> str:
    """Return at most so many characters of a text, which end at a word unless the last one is very long."""
    if len(text) <= chars:
        return text
    head = text[:chars]
    before, _, rest = head.rpartition(" ")
    is_word_cut = not text[chars].isspace()
    return f"{(before if is_word_cut and before and len(rest) <= _LONGEST_WORD else head).rstrip()}…"


def _inert(text: str) -> str:
    return escape(_UNSAFE.sub(" ", text))
