"""A page's layout in a browser: the box of each element, for methods that need more than the tree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from lxml import etree

from cleaning.errors import LayoutError

if TYPE_CHECKING:
    from lxml.html import HtmlElement


@dataclass(frozen=True, slots=True)
class Box:
    """An element's position and appearance, in whole CSS pixels from the page's top left corner at scroll position 0.

    `background` is the computed colour as the browser writes it, "" for a transparent one. `visible` is False for an
    element that is not displayed, not visible or without area.
    """

    left: int
    top: int
    width: int
    height: int
    font_size: float
    background: str = ""
    visible: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """A snapshot of a page: the tag and the box of each element of its tree, in document order.

    The box is None for an element that the browser does not have: libxml2 adds some elements of its own.
    """

    tags: tuple[str, ...]
    boxes: tuple[Box | None, ...]

    def match(self, root: HtmlElement) -> dict[HtmlElement, Box]:
        """Return the boxes by the elements of the tree.

        Raises LayoutError if the snapshot is of another page: its tags differ from the tree's, or boxes are missing.
        """
        elements = list(root.iter(etree.Element))
        if len(self.boxes) != len(self.tags):
            raise LayoutError(f"the layout has {len(self.tags)} tags, but {len(self.boxes)} boxes")
        for index, (element, tag) in enumerate(zip_longest(elements, self.tags)):
            page_tag = None if element is None else element.tag
            if page_tag != tag:
                raise LayoutError(
                    f"the layout does not match the page: element {index} is {_name(page_tag)} on the page and "
                    f"{_name(tag)} in the layout, which has {len(self.tags)} elements to the page's {len(elements)}; "
                    "take the snapshot from the same HTML"
                )
        return {element: box for element, box in zip(elements, self.boxes, strict=True) if box is not None}


def _name(tag: str | None) -> str:
    return "missing" if tag is None else f"<{tag}>"
