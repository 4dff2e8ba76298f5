"""Public extractors to compare with (extra `peers`): each from a page's bytes to a text, with the flags of its best.

All development data is UTF-8: who takes no bytes, or would guess their encoding at length, is given the text. The flags
are those with the best mean F1 over both data sets, except that trafilatura is there as it comes, too.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

from lxml import etree, html

_BLOCKS = frozenset(
    "address article aside blockquote body br caption dd details div dl dt figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody td tfoot th thead tr ul".split()
)
_TEXTLESS = frozenset(["head", "script", "style", "title"])


@dataclass(frozen=True)
class Peer:
    """An extractor: its distribution, the module to import, and the flags that it is given."""

    package: str
    module: str
    flags: dict = field(default_factory=dict)

    @property
    def version(self):
        return version(self.package)

    def load(self):
        """Return the call that makes a text of a page's bytes: None or an exception where it finds none."""
        logging.getLogger(self.module).setLevel(logging.CRITICAL + 1)  # what fails is counted
        return partial(_CALLS[self.module](), **self.flags)


def missing():
    """Return the distributions that are not installed."""
    return sorted({peer.package for peer in PEERS.values() if find_spec(peer.module) is None})


def load(names=None):
    """Return the call of each peer by its name; raises ModuleNotFoundError where one is not installed."""
    return {name: peer.load() for name, peer in PEERS.items() if names is None or name in names}


def attempt(extract, body):
    """Return a peer's text of a page; an empty one where it finds nothing or fails."""
    try:
        return extract(body) or ""
    except Exception:  # noqa: BLE001 — whatever a peer raises is its failure, and counted
        return ""


def _trafilatura():
    return import_module("trafilatura").extract


def _readability():
    document = import_module("readability").Document
    return lambda body: part(document(decode(body)).summary())


def _resiliparse():
    extract = import_module("resiliparse.extract.html2text").extract_plain_text
    return lambda body, **flags: extract(decode(body), **flags)


def decode(body):
    return body.decode("utf-8", "replace")


def part(summary):
    """Return the text of an article's HTML, blocks apart."""
    parts = []
    for event, element in etree.iterwalk(html.document_fromstring(summary), events=("start", "end", "comment", "pi")):
        if element.tag in _BLOCKS:
            parts.append("\n")
        if event != "start":
            parts.append(element.tail or "")
        elif element.tag not in _TEXTLESS:
            parts.append(element.text or "")
    return "".join(parts)


_CALLS = {"trafilatura": _trafilatura, "readability": _readability, "resiliparse": _resiliparse}

PEERS = {
    "trafilatura": Peer("trafilatura", "trafilatura"),
    "trafilatura, no comments": Peer("trafilatura", "trafilatura", {"include_comments": False}),
    "trafilatura, precision": Peer("trafilatura", "trafilatura", {"favor_precision": True}),
    "readability-lxml": Peer("readability-lxml", "readability"),
    "resiliparse": Peer(
        "resiliparse", "resiliparse", {"main_content": True, "alt_texts": False, "list_bullets": False}
    ),
}
