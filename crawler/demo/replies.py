"""Every answer of the demo site, rendered once and kept in memory."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass
from email.utils import format_datetime
from typing import TYPE_CHECKING

from crawler.demo.bundled import load_template
from crawler.demo.pages import author_paths, listing_path, page_count, site_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.demo.model import Article, Refusal, Site
    from crawler.demo.pages import Pages

_HTML = "text/html; charset=UTF-8"
_PDF = b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
_GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
_ROBOTS = b"User-agent: *\nDisallow: /private\n"
_PRIVATE = "<html><head><title>Private</title></head><body><p>For members only; see robots.txt.</p></body></html>"


@dataclass(frozen=True, slots=True)
class Reply:
    """`etag` and `last_modified` are "" where the page has none; `location` is "" but for redirects."""

    status: int
    content_type: str
    body: bytes
    etag: str = ""
    last_modified: str = ""
    location: str = ""


def replies(site: Site) -> dict[str, Reply]:
    """Return the answer to each request target (path and query) that the site knows."""
    pages = site_pages(site)
    answers = {"/robots.txt": Reply(200, "text/plain", _ROBOTS), "/": _page(pages.home())}
    answers["/sitemap.html"] = _page(pages.sitemap())
    answers |= _listings(pages)
    answers |= _author_pages(pages)
    answers |= {article.entry.path: _article(pages, article) for article in site.articles}
    answers |= {refusal.entry.path: _refusal(refusal) for refusal in site.refusals}
    answers |= {r.entry.path: Reply(r.status, _HTML, b"", location=r.target) for r in site.redirects}
    return answers


def unknown_page() -> Reply:
    return _page(load_template("removed").template, 404)


def _page(html: str, status: int = 200) -> Reply:
    return Reply(status, _HTML, html.encode())


def _listings(pages: Pages) -> Iterator[tuple[str, Reply]]:
    for section, entries in pages.sections.items():
        for page in range(1, page_count(entries) + 1):
            yield listing_path(section, page), _page(pages.listing(section, page))
        # Real scrapers ask for page 1 by number too.
        yield f"{listing_path(section)}&page=1", _page(pages.listing(section, 1))


def _author_pages(pages: Pages) -> Iterator[tuple[str, Reply]]:
    for author in dict.fromkeys(article.author for article in pages.site.articles):
        page = _page(pages.by_author(author))
        yield from ((path, page) for path in author_paths(author))


def _article(pages: Pages, article: Article) -> Reply:
    charset = article.draft.charset
    body = pages.article(article).encode(charset.codec)
    content_type = f"text/html; charset={charset.header}" if charset.header else "text/html"
    noon = dt.datetime.combine(article.published, dt.time(12), dt.UTC)
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    return Reply(200, content_type, body, etag, format_datetime(noon, usegmt=True))


def _refusal(refusal: Refusal) -> Reply:
    match refusal.template:
        case "pdf":
            return Reply(200, "application/pdf", _PDF)
        case "gif":
            return Reply(200, "image/gif", _GIF)
        case "private":
            return _page(_PRIVATE)
        case name:
            return _page(load_template(name).template, refusal.status)
