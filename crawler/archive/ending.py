"""Where the whole records of an archive end: a crawl that is killed may leave a part of one behind them."""

from __future__ import annotations

import mmap
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from io import FileIO

# How a record begins, which is a gzip member of its own (magic number, method deflate), and how it goes on unpacked.
_MEMBER = b"\x1f\x8b\x08"
_RECORD = b"WARC/1."
_CHUNK_BYTES = 1 << 20


class NoArchiveError(Exception):
    """A file that is no archive, or is damaged otherwise than by an end that is missing."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A gzip member: what it begins with when unpacked, and what is behind it, None where its end is missing."""

    beginning: bytes
    behind: bytes | None


def sound_end(file: FileIO) -> int:
    """Return where the last whole record ends, 0 where there is none. Raises NoArchiveError.

    Records are looked for from the end on, so the file's size does not matter.
    """
    end = file.seek(0, 2)
    if end == 0:
        return 0
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        first = _member(data, 0, end)
        if first is None or not _RECORD.startswith(first.beginning):
            raise NoArchiveError("it does not begin with a record")
        if len(first.beginning) < len(_RECORD):
            return 0  # cut off before it said anything
        while end and (cut := _cut(data, end)) is not None:
            end = cut
    return end


def _cut(data: mmap.mmap, end: int) -> int | None:
    """Return where to cut off what is behind the last whole record before `end`; None where nothing is."""
    at = end
    while (at := data.rfind(_MEMBER, 0, at)) >= 0:
        member = _member(data, at, end)
        if member is None or member.beginning != _RECORD:
            continue  # bytes within a record, or too few of one
        if member.behind is None:
            return at
        if not member.behind:
            return None
        if _MEMBER.startswith(member.behind[: len(_MEMBER)]):
            return end - len(member.behind)
        break
    raise NoArchiveError("there is something else behind its records")


def _member(data: mmap.mmap, begin: int, end: int) -> _Member | None:
    """Return the member that begins there; None where these bytes are none."""
    unpacking = zlib.decompressobj(zlib.MAX_WBITS + 16)
    beginning = b""
    for at in range(begin, end, _CHUNK_BYTES):
        until = min(at + _CHUNK_BYTES, end)
        try:
            unpacked = unpacking.decompress(data[at:until])
        except zlib.error:
            return None
        beginning = (beginning + unpacked[: len(_RECORD)])[: len(_RECORD)]
        if unpacking.eof:
            return _Member(beginning, data[until - len(unpacking.unused_data) : end])
    return _Member(beginning, None)
