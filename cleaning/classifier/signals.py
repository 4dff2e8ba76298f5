"""What a page says of itself as a whole: its address, types and stated texts, and the words that tell its page type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from cleaning._native import load_compiled
from cleaning.blocks import PageType
from cleaning.classifier.lexicon import element_words
from cleaning.terms import tokenise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cleaning.blocks import Page
    from cleaning.leaf_table import LeafTable
    from cleaning.metadata.statements import Statements


# Words of a stated text that are looked at, and fewest that make it a body; a summary is shorter.
_MAX_BODY_WORDS = 20_000
_MIN_BODY_WORDS = 30
_MAX_TEXT_CHARS = 200_000  # characters
_MAX_TITLE_CHARS = 1_000
_MAX_URL_CHARS = 2_000
RUN_WORDS = 3  # words in a row that two texts share
_SUMMARY_METAS = ("og:description", "description", "twitter:description")

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
class PageSignals:
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


def read_signals(page: Page, stated: Statements) -> PageSignals:
    """Return the facts of a page; those that it does not state are empty."""
    path, query, host = _split_address(page.url)
    body = tokenise((stated.article_body or "")[:_MAX_TEXT_CHARS])[:_MAX_BODY_WORDS]
    if len(body) <= _MIN_BODY_WORDS:
        body = []
    summaries = dict.fromkeys(text for text in stated.meta(*_SUMMARY_METAS) if len(text) > _MIN_BODY_WORDS)
    return PageSignals(
        path,
        query,
        host,
        stated.types,
        (stated.title or "")[:_MAX_TITLE_CHARS],
        frozenset(word_runs(body)),
        len(body),
        tuple(frozenset(tokenise(text[:_MAX_TITLE_CHARS])) for text in summaries),
    )


def word_runs(words: list[str]) -> Iterable[tuple[str, ...]]:
    """Return the runs of three words; empty for a shorter text."""
    return zip(*(words[start:] for start in range(RUN_WORDS)), strict=False)


def _split_address(url: str | None) -> tuple[str, bool, str]:
    try:
        parts = urlsplit((url or "")[:_MAX_URL_CHARS])
        return parts.path, bool(parts.query), parts.hostname or ""
    except ValueError:  # "http://[" and the like
        return re.sub(r"[?#].*", "", url or ""), False, ""


# Lengths in characters of the texts that are compared at all, with the article's text, and with descriptions.
COMPARED_MIN_CHARS = 20
BODY_MIN_CHARS = 30
SUMMARY_MAX_CHARS = 600


def measure_overlap(texts: list[str], facts: PageSignals) -> np.ndarray:
    """Return two figures of each text (2 x n, float64).

    The first is the share of its runs of words that are in the stated body, -1 where that cannot be told; the second
    the greatest share of words that it has in common with a description, of the words of both; 0 without descriptions.
    """
    module = load_compiled("words")
    if module is None:
        return np.array([_overlap_of(text, facts) for text in texts], np.float64).reshape(-1, 2).T
    found: np.ndarray = module.measure_overlap(texts, facts)
    return found


def _overlap_of(text: str, facts: PageSignals) -> tuple[float, float]:
    in_body = len(text) >= BODY_MIN_CHARS and bool(facts.body)
    in_summaries = len(text) <= SUMMARY_MAX_CHARS and bool(facts.summaries)
    words = tokenise(text) if in_body or in_summaries else []
    share, likeness = -1.0, 0.0
    if in_body and len(words) >= RUN_WORDS:
        found = list(word_runs(words))
        share = sum(map(facts.body.__contains__, found)) / len(found)
    if in_summaries:
        seen = set(words)
        likeness = max(len(seen & one) / max(1, len(seen | one)) for one in facts.summaries)
    return share, likeness


PAGE_TYPES = tuple(PageType)
PAGE_WORD_NAMES = [f"words_of_{each}" for each in PAGE_TYPES]
_LETTERS = re.compile("[a-z]+")
_OUTERMOST = 2  # the outermost elements, whose signs are often about the page


def page_type_words(scan: LeafTable, facts: PageSignals) -> frozenset[str]:
    """Return the words that may tell a page's type: of its address, its stated types and its outermost elements."""
    found = {f"u:{word}" for word in _LETTERS.findall(facts.path.lower())}
    found |= {f"h:{word}" for word in _LETTERS.findall(facts.host.lower())}
    found |= {f"y:{name}" for name in facts.types}
    for tag, signs in zip(scan.tags[:_OUTERMOST], scan.node_signs[:_OUTERMOST], strict=True):
        found |= {f"b:{word}" for word in element_words(tag, signs)}
    return frozenset(found)


def sum_word_scores(words: frozenset[str], scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return for each of TYPES the sum of the words' scores; 0 where none is known."""
    found = [scores[word] for word in sorted(words) if word in scores]
    sums: np.ndarray = np.sum(found, axis=0) if found else np.zeros(len(PAGE_TYPES))
    return sums
