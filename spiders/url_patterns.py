"""What a URL tells by itself: its pattern, and the page that it is a variant of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from crawler.urls import host_of, without_tracking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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
    """A URL without what tells it from its like: `exact` keeps host and words (`bbc.com/news/word`), `kind` neither."""

    exact: str
    kind: str


def url_pattern(url: str) -> UrlPattern:
    """Return the shape of a URL: the kind of each part of its path, its ending and the keys of its query.

    Kinds are word, slug, number, date, year, code (`c5yjegg892lo`); one of the latter may follow a slug.
    """
    parts = urlsplit(without_tracking(url[:_URL_MAX_CHARS]))
    pieces = parts.path.strip("/").split("/")[:_SEGMENTS_MAX]
    last, ending = _split_ending(pieces[-1])
    kinds = [_segment_kind(piece) for piece in [*pieces[:-1], last]]
    words = [
        piece.lower() if kind == "word" and len(piece) <= _WORD_MAX_CHARS and number < len(kinds) - 1 else kind
        for number, (piece, kind) in enumerate(zip(pieces, kinds, strict=True))
    ]
    keys = sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)})
    query = "?" + "&".join(keys[:_KEYS_MAX]) if keys else ""
    return UrlPattern(
        f"{host_of(url)}/{'/'.join(words)}{ending}{query}",
        f"*/{'/'.join(kinds)}{ending}{query}",
    )


def _split_ending(piece: str) -> tuple[str, str]:
    found = _SUFFIX.search(piece)
    return (piece[: found.start()], found[0].lower()) if found else (piece, "")


def _segment_kind(piece: str) -> str:
    """Return the kind of a part of a path; "" for the empty path of a home page."""
    if not piece:
        return ""
    if _DATE.fullmatch(piece):
        return "date"
    if piece.isdecimal():
        return "year" if _YEAR.fullmatch(piece) else "number" if len(piece) >= _NUMBER_MIN_DIGITS else "day"
    words = [word for word in re.split(r"[-_+.,~]|%20", piece) if word]
    slug = "slug" if sum(not word.isdecimal() for word in words) >= _SLUG_MIN_WORDS else ""
    if re.search(rf"\d{{{_NUMBER_MIN_DIGITS},}}", piece):
        return f"{slug}number"
    if not slug and any(len(word) >= _CODE_MIN_CHARS and _is_code(word) for word in words):
        return "code"
    return slug or "word"


def _is_code(word: str) -> bool:
    """Tell whether a word is made of letters and digits in turn, as keys of databases are."""
    return len(re.findall(r"\d+", word)) > 1 and not word.isdecimal()


Item = TypeVar("Item")

_VARIANT_HOSTS = re.compile(r"^(?:amp|m|mobile|wap|touch|print)\.", re.IGNORECASE)
_VARIANT_PATH_PARTS = frozenset({"amp", "amphtml", "print", "printable", "printfriendly"})
_VARIANT_SUFFIXES = re.compile(r"^amp[_-]|[._-](?:amp|print)(?=\.|$)", re.IGNORECASE)
_VARIANT_PARAMETERS = frozenset({"amp", "print", "printable", "print_friendly", "outputtype", "view_as", "mobile"})
_VARIANT_VALUES = frozenset({"", "1", "true", "yes", "amp", "print"})


def variant_of(url: str) -> str | None:
    """Return what the address of a twin is a twin of, without scheme and `www.`; None for one that looks like none."""
    bare = _comparable_url(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = _VARIANT_HOSTS.sub("", parts.netloc.lower())
    path = "/".join(
        _VARIANT_SUFFIXES.sub("", part) for part in parts.path.split("/") if part.lower() not in _VARIANT_PATH_PARTS
    )
    query = [
        (name, said)
        for name, said in parse_qsl(parts.query, keep_blank_values=True)
        if not _is_variant_parameter(name, said)
    ]
    found = _comparable_url(urlunsplit((parts.scheme, host, path, urlencode(query), "")))
    return None if found == bare else found


def drop_variants(things: Iterable[Item], address: Callable[[Item], str]) -> list[Item]:
    """Return the things without those whose address is a twin of another one's among them."""
    known = list(things)
    own = {_comparable_url(address(thing)) for thing in known}
    return [thing for thing in known if variant_of(address(thing)) not in own]


def _is_variant_parameter(name: str, said: str) -> bool:
    return name.lower() in _VARIANT_PARAMETERS and said.lower() in _VARIANT_VALUES


def _comparable_url(url: str) -> str:
    """Return an address as twins are compared by it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = urlencode(parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit(("", parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/"), query, ""))
