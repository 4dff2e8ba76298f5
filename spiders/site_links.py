"""Links of a site other than articles: sections in menus, feeds in page heads, sitemaps in robots.txt."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawler.urls import host_of
from spiders.links import link_text, links_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement
    from parsel import Selector
    from scrapy.http import Response, TextResponse

_SECTIONS_MAX = 30
"""Sections that are followed from one page."""
_FEEDS_MAX = 10

_SIBLINGS_MAX = 16
_LINKS_MAX = 5_000
_ANCESTORS_MAX = 40
_NAME_MAX_CHARS = 30
_NAME_MAX_WORDS = 4
_PATH_MAX_PARTS = 3
_MENU = re.compile(r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|topnav|header|masthead|tabs)(?:$|[\s_-])", re.IGNORECASE)
_SITEMAP = re.compile(r"^[ \t\ufeff]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_MENU_TAGS = frozenset({"nav", "header"})
_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
# Paths in menus that lead to a service, an account or a file.
_SERVICE_PATHS = re.compile(
    r"/(?:about|accounts?|advert\w*|apps?|audio|authors?|careers|contact|cookies?|crosswords?|epaper|faq|games?|help|"
    r"jobs|live(?:-?tv)?|log-?in|m|mail|mobile|my\w*|newsletters?|photos?|pictures|podcasts?|privacy|profiles?|puzzles\w*|radio|reg|"
    r"register|rss\w*|search|shop|sign-?(?:in|up)|site-?map|store|subscri\w+|support|tags?|terms|topics?|users?|"
    r"videos?|weather|web-?stories)(?:[/?._-]|$)|\d{5}|\.(?:pdf|jpe?g|png|xml|rss|apk|zip)$",
    re.IGNORECASE,
)


def section_links(response: TextResponse) -> list[str]:
    """Return at most _SECTIONS_MAX sections from the menus of a page, each once, in reading order.

    The link of a section is in a menu, has a name of a few words, and a short address that is not a service's. Of many
    sections with the same parent (all cities, all states) only the first few are taken, to leave room for the others.
    """
    url_by_key: dict[str, str] = {}
    siblings: Counter[str] = Counter()
    for element, url in links_within(response, "a"):
        key = _section_key(url)
        if key in url_by_key or len(url_by_key) == _SECTIONS_MAX or not _is_section(element, url):
            continue
        parent = key.rpartition("/")[0]
        siblings[parent] += 1
        if "/" not in parent or siblings[parent] <= _SIBLINGS_MAX:
            url_by_key[key] = url
    return list(url_by_key.values())


def feed_links(response: TextResponse) -> list[str]:
    """Return at most _FEEDS_MAX feeds that the head of a page names, except feeds of comments."""
    return list(islice(dict.fromkeys(_head_feeds(response)), _FEEDS_MAX))


def sitemap_links(robots: Response) -> list[str]:
    """Return the sitemaps that a robots.txt names, each once."""
    # Scrapy's own parser of these lines stops at the first one that is not a URL.
    lines = _SITEMAP.findall(robots.body.decode("utf-8", "replace"))
    return list(dict.fromkeys(filter(None, (_http_url(robots, line) for line in lines))))


def _head_feeds(response: TextResponse) -> Iterator[str]:
    selector: Selector = response.selector
    for link in selector.css("link[rel][href]")[:_LINKS_MAX]:
        kind = link.attrib.get("type", "").partition(";")[0].strip().lower()
        if "alternate" in link.attrib["rel"].lower().split() and kind in _FEED_TYPES:
            url = _http_url(response, link.attrib["href"].strip())
            if url and "comment" not in url.lower():
                yield url


def _http_url(response: Response, link: str) -> str | None:
    """Return the absolute URL of a link, None if it is not an http address."""
    try:
        url = response.urljoin(link)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) and host_of(url) else None


def _is_section(element: HtmlElement, url: str) -> bool:
    name = link_text(element)
    parts = urlsplit(url)
    segments = [segment for segment in parts.path.split("/") if segment]
    short = len(name) <= _NAME_MAX_CHARS and 0 < len(name.split()) <= _NAME_MAX_WORDS
    short = short and len(segments) <= _PATH_MAX_PARTS
    # Sections and services may have hosts of their own: sports.example.org, mail.example.org.
    service = _SERVICE_PATHS.search(f"/{parts.netloc.partition('.')[0]}") or _SERVICE_PATHS.search(parts.path)
    return short and not parts.query and not service and _is_in_menu(element)


def _section_key(url: str) -> str:
    """Return a URL without scheme, `www.` and last slash: two URLs with the same key are the same section."""
    parts = urlsplit(url)
    return f"{parts.netloc.removeprefix('www.')}{parts.path.rstrip('/')}"


def _is_in_menu(element: HtmlElement) -> bool:
    for ancestor in islice(element.iterancestors(), _ANCESTORS_MAX):
        if ancestor.tag in {"body", "html", "footer"}:
            return False
        names = f"{ancestor.get('class') or ''} {ancestor.get('id') or ''}"[:200]
        if ancestor.tag in _MENU_TAGS or _MENU.search(names):
            return True
    return False
