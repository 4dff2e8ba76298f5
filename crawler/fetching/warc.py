"""The records of a WARC file, also of a damaged one: each record that is lost is reported with its reason.

The libraries that read WARC files either stop at the first damage or pass over it in silence. A gzip file with a member
for each record, as the standard asks for, continues with the next member. In any other file the next record is searched
for.

Many writers state a length that is wrong by a few bytes. Such a record ends where the next one begins.

Every record has a place, at which `read_record` reads it again without the records before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zlib
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO
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
_NEXT_RECORD = re.compile(rb"WARC/[01]\.[0-9]{1,2}\r?\n(?=[A-Za-z][A-Za-z-]{0,40}:)")
_FIRST_RECORD = re.compile(_NEXT_RECORD.pattern + rb"|\x1f\x8b\x08")
_NEXT_RECORD_BYTES = 64  # at most, up to the first colon
# wget states one byte too many; a header line or the line ends of an HTTP head that somebody edited are a few more.
_LENGTH_ERROR_MAX = 64
_TAIL_BYTES = 2 * _LENGTH_ERROR_MAX
_AHEAD_BYTES = _TAIL_BYTES + _NEXT_RECORD_BYTES
_LINE_ENDS = re.compile(rb"[\r\n]*")
_PADDING_BYTES = b"\r\n\0"
_PADDING = re.compile(rb"[\r\n\0]*")
_MARKS_MAX = 256
_MARK_SPACING = 1 << 20
_STEP_SHRINK = 16


class Damage(StrEnum):
    """Why a record of a file is lost."""

    TRUNCATED = "truncated"
    """The file ends within the record."""
    UNPACKABLE = "unpackable"
    """The record's compressed bytes cannot be unpacked."""
    BAD_HEADER = "bad_header"
    """There is no WARC header where one should be, or it states no length."""
    WRONG_LENGTH = "wrong_length"
    """The record is much longer or shorter than it states."""


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a record begins: a byte of the file and, in a gzip member of several records, an unpacked byte of it."""

    offset: int
    inside: int = 0

    def __str__(self) -> str:
        return f"byte {self.offset:,}" + (f", unpacked byte {self.inside:,} from there" if self.inside else "")


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record: where it begins, its header with the names in lower case, and its block.

    A block longer than the limit is cut one byte after it; `length` is the whole length.
    """

    place: RecordPlace
    header: dict[str, str]
    block: bytes
    length: int


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A record that cannot be read, its place in the file and the reason."""

    place: RecordPlace
    damage: Damage


class LostRecordError(Exception):
    """A record cannot be read; `damage` is the reason."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage)
        self.damage = damage


class MemberMarks:
    """Places within gzip members of several records from which a record can be unpacked without all bytes before it.

    There are at most 256, so the memory is bounded; the longer a member, the further they are apart.
    """

    def __init__(self) -> None:
        self._marks: list[_Mark] = []
        self._spacing = _MARK_SPACING

    def is_due(self, offset: int, unpacked: int) -> bool:
        """Return True if the member at an offset has no mark near an unpacked byte."""
        last = self._marks[-1].unpacked if self._marks and self._marks[-1].offset == offset else 0
        return unpacked - last >= self._spacing

    def add(self, mark: _Mark) -> None:
        self._marks.append(mark)
        if len(self._marks) > _MARKS_MAX:
            del self._marks[::2]
            self._spacing *= 2

    def drop(self, offset: int) -> None:
        """Forget the marks of the last member: it has one record, which begins where the member begins."""
        while self._marks and self._marks[-1].offset == offset:
            self._marks.pop()

    def last_before(self, place: RecordPlace) -> _Mark | None:
        marks = (mark for mark in self._marks if mark.offset == place.offset and mark.unpacked <= place.inside)
        return max(marks, key=lambda mark: mark.unpacked, default=None)


@dataclass(frozen=True, slots=True)
class _Mark:
    """The state of unpacking a member: the position in the file, and how many bytes have been unpacked."""

    offset: int
    position: int
    unpacked: int
    inflate: Any


