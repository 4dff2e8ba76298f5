"""Searches for a page's elements: those that state something, found in one pass, and those around another one."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from cleaning._native import load_compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.html import HtmlElement

READ_TAGS = ("meta", "script", "link", "title", "h1", "h2", "time", "abbr")
# A part of `application/ld+json`, in small letters or capitals.
JSON_LD_MARK = "+"
MAX_AUTHOR_LINKS = 40
MAX_LICENSE_LINKS = 10
LICENSE_MARK = "license"  # in `rel`
COMMONS_MARK = "creativecommons.org/"  # in `href`
AUTHOR_MARK = "author"  # in `rel`
PROFILE_START = "/aut"  # in `href`; only then is it worth searching for all of a profile's address
_PROFILE = re.compile(r"/(?:authors?|auteurs?|autor(?:en|es|i)?)/", re.IGNORECASE)
LARGE_PAGE_ELEMENTS = 20_000
MAX_FOUND = 300  # on a page of more elements
_IS_LARGE = etree.XPath(f"boolean(descendant::*[{LARGE_PAGE_ELEMENTS}])")
MAX_BELOW = 300  # elements below the heading
NEAR = 60  # those before the ones of other pages
MAX_ABOVE = 60
MAX_FIRST = 400  # of a page without a heading


class FoundElements(NamedTuple):
    """The elements of a page that may state something, in reading order.

    `by_tag` has the elements with each of READ_TAGS; of the scripts, those that may be JSON-LD. `time` and `abbr` share
    one list, because older pages have `abbr` in place of `time`. `item_types` has the values of `itemtype`,
    `item_properties` those of `itemprop` with their elements: on a page of 20,000 elements or more the first 300 of
    each. `author_links` has the first links to a profile of an author, at most 40.
    """

    by_tag: dict[str, list[HtmlElement]]
    item_types: list[str]
    item_properties: list[tuple[str, HtmlElement]]
    author_links: list[HtmlElement]
    license_links: list[HtmlElement]


def find_elements(root: HtmlElement) -> FoundElements:
    """Return the elements of a page that may state something, in linear time."""
    module = load_compiled("elements")
    if module is None:
        return pure_find_elements(root)
    elements: FoundElements = module.find_elements(root)
    return elements


def pure_find_elements(root: HtmlElement) -> FoundElements:
    """Return the same as `find_elements`, without the compiled core."""
    large = bool(_IS_LARGE(root))
    by_tag: dict[str, list[HtmlElement]] = {tag: [] for tag in READ_TAGS}
    by_tag["abbr"] = by_tag["time"]
    for element in root.iter(*READ_TAGS):
        if element.tag != "script" or _may_be_json_ld(element):
            by_tag[element.tag].append(element)
    return FoundElements(
        by_tag,
        list(map(str, _ITEM_TYPES(root, large=large))),
        [(str(value), value.getparent()) for value in _ITEM_PROPERTIES(root, large=large)],
        list(islice(filter(_is_author_link, root.iter("a")), MAX_AUTHOR_LINKS)),
        list(islice(filter(_is_license_link, root.iter("a")), MAX_LICENSE_LINKS)),
    )


def _may_be_json_ld(script: HtmlElement) -> bool:
    return JSON_LD_MARK in script.get("type", "")


def _is_author_link(link: HtmlElement) -> bool:
    return AUTHOR_MARK in link.get("rel", "") or is_profile(link.get("href", ""))


def _is_license_link(link: HtmlElement) -> bool:
    return LICENSE_MARK in link.get("rel", "") or COMMONS_MARK in link.get("href", "")


def is_profile(address: str) -> bool:
    """Return True if a link's address looks like that of an author's profile."""
    return PROFILE_START in address and _PROFILE.search(address) is not None


class BoundedSearch:
    """A search for the elements with an attribute; at most 300 results on a large page.

    libxml2 sorts the results of an XPath, and walks over all siblings between two results to compare them: many results
    among very many siblings take quadratic time. Joining two paths with `|` does so on smaller pages too.
    """

    __slots__ = ("_all", "_first")

    def __init__(self, attribute: str) -> None:
        # Without a condition, an attribute is found in half the time.
        self._all = etree.XPath(f"descendant::*/@{attribute}")
        self._first = etree.XPath(f"descendant::*[@{attribute}][position() <= {MAX_FOUND}]/@{attribute}")

    def __call__(self, root: HtmlElement, *, large: bool) -> list[Any]:
        """Return the attributes as lxml's smart strings, in reading order; `large`: of a large page."""
        attributes: list[Any] = (self._first if large else self._all)(root)
        return attributes


