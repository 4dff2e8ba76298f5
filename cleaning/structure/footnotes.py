"""Footnotes: marks in the text, and the notes that they lead to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cleaning.structure.nodes import NodeType, StructureNode, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOTE_ID = re.compile(
    r"_?(?:user-content-)?(?:fn|ftn|sdfootnote|footnote|endnote|note|cite_note|ref-note)[-_:.]?.{0,60}"
)
# `fnref1` is the place of the mark, to which the note leads back.
_MARK_ID = re.compile(r"(?:user-content-)?(?:fnref|ftnref|footnote-?(?:ref|anchor|link)|cite_ref|ref_?note)")
_MARK = re.compile(r"[\[(]?\s*(\w{1,4}|[*†‡§]{1,3})\s*[\])]?")
_BACK_LINKS = frozenset("↩ ↩︎ ↑ ^ ↵ ⏎ ⤴ [return] back".split())


def is_note_id(name: str) -> bool:
    """Return True for the `id` of an element that can be a footnote."""
    return _NOTE_ID.fullmatch(name) is not None and _MARK_ID.match(name) is None


def resolve_footnotes(document: StructureNode) -> StructureNode:
    """Return the document with each footnote labelled as its mark in the text, and without marks that lead nowhere.

    A note to which no mark leads is a paragraph.
    """
    marks: dict[str, str] = {}
    notes: set[str] = set()
    for node in document.walk():
        if node.type is NodeType.FOOTNOTE_MARK:
            found = _MARK.fullmatch(plain_text(node.content).strip())
            if found and node.url not in marks:
                marks[node.url] = found[1]
        elif node.type is NodeType.FOOTNOTE:
            notes.add(node.text)
    used = {name: label for name, label in marks.items() if name in notes}
    return StructureNode(NodeType.DOCUMENT, list(_content(document.content, _distinct(used))))


def _distinct(marks: dict[str, str]) -> dict[str, str]:
    """Return the labels; those that two notes share are numbered."""
    if len(set(marks.values())) == len(marks):
        return marks
    return {name: str(number) for number, name in enumerate(marks, 1)}


def _content(content: list[StructureNode | str], labels: dict[str, str]) -> Iterator[StructureNode | str]:
    for part in content:
        if isinstance(part, str) or not part.content:
            yield part
        elif part.type is NodeType.FOOTNOTE_MARK:
            yield from _mark(part, labels)
        elif part.type is not NodeType.FOOTNOTE and all(isinstance(each, str) for each in part.content):
            yield part
        else:
            inner = list(_content(part.content, labels))
            if (part.type is NodeType.SUPERSCRIPT and inner and all(map(_is_mark, inner))) or (
                part.type is NodeType.FOOTNOTE and part.text not in labels
            ):
                yield from inner
            elif inner or part.type is NodeType.CELL:
                yield _with_content(part, inner, labels)


def _mark(mark: StructureNode, labels: dict[str, str]) -> Iterator[StructureNode | str]:
    """Yield a mark with its label; its text if it leads to no note, and nothing if it leads back to the text."""
    text = plain_text(mark.content).strip()
    if mark.url in labels and _MARK.fullmatch(text):
        yield StructureNode(NodeType.FOOTNOTE_MARK, text=labels[mark.url])
    elif text not in _BACK_LINKS:
        yield from _content(mark.content, labels)


def _is_mark(part: StructureNode | str) -> bool:
    return not isinstance(part, str) and part.type is NodeType.FOOTNOTE_MARK


def _with_content(node: StructureNode, content: list[StructureNode | str], labels: dict[str, str]) -> StructureNode:
    return StructureNode(
        node.type,
        content,
        node.positions,
        level=node.level,
        rows=node.rows,
        header=node.header,
        url=node.url,
        text=labels[node.text] if node.type is NodeType.FOOTNOTE else node.text,
        language=node.language,
    )
