"""What stands around a page's heading, and searches over the whole page, in bounded time whatever the page."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

_MOST_BELOW = 300  # elements below the heading
_MOST_ABOVE = 60
_MOST_FIRST = 400  # of a page without a heading
_MOST_TEXTS = 400  # with those of white space alone
_MANY = 20_000  # elements
_MOST_FOUND = 300  # on a page of more
_LARGE = etree.XPath(f"boolean(descendant::*[{_MANY}])")


class Search:
    """The elements with this tag that fulfil an XPath condition, or their attribute; at most 300 on a large page.

    libxml2 sorts what an XPath finds and, to compare two siblings, walks over those between: many of them among very
    many others take quadratic time. Joining two paths with `|` does so on smaller pages too.
    """

    __slots__ = ("_all", "_first")

    def __init__(self, tag: str, condition: str, attribute: str | None = None) -> None:
        found = f"descendant::{tag}[{condition}]"
        end = f"/{attribute}" if attribute else ""
        # The bare attribute is found in half the time.
        self._all = etree.XPath(f"descendant::{tag}{end}" if condition == attribute else f"{found}{end}")
        self._first = etree.XPath(f"{found}[position() <= {_MOST_FOUND}]{end}")

    def __call__(self, root: HtmlElement, *, large: bool) -> list[Any]:
        """Return what is found, in reading order; attributes as lxml's smart strings. `large` is what `is_large` is."""
        found: list[Any] = (self._first if large else self._all)(root)
        return found


def is_large(root: HtmlElement) -> bool:
    """Tell whether a page has so many elements that quadratic time would be felt."""
    return bool(_LARGE(root))


def elements_above(element: HtmlElement) -> list[HtmlElement]:
    """Return the elements shortly before this one and those around it, in reading order."""
    return list(islice((each for each in _backwards(element) if isinstance(each.tag, str)), _MOST_ABOVE))[::-1]


def elements_below(element: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the elements shortly after this one, those inside it first."""
    return islice(chain(element.iterdescendants("*"), _following(element)), _MOST_BELOW)


def first_elements(root: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the first elements of a page's body."""
    body = root.find("body")
    return islice((root if body is None else body).iter("*"), _MOST_FIRST)


def texts_below(element: HtmlElement | None) -> Iterator[str]:
    """Yield the first texts that follow an element, in reading order; none after None."""
    siblings = islice(_siblings(element), _MOST_TEXTS)
    return islice((text for each in siblings for text in each.itertext()), _MOST_TEXTS)


def _siblings(element: HtmlElement | None) -> Iterator[HtmlElement]:
    """Yield the elements after this one, then those after the one around it, and so on."""
    while element is not None:
        yield from element.itersiblings("*")
        element = element.getparent()


def _following(element: HtmlElement) -> Iterator[HtmlElement]:
    for each in _siblings(element):
        yield from each.iter("*")


def _backwards(element: HtmlElement | None) -> Iterator[HtmlElement]:
    while element is not None:
        previous = element.getprevious()
        element = element.getparent() if previous is None else _innermost_last(previous)
        if element is not None:
            yield element


def _innermost_last(element: HtmlElement) -> HtmlElement:
    while (last := next(element.iterchildren(reversed=True), None)) is not None:
        element = last
    return element
