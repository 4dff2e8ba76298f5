"""Saved pages without gold texts, which readers annotate: a folder with a list of its pages."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cleaning.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cleaning.blocks import Page

MAX_PAGE_BYTES = 100_000_000
_LIST, _INDEX = "truth.jsonl", "index.tsv"
# What the column `decodes_as` of an index says; pages of other encodings state theirs.
_DECODED = {"utf8-ok": "utf-8", "gb18030-ok": "gb18030"}
_ENDING = ".html.gz"


@dataclass(frozen=True, slots=True)
class PoolPage:
    """A saved page: the name of its folder, its id there, its gzipped file, and its URL and encoding where known.

    `site` names the site of a page without a URL.
    """

    set: str
    id: str
    site: str
    path: Path
    url: str | None
    encoding: str | None

    @property
    def name(self) -> str:
        """Set and id of the page: how sheets and messages name it."""
        return f"{self.set}/{self.id}"

    @property
    def host(self) -> str:
        """The host of the page's URL, or its site."""
        return urlsplit(self.url or "").hostname or self.site

    def read_body(self) -> bytes:
        """Return the bytes of the page. Raises OSError."""
        return gzip.decompress(self.path.read_bytes())

    def parse(self, body: bytes) -> Page:
        """Return the page as a tree. Raises PageError for a page that is binary."""
        return parse(body, self.url, self.encoding, max_bytes=MAX_PAGE_BYTES)


def read_pool(folder: Path) -> list[PoolPage]:
    """Return the pages of a folder, in the order of its list.

    The list is `truth.jsonl` (id, html_path, and where known url, encoding and name, as in `site/1.html`), or
    `index.tsv` (site, file, url, decodes_as), whose pages lie in the folders of their sites. Raises OSError if there is
    neither, ValueError or KeyError for a broken list.
    """
    name = folder.resolve().name
    if (folder / _LIST).is_file():
        return list(_listed(folder, name))
    return list(_indexed(folder, name))


def _listed(folder: Path, name: str) -> Iterator[PoolPage]:
    with (folder / _LIST).open(encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            site = str(row.get("name") or row["id"]).partition("/")[0]
            yield PoolPage(name, row["id"], site, folder / row["html_path"], row.get("url"), row.get("encoding"))


def _indexed(folder: Path, name: str) -> Iterator[PoolPage]:
    with (folder / _INDEX).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            site, number = row["site"], row["file"].removesuffix(_ENDING)
            path, encoding = folder / site / row["file"], _DECODED.get(row["decodes_as"])
            yield PoolPage(name, f"{site}/{number}", site, path, row["url"] or None, encoding)
