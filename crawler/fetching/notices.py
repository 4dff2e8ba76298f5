"""Recognise notices in place of a page, in many languages: "page not found" with status 200, challenges and walls.

A title or heading is compared as a whole with the words of `notices.toml`, and then the page must look like a notice:
little text, nothing that states an article, and for a challenge few links. So an article about such a page is not a
notice.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from html import unescape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from crawler.fetching.walls import asks_for_consent
from crawler.visit import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from cleaning.blocks import Page

_WORDS_FILE = Path(__file__).with_name("notices.toml")
# The start and the end of the elements that are read, and how many of them. One search for a tag in upper or lower case
# takes half the time of two.
_HEADINGS = (
    (re.compile(b"(?i)<title"), re.compile(b"(?i)</title"), 1),
    (re.compile(b"(?i)<h1"), re.compile(b"(?i)</h1"), 3),
)
_HEADING_MAX_BYTES = 600
_SHOWN_CHARS = 60
_MARKUP = re.compile(r"<[^>]*>")
# Between the name of a page and that of its site.
_SEPARATORS = re.compile(r"[-\u2013\u2014|·•:»\u203a«~_/\uff5c.!?,;]")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]+")
# Known notices of this kind are smaller.
_SMALL_PAGE_BYTES = 16_384
_CHALLENGE_MAX_WORDS = 60
# For a title that has the notice as a part, on a page that says it nowhere else.
_PART_MAX_WORDS = 60
_CHALLENGE_MAX_LINKS = 8
_ARTICLE_STATED = (
    "boolean(//meta[@property='article:published_time' and normalize-space(@content)]"
    "|//meta[@property='og:type' and @content='article']|//*[@itemprop='articleBody'])"
)
_ARTICLE_TYPE = re.compile(r'"@type"\s*:\s*\[?\s*"(?:\w*Article|BlogPosting)"')


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice in place of a page's content. `is_whole` is True if it is the whole title or heading."""

    outcome: Outcome
    text: str
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _NoticeWords:
    titles: dict[str, Outcome]
    starts: tuple[str, ...]
    beginnings: tuple[str, ...]
    """The first two words of each start, as pages write them."""
    fillers: frozenset[str]


def suspect_notice(body: bytes, encoding: str) -> Notice | None:
    """Return the notice that the title, a heading or a text of a page may be; None for most pages.

    Only the bytes are read, so that a page need not be parsed for it.
    """
    words = _read_words()
    partial = None
    for heading in _headings(body, encoding):
        whole = words.titles.get(_plain(heading, words.fillers))
        if whole is not None:
            return Notice(whole, heading[:_SHOWN_CHARS], is_whole=True)
        for part in _SEPARATORS.split(heading):
            outcome = words.titles.get(_plain(part, words.fillers))
            if outcome is not None and partial is None:
                partial = Notice(outcome, heading[:_SHOWN_CHARS], is_whole=False)
    return partial or _suspect_start(body, words)


def confirms(notice: Notice, page: Page, word_count: int) -> bool:
    """Return True if a page looks like the notice that it may be; `word_count` is the number of words of its prose."""
    root = page.root
    if notice.outcome is Outcome.WALL:  # a wall may state the article that it hides
        return asks_for_consent(page)
    if root.xpath(_ARTICLE_STATED) or _has_article_data(root):
        return False
    if notice.outcome is Outcome.CAPTCHA:
        return word_count <= _CHALLENGE_MAX_WORDS and len(root.xpath("//a[@href]")) <= _CHALLENGE_MAX_LINKS
    return notice.is_whole or word_count <= _PART_MAX_WORDS


def _suspect_start(body: bytes, words: _NoticeWords) -> Notice | None:
    """Return the challenge at the beginning of a text of a small page."""
    if len(body) > _SMALL_PAGE_BYTES:
        return None
    page = body.decode("utf-8", "ignore")
    if not any(beginning in page.casefold() for beginning in words.beginnings):
        return None
    for text in _MARKUP.split(page):
        plain = _plain(unescape(text[:_HEADING_MAX_BYTES]), frozenset())
        if plain and plain.startswith(words.starts):
            return Notice(Outcome.CAPTCHA, " ".join(text.split())[:_SHOWN_CHARS], is_whole=True)
    return None


def _headings(body: bytes, encoding: str) -> Iterator[str]:
    """Yield the title and the first headings of a page as text."""
    for start_tag, end_tag, most in _HEADINGS:
        end = 0
        starts = (match.start() for match in start_tag.finditer(body) if match.start() >= end)
        for start in islice(starts, most):
            closed = end_tag.search(body, start, start + _HEADING_MAX_BYTES)
            if closed is not None:
                end = closed.start()
                content = body[body.find(b">", start, end) + 1 : end]
                yield " ".join(unescape(_MARKUP.sub(" ", content.decode(encoding, "replace"))).split())


def _plain(text: str, fillers: frozenset[str]) -> str:
    """Return the words of a text for comparison, without the fillers at both ends."""
    # Capitals tell the two i of Turkish apart no more than a casefold does.
    folded = normalize("NFKC", text).casefold().replace("\u0307", "").replace("\u0131", "i")
    words = _WORD.findall(_NUMBER.sub(r" \g<0> ", folded))
    while words and (words[0] in fillers or words[0].isdecimal()):
        del words[0]
    while words and (words[-1] in fillers or words[-1].isdecimal()):
        del words[-1]
    return " ".join(words)


def _has_article_data(root: HtmlElement) -> bool:
    """Return True if the JSON-LD of a page describes an article with a date."""
    scripts = root.xpath("//script[@type='application/ld+json']/text()")
    return any(_ARTICLE_TYPE.search(script) and "datePublished" in script for script in scripts)


@cache
def _read_words() -> _NoticeWords:
    data = tomllib.loads(_WORDS_FILE.read_text("utf-8"))
    fillers = frozenset(_plain(filler, frozenset()) for filler in data["fillers"])
    outcomes = {"removed": Outcome.REMOVED, "challenge": Outcome.CAPTCHA, "wall": Outcome.WALL}
    titles = {_plain(title, fillers): outcome for kind, outcome in outcomes.items() for title in data[kind]["titles"]}
    starts = tuple(_plain(start, frozenset()) for start in data["challenge"]["starts"])
    beginnings = tuple(" ".join(start.casefold().split()[:2]) for start in data["challenge"]["starts"])
    return _NoticeWords(titles, starts, beginnings, fillers)
