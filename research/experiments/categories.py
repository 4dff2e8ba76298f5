"""Pages with their classes, and the texts that methods keep of them.

Three classes of WebKB stand in for the paper's three categories. The types of pages of wcxb-dev are classes of pages of
today.
"""

from __future__ import annotations

import sys
import tarfile
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import urlsplit

import corpus
import topics
import webkb
import xxhash
from evaluation import LARGEST_PAGE
from lxml import etree
from stand_ins import decide, text_of

from cleaning import METHODS, PageError, parse
from cleaning.classifier.signals import PAGE_TYPES

CLASSES = {"course": 200, "student": 200, "faculty": 100}
PAGES_OF_A_TYPE = 90
FEWEST_OF_A_CLASS = 3
RAW = "raw"
METHOD_NAMES = [name for name, method in METHODS.items() if not method.needs]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A page with its class and its text, raw and as each method keeps it; its host and its title."""

    label: str
    texts: dict
    host: str = ""
    title: str = ""

    def with_title(self):
        """Return the page with its title as a line of each text, once."""
        texts = {
            name: text if self.title in text.splitlines() else f"{self.title}\n{text}"
            for name, text in self.texts.items()
        }
        return replace(self, texts=texts)


def load(limit):
    """Return pages of the classes, about `limit` of them (None: all), chosen by the hashes of their addresses.

    What is not a page is left out.
    """
    share = 1.0 if limit is None else min(1.0, limit / sum(CLASSES.values()))
    counts = {label: max(FEWEST_OF_A_CLASS, round(count * share)) for label, count in CLASSES.items()}
    with tarfile.open(corpus.DATA / "categories" / "webkb.tar.gz") as archive:
        pages = sorted(webkb.pages(archive, None), key=lambda page: xxhash.xxh64_hexdigest(page[1].encode()))
        return [page for label in counts for page in islice(_of_class(archive, pages, label), counts[label])]


def load_types(limit):
    """Return pages of each type of wcxb-dev, at most `limit` of one (None: all), chosen by the hashes of their ids."""
    count = PAGES_OF_A_TYPE if limit is None else min(max(FEWEST_OF_A_CLASS, limit), PAGES_OF_A_TYPE)
    samples = corpus.read_samples("wcxb-dev")
    chosen = [corpus.pin([sample for sample in samples if sample.type == name], count) for name in PAGE_TYPES]
    labelled = (_labelled(sample.body, sample.url, sample.type) for samples in chosen for sample in samples)
    return [page for page in labelled if page is not None]


def _of_class(archive, pages, wanted):
    for member, url, label, _ in pages:
        if label == wanted:
            page = _labelled(webkb.body(archive.extractfile(member).read()), url, label)
            if page is not None:
                yield page


def _labelled(body, url, label):
    """Return a page with its texts; None if it is not a page."""
    try:
        page = parse(body, url, max_bytes=LARGEST_PAGE)
        raw = topics.raw_text(body)
    except (PageError, etree.ParserError) as error:
        print(f"{url} is left out: {error}", file=sys.stderr)
        return None
    texts = {RAW: raw} | {method: text_of(decide(page, method)) for method in METHOD_NAMES}
    return Labelled(label, texts, urlsplit(url).hostname or "", " ".join(page.root.findtext(".//title", "").split()))
