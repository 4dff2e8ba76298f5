"""Features of a listing's links, and the log odds that each leads to an article."""

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
    """One `a` element: what it leads to, and where it stands; `at` is how far down the page, from 0 to 1."""

    element: HtmlElement
    url: str
    text: str
    at: float
    place: tuple[str, ...]
    framed: bool

    @classmethod
    def of(cls, element: HtmlElement, url: str, text: str, at: float) -> Anchor:
        """Return the anchor of an element; its place are the tags and first classes of it and what it stands in."""
        ancestors = list(islice(element.iterancestors(), _ANCESTORS_MAX))
        near = [element, *ancestors[: _POSITION_ELEMENTS - 1]]
        place = tuple(f"{each.tag}.{(each.get('class') or '').split(' ')[0]}" for each in near)
        return cls(element, url, text, at, place, _is_in_frame(ancestors))


@dataclass(frozen=True, slots=True)
class _LinkTarget:
    """A URL with the anchors that lead to it, and the words of the longest of their texts."""

    url: str
    shape: UrlPattern
    anchors: tuple[Anchor, ...]
    words: int


@dataclass(frozen=True, slots=True)
class _GroupMeans:
    """How many words a link has on average, by what URLs have in common: place, shape, kind of shape."""

    places: Mapping[tuple[str, ...], float]
    shapes: Mapping[str, float]
    kinds: Mapping[str, float]


def article_log_odds(anchors: Sequence[Anchor], listing: str) -> dict[str, float]:
    """Return for each URL the logarithm of the odds that it leads to an article; above 0 it does rather than not."""
    weights = _weights()
    return {
        url: weights["constant"] + sum(weights[name] * value for name, value in found.items())
        for url, found in features_by_url(anchors, listing).items()
    }


def features_by_url(anchors: Sequence[Anchor], listing: str) -> dict[str, dict[str, float]]:
    """Return what is counted of each URL among the anchors of a listing, by name."""
    targets = _group_by_url(anchors)
    alike = _group_means(targets)
    return {target.url: _url_features(target, listing) | _anchor_features(target, alike) for target in targets}


@cache
def _weights() -> Mapping[str, float]:
    weights: dict[str, float] = json.loads(files("spiders").joinpath("data/link-weights.json").read_text("utf-8"))
    return weights


def _group_by_url(anchors: Iterable[Anchor]) -> list[_LinkTarget]:
    by_url: dict[str, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        by_url[anchor.url].append(anchor)
    return [
        _LinkTarget(url, url_pattern(url), tuple(found), max(len(_WORD.findall(anchor.text)) for anchor in found))
        for url, found in by_url.items()
    ]


def _group_means(targets: Iterable[_LinkTarget]) -> _GroupMeans:
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    shapes: dict[str, list[int]] = defaultdict(list)
    kinds: dict[str, list[int]] = defaultdict(list)
    for target in targets:
        shapes[target.shape.exact].append(target.words)
        kinds[target.shape.kind].append(target.words)
        for place in {anchor.place for anchor in target.anchors}:
            places[place].append(target.words)
    return _GroupMeans(_means(places), _means(shapes), _means(kinds))


def _means(words: Mapping[Key, Sequence[int]]) -> dict[Key, float]:
    return {key: fmean(counts) for key, counts in words.items()}


def _url_features(target: _LinkTarget, listing: str) -> dict[str, float]:
    depth, here = (urlsplit(url).path.rstrip("/").count("/") for url in (target.url, listing))
    return {
        "date": url_date(target.url) is not None,
        "slug": "slug" in target.shape.kind,
        "depth": min(max(depth, 1), _DEPTH_MAX),
        "deeper": depth > here,
        "elsewhere": _NON_ARTICLE_PATHS.search(target.url) is not None,
    }


def _anchor_features(target: _LinkTarget, alike: _GroupMeans) -> dict[str, float]:
    return {
        "framed": any(anchor.framed for anchor in target.anchors),
        "at": min(anchor.at for anchor in target.anchors),
        "place words": log1p(max(alike.places[anchor.place] for anchor in target.anchors)),
        "shape words": log1p(alike.shapes[target.shape.exact]),
        "kind words": log1p(alike.kinds[target.shape.kind]),
    }


def _is_in_frame(ancestors: list[HtmlElement]) -> bool:
    for element in ancestors:
        hints = f"{element.get('class') or ''} {element.get('id') or ''}"
        if element.tag in {"body", "html", "main"}:
            return False
        if element.tag in _FRAME_TAGS or _FRAME_NAMES.search(hints[:200]):
            return True
    return False
