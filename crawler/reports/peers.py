"""Public extractors to compare with (extras `peers`, `readability`): from a page's bytes to a text, as they are best.

The flags are those with the best mean F1 over two sets of development pages, except that trafilatura is there as it
comes, too. BTE (Finn, Kushmerick and Smyth, 2001) has no package that is kept, so it stands here: the stretch of tokens
with the most words in it and the most tags around it.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from lxml import etree, html

from crawler.errors import CompareError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BLOCKS = frozenset(
    "address article aside blockquote body br caption dd details div dl dt figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
_TEXTLESS = frozenset(["head", "script", "style", "title"])
_BTE_TOKEN = re.compile(
    r"<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->|<[^>]*>|[^<\s]+", re.DOTALL | re.IGNORECASE
)
_LANGUAGE = re.compile(rb"<html[^>]*\slang\s*=\s*[\"']?([a-z]{2})", re.IGNORECASE)
# jusText's lists of stop words.
_STOP_LISTS = dict(
    pair.split("=")
    for pair in (
        "bg=Bulgarian ca=Catalan cs=Czech da=Danish de=German el=Greek en=English es=Spanish et=Estonian fa=Persian "
        "fi=Finnish fr=French he=Hebrew hu=Hungarian id=Indonesian it=Italian nl=Dutch pl=Polish pt=Portuguese "
        "ro=Romanian ru=Russian sk=Slovak sv=Swedish tr=Turkish uk=Ukrainian vi=Vietnamese"
    ).split()
)


@dataclass(frozen=True)
class Peer:
    """An extractor: its distribution, the module to import, and the flags that it is given. BTE has no distribution."""

    package: str | None
    module: str | None
    call: Callable[[], Callable[..., Any]]
    flags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def version(self) -> str:
        return version(self.package or "blocksieve")

    @property
    def is_installed(self) -> bool:
        return self.module is None or find_spec(self.module) is not None

    def load(self) -> Callable[..., str | None]:
        """Return the call that makes a text of a page's bytes: None or an exception where it finds none."""
        if self.module is not None:
            logging.getLogger(self.module).setLevel(logging.CRITICAL + 1)  # what fails is counted
        extract = self.call()

        def run(body: bytes, encoding: str = "utf-8") -> str | None:
            text: str | None = extract(body, encoding, **self.flags)
            return text

        return run


def load_peers(text: str) -> dict[str, Callable[..., str | None]]:
    """Return the calls of the extractors that a list with semicolons names, or of `all`, by their names.

    Raises CompareError for an unknown one, and for one that is not installed.
    """
    names = list(PEERS) if text.strip() == "all" else [name.strip() for name in text.split(";") if name.strip()]
    for name in names:
        if name not in PEERS:
            raise CompareError(f"--peers names {name!r}; known: {'; '.join(PEERS)}")
    if missing := sorted({str(PEERS[name].package) for name in names if not PEERS[name].is_installed}):
        raise CompareError(f"--peers needs {', '.join(missing)}: pip install {' '.join(missing)}")
    return {name: PEERS[name].load() for name in names}


def part(summary: str) -> str:
    """Return the text of an article's HTML, blocks apart."""
    parts: list[str] = []
    for event, element in etree.iterwalk(html.document_fromstring(summary), events=("start", "end", "comment", "pi")):
        if element.tag in _BLOCKS:
            parts.append("\n")
        if event != "start":
            parts.append(element.tail or "")
        elif element.tag not in _TEXTLESS:
            parts.append(element.text or "")
    return "".join(parts)


def body_text(page: str) -> str:
    """Return the text of a page by BTE: the stretch that maximises the words inside and the tags outside."""
    tokens = [match[0] for match in _BTE_TOKEN.finditer(page)]
    kinds = [-1 if token.startswith("<") else 1 for token in tokens]
    # A word inside and a tag outside count one. So the stretch is that of the largest sum of words less tags (Kadane).
    sums = list(accumulate(kinds, initial=0))
    best = start = end = lowest = 0
    for place, total in enumerate(sums):
        if total < sums[lowest]:
            lowest = place
        if total - sums[lowest] > best:
            best, start, end = total - sums[lowest], lowest, place
    return " ".join(token for token in tokens[start:end] if not token.startswith("<"))


def _trafilatura() -> Callable[..., Any]:
    extract = import_module("trafilatura").extract
    return lambda body, _encoding, **flags: extract(body, **flags)


def _readability() -> Callable[..., Any]:
    document = import_module("readability").Document
    return lambda body, encoding: part(document(body.decode(encoding, "replace")).summary())


def _resiliparse() -> Callable[..., Any]:
    extract = import_module("resiliparse.extract.html2text").extract_plain_text
    return lambda body, encoding, **flags: extract(body.decode(encoding, "replace"), **flags)


def _justext() -> Callable[..., Any]:
    justext = import_module("justext")

    def extract(body: bytes, encoding: str) -> str:
        stated = _LANGUAGE.search(body)
        name = _STOP_LISTS.get(stated[1].decode().lower()) if stated else "English"
        # Its way for languages without a list of stop words.
        flags = {"stoplist": justext.get_stoplist(name)} if name else {"stoplist": (), "stopwords_low": 0}
        flags |= {} if name else {"stopwords_high": 0}
        page = body.decode(encoding, "replace").encode()
        paragraphs = justext.justext(page, encoding="utf-8", **flags)
        return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)

    return extract


def _boilerpy3() -> Callable[..., Any]:
    extractor = import_module("boilerpy3.extractors").ArticleExtractor(raise_on_failure=False)
    return lambda body, encoding: extractor.get_content(body.decode(encoding, "replace"))


def _goose3() -> Callable[..., Any]:
    goose = import_module("goose3").Goose({"enable_image_fetching": False})
    return lambda body, encoding: goose.extract(raw_html=body.decode(encoding, "replace")).cleaned_text


def _newspaper() -> Callable[..., Any]:
    article_of = import_module("newspaper").Article

    def extract(body: bytes, encoding: str) -> str | None:
        article = article_of("https://a.example/", fetch_images=False)
        article.download(input_html=body.decode(encoding, "replace"))
        article.parse()
        text: str | None = article.text
        return text

    return extract


def _inscriptis() -> Callable[..., Any]:
    get_text = import_module("inscriptis").get_text
    return lambda body, encoding: get_text(body.decode(encoding, "replace"))


def _bte() -> Callable[..., Any]:
    return lambda body, encoding: body_text(body.decode(encoding, "replace"))


PEERS: Mapping[str, Peer] = {
    "trafilatura": Peer("trafilatura", "trafilatura", _trafilatura),
    "trafilatura, no comments": Peer("trafilatura", "trafilatura", _trafilatura, {"include_comments": False}),
    "trafilatura, precision": Peer("trafilatura", "trafilatura", _trafilatura, {"favor_precision": True}),
    "readability-lxml": Peer("readability-lxml", "readability", _readability),
    "resiliparse": Peer(
        "resiliparse",
        "resiliparse",
        _resiliparse,
        {"main_content": True, "alt_texts": False, "list_bullets": False},
    ),
    "jusText": Peer("jusText", "justext", _justext),
    "boilerpy3": Peer("boilerpy3", "boilerpy3", _boilerpy3),
    "goose3": Peer("goose3", "goose3", _goose3),
    "newspaper4k": Peer("newspaper4k", "newspaper", _newspaper),
    "inscriptis": Peer("inscriptis", "inscriptis", _inscriptis),
    "BTE": Peer(None, None, _bte),
}
"""The extractors by their names."""
