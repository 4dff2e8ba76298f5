"""The manifests of the data sets: which pages the figures in the docs are of, so that others can get the same ones.

`research/manifests/SET.tsv` has a row for each page: its id, address, and the XXH3 hashes (128 bits) of its bytes
and of its gold text. Its README says where each set comes from. Without an argument, the program compares the data in
BLOCKSIEVE_DATA with them, and ends with 1 if a page is missing, new or another one.

    python research/manifest.py [--write] [SET ...]
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
from pathlib import Path

from corpus import DATA
from xxhash import xxh3_128_hexdigest

FOLDER = Path(__file__).parent / "manifests"
COLUMNS = ("id", "url", "bytes", "gold")
SETS = ("wcxb-dev", "fundus-dev", "magic-dev", "snippets-dev", "dates-dev", "sites-dev")
# What a page is judged by, besides its text.
_GOLD = ("text", "with", "without", "title", "author", "date", "type", "lang")


def describe(name):
    """Return the rows of a set's manifest, in the order of its pages."""
    folder = DATA / "extraction" / name
    with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
        truths = [json.loads(line) for line in lines]
    return [
        (
            str(truth["id"]),
            truth.get("url") or "",
            xxh3_128_hexdigest(gzip.decompress((folder / truth["html_path"]).read_bytes())),
            xxh3_128_hexdigest(json.dumps([truth.get(key) for key in _GOLD], ensure_ascii=False).encode()),
        )
        for truth in truths
    ]


def read_manifest(name):
    """Return the rows of the manifest of a set."""
    with (FOLDER / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t")
    assert tuple(head) == COLUMNS
    return [tuple(row) for row in rows]


def write_manifest(name):
    with (FOLDER / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerows([COLUMNS, *describe(name)])


def differences(name):
    """Return a line for each page that is missing, new or another one."""
    known = {row[0]: row for row in read_manifest(name)}
    present = {row[0]: row for row in describe(name)}
    lines = [f"{name}: {page} is missing" for page in known.keys() - present.keys()]
    lines += [f"{name}: {page} is not in the manifest" for page in present.keys() - known.keys()]
    for page in known.keys() & present.keys():
        other = [column for column, old, new in zip(COLUMNS, known[page], present[page], strict=True) if old != new]
        lines += [f"{name}: {page} has another {', '.join(other)}"] if other else []
    return sorted(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"some of {', '.join(SETS)} (default: all)")
    parser.add_argument("--write", action="store_true", help="write the manifests again")
    options = parser.parse_args()
    if unknown := set(options.sets) - set(SETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(SETS)}")
    lines = []
    for name in options.sets or SETS:
        if options.write:
            write_manifest(name)
        lines += differences(name)
        print(f"{name}: {len(read_manifest(name)):,} pages")
    print("\n".join(lines[:50]) or "the data is that of the manifests")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
