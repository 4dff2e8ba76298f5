"""A page's metadata: what it states and shows of itself, and where.

Title, authors and date are chosen among all that a page has of them by trained weights. The other fields come from the
first source that has them: JSON-LD, OpenGraph and other meta tags, microdata, the visible page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from cleaning.blocks import Metadata
from cleaning.metadata.authors import read_authors
from cleaning.metadata.dates import read_dates
from cleaning.metadata.descriptions import read_access, read_description, read_keywords, read_license
from cleaning.metadata.languages import read_language, stated_language, stated_languages
from cleaning.metadata.ranking import read_evidence
from cleaning.metadata.site_names import letters_of, read_site_name
from cleaning.metadata.statements import (
    Statement,
    read_statements,
    text_of_value,
    tidy_text,
    type_names,
)
from cleaning.metadata.titles import read_stated_title, read_titles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cleaning.blocks import Page
    from cleaning.metadata.statements import Statements

    Weights = Mapping[str, Mapping[str, float]]

_MAX_URL_CHARS = 2_000
_MAX_CRUMBS = 20
_SECTION_METAS = ("article:section", "og:article:section", "parsely-section")
_IMAGE_METAS = ("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src")
# An address that `urljoin` leaves as it is.
_WHOLE_URL = re.compile(r"https?://[a-z0-9.-]+(?:/[^\s?#;]*)?(?:\?[^\s#;]+)?")
_UNSAFE = re.compile("[\x00-\x20\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def read_metadata(
    page: Page, statements: Statements | None = None, text: str = "", weights: Weights | None = None
) -> Metadata:
    """Return a page's metadata; fields that the page does not state are empty.

    `statements` are the result of `read_statements` for the page, read here if they are not given. `text` is the page's
    kept text: it gives the language of a page that states none, or one of another script. `weights` replace the trained
    weights of the fields that they name.
    """
    stated = statements or read_statements(page.root)
    weights = weights or {}
    evidence = read_evidence(page.root, stated, page.url)
    titles = read_titles(evidence, weights.get("title"), text)
    authors = read_authors(evidence, weights.get("authors"))
    dates = read_dates(evidence, stated_language(page.root, stated), weights.get("published"))
    keywords = read_keywords(stated)
    statements_by_field = _read_fields(page, stated, titles.title)
    texts = {name: statement.text for name, statement in statements_by_field.items()}
    sources = {
        **{name: statement.source for name, statement in statements_by_field.items()},
        "title": titles.source,
        "authors": authors.source,
        "published": dates.published and dates.published.source,
        "modified": dates.modified and dates.modified.source,
        "keywords": keywords[0].source if keywords else None,
    }
    return Metadata(
        title=titles.title,
        authors=authors.names,
        published=dates.published and dates.published.day,
        modified=dates.modified and dates.modified.day,
        language=read_language(stated_languages(page.root, stated), text),
        section=texts.get("section"),
        canonical=texts.get("canonical"),
        site_name=texts.get("site_name"),
        image=texts.get("image"),
        headline=titles.headline,
        stated_title=read_stated_title(stated),
        description=texts.get("description"),
        keywords=tuple(keyword.text for keyword in keywords),
        license=texts.get("license"),
        access=texts.get("access"),
        published_at=dates.published and dates.published.time,
        modified_at=dates.modified and dates.modified.time,
        sources={name: source for name, source in sources.items() if source},
    )


def stated_address(stated: Statements) -> str | None:
    """Return the address that a page states: its canonical URL, else `og:url`; None if neither is absolute."""
    addresses = [stated.links.get("canonical"), *stated.meta("og:url")]
    return next(filter(None, (_absolute(None, address) for address in addresses if address)), None)


def _read_fields(page: Page, stated: Statements, title: str | None) -> dict[str, Statement]:
    """Return the fields that are read from the first source that has them."""
    license_ = read_license(stated)
    fields = {
        "access": read_access(stated),
        "section": _section(page, stated, title),
        "canonical": _first_url(page, _canonicals(stated)),
        "site_name": read_site_name(stated),
        "image": _first_url(page, _images(stated)),
        "description": read_description(stated),
        "license": license_ and Statement(_absolute(page.url, license_.text) or license_.text, license_.source),
    }
    return {name: statement for name, statement in fields.items() if statement is not None}


def _section(page: Page, stated: Statements, title: str | None) -> Statement | None:
    """Return the stated section, else the last crumb before the page."""
    for text in stated.texts("articleSection"):
        return Statement(text, "json-ld articleSection")
    for name in _SECTION_METAS:
        for text in filter(None, map(tidy_text, stated.meta(name))):
            return Statement(text, f"meta {name}")
    for element in stated.items("articleSection"):
        if content := tidy_text(element.get("content") or element.text):
            return Statement(content, "microdata articleSection")
    crumb = _last_crumb(page, stated, title)
    return None if crumb is None else Statement(crumb, "json-ld breadcrumbs")


def _last_crumb(page: Page, stated: Statements, title: str | None) -> str | None:
    """Return the last name in a JSON-LD list of breadcrumbs, without the first one, the site, and the page itself."""
    lists = (node.get("itemListElement") for node in stated.objects if "breadcrumblist" in type_names(node))
    crumbs = next((entries for entries in lists if isinstance(entries, list)), [])[1:_MAX_CRUMBS]
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


def _canonicals(stated: Statements) -> Iterator[Statement]:
    if address := stated.links.get("canonical"):
        yield Statement(address, "link rel=canonical")
    for address in stated.meta("og:url"):
        yield Statement(address, "meta og:url")


def _images(stated: Statements) -> Iterator[Statement]:
    for values in stated.linked("image", "thumbnailUrl"):
        for value in values:
            address = (value.get("url") or value.get("contentUrl")) if isinstance(value, dict) else value
            if isinstance(address, str):
                yield Statement(address, "json-ld image")
    for name in _IMAGE_METAS:
        for address in stated.meta(name):
            yield Statement(address, f"meta {name}")
    for element in stated.items("image"):
        if address := element.get("content") or element.get("src") or element.get("href"):
            yield Statement(address, "microdata image")
    if address := stated.links.get("image_src"):
        yield Statement(address, "link rel=image_src")


def _first_url(page: Page, addresses: Iterable[Statement]) -> Statement | None:
    """Return the first address that is an absolute http(s) URL, or becomes one."""
    for address, source in addresses:
        if url := _absolute(page.url, address):
            return Statement(url, source)
    return None


def _absolute(base: str | None, address: str) -> str | None:
    """Return the absolute http(s) URL; None for another one, one that is too long or has invisible characters."""
    bare = address[: _MAX_URL_CHARS + 100].strip()
    try:
        absolute = bare if _WHOLE_URL.fullmatch(bare) else urljoin(base or "", bare)
    except ValueError:
        return None
    fits = absolute.startswith(("http://", "https://")) and len(absolute) <= _MAX_URL_CHARS
    return absolute if fits and not _UNSAFE.search(absolute) else None
