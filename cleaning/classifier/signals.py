"""Signals of a page as a whole: its URL, its stated types and texts, and the words that tell its page type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from cleaning._native import load_compiled
from cleaning.blocks import PageType
from cleaning.classifier.lexicon import element_words
from cleaning.terms import count_tokens, tokenise
from cleaning.tracking import without_tracking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cleaning.blocks import Page
    from cleaning.leaf_table import LeafTable
    from cleaning.metadata.statements import Statements

MAX_BODY_WORDS = 20_000
_MIN_BODY_WORDS = 30  # a shorter stated text is a summary
_MAX_TEXT_CHARS = 200_000
_MAX_TITLE_CHARS = 1_000
_MAX_URL_CHARS = 2_000
RUN_WORDS = 3  # consecutive words that two texts share
_SUMMARY_METAS = ("og:description", "description", "twitter:description")
# Lengths in characters of the texts that are compared: with anything, with the article's text, with descriptions.
COMPARED_MIN_CHARS = 20
BODY_MIN_CHARS = 30
SUMMARY_MAX_CHARS = 600


def measure_overlap(texts: list[str], signals: PageSignals) -> np.ndarray:
    """Return two measures of each text's overlap with the stated texts (2 x n, float64).

    The first is the share of its word runs in the stated body, -1 if the text or the body is too short. The second is
    the greatest share of words in common with a description (Jaccard index), 0 without descriptions.
    """
    module = load_compiled("words")
    if module is None:
        return pure_measure_overlap(texts, signals)
    measures: np.ndarray = module.measure_overlap(texts, signals)
    return measures


def pure_measure_overlap(texts: list[str], signals: PageSignals) -> np.ndarray:
    """Return the same as `measure_overlap`, without the compiled core."""
    runs = frozenset(word_runs(tokenise(signals.body)[:MAX_BODY_WORDS]))
    return np.array([_overlap_of(text, runs, signals.summaries) for text in texts], np.float64).reshape(-1, 2).T


def _overlap_of(
    text: str, runs: frozenset[tuple[str, ...]], summaries: tuple[frozenset[str], ...]
) -> tuple[float, float]:
    in_body = len(text) >= BODY_MIN_CHARS and bool(runs)
    in_summaries = len(text) <= SUMMARY_MAX_CHARS and bool(summaries)
    words = tokenise(text) if in_body or in_summaries else []
    share, likeness = -1.0, 0.0
    if in_body and len(words) >= RUN_WORDS:
        own_runs = list(word_runs(words))
        share = sum(map(runs.__contains__, own_runs)) / len(own_runs)
    if in_summaries:
        seen = set(words)
        likeness = max(len(seen & summary) / max(1, len(seen | summary)) for summary in summaries)
    return share, likeness


# Families of the type names in JSON-LD, microdata and og:type.
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
    """The signals of a page that the features use; missing ones are empty.

    `path`, `query` (whether there is one) and `host` are of the address without tracking parameters and session ids.
    `body` is the article's text in JSON-LD, `body_words` the number of its words, at most 20,000. `summaries` are the
    sets of words of the page's descriptions.
    """

    path: str = ""
    query: bool = False
    host: str = ""
    types: frozenset[str] = frozenset()
    title: str = ""
    body: str = ""
    body_words: int = 0
    summaries: tuple[frozenset[str], ...] = ()

    @property
    def families(self) -> list[bool]:
        """For each of TYPE_FAMILIES, True if the page states a type of it."""
        return [not self.types.isdisjoint(names) for names in TYPE_FAMILIES.values()]


def read_signals(page: Page, stated: Statements) -> PageSignals:
    """Return the signals of a page."""
    path, query, host = _split_url(page.url)
    body = (stated.article_body or "")[:_MAX_TEXT_CHARS]
    body_words = count_tokens(body, MAX_BODY_WORDS)
    if body_words <= _MIN_BODY_WORDS:
        body, body_words = "", 0
    summaries = dict.fromkeys(text for text in stated.meta(*_SUMMARY_METAS) if len(text) > _MIN_BODY_WORDS)
    return PageSignals(
        path,
        query,
        host,
        stated.types,
        (stated.title or "")[:_MAX_TITLE_CHARS],
        body,
        body_words,
        tuple(frozenset(tokenise(text[:_MAX_TITLE_CHARS])) for text in summaries),
    )


def word_runs(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """Return the runs of three consecutive words; empty for a shorter text."""
    return zip(*(words[start:] for start in range(RUN_WORDS)), strict=False)


def _split_url(url: str | None) -> tuple[str, bool, str]:
    address = without_tracking(url or "")[:_MAX_URL_CHARS]
    try:
        parts = urlsplit(address)
        return parts.path, bool(parts.query), parts.hostname or ""
    except ValueError:  # "http://[" and the like
        return re.sub(r"[?#].*", "", address), False, ""


PAGE_TYPES = tuple(PageType)
PAGE_WORD_NAMES = [f"words_of_{page_type}" for page_type in PAGE_TYPES]
_LETTERS = re.compile("[a-z]+")
_OUTERMOST = 2  # elements; their attribute tokens are often about the page


def page_type_words(table: LeafTable, signals: PageSignals) -> frozenset[str]:
    """Return the words that may tell a page's type: of its URL, its stated types and its outermost elements."""
    words = {f"u:{part}" for part in _LETTERS.findall(signals.path.lower())}
    words |= {f"h:{part}" for part in _LETTERS.findall(signals.host.lower())}
    words |= {f"y:{name}" for name in signals.types}
    for tag, tokens in zip(table.tags[:_OUTERMOST], table.node_tokens[:_OUTERMOST], strict=True):
        words |= {f"b:{part}" for part in element_words(tag, tokens)}
    return frozenset(words)


def sum_word_scores(words: frozenset[str], scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return for each of PAGE_TYPES the sum of the words' scores; 0 without known words."""
    known = [scores[word] for word in sorted(words) if word in scores]
    sums: np.ndarray = np.sum(known, axis=0) if known else np.zeros(len(PAGE_TYPES))
    return sums
