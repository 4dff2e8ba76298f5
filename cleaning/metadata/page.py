"""A page's metadata: title, authors, dates, language, section, canonical URL, site name, lead image.

Sources in order of trust: JSON-LD, OpenGraph and other meta tags, microdata, the visible page.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from cleaning.blocks import Metadata
from cleaning.metadata.authors import read_authors
from cleaning.metadata.dates import read_dates
from cleaning.metadata.statements import read_statements, tidy_text
from cleaning.metadata.titles import read_site_name, read_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cleaning.blocks import Page
    from cleaning.metadata.statements import Statements

_LANGUAGE = re.compile(r"([a-z]{2,3})(?=$|[-_])")
# ISO 639-1, without the wrong codes that some pages declare (`xx`, `jp`, `cn`).
_TWO_LETTERS = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en"
    " eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv"
    " ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne"
    " ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss"
    " st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu".split()
)
_NO_LANGUAGE = frozenset("und mul zxx mis xxx".split())
_TWO_OF_THREE = {"eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt"}
_MAX_CLASSIFIED_CHARS = 2_000
_MIN_CLASSIFIED_CHARS = 60
_MAX_URL_CHARS = 2_000
_UNSAFE = re.compile("[\x00-\x20\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def read_metadata(page: Page, statements: Statements | None = None, text: str = "") -> Metadata:
    """Return a page's metadata; fields that the page does not state are empty.

    `statements` are the result of `read_statements` for the page, read here if they are not given. `text` is the page's
    kept text: it gives the language of a page that declares none.
    """
    stated = statements or read_statements(page.root)
    dates = read_dates(page.root, stated, page.url)
    return Metadata(
        title=read_title(stated, page.url, text),
        authors=read_authors(page.root, stated),
        published=dates.published,
        modified=dates.modified,
        language=_language(page, stated, text),
        section=_section(stated),
        canonical=_first_url(page, [stated.links.get("canonical"), *stated.meta("og:url")]),
        site_name=read_site_name(stated),
        image=_first_url(page, _images(stated)),
    )


def identify_language(text: str) -> str | None:
    """Return the two-letter code of a text's language, by py3langid's model; None for a text that is too short."""
    return load_language_model()(text[:_MAX_CLASSIFIED_CHARS])[0] if len(text) >= _MIN_CLASSIFIED_CHARS else None


@cache
def load_language_model() -> Callable[[str], tuple[str, float]]:
    """Return the classifier of py3langid; the first call loads its model, which takes half a second.

    Raises OSError if the model cannot be unpacked: py3langid needs some 30 MB in the folder for temporary files.
    """
    from py3langid import classify  # noqa: PLC0415 — few pages need it

    classify("")
    classifier: Callable[[str], tuple[str, float]] = classify
    return classifier


def _section(stated: Statements) -> str | None:
    metas = map(tidy_text, stated.meta("article:section", "og:article:section", "parsely-section"))
    items = (tidy_text(element.get("content") or element.text) for element in stated.items("articleSection"))
    return next(
        filter(None, (name for names in (stated.texts("articleSection"), metas, items) for name in names)), None
    )


def _language(page: Page, stated: Statements, text: str) -> str | None:
    """Return the first valid declared language, else the recognised language of the text."""
    attribute = page.root.get("lang") or page.root.get("{http://www.w3.org/XML/1998/namespace}lang")
    declared = [attribute, *stated.texts("inLanguage"), *stated.meta("og:locale", "content-language", "language")]
    return next(filter(None, map(_code, filter(None, declared))), None) or identify_language(text)


def _code(declared: str) -> str | None:
    match = _LANGUAGE.match(declared[:20].strip().lower())
    if match is None or match[1] in _NO_LANGUAGE:
        return None
    code = _TWO_OF_THREE.get(match[1], match[1])
    return code if len(code) > 2 or code in _TWO_LETTERS else None  # noqa: PLR2004 — the letters of a code


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
