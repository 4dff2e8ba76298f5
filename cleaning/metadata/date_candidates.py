"""Collect the dates that a page may have been published on: those that it states, and those near its heading."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, islice
from typing import TYPE_CHECKING

from cleaning.metadata.date_texts import calendar_day, may_be_date, read_date, read_numbers, read_timestamp
from cleaning.metadata.elements import find_classed, find_texts
from cleaning.metadata.statements import tidy_text, visible_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

    from cleaning.metadata.ranking import Evidence
    from cleaning.metadata.statements import Statements

_ARTICLE_METAS = (
    "article:published_time",
    "og:article:published_time",
    "og:published_time",
    "article:published",
    "datepublished",
)
_OTHER_METAS = (
    "dc.date",
    "dc.date.issued",
    "dc.date.created",
    "dc.issued",
    "dc.created",
    "dc:date",
    "dc:issued",
    "dc:created",
    "dcterms.date",
    "dcterms.created",
    "dcterms.issued",
    "citation_publication_date",
    "citation_online_date",
    "citation_date",
    "prism.publicationdate",
    "date",
    "pubdate",
    "publishdate",
    "publish-date",
    "publish_date",
    "parsely-pub-date",
    "sailthru.date",
    "datecreated",
    "og:regdate",
    "published",
    "created",
)
_PUBLISHING_META = re.compile(r"publish(?:ed)?[^a-z]?(?:date|time|on)|publication[^a-z]?date|date[^a-z]?publi")
_CHANGE_METAS = (
    "article:modified_time",
    "og:article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "lastmodified",
    "last_modified",
    "dateupdate",
    "revised",
)
_DAY_IN_PATH = re.compile(r"/(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?=[/_-]|$)")
_SLUG_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_MONTH_IN_PATH = re.compile(r"/((?:19|20)\d\d)[/-]([01]?\d)(?=/|$)")
# Parts of texts that may have a year, in the digits of several scripts, or a short one.
_YEARS = (
    *("20", "19", "25", "24", "14", "13", "\u5e74", "\ub144"),  # Buddhist and Persian years, and eras
    *("\u0662\u0660", "\u0661\u0669", "\u06f2\u06f0", "\u06f1\u06f3", "\u06f1\u06f4", "\u0968\u0966", "\u0967\u096f"),
    *("\u09e8\u09e6", "\u0e52\u0e55", "\u0e52\u0e50", "\u1042\u1040"),
)
_SHORT_YEARS = (".0", ".1", ".2")
_CLASS_PARTS = ("date", "publ")
_DATE_PROPERTIES = ("datePublished", "dateCreated", "dateModified")
_VALUE_ATTRIBUTES = ("content", "datetime", "title")  # of an element that states a date
_TIME_ATTRIBUTES = ("datetime", "pubdate", "data-utime", "title")
_READ_ELSEWHERE = ("time", "abbr", "meta")
_DATE_ATTRIBUTE = re.compile(r"title|datetime|content|data-[\w-]*(?:date|time|publi|created)[\w-]*")
_MAX_RAW_CHARS = 300
_MAX_PATH_CHARS = 500
_MAX_TEXT_CHARS = 160
_BARE_CHARS = 40
_SHORT_CHARS = 20  # of a text that is only a date
# The patterns below read texts and marks in small letters: a pattern that reads capitals too takes three to seven times
# as long. A day on which something ends or takes place, or the end of a span of days:
_LIMIT = re.compile(
    r"\b(?:ends?|ending|until|till|through|expires?|expiring|valid|redeem|deadline|open|opens|closes|since|effective"
    r"|as of|before|bis|gültig|ab dem|seit|jusqu\w*|hasta|fino)\b|\d(?: - | ?\u2013 ?)\d"
)
_MARK = re.compile(r"date|time|publi|posted|meta|byline|created|fecha|datum|data-|author|info")
# Around dates of other things: a reader's comment, another page, an event, the day on which a member joined.
_FOREIGN_MARK = re.compile(r"comment|related|\bevent|joined")
_OTHER_MARK = re.compile(r"copyright|footer|sidebar|widget|archive|calendar")
_PUBLISHED_MARK = re.compile(r"publish|pubdate|posted|created")
_CHANGE_MARK = re.compile(r"modif|update")
_UNSEEN_TAGS = ("script", "style", "noscript", "template")
_PUBLISHED = re.compile(
    r"publi|posted|written|created|added|released|veröffentlicht|erstellt|erschienen|stand:|eingestellt|geschrieben|vom\b|"
    r"publicad|creado|escrito|posté|écrit|mis en ligne|le\b|pubblicat|scritto|gepubliceerd|geplaatst|opublikowan|"
    r"dodano|zveřejněn|vydán|publikován|julkaistu|skrevet|publisert|publicerad|offentliggjort|közzétév|megjelent|"
    r"опубликован|опубліковано|дата|yay[i\u0131]n|eklenme|منتشر|نشر|تاریخ|发布|發布|发表|發表|时间|時間|来源|公開|投稿|掲載|등록|입력|게시|작성|ngày|đăng"
)
_CHANGED = re.compile(
    "updat|modifi|revis|edited|aktualisiert|geändert|bearbeitet|mis à jour|actualizad|atualizad|aggiornat|bijgewerkt"
    "|uppdaterad|opdateret|oppdatert|päivitetty|frissítve|aktualizov|zaktualizowano|ostatnia zmiana|обновлен|оновлено"
    "|изменен|güncelle|تحديث|به‌روز|अपडेट|更新|修改|最后编辑|수정|cập nhật"
)
_CLOCK = re.compile(r"\d[:.h]\d\d\b")
_PLACES = ("above", "below", "further")
_LEVELS = 4  # elements around a text whose classes are read
_MAX_TEXTS = 12  # in each place
_MAX_ITEMS = 10


class DateSource(StrEnum):
    """Where a page states or shows a date."""

    JSON_LD = "json-ld"
    JSON_LD_CREATED = "json-ld-created"
    ARTICLE_META = "article-meta"
    META = "meta"
    ITEM = "microdata"
    TIME = "time"
    URL = "url"
    IMAGE = "image"
    """The address of the page's picture."""
    TITLE = "title"
    TEXT = "text"
    CHANGE_TEXT = "change-text"
    """A visible text about the last change."""
    CHANGE = "change"
    """A stated date of the last change."""