_ITEM_TYPES = BoundedSearch("itemtype")
_ITEM_PROPERTIES = BoundedSearch("itemprop")


def find_classed(root: HtmlElement, heading: HtmlElement | None, parts: tuple[str, ...]) -> list[HtmlElement]:
    """Return the elements near the heading with a class or `id` that contains one of these ASCII texts, in order.

    On a page without a heading, its first elements count.
    """
    module = load_compiled("elements")
    if module is None:
        return pure_find_classed(root, heading, parts)
    elements: list[HtmlElement] = module.find_classed(root, heading, parts)
    return elements


def pure_find_classed(root: HtmlElement, heading: HtmlElement | None, parts: tuple[str, ...]) -> list[HtmlElement]:
    """Return the same as `find_classed`, without the compiled core."""
    near = _first_elements(root) if heading is None else chain(_elements_above(heading), _elements_below(heading))
    search = _search_for(parts)
    marks = ("class", "id")
    return [element for element in near if any((names := element.get(mark)) and search(names) for mark in marks)]


@cache
def _search_for(parts: tuple[str, ...]) -> Callable[[str], object]:
    """Return the search for one of several texts, a single pass of C."""
    return re.compile("|".join(map(re.escape, parts))).search


class NearTexts(NamedTuple):
    """The elements near a heading with some text, in reading order: above it, among the next NEAR, and further below.

    Of a page without a heading, the first elements count as those below.
    """

    above: list[HtmlElement]
    below: list[HtmlElement]
    further: list[HtmlElement]


def find_texts(root: HtmlElement, heading: HtmlElement | None, parts: tuple[str, ...]) -> NearTexts:
    """Return the elements near the heading with one of the parts in their text or tail."""
    module = load_compiled("elements")
    if module is None:
        return pure_find_texts(root, heading, parts)
    texts: NearTexts = module.find_texts(root, heading, parts)
    return texts


def pure_find_texts(root: HtmlElement, heading: HtmlElement | None, parts: tuple[str, ...]) -> NearTexts:
    """Return the same as `find_texts`, without the compiled core."""
    return _find_near(root, heading, _search_for(parts))


def find_starts(root: HtmlElement, heading: HtmlElement | None, starts: tuple[str, ...]) -> NearTexts:
    """Return the elements near the heading whose text or tail begins with one of the starts, after white space."""
    module = load_compiled("elements")
    if module is None:
        return pure_find_starts(root, heading, starts)
    texts: NearTexts = module.find_starts(root, heading, starts)
    return texts


def pure_find_starts(root: HtmlElement, heading: HtmlElement | None, starts: tuple[str, ...]) -> NearTexts:
    """Return the same as `find_starts`, without the compiled core."""
    return _find_near(root, heading, lambda text: text.lstrip(" \t\r\n").startswith(starts))


def _find_near(root: HtmlElement, heading: HtmlElement | None, test: Callable[[str], object]) -> NearTexts:
    above = [] if heading is None else _elements_above(heading)
    below = list(_first_elements(root) if heading is None else _elements_below(heading))
    groups = (above, below[:NEAR], below[NEAR:])
    return NearTexts(
        *(
            [
                element
                for element in group
                if ((text := element.text) and test(text)) or ((tail := element.tail) and test(tail))
            ]
            for group in groups
        )
    )


def _elements_above(element: HtmlElement) -> list[HtmlElement]:
    """Return the last elements before this one, including its ancestors, in reading order."""
    return list(islice((earlier for earlier in _backwards(element) if isinstance(earlier.tag, str)), MAX_ABOVE))[::-1]


def _elements_below(element: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the first elements after this one's start tag, those inside it first."""
    return islice(chain(element.iterdescendants("*"), _following(element)), MAX_BELOW)


def _first_elements(root: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the first elements of a page's body."""
    body = root.find("body")
    return islice((root if body is None else body).iter("*"), MAX_FIRST)


def _following(element: HtmlElement) -> Iterator[HtmlElement]:
    """Yield the elements after this one, in reading order."""
    parent: HtmlElement | None = element
    while parent is not None:
        for sibling in parent.itersiblings("*"):
            yield from sibling.iter("*")
        parent = parent.getparent()


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
