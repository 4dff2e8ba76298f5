"""When a page was published and modified: stated dates first, then dates that htmldate reads in visible texts."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lxml import etree, html

from cleaning.metadata.elements import find_texts
from cleaning.metadata.statements import is_reply, tidy_text, visible_text
from cleaning.metadata.titles import is_front_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lxml.html import HtmlElement

    from cleaning.metadata.statements import Statements


_ISO = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})(?!\d)")
_MIN_YEAR, _MAX_YEAR = 1800, 2100
_NO_DATE = "1970-01-01"  # from a clock that was never set
_PUBLISHED = (
    "article:published_time",
    "og:article:published_time",
    "og:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dc.date.issued",
    "dc.date.created",
    "dcterms.date",
    "dcterms.created",
    "dcterms.issued",
    "citation_publication_date",
    "citation_date",
    "pubdate",
    "publishdate",
    "publish-date",
    "publish_date",
    "parsely-pub-date",
    "sailthru.date",
    "datecreated",
    "published",
)
_PUBLISHING = re.compile(r"publish(?:ed)?[^a-z]?(?:date|time|on)|publication[^a-z]?date|date[^a-z]?publi")
_MODIFIED = (
    "article:modified_time",
    "og:article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
)
_PATH = re.compile(r"/(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?=[/_-]|$)")
_YEARS = ("20", "\u0662\u0660", "\u06f2\u06f0", "\u0968\u0966")
_DIGITS = {
    ord(digits[value]): str(value) for digits in ("٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९") for value in range(10)
}
_YEAR_FIRST = re.compile(r"(?<!\d)((?:19|20)\d\d) ?[年년.] ?(\d{1,2}) ?[月월.] ?(\d{1,2})(?!\d)")
_EAST_ASIAN = {ord(sign): "-" for sign in "年月년월"} | {ord(sign): " " for sign in "日일"}
_MONTH_FIRST = re.compile(
    r"\b(\d{1,2})/(1[3-9]|2\d|3[01])/(\d{4})\b"
)  # certain by the day above 12; htmldate reads the day first
_MAX_BARE_CHARS = 40  # of a text that is only a date and a few words
_UNSEEN_TAGS = ("script", "style", "noscript", "template")
_MAX_RAW_CHARS = 200  # with the white space around it
_MAX_TEXT_CHARS = 80
_DATE = re.compile(r"(?:19|20)\d\d\D{1,20}\d|\d\D{1,20}(?:19|20)\d\d")
_MARK = re.compile(r"date|time|publi|posted|meta|byline|created|fecha|datum|author|info", re.IGNORECASE)
_OTHER_MARK = re.compile(r"modif|update|comment|copyright|related|event|joined", re.IGNORECASE)
_CHANGED = re.compile(
    "updat|modifi|revis|aktualisiert|geändert|mis à jour|actualizad|atualizad|aggiornat|bijgewerkt|uppdaterad|opdateret"
    "|zaktualizowano|обновлен|оновлено|güncelle|تحديث|अपडेट|更新|修改|수정",
    re.IGNORECASE,
)
# Neither Latin nor East Asian.
_OTHER_SCRIPT = re.compile(
    r"(?:(?![\u00c0-\u024f\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef])[^\x00-\x7f\W\d_]){3}"
)
_FIRST_DAY = re.compile(r"\b0?1\b")
_MAX_TRIED = 12
_MAX_UNMARKED = 3
_REPLIED = re.compile(r"comment|copyright|related|event", re.IGNORECASE)
_LEVELS = 4  # elements around a text whose classes are read


@dataclass(frozen=True, slots=True)
class Dates:
    """The ISO dates when a page was published and modified; None if unknown."""

    published: str | None
    modified: str | None


def read_dates(root: HtmlElement, stated: Statements, url: str | None) -> Dates:
    """Return the dates that a page states; the date of publication is searched in its text if none is stated."""
    texts = [
        *_stated_texts(stated, ("datePublished", "dateCreated"), _PUBLISHED),
        *_publishing_metas(stated),
        *stated.texts("uploadDate"),
    ]
    published = _nearest_day(_read_first(texts), _day_in_path(url))
    return Dates(
        published or (None if _dates_others(stated, url) else _visible_date(root, stated)),
        _first_iso_date(_stated_texts(stated, ("dateModified",), _MODIFIED)),
    )


def _dates_others(stated: Statements, url: str | None) -> bool:
    """Return True if a page's visible dates are not its own: of news on a front page, of a product's reviews."""
    return "product" in stated.types or is_front_page(url)


def _visible_date(root: HtmlElement, stated: Statements) -> str | None:
    return (
        _first_iso_date(_time_texts(stated))
        or _read_first(chain(_time_texts(stated), _dated_texts(root, stated)))
        or _read_first(_updated_texts(root, stated))
    )


def iso_date(text: str) -> str | None:
    """Return the day at the beginning of a text in ISO 8601, without a change of time zone; None for any other text."""
    match = _ISO.match(text[:40].strip())
    return match and _day(*match.groups())


def _day(*parts: str) -> str | None:
    try:
        found = date(*map(int, parts))
    except ValueError:
        return None
    known = _MIN_YEAR <= found.year <= _MAX_YEAR and found.isoformat() != _NO_DATE
    return found.isoformat() if known else None


def _first_iso_date(texts: Iterable[str]) -> str | None:
    return next(filter(None, map(iso_date, texts)), None)


def _stated_texts(stated: Statements, keys: Sequence[str], metas: Sequence[str]) -> Iterator[str]:
    yield from stated.texts(*keys)
    yield from stated.meta(*metas)
    for element in stated.items(*keys):
        if not is_reply(element):
            yield element.get("content") or element.get("datetime") or visible_text(element) or ""


def _time_texts(stated: Statements) -> Iterator[str]:
    """Yield the texts of the time elements that date the page, not a change, a comment or another page."""
    for element in stated.times:
        if not _OTHER_MARK.search(_marks(element)):
            yield element.get("datetime") or element.text or ""


def _day_in_path(url: str | None) -> str | None:
    try:
        match = _PATH.search(urlsplit(url or "").path[:500])
    except ValueError:
        return None
    return match and _day(*match.groups())


def _nearest_day(stated: str | None, in_url: str | None) -> str | None:
    """Return the stated day, or the URL's day if they are at most one day apart: the URL has the site's local date."""
    if stated is None or in_url is None:
        return stated or in_url
    apart = abs(date.fromisoformat(stated) - date.fromisoformat(in_url))
    return in_url if apart.days <= 1 else stated


def _publishing_metas(stated: Statements) -> Iterator[str]:
    """Yield the contents of other meta tags with a name about publishing."""
    for name, contents in stated.metas.items():
        if _PUBLISHING.search(name):
            yield contents[0]


def _read_first(texts: Iterable[str]) -> str | None:
    """Return the first date in one of the texts, in ISO 8601 or as htmldate reads it.

    htmldate gets the texts alone: with the page, it would copy and serialise all of it.
    """
    return next(filter(None, map(_read_date, dict.fromkeys(islice(texts, _MAX_TRIED)))), None)


def _read_date(text: str) -> str | None:
    plain = _plain(text)
    return iso_date(text) or (_read_text(plain) if plain and _DATE.search(plain) else None)


def _read_text(text: str) -> str | None:
    if _ISO.match(text):
        return iso_date(text)
    body = etree.SubElement(html.Element("html"), "body")
    etree.SubElement(body, "span", {"class": "date"}).text = text
    # Its tables have month names in Latin letters; for others it asks dateparser, which is slow. East Asian months are
    # numbers.
    other_script = _OTHER_SCRIPT.search(text) is not None
    try:
        found = _find_date()(body.getparent(), extensive_search=other_script, original_date=True)
    except (ValueError, OverflowError):  # a zone of more than a day, a year beyond the calendar
        return None
    # Where it understands no more than the year, it answers the first of January.
    guessed = other_script and found is not None and found.endswith("-01-01") and not _FIRST_DAY.search(text)
    return None if guessed else found


def _plain(text: str) -> str | None:
    plain = tidy_text(text[: 4 * _MAX_TEXT_CHARS])
    if plain is None or len(plain) > _MAX_TEXT_CHARS or "://" in plain:
        return None
    plain = plain if plain.isascii() else plain.translate(_DIGITS)
    plain = _YEAR_FIRST.sub(r"\1-\2-\3", plain).translate(_EAST_ASIAN)
    plain = _MONTH_FIRST.sub(r"\3-\1-\2", plain)
    return plain.title() if plain.isupper() and plain.isascii() else plain  # htmldate knows no OCTOBER


def _dated_texts(root: HtmlElement, stated: Statements) -> Iterator[str]:
    """Yield the texts that may date the page: first below its heading, then above it."""
    near = find_texts(root, stated.heading, _YEARS)
    if stated.heading is None:
        first = list(_texts_with_year([*near.below, *near.further]))
        yield from _candidates(first, 0)
        yield from _candidates(first, _MAX_UNMARKED)
        return
    yield from _candidates(_texts_with_year(near.below), _MAX_UNMARKED)
    above = list(_texts_with_year(near.above))[::-1]
    yield from _candidates(above, 0)
    yield from _candidates(above, _MAX_UNMARKED)
    yield from _candidates(_texts_with_year(near.further), _MAX_UNMARKED)


def _updated_texts(root: HtmlElement, stated: Statements) -> Iterator[str]:
    """Yield the visible texts near the heading that date a change, the only date of some pages."""
    for text, element in _texts_with_year(find_texts(root, stated.heading, _YEARS).below):
        plain = _plain(text)
        if plain and _CHANGED.search(plain) and not _REPLIED.search(_marks(element)):
            yield plain


def _texts_with_year(elements: Iterable[HtmlElement]) -> Iterator[tuple[str, HtmlElement | None]]:
    """Yield the short texts that may have a year, each with the element around it."""
    for element in elements:
        if (text := element.text) and _may_have_year(text):
            yield text, element
        if (text := element.tail) and _may_have_year(text):
            yield text, element.getparent()


def _may_have_year(text: str) -> bool:
    return len(text) < _MAX_RAW_CHARS and any(year in text for year in _YEARS)


def _candidates(texts: Iterable[tuple[str, HtmlElement | None]], unmarked: int) -> Iterator[str]:
    """Yield the texts that are marked as dates, and at most `unmarked` other texts."""
    for text, element in texts:
        plain = _plain(text)
        if plain and _DATE.search(plain) and not _CHANGED.search(plain):
            marks = _marks(element)
            if _OTHER_MARK.search(marks) or marks.startswith(_UNSEEN_TAGS):
                continue
            if _MARK.search(marks):
                yield plain
            elif unmarked and len(plain) <= _MAX_BARE_CHARS:
                unmarked -= 1
                yield plain


def _marks(element: HtmlElement | None) -> str:
    """Return the tags, classes and ids of an element and of the elements around it."""
    found = []
    for _ in range(_LEVELS):
        if element is None:
            break
        found.append(f"{element.tag} {element.get('class', '')} {element.get('id', '')}")
        element = element.getparent()
    return " ".join(found)


@cache
def _find_date() -> Callable[..., str | None]:
    # Imported at the first use: few pages need it, and it imports an HTTP client. Users cannot act on what it logs.
    from htmldate import find_date  # noqa: PLC0415 — see above

    logging.getLogger("htmldate").setLevel(logging.CRITICAL + 1)
    found: Callable[..., str | None] = find_date
    return found
