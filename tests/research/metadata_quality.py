"""How often the metadata that we read is right, beside trafilatura's, on the pages of wcxb-dev with known metadata.

    python tests/research/metadata_quality.py [--half A|B] [--pages N] [--wrong FIELD] [--json]

Right is: for a title, the gold one after NFKC, straight quotation marks and dashes, and white space as one space;
leniently, also without case, punctuation and white space. For authors, the same set of names, without case and full
stops. For a date, the same day. Only pages whose gold has the field count; an empty answer there is wrong.

trafilatura is installed apart (`pip install trafilatura`); without it the table has our column only. The data is
found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass
from html import unescape
from importlib.util import find_spec

import corpus
from rich.console import Console
from rich.table import Table

from cleaning import parse
from cleaning.metadata.page import read_metadata

LARGEST_PAGE = 100_000_000
FIELDS = ("title", "title, leniently", "author", "published")
_STRAIGHT = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u2010": "-"}
)
_BETWEEN_NAMES = re.compile(r"\s*[;,&|]\s*(?:and\s+)?|\s+and\s+")


@dataclass(frozen=True)
class Found:
    """A page's title, authors and date, as the gold or a tool has them; None and () where it has none."""

    title: str | None
    authors: frozenset[str]
    published: str | None


def ours(sample):
    found = read_metadata(parse(sample.body, sample.url, max_bytes=LARGEST_PAGE))
    return Found(found.title, names(found.author), found.published)


def trafilaturas(sample):
    from trafilatura import extract_metadata  # noqa: PLC0415 — it may not be there

    found = extract_metadata(sample.body, default_url=sample.url)
    return Found(found.title, names(found.author), found.date) if found else Found(None, frozenset(), None)


def gold(truth):
    return Found(truth.get("title"), names(truth.get("author")), (truth.get("date") or "")[:10] or None)


def names(text):
    """Return the names in a text, as they are compared."""
    plain = unicodedata.normalize("NFKC", unescape(text or "")).translate(_STRAIGHT).casefold().replace(".", " ")
    return frozenset(" ".join(name.split()) for name in _BETWEEN_NAMES.split(plain) if name.strip())


def same(found, wanted):
    """Return which fields of the gold are right; fields that the gold does not have are left out."""
    right = {}
    if wanted.title:
        right["title"] = plain_title(found.title) == plain_title(wanted.title)
        right["title, leniently"] = letters(found.title) == letters(wanted.title)
    if wanted.authors:
        right["author"] = found.authors == wanted.authors
    if wanted.published:
        right["published"] = found.published == wanted.published
    return right


def plain_title(title):
    return " ".join(unicodedata.normalize("NFKC", unescape(title or "")).translate(_STRAIGHT).split())


def letters(title):
    return re.sub(r"[\W_]+", "", plain_title(title).casefold())


def read_truths():
    """Return the gold lines of the data set by the ids of their pages."""
    with (corpus.DATA / "extraction" / "wcxb-dev" / "truth.jsonl").open(encoding="utf-8") as lines:
        return {truth["id"]: truth for truth in map(json.loads, lines)}


def measure(samples, tools, wrong=None):
    """Return by tool and field how many answers are right, and of how many; prints our wrong ones of that field."""
    truths = read_truths()
    right = {tool: Counter() for tool in tools}
    known = Counter()
    for done, sample in enumerate(samples, 1):
        wanted = gold(truths[sample.id])
        for tool, read in tools.items():
            verdict = same(found := read(sample), wanted)
            right[tool].update(field for field, correct in verdict.items() if correct)
            if tool == "ours":
                known.update(verdict.keys())
                if wrong in verdict and not verdict[wrong]:
                    print(f"{sample.id} {sample.url}\n  found  {found}\n  wanted {wanted}")
        if done % 200 == 0:
            print(f"{done}/{len(samples)} pages", file=sys.stderr)
    return {field: {"of": known[field], **{tool: right[tool][field] for tool in tools}} for field in FIELDS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("A", "B"), help="only the pages of one half of the hosts")
    parser.add_argument("--pages", type=int, help="a pinned sample of so many pages")
    parser.add_argument("--wrong", choices=FIELDS, help="print the pages where this field of ours is wrong")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    if not corpus.DATA.exists():
        parser.error(f"there is no data at {corpus.DATA}; set BLOCKSIEVE_DATA")
    samples = corpus.pin(corpus.read_samples("wcxb-dev"), options.pages)
    samples = [sample for sample in samples if not options.half or sample.half == f"hosts {options.half}"]
    tools = {"ours": ours}
    if find_spec("trafilatura") and not options.wrong:
        tools["trafilatura"] = trafilaturas
    rows = measure(samples, tools, options.wrong)
    if options.json:
        print(json.dumps({"pages": len(samples), "right": rows}, indent=2))
        return
    table = Table("field", "of", *tools, title=f"{len(samples)} pages of wcxb-dev: right answers")
    for field, row in rows.items():
        shares = [f"{row[tool]} ({row[tool] / max(1, row['of']):.1%})" for tool in tools]
        table.add_row(field, str(row["of"]), *shares)
    Console().print(table)


if __name__ == "__main__":
    main()