def read_warc(file: BinaryIO, max_bytes: int, marks: MemberMarks | None = None) -> Iterator[WarcRecord | LostRecord]:
    """Yield each record of a WARC file, gzipped or not, in order, or the fact that it is lost. An empty file has none.

    At most `max_bytes` + 1 bytes of a block are kept. With `marks`, `read_record` needs them too.
    """
    start = file.read(_CHUNK_BYTES)
    if start and not start.startswith((_GZIP_START, _RECORD_START)):
        yield LostRecord(RecordPlace(0), Damage.BAD_HEADER)
        position, start = _find_first(start, lambda: file.read(_CHUNK_BYTES))
    else:
        position = 0
    source = _open_source(file, position, start, marks)
    while source.begin():
        reader = _RecordReader(source, max_bytes)
        damaged, count = False, 0
        try:
            while not reader.is_at_end():
                yield reader.read()
                count += 1
        except LostRecordError as lost:
            yield LostRecord(reader.place, lost.damage)
            damaged = True
        if damaged and not source.recover(*reader.take_rest(), after_others=count > 0):
            return
        source.end(count)


def read_record(file: BinaryIO, place: RecordPlace, max_bytes: int, marks: MemberMarks | None = None) -> WarcRecord:
    """Return the record at a place of a file that can seek. Raises LostRecordError."""
    file.seek(place.offset)
    source = _open_source(file, place.offset, file.read(_CHUNK_BYTES), None)
    if not source.begin():
        raise LostRecordError(Damage.TRUNCATED)
    mark = marks.last_before(place) if marks is not None and place.inside else None
    if mark is not None:
        source.return_to(mark)
    reader = _RecordReader(source, max_bytes)
    reader.go_to(place.inside)
    return reader.read()


def _open_source(file: BinaryIO, position: int, start: bytes, marks: MemberMarks | None) -> _PlainSource | _GzipSource:
    """Return the source of a file that was read up to a position and some bytes from there on."""
    if start.startswith(_GZIP_START):
        return _GzipSource(file, position, start, marks)
    return _PlainSource(file, position, start)


class _PlainSource:
    """An uncompressed file as one member. After damage, a member begins at the next record.

    `position` is that of the next byte that is read.
    """

    is_packed = False
    offset = 0

    def __init__(self, file: BinaryIO, position: int, start: bytes) -> None:
        self._file = file
        self._rest = start
        self.position = position

    def begin(self) -> bool:
        return bool(self._rest)

    def read(self) -> bytes:
        """Return more bytes; b"" at the end."""
        data, self._rest = self._rest, b""
        data = data or self._file.read(_CHUNK_BYTES)
        self.position += len(data)
        return data

    def mark(self) -> _Mark | None:
        """Return the place of the next byte; None if the file cannot go back."""
        return _Mark(0, self.position, 0, None) if self._file.seekable() else None

    def return_to(self, mark: _Mark) -> None:
        self._file.seek(mark.position)
        self.position = mark.position
        self._rest = b""

    def recover(self, position: int, rest: bytes, *, after_others: bool) -> bool:  # noqa: ARG002 — of both sources
        """Go to the next record behind a position, from which some bytes were read; return False if there is none."""
        next_record = _find_record(rest, self.read)
        if next_record is None:
            self._rest = b""
            return False
        self.position, self._rest = position + next_record[0], next_record[1]
        return True

    def end(self, count: int) -> None:
        """Do nothing: there is one member."""


