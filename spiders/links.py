"""What the links of a listing are: articles, and the listing's next page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from crawler.urls import site_of, without_tracking
from spiders.dates import is_calendar, iso_day, url_date
from spiders.link_features import Anchor, article_log_odds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from lxml.html import HtmlElement
    from scrapy.http import TextResponse

    from spiders.link_history import LinkHistory

__all__ = ["Link", "article_links", "iso_day", "link_text", "links_within", "page_url", "url_date"]

_LINKS_MAX = 5_000
_URL_MAX_CHARS = 2_000
_TEXT_MAX_CHARS = 300
_FILE_SUFFIXES = re.compile(
    r"\.(?:jpe?g|png|gif|svg|webp|ico|css|js|json|xml|rss|pdf|docx?|xlsx?|pptx?|zip|gz|rar|apk|exe|mp3|mp4|m3u8|avi)$",
    re.IGNORECASE,
)
# In log odds. Where a site's own pages say something, looks count for so much at most, and what speaks against a link
# counts twice: four pages of a shape of which none was an article outweigh any looks. What speaks for it counts once.
# The pages of a shape that a crawl knows are those whose links looked like articles, so they say little of the other
# links of that shape: counted twice, they took precision from .96 to .92 (tests/discovery.py --learned).
_FEATURE_ODDS_MAX = 3.0
_NEGATIVE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: absolute URL without fragment, its longest text, and the date known before fetching it."""

    url: str
    text: str
    published: date | None = None


def article_links(
    response: TextResponse, allow: re.Pattern[str] | None = None, learned: LinkHistory | None = None
) -> list[Link]:
    """Return the article links of a listing, each page once, in reading order.

    With `allow`, those are the links within the site whose URL the pattern matches. Otherwise what they look like
    (`spiders.link_features`) decides, together with what was `learned` of the site. Of the links that look like
    articles, and
    are left out for what was learned alone, the one that looks most so is taken all the same: else a shape that was
    wrongly given up would never be tried again.
    """
    anchors = page_anchors(response)
    if allow is not None:
        chosen = {anchor.url for anchor in anchors if allow.search(anchor.url)}
    else:
        chosen = _choose_urls(article_log_odds(anchors, response.url), learned)
    return _merge_anchors(
        [anchor for anchor in anchors if anchor.url in chosen], _time_elements(response.selector.root)
    )


def _choose_urls(looks: Mapping[str, float], learned: LinkHistory | None) -> set[str]:
    if learned is None:
        return {url for url, odds in looks.items() if odds > 0}
    chosen = {url for url, odds in looks.items() if _weighted_odds(url, odds, learned) > 0}
    doubted = [url for url, odds in looks.items() if odds > 0 and url not in chosen]
    return chosen | set(sorted(doubted, key=looks.__getitem__)[-1:])


def _weighted_odds(url: str, odds: float, learned: LinkHistory) -> float:
    likelihood = learned.likelihood(url)
    if likelihood is None:
        return odds
    evidence = log(likelihood / (1 - likelihood))
    return min(odds, _FEATURE_ODDS_MAX) + (evidence if evidence > 0 else _NEGATIVE_WEIGHT * evidence)


def _may_be_page(url: str) -> bool:
    return not _FILE_SUFFIXES.search(urlsplit(url).path) and not is_calendar(url)


def links_within(response: TextResponse, *tags: str) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the elements that lead to other pages of the same site, with their absolute URLs, fragments left out."""
    own, here = site_of(response.url), urldefrag(response.url).url
    for element in islice(response.selector.root.iter(*tags), _LINKS_MAX):
        url = _absolute_url(response, element.get("href") or "")
        if url is not None and url != here and site_of(url) == own:
            yield element, url


def page_anchors(response: TextResponse) -> list[Anchor]:
    """Return the links that may lead to pages of the site: no files, no calendars."""
    found = list(links_within(response, "a"))
    anchors = (Anchor.of(element, url, link_text(element), n / len(found)) for n, (element, url) in enumerate(found))
    return [anchor for anchor in anchors if _may_be_page(anchor.url)]


def page_url(response: TextResponse, href: str) -> str | None:
    """Return the absolute URL of another page of the site that a link leads to, None where it leads anywhere else."""
    url = _absolute_url(response, href)
    if url is None or url == urldefrag(response.url).url or site_of(url) != site_of(response.url):
        return None
    return url


def _absolute_url(response: TextResponse, href: str) -> str | None:
    href = href.strip()
    if not href or href.startswith("#") or len(href) > _URL_MAX_CHARS:
        return None
    try:
        url = urldefrag(response.urljoin(href)).url
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def link_text(element: HtmlElement) -> str:
    """Return the text of a link, at most 300 characters, or that of its title or picture; "" where it has none."""
    # Cut while reading: links that hold each other would each hold the text of all.
    parts, chars = [], 0
    for part in element.itertext():
        parts.append(part[:_TEXT_MAX_CHARS])
        chars += len(part.strip())
        if chars > _TEXT_MAX_CHARS:
            break
    text = " ".join("".join(parts).split())
    if not text:
        image = element.find(".//img")
        text = element.get("title") or (image.get("alt") or "" if image is not None else "")
    return text[:_TEXT_MAX_CHARS]


def _time_elements(root: HtmlElement) -> dict[HtmlElement, list[HtmlElement]]:
    """Return the `time` elements in each element that has any: the first two, since one alone dates an entry."""
    found: dict[HtmlElement, list[HtmlElement]] = {}
    for element in islice(root.iter("time"), _LINKS_MAX):
        for ancestor in element.iterancestors():
            inside = found.setdefault(ancestor, [])
            if len(inside) <= 1:
                inside.append(element)
    return found


def _merge_anchors(anchors: list[Anchor], times: dict[HtmlElement, list[HtmlElement]]) -> list[Link]:
    """Return one link a page, by the first of its URLs, with the longest of its texts and the date that stands nearest.

    URLs that differ in what tracks readers, or names a session, are one page's.
    """
    by_page: dict[str, list[Anchor]] = {}
    for anchor in anchors:
        by_page.setdefault(without_tracking(anchor.url), []).append(anchor)
    links = []
    for alike in by_page.values():
        url, text = alike[0].url, max((anchor.text for anchor in alike), key=len)
        published = url_date(url) or next(
            filter(None, (_nearest_time(anchor.element, times) for anchor in alike)), None
        )
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
