"""Quotes that forums write without `blockquote`: the elements that are quotes, and the texts that name their speakers.

1. Elements are candidates if a class of theirs names a quote ("quote_body", "bbCodeQuote") or a quote's head.
2. A candidate is a quote if something confirms it: a class of forum code, a head in it or above it ("Ada wrote:"), or
   an earlier quote with the same classes. A class alone is not enough: shops give price quotes, and designers set out
   quotes of the article.
3. An element with nothing but a label ("Quote:") and one element below it is a quote, whatever its classes are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.leaves import ElementPaths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Block

_CLASSES = etree.XPath("descendant::*/@class", smart_strings=False)

_QUOTE_NAME = re.compile(r"(?:block)?quot(?:e|ed|es|ing|ation)|zitat|citat(?!ion)")
_FORUM_NAME = re.compile(
    r"bb_?-?(?:c[a-z]*)?[\w-]*quot|ips-?quote|(?:my|ubb)code_?-?quote|quote-?_?(?:box|main|content|body)"
)
_HEAD_NAME = re.compile(
    r"(?:quot|zitat|citat)[a-z]*[_-]*(?:titl|head|top|author|user|by|cit|sourc|attribut|legend|caption|name|info|from)"
    r"|(?:^|\s)(?:citation|attribution)(?=\s|$)"
)
# Words of classes beside "quote": nobody is quoted, or the element is a part of the page's own design.
_OTHER_QUOTES = re.compile(
    r"pric|stock|market|tick|insur|ship|request|get|free|form|dail|day|random|testimon|review|pull|slid|carous|butt|btn|"
    r"icon|link|foot|control|mark|left|right|open|close|tool|add|multi|reply|edit|select|start|end|expand"
)
_QUOTE_TAGS = frozenset("div td table tbody aside section fieldset center blockquote".split())
# How a text names the speaker of the quote below it.
_SAID = (
    "wrote|writes|said|says|posted|schrieb|schreibt|sagte|hat geschrieben|a écrit|a dit|escribió|dijo|ha scritto|"
    "ha detto|scrisse|escreveu|disse|schreef|zei|napisał|napisała|pisze|skrev|skriver|sa|kirjoitti|írta|napsal|"
    "napsala|a scris|έγραψε|писал|писала|написал|написала|пишет|сказал|сказала|yazd\u0131|đã viết|menulis"
)
_SAID_UNSPACED = "寫道|写道|說|说|さんは書きました|님이 작성"
_POSTED_UNSPACED = "发表于|发表於|發表於"
_QUOTED_FROM = (
    "originally (?:posted|written) by|quote from|quoting|zitat von|original von|citation de|cita de|citat från|"
    "citaat van|cytat|цитата"
)
_LABELS = (
    "quote|zitat|cita|citat|citaat|cytat|цитата|цитирую|idézet|citace|al\u0131nt\u0131|citazione|citação|sitat|"
    "lainaus|trích dẫn|引用|引述|인용|اقتباس|ציטוט"
)
_COLONS = ":\uff1a"
_COLON = f"[{_COLONS}]"
_SPEAKER = re.compile(
    rf".{{1,100}}(?:\b(?:{_SAID})(?:\(\w\))?|{_SAID_UNSPACED})(?:\b[^:\uff1a]{{0,60}})?\s*{_COLON}.{{0,40}}"
    rf"|(?:{_QUOTED_FROM})\b.{{1,100}}|(?:{_LABELS}|citation)\s*[:\uff1a(].{{0,100}}"
    rf"|.{{1,60}}(?:{_POSTED_UNSPACED}).{{0,40}}",
    re.IGNORECASE,
)
_BARE_LABEL = re.compile(rf"(?:{_LABELS})\s*{_COLON}", re.IGNORECASE)
_LABEL = re.compile(rf"(?:{_LABELS})\s*{_COLON}|(?:{_QUOTED_FROM})\b.{{1,60}}", re.IGNORECASE)
_LABEL_STARTS = frozenset("orig quot zita cita cyta цита".split())  # of the texts without a colon
_MAX_HEAD_CHARS = 160
_MAX_HEAD_WORDS = 16
_MAX_HEADS = 2  # the texts above a quote: who said it, and when
_MAX_MORE_WORDS = 4  # "Click to expand"
_MIN_LABELLED_WORDS = 4
_MAX_WRAPPERS = 6
_MAX_CANDIDATES = 2_000
_MAX_BEGINNINGS = 16  # quotes that begin with the same text


class Quote(NamedTuple):
    """The numbers of a quote's first and last text, and the path of the element that holds it; it ends with a slash."""

    first: int
    last: int
    around: str


