"""Unpack WebKB for a crawl: saved pages with their index, and the class of each page.

python webkb.py webkb.tar.gz FOLDER [--most N]

Writes index.tsv and the pages to FOLDER, for `scrapy crawl archive -s REPLAY=FOLDER`, and labels.csv (url, class,
university). WebKB has 8,282 pages of computer science departments of January 1997, by class and university; four of its
seven classes are used here. --most N takes at most N pages of each class and university.
"""

from __future__ import annotations

import argparse
import csv
import tarfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from w3lib.url import safe_url_string

if TYPE_CHECKING:
    from collections.abc import Iterator

CLASSES = ("course", "faculty", "project", "student")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with (
        tarfile.open(options.archive) as archive,
        (options.folder / "index.tsv").open("w", encoding="utf-8") as index,
        (options.folder / "labels.csv").open("w", encoding="utf-8", newline="") as labels,
    ):
        index.write("file\turl\n")
        table = csv.writer(labels)
        table.writerow(["url", "class", "university"])
        for number, (member, url, label, university) in enumerate(pages(archive, options.most)):
            file = archive.extractfile(member)
            assert file is not None  # a plain file
            (options.folder / f"{number:05}.html").write_bytes(body(file.read()))
            index.write(f"{number:05}.html\t{url}\n")
            table.writerow([url, label, university])


def pages(archive: tarfile.TarFile, most: int | None) -> Iterator[tuple[tarfile.TarInfo, str, str, str]]:
    """Yield each page once, with its address, class and university."""
    seen = set()
    counts = Counter[tuple[str, str]]()
    for member in sorted(archive.getmembers(), key=lambda member: member.name):
        parts = member.name.split("/")
        if not member.isfile() or parts[-3] not in CLASSES:
            continue
        _, label, university, name = parts[-4:]
        # http_^^host^path^file.html; written as Scrapy writes it.
        url = safe_url_string("http://" + name.split("^^", 1)[1].replace("^", "/"))
        counts[label, university] += 1
        if url not in seen and (most is None or counts[label, university] <= most):
            seen.add(url)
            yield member, url, label, university


def body(saved: bytes) -> bytes:
    """Return a saved page without the HTTP headers before it."""
    for end in (b"\r\n\r\n", b"\n\n"):
        if end in saved[:4000]:
            return saved.split(end, 1)[1]
    return saved


if __name__ == "__main__":
    main()
