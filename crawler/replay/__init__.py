"""Saved pages in place of the network: from a folder with an index.tsv, or from a WARC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawler.errors import ReplayError
from crawler.replay.folder import FolderSource
from crawler.replay.source import Absence, ReplaySource, Saved
from crawler.replay.warc import WarcSource

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["WARC_ENDS", "Absence", "FolderSource", "ReplaySource", "Saved", "WarcSource", "open_source"]

WARC_ENDS = (".warc", ".warc.gz")


def open_source(path: Path, max_bytes: int) -> ReplaySource:
    """Return the replay source at a path; of each page at most `max_bytes` and one more byte are ever read.

    Raises ReplayError for one that is missing, damaged, of no known form, or points outside its folder.
    """
    if path.is_dir():
        return FolderSource(path, max_bytes)
    if not path.exists():
        raise ReplayError(f"REPLAY is {str(path)!r}, which does not exist")
    if path.name.lower().endswith(WARC_ENDS):
        return WarcSource(path, max_bytes)
    raise ReplayError(
        f"REPLAY is {str(path)!r}, neither a folder with index.tsv nor a file that ends in .warc or .warc.gz"
    )