class Quotes(NamedTuple):
    """The quotes of a page.

    `elements` are the quotes (True), and the block quotes that are parts of them (False). `heads` are the numbers of
    texts that stand above a quote and name its speaker, with the quotes. `outermost` has the quote around each text.
    """

    elements: Mapping[HtmlElement, bool]
    heads: Mapping[int, Quote]
    outermost: Mapping[int, Quote]


NO_QUOTES = Quotes({}, {}, {})


def find_quotes(start: HtmlElement, blocks: Sequence[Block]) -> Quotes:
    """Return the quotes in a page's body, whose texts in reading order are `blocks`."""
    labels = [number for number, block in enumerate(blocks) if _is_label(block)]
    if not labels and not any(map(_is_named, set(_CLASSES(start)))):
        return NO_QUOTES  # most pages; their block quotes are all that they quote
    candidates = (
        element
        for element in start.iterdescendants("*")
        if element.tag == "blockquote" or _is_named(element.get("class") or "")
    )
    search = _Search(start, blocks, islice(candidates, _MAX_CANDIDATES))
    search.accept_candidates()
    search.accept_labelled(labels[:_MAX_CANDIDATES])
    return search.quotes()


def _names_speaker(text: str) -> bool:
    """Return True for a text that says whose words follow: "Ada wrote:", "Quote from Ada"."""
    return len(text) <= _MAX_HEAD_CHARS and _SPEAKER.fullmatch(text) is not None


def introduces_quote(text: str) -> bool:
    """Return True for a text that a quote may follow: one that names a speaker, or ends with a colon."""
    return text.endswith(tuple(_COLONS)) or _names_speaker(text)


def _is_label(block: Block) -> bool:
    text = block.text
    if text[-1] not in _COLONS and text[:4].lower() not in _LABEL_STARTS:
        return False
    return len(text) <= _MAX_HEAD_CHARS and not block.link_words and _LABEL.fullmatch(text) is not None


