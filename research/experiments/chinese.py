"""Chinese articles with gold texts, and the saved pages of the four Chinese portals, which have none."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING

import corpus
from evaluation import LARGEST_PAGE

from cleaning import parse
from cleaning.metadata.languages import identify_language

if TYPE_CHECKING:
    from pathlib import Path

PORTALS = ("sina", "qq", "sohu", "163")
DOMAINS = frozenset({"sina.com.cn", "sina.cn", "qq.com", "sohu.com", "163.com"})


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved page of a portal."""

    portal: str
    path: Path
    url: str | None

    def read(self):
        return parse(gzip.decompress(self.path.read_bytes()), self.url, max_bytes=LARGEST_PAGE)


def articles():
    """Return the Chinese articles of magic-dev, with their gold texts."""
    samples = corpus.pin(corpus.read_samples("magic-dev"), None)
    return [sample for sample in samples if sample.type == "article" and identify_language(sample.text) == "zh"]


def load():
    """Return the portals' saved pages, in the order of their index; none where the data has no sites."""
    index = corpus.DATA / "sites" / "index.tsv"
    if not index.exists():
        return []
    with index.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows_of_portals = [row for row in rows if row["site"] in PORTALS]
    return [Saved(row["site"], index.parent / row["site"] / row["file"], row["url"] or None) for row in rows_of_portals]
