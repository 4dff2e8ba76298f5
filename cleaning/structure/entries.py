"""The entries of API pages: the signature of a function counts as kept if its description is, and has its anchor.

Sphinx puts signatures into terms of definition lists, mkdocstrings, rustdoc, javadoc and Doxygen below or into
headings. Cleaning drops many of them, which are short and hold no sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from cleaning.leaves import HEADING_TAGS, ElementPaths, body_of
from cleaning.structure.nodes import NodeType, StructureNode, plain_text

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from cleaning.structure.marks import TextMarks

_NAME_CLASSES = frozenset(["doc-heading", "code-header", "memtitle", "sig"])
_SIGNATURE_CLASSES = frozenset(["doc-signature", "member-signature", "memproto", "item-decl"]) | _NAME_CLASSES
# Lists whose terms are words or notes.
_OTHER_LISTS = frozenset(["glossary", "footnote", "citation", "field-list", "simple"])
# The cells of a signature with as many parameters as programs have, between its name and its description.
_MAX_LOOK_AHEAD = 40
_MAX_WRAPPERS = 3
_MAX_ANCHOR_CHARS = 500
_PLACED = (NodeType.HEADING, NodeType.TERM)
_LINKS_BACK = frozenset(["", "¶", "#", "[source]", "source"])


class PageEntries:
    """The headings and signatures of a page by the paths of their elements."""

    def __init__(self, root: HtmlElement) -> None:
        paths = ElementPaths(body_of(root))
        self._anchors: dict[str, str] = {}
        self._signatures: dict[str, str] = {}  # with the path of the element around the entry
        self._names: set[str] = set()
        for element in body_of(root).iter(*HEADING_TAGS, "dt", "div", "pre"):
            classes = frozenset((element.get("class") or "").split())
            is_term = element.tag == "dt"
            is_name = _is_entry(element, classes) if is_term else not classes.isdisjoint(_NAME_CLASSES)
            is_signature = is_name or not classes.isdisjoint(_SIGNATURE_CLASSES)
            if not is_signature and element.tag not in HEADING_TAGS:
                continue
            path = paths.of(element)
            if (anchor := _anchor_of(element)) is not None:
                self._anchors[path] = anchor
            if is_term:
                self._signatures[path] = paths.of(element.getparent())
            elif is_signature or _is_in_detail(element):
                self._signatures[path] = paths.of(_around(element))
                if element.tag in HEADING_TAGS:
                    self._names.add(path)

    def keep_signatures(self, marks: TextMarks) -> None:
        """Count the dropped texts of a signature as kept if a kept text of its entry follows."""
        if not self._signatures or 1 not in marks.kept:
            return
        blocks, kept = marks.blocks, marks.kept
        inside = [self._signature_of(block.path) for block in blocks]
        following = -1  # the number of the next kept text
        name = -1  # the number of the next text of a heading that names an entry
        for number in range(len(blocks) - 1, -1, -1):
            signature = inside[number]
            if kept[number]:
                following = number
            elif signature is not None and 0 <= following - number <= _MAX_LOOK_AHEAD:
                is_own = name < 0 or following < name or inside[name] == signature or signature not in self._names
                if is_own and f"{blocks[following].path}/".startswith(f"{self._signatures[signature]}/"):
                    kept[number] = 1
            if signature in self._names:
                name = number

    def placed(self, document: StructureNode, marks: TextMarks) -> StructureNode:
        """Return the document with the anchors of its headings and terms; the terms of entries are `header`."""
        if not self._anchors:
            return document
        path_of = {block.position: block.path for block in marks.blocks}
        for node in document.walk():
            for index, part in enumerate(node.content):
                if isinstance(part, str) or part.type not in _PLACED or not part.positions:
                    continue
                path = self._placed_path(path_of.get(part.positions[0], ""))
                if path is not None:
                    is_entry = path in self._signatures
                    content = _without_links_back(part.content) if is_entry else part.content
                    is_term = is_entry and part.type is NodeType.TERM
                    node.content[index] = replace(part, content=content, url=self._anchors[path], header=is_term)
        return document

    def _signature_of(self, path: str) -> str | None:
        """Return the path of the signature that holds a text."""
        while path:
            if path in self._signatures:
                return path
            path = path.rpartition("/")[0]
        return None

    def _placed_path(self, path: str) -> str | None:
        for _ in range(_MAX_WRAPPERS):
            if path in self._anchors:
                return path
            path = path.rpartition("/")[0]
        return None


def _is_entry(term: HtmlElement, classes: frozenset[str]) -> bool:
    """Return True for a term that names a function or class: it can be linked to, and its list is no glossary."""
    outer = term.getparent()
    is_other = outer is None or not _OTHER_LISTS.isdisjoint((outer.get("class") or "").split())
    return "sig" in classes or (bool(term.get("id")) and not is_other)


def _is_in_detail(heading: HtmlElement) -> bool:
    """Return True for javadoc's heading of a member."""
    outer = heading.getparent()
    return outer is not None and outer.tag == "section" and "detail" in (outer.get("class") or "").split()


def _around(signature: HtmlElement) -> HtmlElement:
    """Return the element that holds a signature and its description."""
    outer = signature
    for _ in range(_MAX_WRAPPERS):
        inner, outer = outer, outer.getparent()
        if outer is None or outer.tag == "body":
            return inner if outer is None else outer
        if inner.getnext() is not None and outer.tag != "summary":
            return outer
    return outer


def _without_links_back(content: list[StructureNode | str]) -> list[StructureNode | str]:
    """Return the content of a signature without the links to its source and to itself around it."""
    if content and isinstance(first := content[0], str):
        content = [first.lstrip(" ◆§"), *content[1:]]
    end = len(content)
    while end and (plain_text([content[end - 1]]).strip() in _LINKS_BACK):
        end -= 1
    if end and isinstance(last := content[end - 1], str):
        return [*content[: end - 1], last.rstrip(" ¶#")]
    return content[:end]


def _anchor_of(element: HtmlElement) -> str | None:
    """Return the name of an element's place: its own, that of the link to it, or that of the section it begins."""
    names = [element.get("id")]
    for link in element.iter("a"):
        href = link.get("href") or ""
        names += [href[1:] if href.startswith("#") else None, link.get("id"), link.get("name")]
    outer = element.getparent()
    is_first = outer is not None and all(before.tag == "a" for before in element.itersiblings(preceding=True))
    names += [outer.get("id")] if is_first and outer.tag in ("section", "div", "article") else []
    return next((name for name in names if name and len(name) <= _MAX_ANCHOR_CHARS), None)
