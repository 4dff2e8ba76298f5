"""How well a method finds the main text: F1, precision and recall on the development data.

News (fundus-dev) is scored by 4-gram shingles, mixed pages (wcxb-dev) by words, each page by itself, then averaged.

    python tests/quality.py [--method default] [--json]

The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from cleaning import clean

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("BLOCKSIEVE_DATA", ROOT.parent / "shared" / "data"))
SETS = {"fundus-dev": 4, "wcxb-dev": 1}  # words to a shingle
_WORD = re.compile(r"\w+")
_LARGEST_PAGE = 100_000_000


@dataclass(frozen=True)
class Sample:
    """A page with its gold text and what it is grouped by; `half` splits the data by host."""

    id: str
    url: str | None
    body: bytes
    text: str
    type: str
    language: str | None
    half: str


@dataclass(frozen=True)
class Score:
    f1: float
    precision: float
    recall: float


def samples(name):
    """Yield the pages of a data set."""
    folder = DATA / "extraction" / name
    with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            truth = json.loads(line)
            host = urlsplit(truth.get("url") or "").hostname or truth["id"].rsplit("_", 3)[0]
            yield Sample(
                truth["id"],
                truth.get("url"),
                gzip.decompress((folder / truth["html_path"]).read_bytes()),
                truth["text"],
                truth.get("type") or "article",
                truth.get("lang"),
                "hosts A" if zlib.crc32(host.encode()) % 2 else "hosts B",
            )


def score(found, gold, size):
    """Return the score of a text against the gold one, over multisets of shingles of that many words."""
    ours, theirs = shingles(found, size), shingles(gold, size)
    common = (ours & theirs).total()
    if not ours and not theirs:
        return Score(1.0, 1.0, 1.0)
    precision, recall = common / max(1, ours.total()), common / max(1, theirs.total())
    return Score(2 * precision * recall / (precision + recall) if common else 0.0, precision, recall)


def shingles(text, size):
    words = _WORD.findall(text.lower())
    return Counter(zip(*(words[place:] for place in range(size)), strict=False))


def evaluate(method, name):
    """Return the scores of a data set's pages by group: all, type, language, half of the hosts."""
    groups = defaultdict(list)
    for sample in samples(name):
        text = clean(sample.body, sample.url, method=method, max_bytes=_LARGEST_PAGE).text
        found = score(text, sample.text, SETS[name])
        for group in dict.fromkeys(filter(None, ["all", sample.half, sample.type, sample.language])):
            groups[group].append(found)
    return groups


def summary(scores):
    """Return the means over pages and the share of pages under 0.5."""
    pages = len(scores)
    means = {field: round(sum(getattr(one, field) for one in scores) / pages, 4) for field in Score.__annotations__}
    return {"pages": pages, **means, "under_half": round(sum(one.f1 < 0.5 for one in scores) / pages, 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="default")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    if not DATA.exists():
        parser.error(f"there is no data at {DATA}; set BLOCKSIEVE_DATA")
    results = {
        name: {group: summary(scores) for group, scores in evaluate(options.method, name).items()} for name in SETS
    }
    if options.json:
        print(json.dumps(results, indent=2))
        return
    table = Table("data", "pages of", "pages", "F1", "precision", "recall", "under 0.5")
    for name, groups in results.items():
        for group, row in sorted(groups.items(), key=lambda item: -item[1]["pages"]):
            table.add_row(name, group, *map(str, row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
