"""What the table rests on: saved pages with their links, and documents."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

from cleaning import PageError, clean, parse
from crawler.errors import ConfigError, ReplayError
from crawler.replay.folder import index_rows

if TYPE_CHECKING:
    from pathlib import Path

_SITES = "sites"
_NO_URL = ".invalid/"


@dataclass(frozen=True)  # no slots: its links are read once, where they are asked for
class SavedPage:
    """A saved page; `url` is "" where nobody wrote it down. Links of such a page are taken to be `home`'s."""

    body: bytes
    url: str
    home: str

    @cached_property
    def links(self) -> frozenset[str]:
        """The addresses that it links to, feeds in its head among them."""
        try:
            root = parse(self.body, self.url or self.home).root
        except PageError:
            return frozenset()
        found = set()
        for element in root.iter("a", "area", "link"):
            try:
                found.add(urldefrag(urljoin(self.url or self.home, (element.get("href") or "").strip())).url)
            except ValueError:
                continue
        return frozenset(found)

    @property
    def language(self) -> str | None:
        """The language of what cleaning keeps of it."""
        return clean(self.body, url=self.url or self.home).language


class SavedPages:
    """The saved pages below a folder's `sites`, and documents in it and beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._urls = {path: url for url, path in index_rows(folder / _SITES)}
        except ReplayError as error:
            raise ConfigError(f"{folder} holds no saved pages: {error}") from error
        self.page = lru_cache(maxsize=64)(self._page)

    def _page(self, name: str, home: str) -> SavedPage | None:
        """Return a saved page (`sites/bbc/16.html.gz`), None where there is none."""
        path = self._inside(self._folder, name)
        if path is None:
            return None
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        url = self._urls.get(path, "")
        return SavedPage(body, "" if _NO_URL in url else url, home)

    def document(self, name: str) -> str | None:
        """Return a document's text (`papers/weighted.txt, Table 5`), None where there is none."""
        file = name.partition(",")[0].strip()
        # Documents may lie beside the folder of the data.
        path = self._inside(self._folder, file) or self._inside(self._folder.parent, file)
        return None if path is None else path.read_text("utf-8", "replace")

    def _inside(self, folder: Path, name: str) -> Path | None:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None


def is_page(name: str) -> bool:
    """Tell whether evidence is a saved page, and not a document."""
    return name.startswith(f"{_SITES}/")


def names_host(text: str, host: str) -> bool:
    """Tell whether a text has a host's name, not as a part of another one."""
    return re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)", text, re.IGNORECASE) is not None