class _GzipSource:
    """The members of a gzip file. After damage, the next member that begins like a record.

    `offset` is that of the member, `position` that of the next unpacked byte in it.
    """

    is_packed = True

    def __init__(self, file: BinaryIO, position: int, start: bytes, marks: MemberMarks | None) -> None:
        self._file = file
        self._pending = start
        self._file_position = position  # of the pending bytes
        self._seen = bytearray()
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._rest = b""  # unpacked bytes that are read again
        self._unpacked = 0
        self._step = _CHUNK_BYTES
        self._has_several = False  # records are in this member
        self._marks = marks
        self.offset = position

    @property
    def position(self) -> int:
        return self._unpacked - len(self._rest)

    def begin(self) -> bool:
        """Begin the next member, or go on in this one after damage; return False at the end of the file."""
        if self._rest:
            return True
        self._skip_padding()
        self.offset = self._file_position
        self._has_several = False
        self._seen.clear()
        self._unpacked = 0
        self._step = _CHUNK_BYTES
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return bool(self._pending)

    def read(self) -> bytes:
        """Return more of the member's bytes; b"" at its end."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        while not self._inflate.eof:
            if not self._pending:
                self._pending = self._file.read(_CHUNK_BYTES)
                if not self._pending:
                    raise LostRecordError(Damage.TRUNCATED)
            if data := self._unpack():
                self._unpacked += len(data)
                self._add_mark()
                return data
        return b""

    def _unpack(self) -> bytes:
        """Unpack some of the pending bytes. Raises LostRecordError once all bytes before the damage are unpacked."""
        packed = self._pending[: self._step]
        before = self._inflate.copy()
        try:
            data = self._inflate.decompress(packed, _CHUNK_BYTES)
        except zlib.error as error:
            if len(packed) == 1:
                raise LostRecordError(Damage.UNPACKABLE) from error
            # What the call unpacked before the damage is gone, so it is unpacked again in smaller steps.
            self._inflate = before
            self._step = max(1, len(packed) // _STEP_SHRINK)
            return b""
        left = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        used = len(packed) - len(left)
        self._remember(packed[:used])
        self._file_position += used
        self._pending = self._pending[used:]
        return data

    def _add_mark(self) -> None:
        if self._marks is None or self._inflate.eof or not self._marks.is_due(self.offset, self._unpacked):
            return
        if (mark := self.mark()) is not None:
            self._marks.add(mark)

    def mark(self) -> _Mark | None:
        """Return the place of the next byte, with the state of unpacking; None if the file cannot go back."""
        if not self._file.seekable():
            return None
        return _Mark(self.offset, self._file_position, self._unpacked, self._inflate.copy())

    def return_to(self, mark: _Mark) -> None:
        self._file.seek(mark.position)
        self._pending = b""
        self._rest = b""
        self._seen.clear()
        self._file_position = mark.position
        self._unpacked = mark.unpacked
        self._inflate = mark.inflate.copy()

    def recover(self, position: int, rest: bytes, *, after_others: bool) -> bool:  # noqa: ARG002 — of both sources
        """Go to the next record of a member that holds several, else to the next member; return False if there is none.

        A member of its own may quote a record in its text, so it is only passed over.
        """
        self._has_several |= after_others or self.offset == 0
        try:
            if self._has_several and (next_record := _find_record(rest, self.read)):
                self._rest = next_record[1]
                return True
            while self.read():
                pass
        except LostRecordError:
            # The beginning of the damaged member is taken off, so that it is not found again.
            again = bytes(self._seen) + self._pending
            self._file_position -= len(self._seen)
            self._seen.clear()
            self._file_position += 1
            self._pending = again[1:]
            return self._find_member()
        return True

    def end(self, count: int) -> None:
        """Forget the marks of a member that has one record."""
        if self._marks is not None and count <= 1 and not self._rest and not self._has_several:
            self._marks.drop(self.offset)

    def _skip_padding(self) -> None:
        """Read on behind bytes that some programs write after the last member."""
        while True:
            if not self._pending:
                self._pending = self._file.read(_CHUNK_BYTES)
            left = self._pending.lstrip(_PADDING_BYTES)
            self._file_position += len(self._pending) - len(left)
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
            start = self._pending.find(_GZIP_START)
            if start < 0:
                kept = self._pending[-len(_GZIP_START) + 1 :]
                more = self._file.read(_CHUNK_BYTES)
                if not more:
                    self._pending = b""
                    return False
                self._file_position += len(self._pending) - len(kept)
                self._pending = kept + more
                continue
            self._file_position += start
            self._pending = self._pending[start:]
            if len(self._pending) < _CHUNK_BYTES:
                self._pending += self._file.read(_CHUNK_BYTES)
            if _is_record(self._pending):
                return True
            self._file_position += 1
            self._pending = self._pending[1:]


def _find_first(pending: bytes, read: Callable[[], bytes]) -> tuple[int, bytes]:
    """Return the position of a file's first record, packed or not, and the bytes from it on, b"" if there is none."""
    passed = 0
    while pending:
        for match in _FIRST_RECORD.finditer(pending):
            if match[0] != _GZIP_START or _is_record(pending[match.start() :]):
                return passed + match.start(), pending[match.start() :]
        more = read()
        kept = pending[-_HEADER_BYTES_MAX:] if more else b""
        passed += len(pending) - len(kept)
        pending = kept + more
    return passed, b""