class _Search:
    """The state of one search: the quotes that were accepted."""

    def __init__(self, start: HtmlElement, blocks: Sequence[Block], candidates: Iterable[HtmlElement]) -> None:
        self._start = start
        self._blocks = blocks
        self._paths = ElementPaths(start)
        self._candidates = [(element, (element.get("class") or "").lower()) for element in candidates]
        self._first = _numbers_of_paths(range(len(blocks)), blocks)
        self._last = _numbers_of_paths(range(len(blocks) - 1, -1, -1), blocks)
        self._head_paths = {self._paths.of(element) for element, names in self._candidates if _HEAD_NAME.search(names)}
        self._beginnings = self._paths_of_quotes()
        self._elements: dict[HtmlElement, bool] = {}
        self._heads: dict[int, Quote] = {}
        self._quoting_names: set[str] = set()  # the classes of accepted elements
        self._headed: set[str] = set()  # the paths of quotes with a head above
        self._quotes: list[Quote] = []

    def quotes(self) -> Quotes:
        """Return the accepted quotes."""
        outermost: dict[int, Quote] = {}
        for quote in sorted(self._quotes, key=lambda quote: (quote.first, -quote.last)):
            if quote.first not in outermost:
                outermost.update(dict.fromkeys(range(quote.first, quote.last + 1), quote))
        return Quotes(self._elements, self._heads, outermost)

    # Quotes that classes name -------------------------------------------------------------------------------------

    def accept_candidates(self) -> None:
        """Accept the candidates that something confirms."""
        for element, names in self._candidates:
            path = self._paths.of(element)
            if not self._may_be_quote(element, names, path):
                continue
            table = next(element.iterancestors("table"), None) if element.tag == "td" else None
            if table is not None and self._is_headed(self._paths.of(table), path):
                element, path = table, self._paths.of(table)  # noqa: PLW2901 — the head is a row above
            around = self._quote_around(element)
            if around is not None and self._is_part(path, around):
                if element.tag == "blockquote" and self._is_wrapped(element):
                    self._elements[element] = False
                continue
            head = self._head_above(path)
            if head is not None and around in self._first and head < self._first_of_content(around):
                head = None  # it is the head of the quote around
            if element.tag == "blockquote":
                if head is not None:
                    self._accept_head(head, path)
            elif names in self._quoting_names or self._is_confirmed(path, names, head):
                self._quoting_names.add(names)
                self._accept(element, path, head)

    def _may_be_quote(self, element: HtmlElement, names: str, path: str) -> bool:
        return (
            element.tag in _QUOTE_TAGS
            and path in self._first
            and (element.tag == "blockquote" or _names_quote(names))
            and not self._is_named_head(path, "")
        )

    def _paths_of_quotes(self) -> dict[int, list[str]]:
        """Return the paths of all that may be quotes, by the number of their first text or of the head above it."""
        paths: dict[int, list[str]] = {}
        for element, names in self._candidates:
            path = self._paths.of(element)
            if self._may_be_quote(element, names, path):
                head = self._head_above(path)
                same = paths.setdefault(self._first[path] if head is None else head, [])
                if len(same) < _MAX_BEGINNINGS:
                    same.append(path)
        return paths

    def _is_confirmed(self, path: str, names: str, head: int | None) -> bool:
        return (
            head is not None
            or _FORUM_NAME.search(names) is not None
            or self._has_head(path)
            or self._is_below_speaker(path)
        )

    def _accept(self, element: HtmlElement, path: str, head: int | None = None) -> None:
        inner = next(element.iterdescendants("blockquote"), None)
        inner_path = "" if inner is None else self._paths.of(inner)
        if inner is not None and inner_path in self._first and self._range(inner_path) == self._range(path):
            if head is not None:  # the block quote says the rest
                self._accept_head(head, inner_path)
            return
        self._elements[element] = True
        if head is None:
            self._quotes.append(Quote(*self._range(path), f"{path.rpartition('/')[0]}/"))
        else:
            self._accept_head(head, path)

    def _accept_head(self, head: int, path: str) -> None:
        quote = Quote(head, self._last[path], f"{path.rpartition('/')[0]}/")
        self._heads[head] = quote
        self._headed.add(path)
        self._quotes.append(quote)

    def _quote_around(self, element: HtmlElement) -> str | None:
        """Return the path of the quote around an element, if it is close."""
        for outer in islice(element.iterancestors(), _MAX_WRAPPERS):
            if self._elements.get(outer, outer.tag == "blockquote"):
                return self._paths.of(outer)
        return None

    def _is_wrapped(self, blockquote: HtmlElement) -> bool:
        """Return True for a block quote in an element that is called a quote, without another block quote between."""
        for outer in islice(blockquote.iterancestors(), _MAX_WRAPPERS):
            if outer.tag == "blockquote":
                return False
            if _names_quote((outer.get("class") or "").lower()):
                return True
        return False

    def _is_part(self, path: str, around: str) -> bool:
        """Return True for an element that is the body of the quote around it, and no quote in that quote."""
        if around not in self._first:
            return False
        first, last = self._range(path)
        content = self._first_of_content(around)
        more = self._blocks[last + 1 : self._last[around] + 1]
        if first > content or sum(block.words for block in more) > _MAX_MORE_WORDS:
            return False
        return first < content or not self._has_head(path) or self._begins_with_quote(path)

    def _first_of_content(self, path: str) -> int:
        """Return the number of the first text in a quote that does not name its speaker."""
        first, last = self._range(path)
        if path in self._headed or not self._is_head(first, path) or first == last:
            return first
        is_bare = _BARE_LABEL.fullmatch(self._blocks[first].text) is not None
        return first + 2 if is_bare and first + 1 < last and self._is_head(first + 1, path) else first + 1

    def _begins_with_quote(self, path: str) -> bool:
        """Return True for an element that begins with a quote and ends with another text."""
        beginnings = self._beginnings.get(self._first[path], ())
        return any(inner.startswith(f"{path}/") and self._last[inner] < self._last[path] for inner in beginnings)

    def _is_headed(self, table: str, cell: str) -> bool:
        """Return True for a table that holds a quote in a cell, and its head above."""
        return (
            table in self._first
            and self._last[table] == self._last[cell]
            and self._first[table] < self._first[cell]
            and self._are_heads(self._first[table], cell)
        )

    def _are_heads(self, first: int, path: str) -> bool:
        """Return True if at most a few short texts stand between this number and the texts of an element."""
        heads = self._blocks[first : self._first[path]]
        return len(heads) <= _MAX_HEADS and all(block.words <= _MAX_HEAD_WORDS for block in heads)

    def _has_head(self, path: str) -> bool:
        """Return True for an element whose first text names a speaker."""
        first, last = self._range(path)
        return first < last and self._is_head(first, path)

    def _is_head(self, number: int, path: str) -> bool:
        block = self._blocks[number]
        if block.words > _MAX_HEAD_WORDS:
            return False
        return introduces_quote(block.text) or self._is_named_head(block.path, path)

    def _is_named_head(self, inner: str, outer: str) -> bool:
        while len(inner) > len(outer):
            if inner in self._head_paths:
                return True
            inner = inner.rpartition("/")[0]
        return False

    def _head_above(self, path: str) -> int | None:
        """Return the number of the text in the element above, if its class says that it is the head of a quote."""
        number = self._first[path] - 1
        outer = path.rpartition("/")[0]
        if number < 0 or not self._blocks[number].path.startswith(f"{outer}/"):
            return None
        sibling = _child_around(self._blocks[number].path, outer)
        is_short = self._blocks[number].words <= _MAX_HEAD_WORDS and self._first[sibling] == number
        is_named = sibling in self._head_paths or self._is_named_head(self._blocks[number].path, sibling)
        return number if is_short and is_named else None

    def _is_below_speaker(self, path: str) -> bool:
        """Return True for an element below a text that names a speaker, in the same element."""
        number = self._first[path] - 1
        outer = path.rpartition("/")[0]
        return (
            number >= 0
            and f"{self._blocks[number].path}/".startswith(f"{outer}/")
            and _names_speaker(self._blocks[number].text)
        )

    def _range(self, path: str) -> tuple[int, int]:
        return self._first[path], self._last[path]

    # Quotes with a label ------------------------------------------------------------------------------------------

    def accept_labelled(self, labels: Iterable[int]) -> None:
        """Accept the elements that hold one of these texts and one element below it, and nothing else."""
        for number in labels:
            label = self._blocks[number].path
            outer = label.rpartition("/")[0]
            while outer and self._range(outer) == (number, number):
                label, outer = outer, outer.rpartition("/")[0]
            if not outer or self._first[outer] != number or not self._is_pair(outer, label):
                continue
            element = self._start.getroottree().xpath(outer)[0]
            around = self._quote_around(element)
            if element in self._elements or element.tag not in _QUOTE_TAGS or element.tag == "blockquote":
                continue
            if around is None or not self._is_part(outer, around):
                self._accept(element, outer)

    def _is_pair(self, outer: str, label: str) -> bool:
        """Return True if the texts below a label are in one element, and are more than a word or two."""
        blocks = self._blocks[self._first[label] + 1 : self._last[outer] + 1]
        bodies = {_child_around(block.path, outer) for block in blocks}
        return len(bodies) == 1 and outer not in bodies and sum(block.words for block in blocks) >= _MIN_LABELLED_WORDS


@lru_cache(maxsize=1 << 10)
def _is_named(names: str) -> bool:
    """Return True for the classes of a quote or of its head."""
    return _HEAD_NAME.search(names.lower()) is not None or _names_quote(names.lower())


def _names_quote(names: str) -> bool:
    return any(
        _QUOTE_NAME.search(name) and not _OTHER_QUOTES.search(name) and not _HEAD_NAME.search(name)
        for name in names.split()
    )


def _child_around(path: str, outer: str) -> str:
    """Return the path of the child of the outer element that holds the element at `path`; `outer` for itself."""
    level = outer.count("/") + 2
    return "/".join(path.split("/", level)[:level])


def _numbers_of_paths(numbers: Iterable[int], blocks: Sequence[Block]) -> dict[str, int]:
    """Return the first of these numbers whose text is in an element, by the element's path."""
    by_path: dict[str, int] = {}
    for number in numbers:
        path = blocks[number].path
        while path and path not in by_path:
            by_path[path] = number
            path = path.rpartition("/")[0]
    return by_path
