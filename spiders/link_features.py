"""Features of a listing's links, and the log odds that each link leads to an article.

The features are the link's URL, its text, its position on the page, and how often similar links occur. None is specific
to a site or a language, except for words in class names and URLs that are English everywhere. data/link-weights.json
holds the weights of a logistic regression (research/fit_links.py).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from math import log1p
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from spiders.dates import url_date
from spiders.url_patterns import UrlPattern, url_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lxml.html import HtmlElement

_ANCESTORS_MAX = 40
_POSITION_ELEMENTS = 4
_FRAME_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|menu|topnav|footer|header|breadcrumbs?|crumbs|sidebar|pagination|pager|paging|social|"
    r"share|login|tags|tag-list|masthead|copyright|toolbar)(?:$|[\s_-])",
    re.IGNORECASE,
)
_FRAME_TAGS = frozenset({"nav", "footer", "header", "aside"})
_NON_ARTICLE_PATHS = re.compile(
    r"/(?:tags?|topics?|categor(?:y|ies)|authors?|users?|profiles?|experts?|login|signin|register|subscribe|about|"
    r"contact|privacy|terms|help|search|page|advert\w*|jobs|careers|sitemap|feeds?|rss|galler(?:y|ies)|live-?tv|keywords?|"
    r"comments?|reg)(?:[/?.]|$)|[?&](?:cat|tag|author|expert|page)=",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}|\w+")
_DEPTH_MAX = 6

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Anchor:
    """An `a` element with its URL and text.

    `position` goes from 0 (top of the page) to 1. `place` holds the tags and first classes of the element and its
    nearest ancestors. `framed` is True inside a menu, header, footer or the like.
    """

    element: HtmlElement
    url: str
    text: str
    position: float
    place: tuple[str, ...]
    framed: bool

    @classmethod
    def of(cls, element: HtmlElement, url: str, text: str, position: float) -> Anchor:
        """Return the anchor of an element."""
        ancestors = list(islice(element.iterancestors(), _ANCESTORS_MAX))
        near = [element, *ancestors[: _POSITION_ELEMENTS - 1]]
        place = tuple(f"{node.tag}.{(node.get('class') or '').split(' ')[0]}" for node in near)
        return cls(element, url, text, position, place, _is_in_frame(ancestors))


@dataclass(frozen=True, slots=True)
class _LinkTarget:
    """A URL with the anchors that lead to it, and the number of words of the longest anchor text."""

    url: str
    pattern: UrlPattern
    anchors: tuple[Anchor, ...]
    words: int


@dataclass(frozen=True, slots=True)
class _GroupMeans:
    """The mean number of words of the links in the same place, with the same exact pattern, and of the same kind."""

    places: Mapping[tuple[str, ...], float]
    patterns: Mapping[str, float]
    kinds: Mapping[str, float]


def article_log_odds(anchors: Sequence[Anchor], listing: str) -> dict[str, float]:
    """Return the log odds that each URL leads to an article; above 0 an article is more likely than not."""
    weights = _weights()
    return {
        url: weights["constant"] + sum(weights[name] * value for name, value in features.items())
        for url, features in features_by_url(anchors, listing).items()
    }


def features_by_url(anchors: Sequence[Anchor], listing: str) -> dict[str, dict[str, float]]:
    """Return the features of each URL among a listing's anchors, by name."""
    targets = _group_by_url(anchors)
    means = _group_means(targets)
    return {target.url: _url_features(target, listing) | _anchor_features(target, means) for target in targets}


@cache
def _weights() -> Mapping[str, float]:
    weights: dict[str, float] = json.loads(files("spiders").joinpath("data/link-weights.json").read_text("utf-8"))
    return weights


def _group_by_url(anchors: Iterable[Anchor]) -> list[_LinkTarget]:
    by_url: dict[str, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        by_url[anchor.url].append(anchor)
    return [
        _LinkTarget(url, url_pattern(url), tuple(group), max(len(_WORD.findall(anchor.text)) for anchor in group))
        for url, group in by_url.items()
    ]


def _group_means(targets: Iterable[_LinkTarget]) -> _GroupMeans:
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    patterns: dict[str, list[int]] = defaultdict(list)
    kinds: dict[str, list[int]] = defaultdict(list)
    for target in targets:
        patterns[target.pattern.exact].append(target.words)
        kinds[target.pattern.kind].append(target.words)
        for place in {anchor.place for anchor in target.anchors}:
            places[place].append(target.words)
    return _GroupMeans(_means(places), _means(patterns), _means(kinds))


def _means(words: Mapping[Key, Sequence[int]]) -> dict[Key, float]:
    return {key: fmean(counts) for key, counts in words.items()}


def _url_features(target: _LinkTarget, listing: str) -> dict[str, float]:
    depth, here = (urlsplit(url).path.rstrip("/").count("/") for url in (target.url, listing))
    return {
        "date": url_date(target.url) is not None,
        "slug": "slug" in target.pattern.kind,
        "depth": min(max(depth, 1), _DEPTH_MAX),
        "deeper": depth > here,
        "elsewhere": _NON_ARTICLE_PATHS.search(target.url) is not None,
    }


def _anchor_features(target: _LinkTarget, means: _GroupMeans) -> dict[str, float]:
    return {
        "framed": any(anchor.framed for anchor in target.anchors),
        "at": min(anchor.position for anchor in target.anchors),
        "place words": log1p(max(means.places[anchor.place] for anchor in target.anchors)),
        "pattern words": log1p(means.patterns[target.pattern.exact]),
        "kind words": log1p(means.kinds[target.pattern.kind]),
    }


def _is_in_frame(ancestors: list[HtmlElement]) -> bool:
    for element in ancestors:
        names = f"{element.get('class') or ''} {element.get('id') or ''}"
        if element.tag in {"body", "html", "main"}:
            return False
        if element.tag in _FRAME_TAGS or _FRAME_NAMES.search(names[:200]):
            return True
    return False
