"""The records of a WARC file, also of a damaged one: each record that is lost is reported with its reason.

The libraries that read WARC files either stop at the first damage or pass over it in silence. A gzip file with a member
for each record, as the standard asks for, continues with the next member. In any other file the next record is searched
for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zlib
    from collections.abc import Callable, Iterator
    from typing import BinaryIO
else:
    try:
        from zlib_ng import zlib_ng as zlib  # unpacks at twice the speed
    except ImportError:
        import zlib

_CHUNK_BYTES = 1 << 18
_HEADER_BYTES_MAX = 1 << 16
# So much of a damaged gzip member is searched again for the next one; the rest is searched from where reading stopped.
_REWIND_BYTES = 1 << 20
_GZIP_START = b"\x1f\x8b\x08"
_RECORD_START = b"WARC/"
_RECORD_END = b"\r\n\r\n"
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_NEXT_RECORD = re.compile(rb"(?:\A|\n)(?=WARC/[01]\.)")
# The file may end within it.
_FOLLOWING_RECORD = re.compile(rb"WARC/(?:[01](?:\.|\Z)|\Z)")
_LOOK_AHEAD = 64  # bytes; the first ones of a record and the line ends before it are fewer
_LINE_ENDS = re.compile(rb"[\r\n]*")
_PADDING_BYTES = b"\r\n\0"
_PADDING = re.compile(rb"[\r\n\0]*")


class Damage(StrEnum):
    """Why a record of a file is lost."""

    TRUNCATED = "truncated"
    """The file ends within the record."""
    UNPACKABLE = "unpackable"
    """The record's compressed bytes cannot be unpacked."""
    BAD_HEADER = "bad_header"
    """There is no WARC header where one should be, or it states no length."""
    WRONG_LENGTH = "wrong_length"
    """The record is longer or shorter than it states."""


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record: where it begins in the file, its header with the names in lower case, and its block.

    A block longer than the limit is cut one byte after it; `length` is the whole length.
    """

    offset: int
    header: dict[str, str]
    block: bytes
    length: int


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A record that cannot be read, its place in the file and the reason."""

    offset: int
    damage: Damage


class _LostError(Exception):
    def __init__(self, damage: Damage) -> None:
        super().__init__(damage)
        self.damage = damage


def read_warc(file: BinaryIO, max_bytes: int) -> Iterator[WarcRecord | LostRecord]:
    """Yield each record of a WARC file, gzipped or not, in order, or the fact that it is lost. An empty file has none.

    At most `max_bytes` + 1 bytes of a block are kept.
    """
    start = file.read(len(_GZIP_START))
    source = _GzipSource(file, start) if start == _GZIP_START else _PlainSource(file, start)
    while source.begin():
        reader = _RecordReader(source, max_bytes)
        damaged, count = False, 0
        try:
            while not reader.is_at_end():
                yield reader.read()
                count += 1
        except _LostError as lost:
            yield LostRecord(reader.offset, lost.damage)
            damaged = True
        if damaged and not source.recover(reader.take_rest(), after_others=count > 0):
            return


class _PlainSource:
    """An uncompressed file as one member. After damage, a member begins at the next record."""

    def __init__(self, file: BinaryIO, start: bytes) -> None:
        self._file = file
        self._rest = start
        self.offset = 0
        self._begun = False

    def begin(self) -> bool:
        if not self._begun:
            self._begun = True
            self._rest += self._file.read(_CHUNK_BYTES)
            return bool(self._rest)
        return bool(self._rest)

    def read(self) -> bytes:
        """Return more bytes; b"" at the end."""
        found, self._rest = self._rest, b""
        return found or self._file.read(_CHUNK_BYTES)

    def recover(self, rest: tuple[int, bytes], *, after_others: bool) -> bool:  # noqa: ARG002 — of both sources
        """Go to the next record behind the place of some bytes that were read; return False if there is none."""
        found = _find_record(rest[1], self.read)
        self.offset, self._rest = (rest[0] + found[0], found[1]) if found else (rest[0], b"")
        return found is not None

    def is_packed(self) -> bool:
        return False