def _find_record(pending: bytes, read: Callable[[], bytes]) -> tuple[int, bytes] | None:
    """Return how many bytes stand before the next record, and the bytes from it on; None if there is none.

    Some bytes were read already; `read` returns more of them, b"" at the end.
    """
    passed = 0
    while (match := _NEXT_RECORD.search(pending)) is None:
        more = read()
        if not more:
            return None
        kept = pending[-_NEXT_RECORD_BYTES:]
        passed += len(pending) - len(kept)
        pending = kept + more
    return passed + match.start(), pending[match.start() :]


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
        self._used = 0  # bytes of the buffer
        self._position = source.position  # of the next byte
        self._began = self._position  # the position of the last record
        self._block: list[bytes] = []
        self._tail = b""  # of the block
        self._block_position = -1  # before the first block, and if the block was cut
        self._before_block: tuple[_Mark, int, bytes] | None = None  # if the block was cut
        self.place = self._place()
        # A member of its own may quote a record, so another one is not searched for in it.
        self._has_others = not source.is_packed or source.offset == 0 or self._position > 0

    def _place(self) -> RecordPlace:
        if self._source.is_packed:
            return RecordPlace(self._source.offset, self._position)
        return RecordPlace(self._position)

    def go_to(self, position: int) -> None:
        """Skip all bytes before a position. Raises LostRecordError."""
        while (left := position - self._position) > 0:
            if not self._left() and not self._fill():
                raise LostRecordError(Damage.TRUNCATED)
            self._use(min(left, self._left()))

    def is_at_end(self) -> bool:
        """Return True if nothing but line ends and NUL bytes follows in the member."""
        while True:
            self._skip(_PADDING)
            if self._left():
                return False
            self._began = self._position
            self.place = self._place()
            self._block_position = -1
            self._before_block = None
            if not self._fill():
                return True

    def read(self) -> WarcRecord:
        """Return the next record. Raises LostRecordError."""
        self._skip(_LINE_ENDS)
        self._began = self._position
        self.place = self._place()
        self._block_position = -1
        self._before_block = None
        header = self._read_header()
        stated = _length_of(header)
        size = self._read_block(stated)
        longer = self._measure_error() if size == stated else -len(_RECORD_END) * self._tail.endswith(_RECORD_END)
        self._move_end(longer, size)
        self._has_others = True
        return WarcRecord(self.place, header, b"".join(self._block), size + longer)

    def take_rest(self) -> tuple[int, bytes]:
        """Return the bytes behind the header of the last record, with their position: its length may be a lie.

        If the header could not be read, that is all but the first byte: else the record would be found again.
        """
        if self._position == self._began:
            self._use(min(1, self._left()))
        rest = self._buffer[self._used :]
        if self._before_block is not None:
            mark, position, rest = self._before_block
            self._source.return_to(mark)
            return position, rest
        if self._block_position < 0:
            return self._position, rest
        return self._block_position, b"".join([*self._block, rest])

    def _read_header(self) -> dict[str, str]:
        while (end := _HEADER_END.search(self._buffer, self._used)) is None:
            if self._left() > _HEADER_BYTES_MAX or not self._is_start():
                raise LostRecordError(Damage.BAD_HEADER)
            if not self._fill():
                raise LostRecordError(Damage.TRUNCATED)
        if not self._is_start() or end.end() - self._used > _HEADER_BYTES_MAX:
            raise LostRecordError(Damage.BAD_HEADER)
        lines = self._buffer[self._used : end.start()].decode("utf-8", "replace").splitlines()
        self._use(end.end() - self._used)
        pairs = (line.partition(":") for line in lines[1:])
        return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}

    def _is_start(self) -> bool:
        size = min(self._left(), len(_RECORD_START))
        return self._buffer.startswith(_RECORD_START[:size], self._used)

    def _read_block(self, length: int) -> int:
        """Read a block of the stated length and return how long it is: a packed member may end a few bytes earlier."""
        self._block = []
        self._tail = b""
        self._block_position = self._position
        if length > self._max_bytes:
            self._block_position = -1
            mark = self._source.mark()
            self._before_block = None if mark is None else (mark, self._position, self._buffer[self._used :])
        left = length
        while left:
            if not self._left() and not self._fill():
                if self._source.is_packed and left <= _LENGTH_ERROR_MAX:
                    break
                raise LostRecordError(Damage.WRONG_LENGTH if self._source.is_packed else Damage.TRUNCATED)
            size = min(left, self._left())
            self._keep(self._buffer[self._used : self._used + size])
            left -= size
            self._use(size)
        return length - left

    def _keep(self, data: bytes) -> None:
        """Add bytes to the block, up to one byte more than the limit."""
        room = self._max_bytes + 1 - sum(map(len, self._block))
        if room > 0:
            self._block.append(data[:room])
        self._tail = (self._tail + data[-_TAIL_BYTES:])[-_TAIL_BYTES:]

    def _measure_error(self) -> int:
        """Return how many bytes longer the block is than the record states.

        Raises LostRecordError if the record does not end there and no other one begins near it.
        """
        while self._left() < _AHEAD_BYTES and self._fill():
            pass
        ahead = self._buffer[self._used : self._used + _AHEAD_BYTES]
        if ahead.startswith(_RECORD_END):
            return 0  # whatever follows is no part of the record
        if (split := _split_record_end(self._tail, ahead)) is not None:
            return split
        longer = _end_at_next(self._tail, ahead) if self._has_others else None
        if longer is None and self._left() < _AHEAD_BYTES:
            longer = _end_at_last(ahead.rstrip(b"\0"))
        if longer is None:
            raise LostRecordError(Damage.WRONG_LENGTH)
        return longer

    def _move_end(self, longer: int, length: int) -> None:
        """Add the bytes behind a block to it, or give its last ones back if the number is negative."""
        if longer > 0:
            self._keep(self._buffer[self._used : self._used + longer])
            self._use(longer)
        elif longer < 0:
            self._buffer = self._tail[longer:] + self._buffer[self._used :]
            self._used = 0
            self._position += longer
            self._block = [b"".join(self._block)[: length + longer]]

    def _fill(self) -> bool:
        more = self._source.read()
        self._buffer = self._buffer[self._used :] + more
        self._used = 0
        return bool(more)

    def _left(self) -> int:
        return len(self._buffer) - self._used

    def _use(self, size: int) -> None:
        self._used += size
        self._position += size

    def _skip(self, signs: re.Pattern[bytes]) -> None:
        if match := signs.match(self._buffer, self._used):
            self._use(match.end() - self._used)


