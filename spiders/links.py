"""What the links of a listing are: articles, and the listing's next page."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from crawler.urls import site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement
    from scrapy.http import TextResponse

_MOST_LINKS = 5_000
_LONGEST_URL = 2_000
_LONGEST_TEXT = 300
_MOST_ANCESTORS = 40
_NO_PAGE = re.compile(
    r"\.(?:jpe?g|png|gif|svg|webp|ico|css|js|json|xml|rss|pdf|docx?|xlsx?|pptx?|zip|gz|rar|apk|exe|mp3|mp4|m3u8|avi)$",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|menu|topnav|footer|header|breadcrumbs?|crumbs|sidebar|pagination|pager|paging|social|"
    r"share|login|tags|tag-list|masthead|copyright|toolbar)(?:$|[\s_-])",
    re.IGNORECASE,
)
_FRAME_TAGS = frozenset({"nav", "footer", "header", "aside"})
_OTHER_PLACES = re.compile(
    r"/(?:tags?|topics?|categor(?:y|ies)|authors?|users?|profiles?|experts?|login|signin|register|subscribe|about|"
    r"contact|privacy|terms|help|search|page|advert\w*|jobs|careers|sitemap|feeds?|rss|galler(?:y|ies)|live-?tv|keywords?|comments?|reg)(?:[/?.]|$)"
    r"|[?&](?:cat|tag|author|expert|page)=",
    re.IGNORECASE,
)
_YEAR = r"(?:19|20)\d\d"
_DATES = (
    re.compile(rf"(?<!\d)({_YEAR})[/_-](\d\d?)[/_-](\d\d?)(?!\d)"),
    re.compile(rf"(?<!\d)({_YEAR})[/_-]?(\d\d)(\d\d)(?!\d)"),
    re.compile(r"/(\d\d)/(\d\d)(\d\d)/"),
)
_ID = re.compile(r"(?<!\d)\d{5,}(?!\d)|[?&](?:id|aid|story_?id|article_?id|docid)=\w+|\b(?=\w*\d)[A-Za-z0-9]{10,}\b")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}|\w+")

# Points of a link that looks like an article's; _ENOUGH of them make it one, if its URL gives at least one for a
# date, an id or a slug. Set by hand on section pages of seven news portals, in English and Chinese.
_ENOUGH = 4
_ALIKE = 3
_FRAMED = -3
_ELSEWHERE = -3
_SLUG_WORDS = (3, 5)
_TEXT_WORDS = (4, 6)


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: absolute URL without fragment, its longest text, and the date known before fetching it."""

    url: str
    text: str
    published: date | None = None


@dataclass(frozen=True, slots=True)
class _Anchor:
    """One `a` element: what it leads to, and where it stands."""

    element: HtmlElement
    url: str
    text: str
    place: tuple[str, ...]
    framed: bool


def article_links(response: TextResponse, allow: re.Pattern[str] | None = None) -> list[Link]:
    """Return the article links of a listing, each URL once, in reading order.

    With `allow`, those are the links within the site whose URL the pattern matches. Otherwise the URL (a date, an
    id, a long slug, deeper than the listing), the text's length and being one of several alike decide.
    """
    anchors = [anchor for anchor in _anchors(response) if not _NO_PAGE.search(urlsplit(anchor.url).path)]
    places = Counter(anchor.place for anchor in anchors)
    points: dict[str, int] = {}
    for anchor in anchors:
        score = _points(anchor, response.url) + (places[anchor.place] >= _ALIKE)
        points[anchor.url] = max(score, points.get(anchor.url, 0))
    if allow is not None:
        chosen = {anchor.url for anchor in anchors if allow.search(anchor.url)}
    else:
        chosen = {url for url, score in points.items() if score >= _ENOUGH}
    return _merged([anchor for anchor in anchors if anchor.url in chosen], _times(response.selector.root))


def _points(anchor: _Anchor, listing: str) -> int:
    path, here = urlsplit(anchor.url), urlsplit(listing)
    last = path.path.rstrip("/").rpartition("/")[2] or path.query
    slug = sum(word.isalpha() for word in re.split(r"[-_+]", last))
    text = len(_WORD.findall(anchor.text))
    named = 2 * (url_date(anchor.url) is not None) + bool(_ID.search(anchor.url))
    named += sum(slug >= words for words in _SLUG_WORDS)
    if not named:
        return 0
    points = named + sum(text >= words for words in _TEXT_WORDS)
    points += path.path.rstrip("/").count("/") > here.path.rstrip("/").count("/")
    elsewhere = _OTHER_PLACES.search(anchor.url) is not None
    return int(points + _FRAMED * anchor.framed + _ELSEWHERE * elsewhere)


