"""Facts about single elements: the address of a link or image, the lines and language of code, tables for layout."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin, urlsplit

from cleaning.leaves import GUTTER_NAMES, NEVER_CONTENT
from cleaning.terms import tidy_code

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# PageUrls ------------------------------------------------------------------------------------------------------

_ABSOLUTE = re.compile(r"https?://[^/\s?#]", re.IGNORECASE)
_DROPPED_IN_URLS = re.compile("[\t\n\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# Addresses of these signs alone hold nothing to drop or to quote.
_PLAIN = re.compile(r"[!#-;=?-\[\]_a-z~]*")
# urljoin leaves these as they are behind the origin of the page, or behind its folder if they begin with no slash.
_JOINED_AS_IT_IS = re.compile(r"/?(?![/.])[^/:;?#]+(?:/(?![/.])[^/:;?#]+)*/?(?:\?[^;?#]+)?(?:\#[^;#]+)?")
# Only the page's scheme is missing.
_WITHOUT_SCHEME = re.compile(r"//[\w.-]+(?:/[^;?#]*)?(?:\?[^;?#]+)?(?:\#[^;#]+)?", re.ASCII)
_ORIGIN = re.compile(r"(https?:)//[^/?#]*/", re.IGNORECASE)
_QUOTED_IN_URLS = {ord(sign): f"%{ord(sign):02X}" for sign in ' "<>\\^`{|}'}
_MAX_URL_CHARS = 2_000
# Where pages put the address of an image that loads late.
_IMAGE_SOURCES = ("data-src", "data-original", "data-lazy-src", "src", "data-url")
_MIN_IMAGE_PIXELS = 40
_NUMBER = re.compile(r"\d{1,6}")
_INERT = NEVER_CONTENT - {"head"}


class Attributes(Protocol):
    """An element, or a `dict` of its attributes."""

    def get(self, name: str, /) -> str | None: ...


def base_address(root: HtmlElement) -> str | None:
    """Return the address that a page states as its base, in its head or its text."""
    return next(
        (base.get("href") for base in root.iter("base") if base.get("href") and not _is_inert(base, root)), None
    )


def _is_inert(element: HtmlElement, root: HtmlElement) -> bool:
    """Return True inside an element that is never content; the head counts as content here."""
    while element is not root:
        element = element.getparent()
        if element.tag in _INERT:
            return True
    return False


class PageUrls:
    """Makes the addresses of a page absolute."""

    def __init__(self, url: str | None, base: str | None) -> None:
        """`base` is the address that the page states as its base."""
        self._base = (_stated_base(url or "", base.strip()) if base else "") or url or ""
        self._folder = _joined(self._base, "x").removesuffix("x") if self._base else ""
        origin = _ORIGIN.match(self._folder) if _PLAIN.fullmatch(self._folder) else None
        self._origin, self._scheme = (origin[0], origin[1]) if origin else ("", "")
        self._page = (url or "").partition("#")[0]

    def is_on_page(self, address: str) -> bool:
        """Return True for the address of a place on the same page."""
        before, sign, _ = address.strip().partition("#")
        return bool(sign) and before in ("", self._page)

    def absolute(self, address: str) -> str:
        """Return the absolute address; "" for one that is not http(s), or is the page itself."""
        address = address.strip()
        if not address or address.startswith("#") or len(address) > _MAX_URL_CHARS:
            return ""
        plain = _PLAIN.fullmatch(address) is not None
        url = address if plain else _DROPPED_IN_URLS.sub("", address)
        if not _ABSOLUTE.match(url):
            if not self._base:
                return ""
            if plain and self._origin and _JOINED_AS_IT_IS.fullmatch(url):
                url = f"{self._origin}{url[1:]}" if url[0] == "/" else f"{self._folder}{url}"
            elif plain and self._origin and _WITHOUT_SCHEME.fullmatch(url):
                url = f"{self._scheme}{url}"
            else:
                url, plain = _joined(self._base, url), False
            if not _ABSOLUTE.match(url):
                return ""
        if url.startswith(self._page) and url.partition("#")[0] == self._page:
            return ""
        return url if plain else url.translate(_QUOTED_IN_URLS)

    def of_image(self, image: Attributes) -> str:
        """Return the absolute address of an image; "" for one that is tiny, or whose data are in the page."""
        if _is_tiny(image.get("width")) or _is_tiny(image.get("height")):
            return ""
        for name in _IMAGE_SOURCES:
            value = image.get(name)
            if value and value.lstrip()[:5].lower() != "data:" and (url := self.absolute(value)):
                return url
        sets = image.get("data-srcset") or image.get("srcset") or ""
        return self.absolute(sets.split(",")[0].strip().split(" ")[0])


def _stated_base(url: str, base: str) -> str:
    """Return the absolute base; "" for one that is no URL, which browsers ignore."""
    try:
        absolute = urljoin(url, base)
        _ = urlsplit(absolute).port  # raises ValueError too
    except ValueError:
        return ""
    return absolute


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # such as an invalid IPv6 address
        return ""


def _is_tiny(side: str | None) -> bool:
    number = _NUMBER.match(side.strip()) if side else None
    return number is not None and int(number[0]) < _MIN_IMAGE_PIXELS


# Code -----------------------------------------------------------------------------------------------------------

_LANGUAGE_CLASS = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight-text|highlight|brush|code|syntax)[-:]\s*([\w+#.-]{1,30})",
    re.IGNORECASE,
)
_LANGUAGE_NAMES = frozenset(
    "asm bash batch c clojure cmake console cpp csharp css cs c++ c# dart diff dockerfile elixir erlang "
    "fortran fsharp go golang gradle graphql groovy haskell hcl html http ini java javascript js json jsonc "
    "jsx julia kotlin kt latex less lisp lua make makefile markdown matlab md mermaid mysql nginx nix "
    "objectivec objective-c ocaml pascal perl pgsql php plaintext plpgsql powershell ps1 prolog protobuf pycon "
    "python py python3 r rb rst ruby rust rs sass scala scheme scss sh shell sql svelte swift tcl terraform "
    "tex text toml ts tsx typescript vb vim vue xml yaml yml zig".split()
)
_LANGUAGE_ATTRIBUTES = ("data-lang", "data-language", "data-code-language", "lang-name")
_NO_LANGUAGE = frozenset("none default notranslate nohighlight plain auto text-wrap wrap numbers copy-btn code".split())
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
# Elements in a listing that are not its text: line numbers and buttons.
_GUTTER_CLASS = re.compile(
    rf"(?:^|[\s_-])(?:{GUTTER_NAMES}|copy)(?=$|[\s_-])",
    re.IGNORECASE,
)
NOT_CODE = NEVER_CONTENT | {"button"}
LINE_TAGS = frozenset(["div", "li", "p", "tr"])
_ONLY_NUMBERS = re.compile(r"[\d\s]+")
_MAX_LANGUAGE_LEVELS = 3


def code_of(element: HtmlElement) -> str:
    """Return the lines of a `pre` with their indentation, without line numbers and buttons; "" if nothing is left."""
    return joined_code(_code_parts(element))


def joined_code(parts: list[str]) -> str:
    """Return the code of these texts; "" if it has only line numbers."""
    text = tidy_code("".join(parts))
    return "" if _ONLY_NUMBERS.fullmatch(text) and "\n" in text else text


def _code_parts(element: HtmlElement) -> list[str]:
    parts: list[str] = []
    # Without recursion: pages nest thousands of levels deep.
    stack: list[HtmlElement | str | None] = [element]
    while stack:
        node = stack.pop()
        if node is None:  # the edge of a line
            if parts and not parts[-1].endswith("\n"):
                parts.append("\n")
            continue
        if isinstance(node, str):
            parts.append(node)
            continue
        inside: list[HtmlElement | str | None] = []
        if node.text:
            inside.append(node.text)
        for child in node:
            inside += _code_child(child)
            if child.tail:
                inside.append(child.tail)
        stack += reversed(inside)
    return parts


def _code_child(child: HtmlElement) -> list[HtmlElement | str | None]:
    tag = child.tag
    if not isinstance(tag, str) or tag in NOT_CODE or is_gutter(child):
        return []
    if tag == "br":
        return ["\n"]
    return [None, child, None] if tag in LINE_TAGS else [child]


def is_gutter(element: HtmlElement) -> bool:
    """Return True for an element that holds the line numbers of a listing."""
    names = element.get("class")
    return names is not None and names_gutter(names)


@lru_cache(maxsize=1 << 10)
def names_gutter(names: str) -> bool:
    """Return True for the classes of such an element."""
    return _GUTTER_CLASS.search(names) is not None


def code_language(element: HtmlElement) -> str:
    """Return the programming language that a page names for a `pre`, in small letters; "" if it names none."""
    code = next(element.iterchildren("code"), None)
    around: list[HtmlElement] = [element] if code is None else [code, element]
    outer = element.getparent()
    while outer is not None and len(around) < _MAX_LANGUAGE_LEVELS + 2 and outer.tag in ("div", "figure", "span"):
        around.append(outer)
        outer = outer.getparent()
    return next(filter(None, map(_stated_language, around)), "")


def _stated_language(element: HtmlElement) -> str:
    for name in _LANGUAGE_ATTRIBUTES:
        value = (element.get(name) or "").strip().lower()
        if _LANGUAGE.fullmatch(value) and value not in _NO_LANGUAGE:
            return value
    names = element.get("class")
    if not names:
        return ""
    for match in _LANGUAGE_CLASS.finditer(names):
        value = match[1].lower()
        if value not in _NO_LANGUAGE:
            return value
    first = names.split()[0].lower() if element.tag in ("pre", "code") else ""
    named = [name for name in names.lower().split() if name in _LANGUAGE_NAMES]
    return named[0] if named and (named[0] == first or "code" in names.lower() or "hljs" in names) else ""


# Tables ---------------------------------------------------------------------------------------------------------

_CELLS = ("td", "th")
# In a cell, these say that the table arranges the page.
_LAYOUT_TAGS = ("table", "form", "h1", "h2", "h3", "h4", "article", "section", "nav", "iframe")
_MAX_DATA_CELL_CHARS = 1_500
_SAMPLED_CELLS = 60


def is_data_table(table: HtmlElement) -> bool:
    """Return True for a table with rows and columns of data, False for one that arranges the page.

    It has two rows and two columns, or says that it is a table by `th` or `caption`; its cells hold neither tables,
    forms nor headings, and no long texts.
    """
    if table.get("role") in ("presentation", "none") or next(table.iterdescendants(*_LAYOUT_TAGS), None) is not None:
        return False
    rows, wide, cells = 0, 0, 0
    for row in table.iterdescendants("tr"):
        count = sum(1 for _ in row.iterchildren(*_CELLS))
        rows, wide, cells = rows + (count > 0), wide + (count > 1), cells + count
        if cells > _SAMPLED_CELLS and rows > 1:  # the first row may have more
            break
    named = next(table.iterdescendants("th", "caption"), None) is not None
    if not wide or (rows < 2 and not named):  # noqa: PLR2004 — one row is no table
        return False
    return not _has_long_cell(table)


def _has_long_cell(table: HtmlElement) -> bool:
    for number, cell in enumerate(table.iterdescendants(*_CELLS)):
        if number >= _SAMPLED_CELLS:
            return False
        if sum(map(len, cell.itertext())) > _MAX_DATA_CELL_CHARS:
            return True
    return False


def span_of(cell: HtmlElement, name: str) -> int:
    """Return how many columns (`colspan`) or rows (`rowspan`) a cell takes, as browsers read it: from 1 to 1,000."""
    number = _NUMBER.match((cell.get(name) or "").strip())
    return min(max(int(number[0]), 1), 1_000) if number else 1