def _split_record_end(tail: bytes, ahead: bytes) -> int | None:
    """Return where a block ends that takes one or three of the four bytes behind it; None if it does not."""
    taken = (size for size in (1, 3) if ahead.startswith(b"\n") and (tail[-size:] + ahead).startswith(_RECORD_END))
    return next((-size for size in taken), None)


def _end_at_next(tail: bytes, ahead: bytes) -> int | None:
    """Return where a block ends if another record begins near it, counted from the stated end; None if none does.

    `tail` are the last bytes of the block as it is stated, `ahead` those behind it.
    """
    data = tail + ahead
    for match in _NEXT_RECORD.finditer(data):
        start = match.start() - len(tail)
        if abs(start - len(_RECORD_END)) <= _LENGTH_ERROR_MAX:
            before = data[: match.start()]
            if before.endswith(_RECORD_END):
                return start - len(_RECORD_END)
            line_ends = len(before) - len(before.rstrip(b"\r\n"))
            return 0 if 0 <= start <= line_ends else start - min(line_ends, len(_RECORD_END))
    return None


def _end_at_last(ahead: bytes) -> int | None:
    """Return where the last block of a file or member ends, counted from the stated end; None if that is not known."""
    if not ahead.strip(b"\r\n"):
        return 0  # a file may end without the last line ends
    longer = len(ahead) - len(_RECORD_END)
    return longer if ahead.endswith(_RECORD_END) and longer <= _LENGTH_ERROR_MAX else None


def _length_of(header: dict[str, str]) -> int:
    stated = header.get("content-length", "")
    if not (stated.isascii() and stated.isdecimal() and len(stated) < 19):  # noqa: PLR2004 — of a 64-bit number
        raise LostRecordError(Damage.BAD_HEADER)
    return int(stated)
