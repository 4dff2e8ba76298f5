"""The inline content of a text: its words with their format, as nested nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cleaning.structure.nodes import NodeType, StructureNode
from cleaning.terms import MAYBE_INVISIBLE, visible_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

_WANTED = re.compile(f"[^\\s\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff{MAYBE_INVISIBLE.pattern[1:-1]}]")
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Format(NamedTuple):
    """A format of text, as an element gives it: `url` is a link's address, or the name that a footnote mark has."""

    type: NodeType
    url: str = ""


Formats = tuple[Format, ...]


class Segment(NamedTuple):
    """A text node of the page, or a node in its place, with the formats around it, outer ones first."""

    formats: Formats
    part: str | StructureNode


def without_controls(text: str) -> str:
    """Return a text without the control characters that are not white space."""
    return text if text.isascii() and text.isprintable() else _UNWANTED.sub("", text)


def is_blank(text: str) -> bool:
    """Return True for a text of white space, control characters and invisible characters."""
    return _WANTED.search(text) is None


def visible_segments(segments: list[Segment]) -> list[Segment]:
    """Return the segments of a text without its invisible characters, as the walk leaves them out of the block."""
    texts = [part for _, part in segments if isinstance(part, str)]
    if not any(not text.isascii() and MAYBE_INVISIBLE.search(text) for text in texts):
        return segments
    visible = iter(visible_parts(texts))
    parts = (Segment(formats, next(visible) if isinstance(part, str) else part) for formats, part in segments)
    return [segment for segment in parts if segment.part != ""]


def nest(segments: Sequence[Segment]) -> list[StructureNode | str]:
    """Return the segments as nested nodes: single spaces, none at the ends or at the edge of a format.

    Their texts have no control characters but white space.
    """
    return _nested(_spaced(segments), 0)


def _spaced(segments: Sequence[Segment]) -> list[Segment]:
    spaced: list[Segment] = []
    space = False
    for formats, part in segments:
        if not isinstance(part, str):
            if space and spaced:
                _add_space(spaced, formats)
            spaced.append(Segment(formats, part))
            space = False
            continue
        words = part.split()
        if not words:
            space = space or bool(part)
            continue
        if (space or part[0].isspace()) and spaced:
            _add_space(spaced, formats)
        _add_text(spaced, formats, " ".join(words))
        space = part[-1].isspace()
    return spaced


def _add_space(segments: list[Segment], formats: Formats) -> None:
    """Add a space between the last segment and one of these formats, in the formats that both have."""
    before = segments[-1].formats
    shared = 0
    for own, other in zip(before, formats, strict=False):
        if own != other:
            break
        shared += 1
    _add_text(segments, formats[:shared], " ")


def _add_text(segments: list[Segment], formats: Formats, text: str) -> None:
    if segments:
        last = segments[-1]
        if last.formats == formats and isinstance(last.part, str):
            segments[-1] = Segment(formats, last.part + text)
            return
    segments.append(Segment(formats, text))


def _nested(segments: Sequence[Segment], level: int) -> list[StructureNode | str]:
    content: list[StructureNode | str] = []
    index = 0
    while index < len(segments):
        formats, part = segments[index]
        if len(formats) == level:
            if isinstance(part, str) and content and isinstance(content[-1], str):
                content[-1] += part
            else:
                content.append(part)
            index += 1
            continue
        outer = formats[level]
        end = index + 1
        while end < len(segments) and len(segments[end].formats) > level and segments[end].formats[level] == outer:
            end += 1
        content.append(_formatted(outer, _nested(segments[index:end], level + 1)))
        index = end
    return content


def _formatted(outer: Format, content: list[StructureNode | str]) -> StructureNode:
    return StructureNode(outer.type, content, url=outer.url)
