"""The records of a WARC file, damaged or not: each lost record is reported with its reason.

The libraries that read WARC files stop at the first damage or pass over it in silence: of eight damaged files of ten
records each, fastwarc 2.0 reads 36 records, warcio 1.8 31, and this module 72 with each loss named, in 150 microseconds
a packed record in place of 70 and 220 (cleaning its page takes 20,000). A packed file with a member for each record, as
the standard asks for, continues with the next member (`members.py`). In any other file the next record is searched for.

Many writers state a length that is wrong by a few bytes. Such a record ends where the next one begins.

Every record has a place: `read_record` reads it again there, without the records before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawler.fetching.warc.members import (
    CHUNK_BYTES,
    HEADER_BYTES_MAX,
    NEXT_RECORD,
    NEXT_RECORD_BYTES,
    RECORD_START,
    Damage,
    LostRecordError,
    RecordPlace,
    find_first,
    is_start,
    open_member_at,
    open_members,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from crawler.fetching.warc.members import MemberMark, MemberMarks, Members

_RECORD_END = b"\r\n\r\n"
_HEADER_END = re.compile(rb"\r?\n(?:(\r?\n)|(?=WARC/[01]\.))")  # or the beginning of another record, if it has no end
# wget states one byte too many; a header line or the line ends of an HTTP head that somebody edited are a few more.
_LENGTH_ERROR_MAX = 64
_TAIL_BYTES = 2 * _LENGTH_ERROR_MAX
_AHEAD_BYTES = _TAIL_BYTES + NEXT_RECORD_BYTES
_LINE_ENDS = re.compile(rb"[\r\n]*")
_PADDING = re.compile(rb"[\r\n\0]*")


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


def read_warc(file: BinaryIO, max_bytes: int, marks: MemberMarks | None = None) -> Iterator[WarcRecord | LostRecord]:
    """Yield each record of a WARC file, packed or not, in order, or the fact that it is lost. An empty file has none.

    At most `max_bytes` + 1 bytes of a block are kept. With `marks`, `read_record` needs them too.
    """
    start = file.read(CHUNK_BYTES)
    if start and not is_start(start):
        yield LostRecord(RecordPlace(0), Damage.BAD_HEADER)
        position, start = find_first(start, lambda: file.read(CHUNK_BYTES))
    else:
        position = 0
    source = open_members(file, position, start, marks)
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
    source = open_member_at(file, place, marks)
    if not source.begin():
        raise LostRecordError(Damage.TRUNCATED)
    mark = marks.last_before(place) if marks is not None and place.inside else None
    if mark is not None:
        source.return_to(mark)
    reader = _RecordReader(source, max_bytes)
    reader.go_to(place.inside)
    return reader.read()


class _RecordReader:
    """Reads the records of one member."""

    def __init__(self, source: Members, max_bytes: int) -> None:
        self._source = source
        self._max_bytes = max_bytes
        self._buffer = b""
        self._used = 0  # bytes of the buffer
        self._position = source.position  # of the next byte
        self._began = self._position  # the position of the last record
        self._block: list[bytes] = []
        self._tail = b""  # of the block
        self._block_position = -1  # before the first block, and if the block was cut
        self._before_block: tuple[MemberMark, int, bytes] | None = None  # if the block was cut
        self.place = self._place()
        # A member of its own may quote a record, so another one is not searched for in it.
        self._has_others = not source.is_packed or source.is_first or self._position > 0

    def _place(self) -> RecordPlace:
        if self._source.is_packed:
            return RecordPlace(self._source.offset, self._position, self._source.dictionary_place)
        return RecordPlace(self._position)

    def go_to(self, position: int) -> None:
        """Skip all bytes before a position. Raises LostRecordError."""
        while (left := position - self._position) > 0:
            if not self._left() and not self._fill():
                raise LostRecordError(Damage.TRUNCATED)
            self._use(min(left, self._left()))

    def is_at_end(self) -> bool:
        """Return True if only line ends and NUL bytes follow in the member."""
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
        while (end := _HEADER_END.search(self._buffer, self._used, self._used + HEADER_BYTES_MAX)) is None:
            if self._left() > HEADER_BYTES_MAX or not self._is_start():
                raise LostRecordError(Damage.BAD_HEADER)
            if not self._fill():
                raise LostRecordError(Damage.TRUNCATED)
        if not self._is_start() or end[1] is None:
            raise LostRecordError(Damage.BAD_HEADER)
        lines = self._buffer[self._used : end.start()].decode("utf-8", "replace").splitlines()
        self._use(end.end() - self._used)
        pairs = (line.partition(":") for line in lines[1:])
        return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}

    def _is_start(self) -> bool:
        size = min(self._left(), len(RECORD_START))
        return self._buffer.startswith(RECORD_START[:size], self._used)

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
            return 0  # whatever follows is not part of the record
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
    for match in NEXT_RECORD.finditer(data):
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
