"""What URLs of a site have in common: their shape, and how often pages of a shape turned out to be articles."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from crawler.urls import host, lasting, site

_LONGEST_URL = 2_000
_MOST_SEGMENTS = 12
_MOST_KEYS = 8
_LONGEST_WORD = 24
_DATE = re.compile(r"(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_SUFFIX = re.compile(r"\.[a-z]{2,5}\d?$", re.IGNORECASE)
_SLUG_WORDS = 3
_NUMBER_DIGITS = 4
_CODE_CHARS = 8
# Bounds of what is remembered: of sites, of shapes of each, and of pages of each, after which all count half.
_MOST_SITES = 1_000
_MOST_SHAPES = 500
_MOST_PAGES = 64
# Confirmed pages of a shape before they say anything.
LEAST_PAGES = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """A URL without what tells it from its like: `exact` keeps host and words (`bbc.com/news/word`), `kind` neither."""

    exact: str
    kind: str


def shape(url: str) -> Shape:
    """Return the shape of a URL: the kind of each part of its path, its ending and the keys of its query.

    Kinds are word, slug, number, date, year, code (`c5yjegg892lo`); one of the latter may follow a slug.
    """
    parts = urlsplit(lasting(url[:_LONGEST_URL]))
    pieces = parts.path.strip("/").split("/")[:_MOST_SEGMENTS]
    last, ending = _split_ending(pieces[-1])
    kinds = [_kind(piece) for piece in [*pieces[:-1], last]]
    words = [
        piece.lower() if kind == "word" and len(piece) <= _LONGEST_WORD and number < len(kinds) - 1 else kind
        for number, (piece, kind) in enumerate(zip(pieces, kinds, strict=True))
    ]
    keys = sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)})
    query = "?" + "&".join(keys[:_MOST_KEYS]) if keys else ""
    return Shape(
        f"{host(url)}/{'/'.join(words)}{ending}{query}",
        f"*/{'/'.join(kinds)}{ending}{query}",
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """What pages of a shape turned out to be."""

    articles: int = 0
    others: int = 0

    @property
    def pages(self) -> int:
        return self.articles + self.others

    def after(self, *, is_article: bool) -> _Seen:
        """Return the counts after one more page; halved from time to time, so that a rebuilt site is learned anew."""
        half = 2 if self.pages >= _MOST_PAGES else 1
        return _Seen(self.articles // half + is_article, self.others // half + (not is_article))


class Shapes:
    """What is known of sites: how often URLs of a shape led to articles.

    What was learned longest ago is forgotten first, beyond so many sites, and shapes of each.
    """

    def __init__(self, most_sites: int = _MOST_SITES, most_shapes: int = _MOST_SHAPES) -> None:
        self._most_sites, self._most_shapes = most_sites, most_shapes
        self._sites: OrderedDict[str, OrderedDict[str, _Seen]] = OrderedDict()

    def learn(self, url: str, *, is_article: bool) -> None:
        """Note what the page at a URL turned out to be."""
        known = self._sites.setdefault(site(url), OrderedDict())
        self._sites.move_to_end(site(url))
        found = shape(url)
        for name in (found.exact, found.kind):
            known[name] = known.get(name, _Seen()).after(is_article=is_article)
            known.move_to_end(name)
        for table, most in ((self._sites, self._most_sites), (known, self._most_shapes)):
            while len(table) > most:
                table.popitem(last=False)

    def likelihood(self, url: str) -> float | None:
        """Return how likely a URL leads to an article, by the pages of its site that have its shape.

        By its exact shape where that is known, otherwise by its kind; None where neither was seen on `LEAST_PAGES`.
        It is never 0 or 1: three articles of three make 0.8, ten of ten 0.92 (Laplace's rule).
        """
        known = self._sites.get(site(url), OrderedDict())
        found = shape(url)
        for seen in (known.get(found.exact), known.get(found.kind)):
            if seen is not None and seen.pages >= LEAST_PAGES:
                return (seen.articles + 1) / (seen.pages + 2)
        return None


def _split_ending(piece: str) -> tuple[str, str]:
    found = _SUFFIX.search(piece)
    return (piece[: found.start()], found[0].lower()) if found else (piece, "")


def _kind(piece: str) -> str:
    """Return the kind of a part of a path; "" for the empty path of a home page."""
    if not piece:
        return ""
    if _DATE.fullmatch(piece):
        return "date"
    if piece.isdecimal():
        return "year" if _YEAR.fullmatch(piece) else "number" if len(piece) >= _NUMBER_DIGITS else "day"
    words = [word for word in re.split(r"[-_+.,~]|%20", piece) if word]
    slug = "slug" if sum(not word.isdecimal() for word in words) >= _SLUG_WORDS else ""
    if re.search(rf"\d{{{_NUMBER_DIGITS},}}", piece):
        return f"{slug}number"
    if not slug and any(len(word) >= _CODE_CHARS and _is_code(word) for word in words):
        return "code"
    return slug or "word"


def _is_code(word: str) -> bool:
    """Tell whether a word is made of letters and digits in turn, as keys of databases are."""
    return len(re.findall(r"\d+", word)) > 1 and not word.isdecimal()
