"""A page's metadata: title, authors, dates, language, section, canonical URL, site name, lead image.

Sources in order of trust: JSON-LD, OpenGraph and other meta tags, microdata, the visible page.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from cleaning.blocks import Metadata
from cleaning.metadata.authors import read_authors
from cleaning.metadata.dates import read_dates
from cleaning.metadata.languages import read_language, stated_language, stated_languages
from cleaning.metadata.statements import (
    read_statements,
    text_of_value,
    tidy_text,
    type_names,
)
from cleaning.metadata.titles import letters_of, read_headline, read_site_name, read_stated_title, read_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cleaning.blocks import Page
    from cleaning.metadata.statements import Statements

_MAX_URL_CHARS = 2_000
_MAX_CRUMBS = 20
_UNSAFE = re.compile("[\x00-\x20\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def read_metadata(page: Page, statements: Statements | None = None, text: str = "") -> Metadata:
    """Return a page's metadata; fields that the page does not state are empty.

    `statements` are the result of `read_statements` for the page, read here if they are not given. `text` is the page's
    kept text: it gives the language of a page that states none, or one of another script.
    """
    stated = statements or read_statements(page.root)
    dates = read_dates(page.root, stated, page.url, stated_language(page.root, stated))
    title = read_title(stated, page.url, text)
    return Metadata(
        title=title,
        authors=read_authors(page.root, stated),
        published=dates.published,
        modified=dates.modified,
        language=read_language(stated_languages(page.root, stated), text),
        section=_section(page, stated, title),
        canonical=_first_url(page, [stated.links.get("canonical"), *stated.meta("og:url")]),
        site_name=read_site_name(stated),
        image=_first_url(page, _images(stated)),
        headline=read_headline(stated, page.url),
        stated_title=read_stated_title(stated),
    )


def stated_address(stated: Statements) -> str | None:
    """Return the address that a page states: its canonical URL, else `og:url`; None if neither is absolute."""
    addresses = [stated.links.get("canonical"), *stated.meta("og:url")]
    return next(filter(None, (_absolute(None, address) for address in addresses if address)), None)


def _section(page: Page, stated: Statements, title: str | None) -> str | None:
    """Return the stated section, else the last crumb before the page."""
    metas = map(tidy_text, stated.meta("article:section", "og:article:section", "parsely-section"))
    items = (tidy_text(element.get("content") or element.text) for element in stated.items("articleSection"))
    found = next(filter(None, chain(stated.texts("articleSection"), metas, items)), None)
    return found or _last_crumb(page, stated, title)


def _last_crumb(page: Page, stated: Statements, title: str | None) -> str | None:
    """Return the last name in a JSON-LD list of breadcrumbs, without the first one, the site, and the page itself."""
    lists = (each.get("itemListElement") for each in stated.objects if "breadcrumblist" in type_names(each))
    crumbs = next((found for found in lists if isinstance(found, list)), [])[1:_MAX_CRUMBS]
    own = letters_of(title or "")
    slug = letters_of((page.url or "").partition("?")[0].rstrip("/").rpartition("/")[2])
    for crumb in reversed(crumbs):
        name = _crumb_name(crumb)
        plain = letters_of(name or "")
        address = _crumb_url(page, crumb)
        names_page = plain in own or (own and own in plain) or plain == slug or address in {None, page.url}
        if name and not names_page:
            return name
    return None


def _crumb_name(crumb: Any) -> str | None:
    if not isinstance(crumb, dict):
        return None
    return text_of_value(crumb.get("name")) or text_of_value(crumb.get("item"))


def _crumb_url(page: Page, crumb: Mapping[str, Any]) -> str | None:
    item = crumb.get("item")
    address = item.get("@id") if isinstance(item, dict) else item
    return _absolute(page.url, address) if isinstance(address, str) else None


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