class _GzipSource:
    """The members of a gzip file. After damage, the next member that begins like a record."""

    def __init__(self, file: BinaryIO, start: bytes) -> None:
        self._file = file
        self._pending = start
        self._position = 0  # in the file, of the pending bytes
        self._seen = bytearray()
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._rest = b""  # unpacked bytes that are read again
        self._has_several = False  # records are in this member
        self.offset = 0

    def begin(self) -> bool:
        """Begin the next member, or go on in this one after damage; return False at the end of the file."""
        if self._rest:
            return True
        self._skip_padding()
        self.offset = self._position
        self._has_several = False
        self._seen.clear()
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return bool(self._pending)

    def read(self) -> bytes:
        """Return more of the member's bytes; b"" at its end."""
        if self._rest:
            found, self._rest = self._rest, b""
            return found
        while not self._inflate.eof:
            if not self._pending:
                self._pending = self._file.read(_CHUNK_BYTES)
                if not self._pending:
                    raise _LostError(Damage.TRUNCATED)
            given = self._pending
            try:
                found = self._inflate.decompress(given, _CHUNK_BYTES)
            except zlib.error as error:
                raise _LostError(Damage.UNPACKABLE) from error
            left = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            used = len(given) - len(left)
            self._remember(given[:used])
            self._position += used
            self._pending = left
            if found:
                return found
        return b""

    def recover(self, rest: tuple[int, bytes], *, after_others: bool) -> bool:
        """Go to the next record of a member that holds several, else to the next member; return False if there is none.

        A member of its own may quote a record in its text, so it is only passed over.
        """
        self._has_several |= after_others or self.offset == 0
        try:
            if self._has_several and (found := _find_record(rest[1], self.read)):
                self._rest = found[1]
                return True
            while self.read():
                pass
        except _LostError as lost:
            # The beginning of the damaged member is taken off, so that it is not found again.
            again = bytes(self._seen[1:]) if self._seen else self._pending[1:]
            if self._seen:
                self._position -= len(again)
                self._pending = again + self._pending
            else:
                self._position += 1
                self._pending = again
            return self._find_member() if lost.damage is not Damage.TRUNCATED or self._pending else False
        return True

    def is_packed(self) -> bool:
        return True

    def _skip_padding(self) -> None:
        """Read on behind bytes that some programs write after the last member."""
        while True:
            if not self._pending:
                self._pending = self._file.read(_CHUNK_BYTES)
            left = self._pending.lstrip(_PADDING_BYTES)
            self._position += len(self._pending) - len(left)
            if left or not self._pending:
                self._pending = left
                return
            self._pending = b""

    def _remember(self, used: bytes) -> None:
        if len(self._seen) < _REWIND_BYTES:
            self._seen += used
        else:
            self._seen.clear()

    def _find_member(self) -> bool:
        while True:
            at = self._pending.find(_GZIP_START)
            if at < 0:
                kept = self._pending[-len(_GZIP_START) + 1 :]
                more = self._file.read(_CHUNK_BYTES)
                if not more:
                    self._pending = b""
                    return False
                self._position += len(self._pending) - len(kept)
                self._pending = kept + more
                continue
            self._position += at
            self._pending = self._pending[at:]
            if len(self._pending) < _CHUNK_BYTES:
                self._pending += self._file.read(_CHUNK_BYTES)
            if _is_record(self._pending):
                return True
            self._position += 1
            self._pending = self._pending[1:]


def _find_record(pending: bytes, read: Callable[[], bytes]) -> tuple[int, bytes] | None:
    """Return how many bytes stand before the next record, and the bytes from it on; None if there is none.

    Some bytes were read already; `read` returns more of them, b"" at the end.
    """
    passed = 0
    while (found := _NEXT_RECORD.search(pending)) is None:
        more = read()
        if not more:
            return None
        kept = pending[-len(_RECORD_START) - 3 :]
        passed += len(pending) - len(kept)
        pending = kept + more
    return passed + found.end(), pending[found.end() :]


def _is_record(packed: bytes) -> bool:
    """Return True if some compressed bytes begin like a record."""
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, len(_RECORD_START)) == _RECORD_START
    except zlib.error:
        return False


