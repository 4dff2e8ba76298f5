"""Pages with boxes of their own; properties are not timed."""

from dataclasses import replace

import pytest
from hypothesis import settings
from lxml import etree

from cleaning import parse
from cleaning.layout import Box, Layout

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def boxed():
    """Return a reader of pages whose elements say where they stand and how they look: `box="left top width height"`.

    After these may come the font size, the background and `hidden`; "none" stands for an element that the browser
    does not have. One without the attribute has its parent's box, transparent.
    """
    return _boxed


def _boxed(html):
    page = parse(html)
    box_of = {}
    for element in page.root.iter(etree.Element):
        outer = box_of.get(element.getparent())
        box_of[element] = _box(element.get("box"), outer or Box(0, 0, 1000, 1000, 16))
    boxes = tuple(None if element.get("box") == "none" else box for element, box in box_of.items())
    return replace(page, layout=Layout(tuple(element.tag for element in box_of), boxes))


def _box(words, outer):
    if words in {None, "none"}:
        return replace(outer, background="", visible=True)
    left, top, width, height, *look = words.replace("hidden", "").split()
    font = float(look[0]) if look else outer.font_size
    return Box(int(left), int(top), int(width), int(height), font, " ".join(look[1:]), visible="hidden" not in words)
