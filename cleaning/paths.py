"""XPaths of a page's elements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# Deeper elements get the path of their ancestor at this level: paths of a hostile page would fill the memory.
_MOST_LEVELS = 100
# What XPath takes as a name; hostile pages have tags that are none.
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class Paths:
    """The XPaths of the elements inside `start`, `/html/body/div[2]/p[1]`; each element's children are counted once.

    lxml counts an element's siblings whenever it is asked for a path, which on a page of one long list takes the
    square of its length.
    """

    def __init__(self, start: HtmlElement) -> None:
        self._known: dict[HtmlElement, tuple[str, int]] = {start: (start.getroottree().getpath(start), 0)}

    def of(self, element: HtmlElement) -> str:
        """Return the path of an element inside `start`, up to a bound on depth; elsewhere lxml's."""
        ahead = []
        outer = element
        while outer not in self._known:
            ahead.append(outer)
            outer = outer.getparent()
            if outer is None:
                path: str = element.getroottree().getpath(element)
                return path
        while ahead:
            self._number(outer)
            outer = ahead.pop()
        return self._known[element][0]

    def _number(self, parent: HtmlElement) -> None:
        path, level = self._known[parent]
        places: dict[str, int] = {}
        for index, child in enumerate(parent.iterchildren(etree.Element), 1):
            tag = child.tag
            place = places[tag] = places.get(tag, 0) + 1
            step = f"{tag}[{place}]" if tag.isalnum() or _NAME.fullmatch(tag) else f"*[{index}]"
            self._known[child] = (path if level >= _MOST_LEVELS else f"{path}/{step}", level + 1)