class _RecordReader:
    """Reads the records of one member."""

    def __init__(self, source: _PlainSource | _GzipSource, max_bytes: int) -> None:
        self._source = source
        self._max_bytes = max_bytes
        self._buffer = b""
        self._at = 0  # the bytes of the buffer before it are used
        self._position = source.offset  # of the next byte, in a file that is not packed
        self._began = source.offset  # the position of the last record
        self._block: list[bytes] = []
        self._block_position = -1  # before the first block, and if the block was cut
        self.offset = source.offset

    def is_at_end(self) -> bool:
        """Return True if nothing but line ends follows in the member."""
        while self._has_only(_PADDING):
            self._skip(_PADDING)
            if not self._fill():
                return True
        return False

    def read(self) -> WarcRecord:
        """Return the next record. Raises _LostError."""
        self._skip(_LINE_ENDS)
        self._began = self._position
        self.offset = self._source.offset if self._source.is_packed() else self._position
        self._block_position = -1
        header = self._read_header()
        length = _length_of(header)
        block = self._read_block(length)
        self._expect_end()
        return WarcRecord(self.offset, header, block, length)

    def take_rest(self) -> tuple[int, bytes]:
        """Return the bytes behind the header of the last record, with their place: its length may be a lie.

        If the header could not be read, that is all but the first byte: else the record would be found again.
        """
        if self._position == self._began:
            self._use(1)
        rest = self._buffer[self._at :]
        if self._block_position < 0:
            return self._position, rest
        return self._block_position, b"".join([*self._block, rest])

    def _read_header(self) -> dict[str, str]:
        while (end := _HEADER_END.search(self._buffer, self._at)) is None:
            if self._left() > _HEADER_BYTES_MAX or not self._is_start():
                raise _LostError(Damage.BAD_HEADER)
            if not self._fill():
                raise _LostError(Damage.TRUNCATED)
        if not self._is_start() or end.end() - self._at > _HEADER_BYTES_MAX:
            raise _LostError(Damage.BAD_HEADER)
        lines = self._buffer[self._at : end.start()].decode("utf-8", "replace").splitlines()
        self._use(end.end() - self._at)
        pairs = (line.partition(":") for line in lines[1:])
        return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}

    def _is_start(self) -> bool:
        size = min(self._left(), len(_RECORD_START))
        return self._buffer.startswith(_RECORD_START[:size], self._at)

    def _read_block(self, length: int) -> bytes:
        kept = self._block = []
        self._block_position = self._position if length <= self._max_bytes else -1
        left, room = length, self._max_bytes + 1
        while left:
            if not self._left() and not self._fill():
                raise _LostError(Damage.WRONG_LENGTH if self._source.is_packed() else Damage.TRUNCATED)
            size = min(left, self._left())
            if room > 0:
                kept.append(self._buffer[self._at : self._at + min(size, room)])
            left, room = left - size, room - size
            self._use(size)
        return b"".join(kept)

    def _expect_end(self) -> None:
        """Read the end of the record. Raises _LostError if something else follows: the stated length is wrong."""
        while self._left() < len(_RECORD_END) and self._fill():
            pass
        if not self._buffer.startswith(_RECORD_END, self._at):
            # A file may end without the last lines; in a member of its own, nothing else can follow.
            if not self._has_only(_LINE_ENDS):
                raise _LostError(Damage.WRONG_LENGTH)
            self._skip(_LINE_ENDS)
            return
        self._use(len(_RECORD_END))
        while self._left() < _LOOK_AHEAD and self._fill():
            pass
        following = self._buffer[self._at : self._at + _LOOK_AHEAD].lstrip(b"\r\n")
        if not (_RECORD_START.startswith(following) or _FOLLOWING_RECORD.match(following) or self._has_only(_PADDING)):
            raise _LostError(Damage.WRONG_LENGTH)

    def _fill(self) -> bool:
        more = self._source.read()
        self._buffer = self._buffer[self._at :] + more
        self._at = 0
        return bool(more)

    def _left(self) -> int:
        return len(self._buffer) - self._at

    def _use(self, size: int) -> None:
        self._at += size
        self._position += size

    def _skip(self, signs: re.Pattern[bytes]) -> None:
        if found := signs.match(self._buffer, self._at):
            self._use(found.end() - self._at)

    def _has_only(self, signs: re.Pattern[bytes]) -> bool:
        return signs.fullmatch(self._buffer, self._at) is not None


def _length_of(header: dict[str, str]) -> int:
    stated = header.get("content-length", "")
    if not (stated.isascii() and stated.isdecimal() and len(stated) < 19):  # noqa: PLR2004 — of a 64-bit number
        raise _LostError(Damage.BAD_HEADER)
    return int(stated)
