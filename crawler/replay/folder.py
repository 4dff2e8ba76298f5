"""A folder of saved pages with an index.tsv."""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from crawler.errors import ReplayError
from crawler.replay.source import Absence, ReplaySource, Saved, check_url

if TYPE_CHECKING:
    from collections.abc import Iterator

_INDEX = "index.tsv"
# No charset: a saved page's own bytes decide, as its server's header is not known.
_HEADERS = (("Content-Type", "text/html"),)


class FolderSource(ReplaySource):
    """Pages at `<folder>/<site>/<file>`, listed in an index with columns by name: `file`, and maybe `site`, `url`.

    A row without URL stands for `https://<site>.invalid/<file>`. Files that end in .gz are unpacked.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        super().__init__(index_rows(folder))

    def _read(self, place: Path) -> Saved | Absence:
        opened = gzip.open if place.suffix == ".gz" else open
        try:
            with opened(place, "rb") as file:
                body = file.read(self._max_bytes + 1)
        except FileNotFoundError:
            return Absence.MISSING_FILE
        except (OSError, EOFError, zlib.error):
            return Absence.DAMAGED_FILE
        return Saved(200, _HEADERS, body)


def index_rows(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the URL and the file of each row of the folder's index."""
    index, root = folder / _INDEX, folder.resolve()
    try:
        with index.open(encoding="utf-8-sig", newline="") as lines:
            yield from _parse(lines, root, index)
    except FileNotFoundError as error:
        raise ReplayError(f"REPLAY is {str(folder)!r}, a folder without {_INDEX}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReplayError(f"{index} cannot be read: {error}") from error


def _parse(lines: TextIO, root: Path, index: Path) -> Iterator[tuple[str, Path]]:
    reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    if "file" not in (reader.fieldnames or ()):
        raise ReplayError(f"{index} has no column 'file'; its columns are {', '.join(reader.fieldnames or ())}")
    for row in reader:
        where = f"{index}, line {reader.line_num}"
        site, file = row.get("site") or "", row["file"] or ""
        path = _inside(root, site, file, where)
        url = row.get("url") or f"https://{quote(site) or 'replay'}.invalid/{quote(file)}"
        yield check_url(url, where), path


def _inside(root: Path, site: str, file: str, where: str) -> Path:
    """Return the file's path. Raises ReplayError for one that leads out of the folder, directly or by a link."""
    if not file or "\x00" in site + file:
        raise ReplayError(f"{where}: {file!r} is no file name")
    for part in (site, file):
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise ReplayError(f"{where}: {part!r} leads out of the replay folder")
    path = (root / site / file).resolve()
    if not path.is_relative_to(root):
        raise ReplayError(f"{where}: {file!r} is a link that leads out of the replay folder")
    return path
