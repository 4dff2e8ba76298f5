"""Facts from a URL alone: the pattern of similar URLs, and the page that it is a variant of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from cleaning.tracking import without_tracking
from crawler.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Item = TypeVar("Item")

_URL_MAX_CHARS = 2_000
_SEGMENTS_MAX = 12
_KEYS_MAX = 8
_WORD_MAX_CHARS = 24
_DATE = re.compile(r"(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_SUFFIX = re.compile(r"\.[a-z]{2,5}\d?$", re.IGNORECASE)
_SLUG_MIN_WORDS = 3
_NUMBER_MIN_DIGITS = 4
_CODE_MIN_CHARS = 8


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """A URL without the parts that vary from page to page.

    `exact` keeps the host and the words of the path (`bbc.com/news/word`); `kind` keeps only the kinds of the parts.
    """

    exact: str
    kind: str


def url_pattern(url: str) -> UrlPattern:
    """Return the pattern of a URL: the kind of each path segment, the file suffix and the keys of the query.

    A segment is a word, slug, number, date, year, day or code (`c5yjegg892lo`). A slug with a number is `slugnumber`.
    """
    parts = urlsplit(without_tracking(url[:_URL_MAX_CHARS]))
    segments = parts.path.strip("/").split("/")[:_SEGMENTS_MAX]
    last, suffix = _split_suffix(segments[-1])
    kinds = [_segment_kind(segment) for segment in [*segments[:-1], last]]
    words = [
        segment.lower() if kind == "word" and len(segment) <= _WORD_MAX_CHARS and number < len(kinds) - 1 else kind
        for number, (segment, kind) in enumerate(zip(segments, kinds, strict=True))
    ]
    keys = sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)})
    query = "?" + "&".join(keys[:_KEYS_MAX]) if keys else ""
    return UrlPattern(
        f"{host_of(url)}/{'/'.join(words)}{suffix}{query}",
        f"*/{'/'.join(kinds)}{suffix}{query}",
    )


def _split_suffix(segment: str) -> tuple[str, str]:
    suffix = _SUFFIX.search(segment)
    return (segment[: suffix.start()], suffix[0].lower()) if suffix else (segment, "")


def _segment_kind(segment: str) -> str:
    """Return the kind of a path segment, "" for the empty path of a home page."""
    if not segment:
        return ""
    if _DATE.fullmatch(segment):
        return "date"
    if segment.isdecimal():
        return "year" if _YEAR.fullmatch(segment) else "number" if len(segment) >= _NUMBER_MIN_DIGITS else "day"
    words = [word for word in re.split(r"[-_+.,~]|%20", segment) if word]
    slug = "slug" if sum(not word.isdecimal() for word in words) >= _SLUG_MIN_WORDS else ""
    if re.search(rf"\d{{{_NUMBER_MIN_DIGITS},}}", segment):
        return f"{slug}number"
    if not slug and any(len(word) >= _CODE_MIN_CHARS and _is_code(word) for word in words):
        return "code"
    return slug or "word"


def _is_code(word: str) -> bool:
    """Return True for a word that alternates between letters and digits, as database keys do."""
    return len(re.findall(r"\d+", word)) > 1 and not word.isdecimal()


# Variants: the same article for other readers (AMP, print, mobile). A fetched variant names its article in
# rel=canonical and is stored under that address (`crawler.urls.url_key`). If a listing has the article's own address
# too, dropping the variant here saves its request.

_VARIANT_HOSTS = re.compile(r"^(?:amp|m|mobile|wap|touch|print)\.", re.IGNORECASE)
_VARIANT_PATH_PARTS = frozenset({"amp", "amphtml", "print", "printable", "printfriendly"})
_VARIANT_SUFFIXES = re.compile(r"^amp[_-]|[._-](?:amp|print)(?=\.|$)", re.IGNORECASE)
_VARIANT_PARAMETERS = frozenset({"amp", "print", "printable", "print_friendly", "outputtype", "view_as", "mobile"})
_VARIANT_HINT = re.compile(r"//m\.|amp|mobile|wap|touch|print|outputtype|view_as", re.IGNORECASE)
_VARIANT_VALUES = frozenset({"", "1", "true", "yes", "amp", "print"})


def _variant_of(url: str) -> str | None:
    """Return the address of the article that a URL is a variant of, without scheme and `www.`; None for other URLs."""
    own = _comparable_url(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = _VARIANT_HOSTS.sub("", parts.netloc.lower())
    path = "/".join(
        _VARIANT_SUFFIXES.sub("", part) for part in parts.path.split("/") if part.lower() not in _VARIANT_PATH_PARTS
    )
    query = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if not _is_variant_parameter(name, value)
    ]
    article = _comparable_url(urlunsplit((parts.scheme, host, path, urlencode(query), "")))
    return None if article == own else article


def drop_variants(items: Iterable[Item], address: Callable[[Item], str]) -> list[Item]:
    """Return the items without those whose address is a variant of another item's address."""
    known = list(items)
    articles = [_variant_of(url) if _VARIANT_HINT.search(url := address(item)) else None for item in known]
    if not any(articles):  # so it is in most sitemaps, some of which have 100,000 addresses
        return known
    own = {_comparable_url(address(item)) for item in known}
    return [item for item, article in zip(known, articles, strict=True) if article not in own]


def _is_variant_parameter(name: str, value: str) -> bool:
    return name.lower() in _VARIANT_PARAMETERS and value.lower() in _VARIANT_VALUES


def _comparable_url(url: str) -> str:
    """Return a URL without scheme, `www.`, last slash and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = urlencode(parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit(("", parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/"), query, ""))
