"""A document as an HTML fragment that is safe in any page: it is written anew from known tags and escaped text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from cleaning.structure.nodes import NodeType, StructureNode, plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

TAGS = frozenset(
    "a blockquote br caption code dd del dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr img li ol p pre section span "
    "strong sub sup table tbody td th thead tr ul".split()
)
"""The tags of a fragment."""
ATTRIBUTES = frozenset("alt class colspan href id referrerpolicy rel rowspan src start".split())
"""The attributes of a fragment. `class` is `language-NAME` or `math`; `href` and `src` are absolute http(s) URLs.
The mark of a footnote leads to `#note-LABEL`.
"""

_TAG_OF = {
    NodeType.PARAGRAPH: "p",
    NodeType.DEFINITIONS: "dl",
    NodeType.TERM: "dt",
    NodeType.DESCRIPTION: "dd",
    NodeType.ITEM: "li",
    NodeType.QUOTE: "blockquote",
    NodeType.FIGURE: "figure",
    NodeType.STRONG: "strong",
    NodeType.EMPHASIS: "em",
    NodeType.DELETED: "del",
    NodeType.SUBSCRIPT: "sub",
    NodeType.SUPERSCRIPT: "sup",
}
_TIGHT = frozenset([NodeType.ITEM, NodeType.CELL, NodeType.DESCRIPTION, NodeType.FIGURE])


def to_html(document: StructureNode, *, links: bool = True, images: bool = False) -> str:
    """Return the document as an HTML fragment, a line for each block; "" for an empty document.

    `links` False leaves out the addresses of links. `images` includes images: whoever shows the fragment then loads
    them from their sites.
    """
    text = "\n".join(filter(None, _FragmentWriter(links=links, images=images).parts(document.content)))
    return f"{text}\n" if text else ""


class _FragmentWriter:
    def __init__(self, *, links: bool, images: bool) -> None:
        self._links = links
        self._images = images

    def parts(self, content: Sequence[StructureNode | str]) -> list[str]:
        return [escape(part) if isinstance(part, str) else self._node(part) for part in content]

    def _inside(self, content: Sequence[StructureNode | str]) -> str:
        return "".join(self.parts(content))

    def _node(self, node: StructureNode) -> str:  # noqa: PLR0911 — one line for each type
        kind = node.type
        if kind in _TIGHT and len(node.content) == 1 and kind is not NodeType.CELL:
            only = node.content[0]
            if not isinstance(only, str) and only.type is NodeType.PARAGRAPH:
                return _element(_TAG_OF[kind], self._inside(only.content))
        tag = _TAG_OF.get(kind)
        if tag is not None:
            return _element(tag, self._inside(node.content))
        if kind is NodeType.HEADING:
            return _element(f"h{node.level}", self._inside(node.content))
        if kind is NodeType.LIST:
            return self._list(node)
        if kind is NodeType.TABLE:
            return self._table(node)
        if kind is NodeType.CAPTION:
            return _element("figcaption", self._inside(node.content))
        if kind is NodeType.CODE:
            language = f' class="language-{escape(node.language)}"' if node.language else ""
            return f"<pre><code{language}>{escape(node.text)}\n</code></pre>"
        if kind is NodeType.RULE:
            return "<hr>"
        return self._inline(node)

    def _inline(self, node: StructureNode) -> str:  # noqa: PLR0911 — as above
        kind = node.type
        if kind is NodeType.BREAK:
            return "<br>"
        if kind is NodeType.CODE_SPAN:
            return f"<code>{escape(plain_text(node.content))}</code>"
        if kind is NodeType.LINK:
            text = self._inside(node.content)
            if not self._links:
                return text
            return f'<a href="{escape(node.url)}" rel="nofollow noopener noreferrer">{text}</a>'
        if kind is NodeType.IMAGE:
            address = f'<img src="{escape(node.url)}" alt="{escape(node.text)}" referrerpolicy="no-referrer">'
            return address if self._images and node.url else ""
        if kind is NodeType.FORMULA:
            return f'<p><span class="math">$${escape(node.text)}$$</span></p>'
        if kind is NodeType.FORMULA_SPAN:
            return f'<span class="math">${escape(node.text)}$</span>'
        if kind is NodeType.FOOTNOTE_MARK:
            label = escape(node.text)
            return f'<sup><a href="#note-{label}">{label}</a></sup>'
        if kind is NodeType.FOOTNOTE:
            label = escape(node.text)
            return f'<section id="note-{label}"><sup>{label}</sup> {self._inside(node.content)}</section>'
        return self._inside(node.content)

    def _list(self, node: StructureNode) -> str:
        first = next((item.level for item in node.content if not isinstance(item, str)), 0)
        items = "\n".join(self.parts(node.content))
        if not first:
            return f"<ul>\n{items}\n</ul>"
        start = "" if first == 1 else f' start="{first}"'
        return f"<ol{start}>\n{items}\n</ol>"

    def _table(self, node: StructureNode) -> str:
        lines = ["<table>"]
        for part in node.content:
            if isinstance(part, str):
                continue
            if part.type is NodeType.CAPTION:
                lines.append(_element("caption", self._inside(part.content)))
            elif part.type is NodeType.ROW:
                cells = "".join(self._cell(cell) for cell in part.content if not isinstance(cell, str))
                lines.append(_element("tr", cells))
        return "\n".join([*lines, "</table>"])

    def _cell(self, cell: StructureNode) -> str:
        tag = "th" if cell.header else "td"
        spans = f' colspan="{cell.level}"' if cell.level > 1 else ""
        spans += f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
        only = cell.content[0] if len(cell.content) == 1 else None
        if not isinstance(only, str) and only is not None and only.type is NodeType.PARAGRAPH:
            return f"<{tag}{spans}>{self._inside(only.content)}</{tag}>"
        return f"<{tag}{spans}>{self._inside(cell.content)}</{tag}>"


def _element(tag: str, content: str) -> str:
    return f"<{tag}>{content}</{tag}>" if content else ""
