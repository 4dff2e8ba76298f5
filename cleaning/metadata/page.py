"""A page's metadata: title, authors, dates, language, section, canonical URL, site name, lead image.

Sources in order of trust: JSON-LD, OpenGraph and other meta tags, microdata, the visible page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from cleaning.blocks import Metadata
from cleaning.metadata.authors import read_authors
from cleaning.metadata.dates import read_dates
from cleaning.metadata.languages import read_language
from cleaning.metadata.statements import read_statements, tidy_text
from cleaning.metadata.titles import read_site_name, read_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cleaning.blocks import Page
    from cleaning.metadata.statements import Statements

_MAX_URL_CHARS = 2_000
_UNSAFE = re.compile("[\x00-\x20\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def read_metadata(page: Page, statements: Statements | None = None, text: str = "") -> Metadata:
    """Return a page's metadata; fields that the page does not state are empty.

    `statements` are the result of `read_statements` for the page, read here if they are not given. `text` is the page's
    kept text: it gives the language of a page that states none, or one of another script.
    """
    stated = statements or read_statements(page.root)
    dates = read_dates(page.root, stated, page.url)
    return Metadata(
        title=read_title(stated, page.url, text),
        authors=read_authors(page.root, stated),
        published=dates.published,
        modified=dates.modified,
        language=read_language(_stated_languages(page, stated), text),
        section=_section(stated),
        canonical=_first_url(page, [stated.links.get("canonical"), *stated.meta("og:url")]),
        site_name=read_site_name(stated),
        image=_first_url(page, _images(stated)),
    )


def _section(stated: Statements) -> str | None:
    metas = map(tidy_text, stated.meta("article:section", "og:article:section", "parsely-section"))
    items = (tidy_text(element.get("content") or element.text) for element in stated.items("articleSection"))
    return next(
        filter(None, (name for names in (stated.texts("articleSection"), metas, items) for name in names)), None
    )


def _stated_languages(page: Page, stated: Statements) -> Iterator[str | None]:
    yield page.root.get("lang") or page.root.get("{http://www.w3.org/XML/1998/namespace}lang")
    yield from stated.texts("inLanguage")
    yield from stated.meta("og:locale", "content-language", "language")


def _images(stated: Statements) -> Iterator[str | None]:
    for values in stated.linked("image", "thumbnailUrl"):
        for value in values:
            found = (value.get("url") or value.get("contentUrl")) if isinstance(value, dict) else value
            yield found if isinstance(found, str) else None
    yield from stated.meta("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
    for element in stated.items("image"):
        yield element.get("content") or element.get("src") or element.get("href")
    yield stated.links.get("image_src")


def _first_url(page: Page, addresses: Iterable[str | None]) -> str | None:
    return next(filter(None, (_absolute(page.url, address) for address in addresses if address)), None)


def _absolute(base: str | None, address: str) -> str | None:
    """Return the absolute http(s) URL; None for another one, one that is too long or has invisible characters."""
    bare = address[: _MAX_URL_CHARS + 100].strip()
    try:
        absolute = urljoin(base or "", bare)
    except ValueError:
        return None
    fits = absolute.startswith(("http://", "https://")) and len(absolute) <= _MAX_URL_CHARS
    return absolute if fits and not _UNSAFE.search(absolute) else None
