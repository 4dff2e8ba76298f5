"""The article links of a listing, and the text and address of any link."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lxml import etree

from cleaning.tracking import without_tracking
from crawler.urls import has_own_fragment, site_of, without_fragment
from spiders.dates import is_calendar, iso_day, url_date
from spiders.link_features import Anchor, article_log_odds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from lxml.html import HtmlElement
    from scrapy.http import TextResponse

    from spiders.link_history import LinkHistory

_LINKS_MAX = 5_000
URL_MAX_CHARS = 2_083
"""Longer addresses are not links; Scrapy's default for URLLENGTH_LIMIT."""
_TEXT_MAX_CHARS = 300
_TEXT_MAX_ELEMENTS = 300
_FILE_SUFFIXES = re.compile(
    r"\.(?:jpe?g|png|gif|svg|webp|ico|css|js|json|xml|rss|pdf|docx?|xlsx?|pptx?|zip|gz|rar|apk|exe|mp3|mp4|m3u8|avi)$",
    re.IGNORECASE,
)
# Both in log odds. If the history of the site knows a link's pattern, the link's features count for at most
# _FEATURE_ODDS_MAX, and evidence against the link counts twice: four pages of a pattern without an article outweigh any
# features. Evidence for the link counts once. The crawl knows the pages whose links looked like articles, so their
# pattern says little about its other links: counted twice, it lowered precision from .96 to .92
# (research/discovery.py --learned).
_FEATURE_ODDS_MAX = 3.0
_NEGATIVE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: absolute URL without fragment, its longest text, and the date known before fetching it."""

    url: str
    text: str
    published: date | None = None


def article_links(
    response: TextResponse, allow: re.Pattern[str] | None = None, history: LinkHistory | None = None
) -> list[Link]:
    """Return the article links of a listing, each page once, in reading order.

    With `allow`, these are the links within the site whose URL matches the pattern, also if it looks like a file or a
    calendar: who names an address knows it. Otherwise the link's features
    (`spiders.link_features`) and the `history` of the site decide. Of the links that only the history excludes, the one
    with the best features is included all the same: otherwise a wrongly excluded pattern would never be tried again.
    """
    if allow is not None:
        anchors = _all_anchors(response)
        chosen = {anchor.url for anchor in anchors if allow.search(anchor.url)}
    else:
        anchors = page_anchors(response)
        chosen = _choose_urls(article_log_odds(anchors, response.url), history)
    return _merge_anchors(
        [anchor for anchor in anchors if anchor.url in chosen], _time_elements(response.selector.root)
    )


def links_within(response: TextResponse, *tags: str) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the elements that link to other pages of the same site, with their absolute URLs without fragments."""
    own = site_of(response.url)
    here = without_fragment(response.url)
    for element in islice(response.selector.root.iter(*tags), _LINKS_MAX):
        url = _absolute_url(response, element.get("href") or "")
        if url is not None and url != here and site_of(url) == own:
            yield element, url


def page_anchors(response: TextResponse) -> list[Anchor]:
    """Return the links that may lead to pages of the site: no files, no calendars."""
    return [anchor for anchor in _all_anchors(response) if _may_be_page(anchor.url)]


def _all_anchors(response: TextResponse) -> list[Anchor]:
    links = list(links_within(response, "a"))
    return [Anchor.of(element, url, link_text(element), n / len(links)) for n, (element, url) in enumerate(links)]


def count_long_links(response: TextResponse) -> int:
    """Return how many links of a page are longer than an address may be, and so are not followed."""
    anchors = islice(response.selector.root.iter("a"), _LINKS_MAX)
    return sum(len((element.get("href") or "").strip()) > URL_MAX_CHARS for element in anchors)


def page_url(response: TextResponse, href: str) -> str | None:
    """Return the absolute URL of a link to another page of the site, None for any other link."""
    url = _absolute_url(response, href)
    if url is None or url == without_fragment(response.url) or site_of(url) != site_of(response.url):
        return None
    return url


