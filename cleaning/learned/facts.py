"""What the classifier asks of a page beside its blocks: address, types, title, and texts that it states of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cleaning.terms import tokenise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cleaning.blocks import Page
    from cleaning.statements import Statements

# Words of a stated text that are looked at, and fewest that make it a body; a summary is shorter.
_MOST_WORDS = 20_000
_FEWEST_BODY_WORDS = 30
_LONGEST_TEXT = 200_000  # characters
_LONGEST_TITLE = 1_000
_LONGEST_URL = 2_000
RUN = 3  # words in a row that two texts share
_SUMMARIES = ("og:description", "description", "twitter:description")

# What a page may be said to be, by the names of its JSON-LD and microdata types and its og:type.
TYPE_FAMILIES: dict[str, frozenset[str]] = {
    "news": frozenset({"newsarticle", "reportagenewsarticle", "analysisnewsarticle", "opinionnewsarticle"}),
    "article": frozenset({"article", "blogposting", "techarticle", "scholarlyarticle"}),
    "product": frozenset({"product", "productgroup", "og:product", "product.item"}),
    "forum": frozenset({"discussionforumposting", "qapage", "question", "answer", "comment"}),
    "list": frozenset({"itemlist", "collectionpage", "offercatalog", "blog"}),
    "help": frozenset({"faqpage", "howto", "howtostep"}),
    "organization": frozenset({"organization", "localbusiness", "website", "service"}),
    "breadcrumbs": frozenset({"breadcrumblist"}),
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a page states of itself, and its address, as the features ask for it.

    `body` holds the runs of three words of the article's text as JSON-LD states it, `body_words` how many words that
    has; both are empty where it states none. `summaries` are the sets of words of its descriptions.
    """

    path: str = ""
    query: bool = False
    host: str = ""
    types: frozenset[str] = frozenset()
    title: str = ""
    body: frozenset[tuple[str, ...]] = frozenset()
    body_words: int = 0
    summaries: tuple[frozenset[str], ...] = ()

    @property
    def families(self) -> list[bool]:
        """Tell for each of TYPE_FAMILIES whether the page names a type of it."""
        return [not self.types.isdisjoint(names) for names in TYPE_FAMILIES.values()]


def read_facts(page: Page, stated: Statements) -> Facts:
    """Return the facts of a page; those that it does not state are empty."""
    path, query, host = _address(page.url)
    body = tokenise((stated.article_body or "")[:_LONGEST_TEXT])[:_MOST_WORDS]
    if len(body) <= _FEWEST_BODY_WORDS:
        body = []
    summaries = dict.fromkeys(text for text in stated.meta(*_SUMMARIES) if len(text) > _FEWEST_BODY_WORDS)
    return Facts(
        path,
        query,
        host,
        stated.types,
        (stated.title or "")[:_LONGEST_TITLE],
        frozenset(runs(body)),
        len(body),
        tuple(frozenset(tokenise(text[:_LONGEST_TITLE])) for text in summaries),
    )


def runs(words: list[str]) -> Iterable[tuple[str, ...]]:
    """Return the runs of three words; empty for a shorter text."""
    return zip(*(words[start:] for start in range(RUN)), strict=False)


def _address(url: str | None) -> tuple[str, bool, str]:
    try:
        parts = urlsplit((url or "")[:_LONGEST_URL])
        return parts.path, bool(parts.query), parts.hostname or ""
    except ValueError:  # "http://[" and the like
        return re.sub(r"[?#].*", "", url or ""), False, ""