@dataclass(frozen=True, slots=True)
class DateCandidate:
    """A date of a page: `day` is `YYYY-MM-DD` or coarser, `statement` the text that it was read from.

    `origin` says in words where it stands. `signs` are the features of the ranking: what is near the date, and how it
    is marked.
    """

    day: str
    source: DateSource
    statement: str
    origin: str
    signs: frozenset[str] = frozenset()


def collect_dates(evidence: Evidence, language: str | None) -> list[DateCandidate]:
    """Return the dates of a page, by source; the same day may come several times."""
    return _in_one_order(list(_collect(evidence, language)))


def _in_one_order(candidates: list[DateCandidate]) -> list[DateCandidate]:
    """Exchange month and day of numbers such as 03/04/2021 where the other dates of the page tell their order."""
    numbers = [read_numbers(candidate.day, candidate.statement) for candidate in candidates]
    unsure = [place for place, written in enumerate(numbers) if written is not None and not written.sure]
    if not unsure:
        return candidates
    certain = {
        candidate.day for candidate, written in zip(candidates, numbers, strict=True) if written is None or written.sure
    }
    orders = {written.month_first for written in numbers if written is not None and written.tells_order}
    ordered = list(candidates)
    for place in unsure:
        written = numbers[place]
        candidate = candidates[place]
        if written is None or candidate.day in certain:
            continue
        if written.exchanged in certain or orders == {not written.month_first}:
            ordered[place] = replace(candidate, day=written.exchanged)
    return ordered


def _collect(evidence: Evidence, language: str | None) -> Iterator[DateCandidate]:
    yield from _stated(evidence, language)
    yield from _in_url((evidence.path or "")[:_MAX_PATH_CHARS])
    yield from _in_title(evidence.stated, language)
    yield from _in_image(evidence.stated)
    if "product" in evidence.stated.types or evidence.is_front_page:
        return  # the visible dates are those of its reviews, or of other pages
    yield from _in_elements(evidence, language)
    yield from _in_texts(evidence, language)


def _stated(evidence: Evidence, language: str | None) -> Iterator[DateCandidate]:
    stated = evidence.stated
    sources = (
        (DateSource.JSON_LD, _linked(stated, "datePublished")),
        (DateSource.JSON_LD_CREATED, _linked(stated, "dateCreated", "uploadDate")),
        (DateSource.ARTICLE_META, _metas(stated, _ARTICLE_METAS)),
        (DateSource.META, chain(_metas(stated, _OTHER_METAS), _publishing_metas(stated))),
        (DateSource.ITEM, _items(evidence, "datePublished", "datepublished", "dateCreated", "datecreated")),
        (DateSource.CHANGE, _changes(evidence)),
    )
    for source, texts in sources:
        for number, (text, origin) in enumerate(islice(texts, _MAX_ITEMS)):
            if day := _read_stated(text, language):
                yield DateCandidate(day, source, text, origin, frozenset({"later"} if number else ()))


