"""Footnotes: which mark in a text leads to which note, in every writer's markup."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.blocks import Reason
from cleaning.leaves import BLOCK_TAGS, HEADING_TAGS, ElementPaths, body_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Decision

_NOTE_ID = re.compile(
    r"_?(?:user-content-)?(?:fn|ftn|sdfootnote|footnote|endnote|note|cite_note|ref-note)[-_:.]?.{0,60}"
)
# `fnref1` is the place of the mark, to which the note leads back.
_MARK_ID = re.compile(r"(?:user-content-)?(?:fnref|ftnref|footnote-?(?:ref|anchor|link)|cite_ref|ref_?note)")
MARK = re.compile(r"[\[(]?\s*([^\W\d]{0,4}\s?\d{1,4}|[^\W\d]{1,2}|[ivxlc]{1,5}|[*†‡§]{1,3})\s*[\])]?")
BACK_SIGNS = frozenset("↩ ↩︎ ↑ ^ ↵ ⏎ ⤴ [return] back".split())
BACK = ""
"""What `PageNotes.marks` has for a link that leads back to the text."""

_MAX_CHARS = 8  # of a mark or back link
_SHORT_LINKS = etree.XPath(
    "descendant::a[contains(@href, '#') and substring-after(@href, '#') != '' and "
    f"string-length(normalize-space()) <= {_MAX_CHARS}]"
)
_IDS, _NAMES = etree.XPath("descendant::*/@id"), etree.XPath("descendant::*[self::a or self::span]/@name")
_MAX_LINKS = 2_000  # of a page; the names of a page with more are the lines of a program
_MAX_NOTE_ELEMENTS = 60
# A page with more notes lists its sources: on the labelled pages, readers took none of such lists for main text.
_MAX_NOTES = 12
_FIXED = frozenset([Reason.KEPT, Reason.HIDDEN, Reason.TRUNCATED, Reason.PAGE_DUPLICATE])


class PageNotes(NamedTuple):
    """The footnotes of a page.

    `marks` has the links that lead to a note, with its name, and those that lead back from one, with BACK. `notes` has
    the elements of the notes, with their names.
    """

    marks: Mapping[HtmlElement, str]
    notes: Mapping[HtmlElement, str]


def find_notes(root: HtmlElement) -> PageNotes:
    """Return the footnotes of a page: a number or sign leads to each from a text, and a link leads back to that text.

    Without a link back, the `id` must name a footnote.
    """
    links = {link: "".join(link.itertext()).strip() for link in islice(_SHORT_LINKS(root), _MAX_LINKS)}
    links = {link: text for link, text in links.items() if text in BACK_SIGNS or MARK.fullmatch(text)}
    marks = {link: BACK for link, text in links.items() if text in BACK_SIGNS}
    notes: dict[HtmlElement, str] = {}
    if not links:
        return PageNotes(marks, notes)
    places = {str(name): name.getparent() for name in [*_NAMES(root), *_IDS(root)]}
    for link in links:
        name = link.get("href").strip().rpartition("#")[2]
        if link in marks:
            continue
        if name not in places:
            if _is_note_id(name):
                marks[link] = name
            continue
        note, text_around = _block_around(places[name]), _block_around(link)
        if note.tag not in HEADING_TAGS and not _begins(text_around, link):
            back = _links_to(note, text_around, places)
            if back or (_is_note_id(name) and note not in (text_around, *text_around.iterancestors())):
                marks[link] = name
                notes.setdefault(note, name)
                marks.update(dict.fromkeys(back, BACK))
    return PageNotes(marks, notes)


def _block_around(element: HtmlElement) -> HtmlElement:
    while element.tag not in BLOCK_TAGS and element.getparent() is not None:
        element = element.getparent()
    return element


def _begins(text: HtmlElement, link: HtmlElement) -> bool:
    """Return True for a link at the beginning of a text: the number of a note or section."""
    while link is not text:
        outer = link.getparent()
        if link.getprevious() is not None or (outer.text and not outer.text.isspace()):
            return False
        link = outer
    return True


def _links_to(note: HtmlElement, text: HtmlElement, places: Mapping[str, HtmlElement]) -> list[HtmlElement]:
    """Return the links in a note that lead to a place in this text; none for what is larger than a note."""
    elements = list(islice(note.iter(etree.Element), _MAX_NOTE_ELEMENTS + 1))
    if len(elements) > _MAX_NOTE_ELEMENTS or any(element.tag in HEADING_TAGS for element in elements):
        return []
    links = []
    for link in elements:
        place = places.get(link.get("href", "").strip().rpartition("#")[2]) if link.tag == "a" else None
        if place is not None and _block_around(place) is text:
            links.append(link)
    return links


def _is_note_id(name: str) -> bool:
    return _NOTE_ID.fullmatch(name) is not None and _MARK_ID.match(name) is None


def keep_notes(root: HtmlElement, decisions: list[Decision]) -> list[Decision]:
    """Return the decisions with the footnotes kept whose mark stands in a kept text."""
    found = find_notes(root)
    if not 0 < len(found.notes) <= _MAX_NOTES:
        return decisions
    path_of = ElementPaths(body_of(root)).of
    kept = {decision.block.path for decision in decisions if decision.kept}
    names = {name for mark, name in found.marks.items() if name and path_of(_block_around(mark)) in kept}
    paths = tuple(path_of(note) for note, name in found.notes.items() if name in names)
    return [
        replace(decision, reason=Reason.KEPT)
        if decision.reason not in _FIXED
        and _is_inside(decision.block.path, paths)
        and not MARK.fullmatch(decision.block.text)
        else decision
        for decision in decisions
    ]


def _is_inside(path: str, paths: Sequence[str]) -> bool:
    return any(path == outer or path.startswith(f"{outer}/") for outer in paths)
