"""Choose one of several answers by a log-linear model: each answer has features, and each feature a trained weight.

`Evidence` is what the candidates of a page and their features are read from.

The probability of an answer is the softmax of the sums of its features' weights. No answer is one of the answers; its
key is None. `python -m research.training.metadata` trains the weights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from math import log
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from cleaning.metadata.site_names import read_site
from cleaning.metadata.statements import is_marked_as_reply

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from enum import StrEnum

    from lxml.html import HtmlElement

    from cleaning.metadata.site_names import Site
    from cleaning.metadata.statements import Statements

WEIGHTS_FILE = "metadata-weights.txt"
# The addresses of threads in forums, which state no types: `/viewtopic.php`, `/threads/a-title.12/`, `/t/a-title/12`.
_FORUM_PATH = re.compile(
    r"/(?:viewtopic|viewthread|showthread|showtopic|topic|thread)\.php|/(?:threads?|topics?|questions|discussions?|comments)/"
    r"[^/]*\d|/(?:threads?|topics?)/[^/]+/[^/]|/[td]/[^/]+/\d|/r/\w+/comments/|/forums?/.+/|/thread-\d",
    re.IGNORECASE,
)
# Words of hosts and paths that tell which kind of page it is.
_ADDRESS_WORDS = {
    "documentation": "docs doc documentation developer developers reference api manual handbook wiki support help man"
    " learn",
    "listing": "category categories topic topics tag tags list lists section sections collection collections browse"
    " shop store genre subject catalog catalogs search c",
    "offer": "service services solutions product products p item itm dp pricing features platform course courses",
    "article": "blog blogs news article articles story stories post posts insights magazine opinion artikel nachrichten"
    " actualites noticias aktuelles",
}
_ADDRESS_KINDS = {word: kind for kind, words in _ADDRESS_WORDS.items() for word in words.split()}
_MAX_ADDRESS_PARTS = 20
_FORUM_TYPES = frozenset({"qapage", "question", "discussionforumposting", "discussion"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for the titles, authors and dates of a page, and the facts about its address and types."""

    root: HtmlElement
    stated: Statements
    path: str | None
    """The path of the address; None for a page without one, or with one that is no URL."""
    site: Site
    kind: str
    """The kind of the page by its types, or by its address: `article`, `forum`, `product` or `other`."""
    address_kinds: frozenset[str] = frozenset()
    """The kinds of pages that words of the address name: `documentation`, `listing`, `offer`, `article`, `index`."""
    _replies: dict[HtmlElement | None, bool] = field(default_factory=lambda: {None: False})

    @property
    def is_front_page(self) -> bool:
        """True for the address of a site's front page."""
        return self.path in {"", "/"}

    @property
    def path_depth(self) -> int:
        """The number of directories in the address."""
        return (self.path or "").strip("/").count("/")

    def is_reply(self, element: HtmlElement) -> bool:
        """Return True if an element is in a reader's comment, an answer, or a teaser of another page."""
        above: list[HtmlElement] = []
        outer: HtmlElement | None = element
        while outer is not None and outer not in self._replies:
            above.append(outer)
            outer = outer.getparent()
        reply = self._replies[outer]
        for inner in reversed(above):
            reply = reply or is_marked_as_reply(inner)
            self._replies[inner] = reply
        return reply


def read_evidence(root: HtmlElement, stated: Statements, url: str | None) -> Evidence:
    """Return the evidence of a page with this address."""
    try:
        parts = None if url is None else urlsplit(url)
    except ValueError:
        parts = None
    path = None if parts is None else parts.path
    kinds = frozenset() if parts is None else _address_kinds(parts.netloc, parts.path)
    return Evidence(root, stated, path, read_site(stated, url), _kind_of(stated.types, path), kinds)


def _address_kinds(host: str, path: str) -> frozenset[str]:
    """Return the kinds of pages that an address names; `index` if its last part names one: `/news/`."""
    words = [*host.split("."), *path.lower().strip("/").split("/")][:_MAX_ADDRESS_PARTS]
    kinds = {_ADDRESS_KINDS[word] for word in words if word in _ADDRESS_KINDS}
    if words[-1] in _ADDRESS_KINDS:
        kinds.add("index")
    return frozenset(kinds)


def _kind_of(types: frozenset[str], path: str | None) -> str:
    if not _FORUM_TYPES.isdisjoint(types):
        return "forum"
    if any(name.endswith(("article", "blogposting")) for name in types):
        return "article"
    if "product" in types:
        return "product"
    return "forum" if path is not None and _FORUM_PATH.search(path) else "other"


class Candidate(Protocol):
    """A place where an answer stands: its source, and the signs of that place."""

    @property
    def source(self) -> StrEnum: ...

    @property
    def signs(self) -> frozenset[str]: ...


def source_features(candidates: Iterable[Candidate]) -> set[str]:
    """Return the sources of an answer's candidates, and each sign with its source: `byline`, `byline:above`."""
    features: set[str] = set()
    for candidate in candidates:
        source = f"{candidate.source}"
        features |= {source, *[f"{source}:{sign}" for sign in candidate.signs]}
    return features


def score_options(
    options: Mapping[str | None, Collection[str]], weights: Mapping[str, float]
) -> dict[str | None, float]:
    """Return the sum of the weights of each option's features.

    Sums are rounded: the order of a set's names, which differs between runs, must decide between no two options.
    """
    return {key: round(sum([weights[name] for name in names if name in weights]), 2) for key, names in options.items()}


def choose_answer(scores: Mapping[str | None, float], min_likelihood: float) -> str | None:
    """Return the key with the highest score; None if its likelihood beside no answer is below the minimum."""
    best = max((key for key in scores if key is not None), key=scores.__getitem__, default=None)
    if best is None or scores[best] - scores[None] < log(min_likelihood / (1 - min_likelihood)):
        return None
    return best


@cache
def load_weights(field: str) -> Mapping[str, float]:
    """Return the trained weights of a field's features: those of `published`, `authors` or `title`."""
    source = resources.files("cleaning").joinpath("data", WEIGHTS_FILE).read_text("utf-8")
    return _parse_weights(source).get(field, {})


def _parse_weights(source: str) -> dict[str, dict[str, float]]:
    """Return the weights by field and feature of a text with a line for each: field, weight, feature."""
    fields: dict[str, dict[str, float]] = {}
    for line in source.splitlines():
        if line and not line.startswith("#"):
            field, weight, name = line.split("\t")
            fields.setdefault(field, {})[name] = float(weight)
    return fields
