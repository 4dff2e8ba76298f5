"""Footnotes: marks in the text, and the notes that they lead to."""

from __future__ import annotations

from cleaning.notes import BACK, MARK
from cleaning.structure.nodes import (
    CELL,
    DOCUMENT,
    FOOTNOTE,
    FOOTNOTE_MARK,
    SUPERSCRIPT,
    StructureNode,
    plain_text,
)


def resolve_footnotes(document: StructureNode) -> StructureNode:
    """Return the document with each footnote labelled as its mark in the text, and without marks that lead nowhere.

    A note to which no mark leads is a paragraph.
    """
    marks: dict[str, str] = {}
    notes: set[str] = set()
    for node in document.walk():
        if node.type is FOOTNOTE_MARK:
            match = MARK.fullmatch(plain_text(node.content).strip())
            if match and node.url not in marks:
                marks[node.url] = match[1]
        elif node.type is FOOTNOTE:
            notes.add(node.text)
    used = {name: label for name, label in marks.items() if name in notes}
    return StructureNode(DOCUMENT, _content(document.content, _distinct(used)))


def _distinct(marks: dict[str, str]) -> dict[str, str]:
    """Return the labels; those that two notes share are numbered."""
    if len(set(marks.values())) == len(marks):
        return marks
    return {name: str(number) for number, name in enumerate(marks, 1)}


def _content(content: list[StructureNode | str], labels: dict[str, str]) -> list[StructureNode | str]:
    parts: list[StructureNode | str] = []
    for part in content:
        if isinstance(part, str) or not part.content:
            parts.append(part)
            continue
        kind = part.type
        if kind is FOOTNOTE_MARK:
            parts += _mark(part, labels)
        elif kind is not FOOTNOTE and _is_text(part.content):
            parts.append(part)
        else:
            inner = _content(part.content, labels)
            if (kind is SUPERSCRIPT and inner and all(map(_is_mark, inner))) or (
                kind is FOOTNOTE and part.text not in labels
            ):
                parts += inner
            elif inner or kind is CELL:
                parts.append(_with_content(part, inner, labels))
    return parts


def _is_text(content: list[StructureNode | str]) -> bool:
    for part in content:  # noqa: SIM110 — most nodes of a page come here, and `all` takes twice as long
        if not isinstance(part, str):
            return False
    return True


def _mark(mark: StructureNode, labels: dict[str, str]) -> list[StructureNode | str]:
    """Return a mark with its label; its text if it leads to no note, and nothing if it leads back to the text.

    A number that leads to a dropped note is a superscript, also where only a style sheet raised it: it is not part of
    the word before it.
    """
    text = plain_text(mark.content).strip()
    if mark.url == BACK:
        return []
    if mark.url in labels:
        return [StructureNode(FOOTNOTE_MARK, text=labels[mark.url])]
    if text.isdecimal() and mark.content == [text]:
        return [StructureNode(SUPERSCRIPT, [text])]
    return _content(mark.content, labels)


def _is_mark(part: StructureNode | str) -> bool:
    return not isinstance(part, str) and part.type is FOOTNOTE_MARK


def _with_content(node: StructureNode, content: list[StructureNode | str], labels: dict[str, str]) -> StructureNode:
    return StructureNode(
        node.type,
        content,
        node.positions,
        level=node.level,
        rows=node.rows,
        header=node.header,
        url=node.url,
        text=labels[node.text] if node.type is FOOTNOTE else node.text,
        language=node.language,
    )
