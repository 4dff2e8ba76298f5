"""Pages of three classes, which stand in for the paper's three categories, and the texts that methods keep of them."""

from __future__ import annotations

import sys
import tarfile
from dataclasses import dataclass
from itertools import islice

import corpus
import topics
import webkb
import xxhash
from lxml import etree
from stand_ins import decide, text_of

from cleaning import METHODS, PageError, parse

CLASSES = {"course": 200, "student": 200, "faculty": 100}
RAW = "raw"
METHOD_NAMES = [name for name, method in METHODS.items() if not method.needs]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A page with its class and its text, raw and as each method keeps it."""

    label: str
    texts: dict


def load(counts):
    """Return so many pages of each class, chosen by the hashes of their addresses; what is not a page is left out."""
    with tarfile.open(corpus.DATA / "categories" / "webkb.tar.gz") as archive:
        pages = sorted(webkb.pages(archive, None), key=lambda page: xxhash.xxh64_hexdigest(page[1].encode()))
        return [page for label in counts for page in islice(_labelled(archive, pages, label), counts[label])]


def _labelled(archive, pages, wanted):
    for member, url, label, _ in pages:
        if label != wanted:
            continue
        body = webkb.body(archive.extractfile(member).read())
        try:
            page = parse(body, url)
            raw = topics.raw_text(body)
        except (PageError, etree.ParserError) as error:
            print(f"{url} is left out: {error}", file=sys.stderr)
            continue
        yield Labelled(label, {RAW: raw} | {method: text_of(decide(page, method)) for method in METHOD_NAMES})