def _read_stated(text: str, language: str | None) -> str | None:
    """Return the date of a value that is only a date: a text or a number of seconds since 1970."""
    return read_timestamp(text) or read_date(text, language)


def _linked(stated: Statements, *keys: str) -> Iterator[tuple[str, str]]:
    for key in keys:
        for text in stated.texts(key):
            yield text, f"json-ld {key}"


def _metas(stated: Statements, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        if name in stated.metas:
            for content in stated.metas[name]:
                yield content, f"meta {name}"


def _changes(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield the texts that state when the page was changed."""
    yield from _linked(evidence.stated, "dateModified")
    yield from _metas(evidence.stated, _CHANGE_METAS)
    yield from _items(evidence, "dateModified", "datemodified")


def _publishing_metas(stated: Statements) -> Iterator[tuple[str, str]]:
    """Yield the contents of other meta tags with a name about publishing."""
    for name, contents in stated.metas.items():
        if "publi" in name and _PUBLISHING_META.search(name):
            yield contents[0], f"meta {name}"


def _items(evidence: Evidence, *names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        for element in evidence.stated.items(name):
            if not evidence.is_reply(element) and not _is_in_teaser(element):
                attributes = filter(None, map(element.get, _VALUE_ATTRIBUTES))
                yield next(attributes, None) or visible_text(element) or "", f"microdata {name}"


def _in_link(element: HtmlElement) -> bool:
    """Return True if an element is in a link, as the parts of a teaser are."""
    return any(ancestor.tag == "a" for ancestor in islice(element.iterancestors(), _LEVELS))


def _is_in_teaser(element: HtmlElement) -> bool:
    """Return True if an element is in a link that is an item of its own."""
    ancestors = islice(element.iterancestors("a"), _LEVELS)
    return any(link.get("itemscope") is not None for link in ancestors)


def _in_url(path: str) -> Iterator[DateCandidate]:
    for pattern, sign in ((_DAY_IN_PATH, "path"), (_SLUG_DAY, "slug")):
        match = pattern.search(path)
        day = match and calendar_day(int(match[1]), int(match[2]), int(match[3]))
        if match and day:
            yield DateCandidate(day, DateSource.URL, match[0], "address", frozenset({sign}))
            return
    match = _MONTH_IN_PATH.search(path)
    month = match and calendar_day(int(match[1]), int(match[2]), None)
    if match and month:
        yield DateCandidate(month, DateSource.URL, match[0], "address")


def _in_image(stated: Statements) -> Iterator[DateCandidate]:
    """Yield the day in the address of the page's picture, on which it was uploaded."""
    address = next(stated.meta("og:image"), "")[:_MAX_PATH_CHARS]
    match = _DAY_IN_PATH.search(address)
    if match and (day := calendar_day(int(match[1]), int(match[2]), int(match[3]))):
        yield DateCandidate(day, DateSource.IMAGE, match[0], "address of the picture")


def _in_title(stated: Statements, language: str | None) -> Iterator[DateCandidate]:
    for text in filter(None, (stated.title, *stated.headings[:1])):
        if day := read_date(text, language):
            yield DateCandidate(day, DateSource.TITLE, text, "title")


def _in_elements(evidence: Evidence, language: str | None) -> Iterator[DateCandidate]:
    """Yield the dates of time and abbr elements, then those in attributes of other elements near the heading."""
    rank = 0
    for element, text, sign in chain(_time_texts(evidence.stated), _attribute_texts(evidence)):
        marks = _marks(element)
        if _FOREIGN_MARK.search(marks) or _is_in_teaser(element):
            continue
        if day := _read_stated(text[:_MAX_TEXT_CHARS], language):
            signs = {sign, f"rank-{min(rank, 3)}", *_mark_signs(marks)}
            if evidence.is_reply(element):
                signs.add("reply")
            if _in_link(element):
                signs.add("link")
            rank += 1
            yield DateCandidate(day, DateSource.TIME, text, f"{element.tag} element", frozenset(signs))


def _time_texts(stated: Statements) -> Iterator[tuple[HtmlElement, str, str]]:
    for element in stated.times:
        if element.get("itemprop") in _DATE_PROPERTIES:
            continue  # read as a statement
        text = next(filter(None, map(element.get, _TIME_ATTRIBUTES)), None) or visible_text(element) or ""
        yield element, text, "pubdate" if element.get("pubdate") is not None else "element"


def _attribute_texts(evidence: Evidence) -> Iterator[tuple[HtmlElement, str, str]]:
    for element in find_classed(evidence.root, evidence.stated.heading, _CLASS_PARTS):
        for name, value in islice(element.attrib.items(), _MAX_ITEMS):
            if element.tag not in _READ_ELSEWHERE and _DATE_ATTRIBUTE.fullmatch(name):
                yield element, value, "attribute"


def _in_texts(evidence: Evidence, language: str | None) -> Iterator[DateCandidate]:
    heading = evidence.stated.heading
    near = find_texts(evidence.root, heading, (*_YEARS, *_SHORT_YEARS))
    for place, elements in zip(_PLACES, (near.above[::-1], near.below, near.further), strict=True):
        label = place if heading is not None else f"no-heading-{place}"
        ranks: Counter[DateSource] = Counter()
        for text, element in _short_texts(elements):
            candidate = _text_candidate(text, element, language)
            if candidate is None:
                continue
            rank = ranks[candidate.source]
            ranks[candidate.source] += 1
            yield replace(candidate, signs=candidate.signs | _place_signs(candidate.signs, label, rank))
            if ranks.total() == _MAX_TEXTS:
                break


def _place_signs(signs: frozenset[str], label: str, rank: int) -> set[str]:
    place_signs = {label, f"{label}-{min(rank, 3)}"}
    if "short" in signs and "link" not in signs:  # links have the dates of other pages
        place_signs.add(f"short-{label}")
        if "marked" in signs:
            place_signs.add(f"short-marked-{label}")
    return place_signs


def _text_candidate(text: str, element: HtmlElement | None, language: str | None) -> DateCandidate | None:
    """Return the day in a visible text of the page; None for a text without one, or about something else."""
    if not may_be_date(text):
        return None
    plain = tidy_text(text) or ""
    is_long = len(plain) > _MAX_TEXT_CHARS or "://" in plain
    plain = plain[:_BARE_CHARS] if is_long else plain
    day = read_date(plain, language)
    if day is None or len(day) < len("YYYY-MM-DD"):
        return None
    marks = _marks(element)
    is_call = marks.startswith("script") and not is_long  # it writes the date
    if (marks.startswith(_UNSEEN_TAGS) and not is_call) or _FOREIGN_MARK.search(marks):
        return None
    signs = {*_mark_signs(marks), *_text_signs(plain)}
    if is_call:
        signs.add("script")
    if is_long:
        signs.add("long")
    if element is not None and element.tag == "a":
        signs.add("link")
    source = DateSource.CHANGE_TEXT if _CHANGED.search(plain.lower()) else DateSource.TEXT
    return DateCandidate(day, source, plain, "visible text", frozenset(signs))


def _short_texts(elements: Iterable[HtmlElement]) -> Iterator[tuple[str, HtmlElement | None]]:
    """Yield the texts of the elements that may have a year, each with the element around it."""
    for element in elements:
        if text := element.text:
            yield text[:_MAX_RAW_CHARS], element
        if text := element.tail:
            yield text[:_MAX_RAW_CHARS], element.getparent()


def _text_signs(plain: str) -> Iterator[str]:
    yield "bare" if len(plain) <= _BARE_CHARS else "in-sentence"
    small = plain.lower()
    if _PUBLISHED.search(small):
        yield "says-published"
    if len(plain) <= _SHORT_CHARS:
        yield "short"
    if _CLOCK.search(plain):
        yield "clock"
    if _LIMIT.search(small):
        yield "limit"


def _mark_signs(marks: str) -> Iterator[str]:
    if _MARK.search(marks):
        yield "marked"
    if _PUBLISHED_MARK.search(marks):
        yield "marked-published"
    if _OTHER_MARK.search(marks):
        yield "marked-other"
    if _CHANGE_MARK.search(marks):
        yield "marked-changed"


def _marks(element: HtmlElement | None) -> str:
    """Return the tags, classes and ids of an element and of the elements around it, in small letters."""
    around = () if element is None else islice(chain((element,), element.iterancestors()), _LEVELS)
    return " ".join([f"{outer.tag} {outer.get('class', '')} {outer.get('id', '')}" for outer in around]).lower()