def url_date(url: str) -> date | None:
    """Return the date that a URL carries, None where there is none."""
    for pattern in _DATES:
        for match in islice(pattern.finditer(url[:_LONGEST_URL]), 5):
            year, month, day = map(int, match.groups())
            try:
                return date(year if year > 99 else 2000 + year, month, day)  # noqa: PLR2004 — two digits
            except ValueError:
                continue
    return None


def links_within(response: TextResponse, *tags: str) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the elements that lead to other pages of the same site, with their absolute URLs, fragments left out."""
    own, here = site(response.url), urldefrag(response.url).url
    for element in islice(response.selector.root.iter(*tags), _MOST_LINKS):
        url = _target(response, element)
        if url is not None and url != here and site(url) == own:
            yield element, url


def _anchors(response: TextResponse) -> Iterator[_Anchor]:
    for element, url in links_within(response, "a"):
        ancestors = list(islice(element.iterancestors(), _MOST_ANCESTORS))
        yield _Anchor(element, url, text_of(element), _place([element, *ancestors[:3]]), _is_framed(ancestors))


def _target(response: TextResponse, element: HtmlElement) -> str | None:
    href = (element.get("href") or "").strip()
    if not href or href.startswith("#") or len(href) > _LONGEST_URL:
        return None
    try:
        url = urldefrag(response.urljoin(href)).url
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def text_of(element: HtmlElement) -> str:
    """Return the text of a link, at most 300 characters, or that of its title or picture; "" where it has none."""
    # Cut while reading: links that hold each other would each hold the text of all.
    parts, chars = [], 0
    for part in element.itertext():
        parts.append(part[:_LONGEST_TEXT])
        chars += len(part.strip())
        if chars > _LONGEST_TEXT:
            break
    text = " ".join("".join(parts).split())
    if not text:
        image = element.find(".//img")
        text = element.get("title") or (image.get("alt") or "" if image is not None else "")
    return text[:_LONGEST_TEXT]


def _place(elements: list[HtmlElement]) -> tuple[str, ...]:
    return tuple(f"{element.tag}.{(element.get('class') or '').split(' ')[0]}" for element in elements)


def _is_framed(ancestors: list[HtmlElement]) -> bool:
    for element in ancestors:
        hints = f"{element.get('class') or ''} {element.get('id') or ''}"
        if element.tag in {"body", "html", "main"}:
            return False
        if element.tag in _FRAME_TAGS or _FRAME.search(hints[:200]):
            return True
    return False


def _times(root: HtmlElement) -> dict[HtmlElement, list[HtmlElement]]:
    """Return the `time` elements in each element that has any: the first two, since one alone dates an entry."""
    found: dict[HtmlElement, list[HtmlElement]] = {}
    for element in islice(root.iter("time"), _MOST_LINKS):
        for ancestor in element.iterancestors():
            inside = found.setdefault(ancestor, [])
            if len(inside) <= 1:
                inside.append(element)
    return found


def _merged(anchors: list[_Anchor], times: dict[HtmlElement, list[HtmlElement]]) -> list[Link]:
    """Return one link a URL, with the longest of its texts and the date that stands nearest."""
    by_url: dict[str, list[_Anchor]] = {}
    for anchor in anchors:
        by_url.setdefault(anchor.url, []).append(anchor)
    links = []
    for url, alike in by_url.items():
        text = max((anchor.text for anchor in alike), key=len)
        published = url_date(url) or next(filter(None, (_time_beside(anchor.element, times) for anchor in alike)), None)
        links.append(Link(url, text, published))
    return links


def _time_beside(element: HtmlElement, times: dict[HtmlElement, list[HtmlElement]]) -> date | None:
    """Return the date of the only `time` element in the link's entry of the listing."""
    for ancestor in islice(element.iterancestors(), 5):
        inside = times.get(ancestor, [])
        if len(inside) > 1:
            return None
        if inside:
            return iso_day(inside[0].get("datetime") or "")
    return None


def iso_day(text: str) -> date | None:
    """Return the day that an ISO date or time begins with, None for any other text."""
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