def link_text(element: HtmlElement) -> str:
    """Return at most 300 characters of a link's text, or of its title or its image's `alt`; "" if it has none."""
    # Cut while reading: nested links would each hold the text of all the links inside.
    parts, chars = [], 0
    is_small = next(islice(element.iter(), _TEXT_MAX_ELEMENTS, None), None) is None
    for part in element.itertext() if is_small else _first_texts(element):
        parts.append(part[:_TEXT_MAX_CHARS])
        chars += len(part.strip())
        if chars > _TEXT_MAX_CHARS:
            break
    text = " ".join("".join(parts).split())
    if not text:
        image = next(
            (descendant for descendant in islice(element.iter(), _TEXT_MAX_ELEMENTS) if descendant.tag == "img"), None
        )
        text = element.get("title") or (image.get("alt") or "" if image is not None else "")
    return text[:_TEXT_MAX_CHARS]


def _first_texts(element: HtmlElement) -> Iterator[str]:
    """Yield the texts among the first elements inside one, as `itertext` does for all."""
    steps = etree.iterwalk(element, events=("start", "end"))
    for event, node in islice(steps, _TEXT_MAX_ELEMENTS):
        text = node.text if event == "start" else node.tail if node is not element else None
        if text:
            yield text


def _choose_urls(odds: Mapping[str, float], history: LinkHistory | None) -> set[str]:
    if history is None:
        return {url for url, value in odds.items() if value > 0}
    chosen = {url for url, value in odds.items() if _weighted_odds(url, value, history) > 0}
    doubted = [url for url, value in odds.items() if value > 0 and url not in chosen]
    return chosen | set(sorted(doubted, key=odds.__getitem__)[-1:])


def _weighted_odds(url: str, odds: float, history: LinkHistory) -> float:
    likelihood = history.likelihood(url)
    if likelihood is None:
        return odds
    evidence = log(likelihood / (1 - likelihood))
    return min(odds, _FEATURE_ODDS_MAX) + (evidence if evidence > 0 else _NEGATIVE_WEIGHT * evidence)


def _may_be_page(url: str) -> bool:
    return not _FILE_SUFFIXES.search(urlsplit(url).path) and not is_calendar(url)


def _absolute_url(response: TextResponse, href: str) -> str | None:
    href = href.strip()
    if not href or (href.startswith("#") and not has_own_fragment(href)) or len(href) > URL_MAX_CHARS:
        return None
    try:
        url = without_fragment(response.urljoin(href))
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def _time_elements(root: HtmlElement) -> dict[HtmlElement, list[HtmlElement]]:
    """Return the first two `time` elements inside each element that has any. Only a single one dates an entry."""
    time_elements: dict[HtmlElement, list[HtmlElement]] = {}
    for element in islice(root.iter("time"), _LINKS_MAX):
        for ancestor in element.iterancestors():
            inside = time_elements.setdefault(ancestor, [])
            if len(inside) > 1:
                break  # so have the elements around it
            inside.append(element)
    return time_elements


def _merge_anchors(anchors: list[Anchor], times: dict[HtmlElement, list[HtmlElement]]) -> list[Link]:
    """Return one link for each page: the first of its URLs, its longest text, and the nearest date.

    URLs that differ only in tracking parameters or session ids are the same page.
    """
    by_page: dict[str, list[Anchor]] = {}
    for anchor in anchors:
        by_page.setdefault(without_tracking(anchor.url), []).append(anchor)
    links = []
    for same in by_page.values():
        url, text = same[0].url, max((anchor.text for anchor in same), key=len)
        published = url_date(url) or next(filter(None, (_nearest_time(anchor.element, times) for anchor in same)), None)
        links.append(Link(url, text, published))
    return links


def _nearest_time(element: HtmlElement, times: dict[HtmlElement, list[HtmlElement]]) -> date | None:
    """Return the date of the only `time` element in the link's entry of the listing."""
    for ancestor in islice(element.iterancestors(), 5):
        inside = times.get(ancestor, [])
        if len(inside) > 1:
            return None
        if inside:
            return iso_day(inside[0].get("datetime") or "")
    return None
