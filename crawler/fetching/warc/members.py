"""The members of a WARC file, each compressed as one piece, and how reading continues after a damaged one.

The standard compresses each record separately, with gzip. A proposal of the IIPC does this with zstd; the first frame
may hold a dictionary for all others. An uncompressed file is one member, and so is one that was packed as a whole.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import zlib
    from collections.abc import Callable
    from typing import BinaryIO
else:
    try:
        from zlib_ng import zlib_ng as zlib  # unpacks at twice the speed
    except ImportError:
        import zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK_BYTES = 1 << 18
HEADER_BYTES_MAX = 1 << 16
RECORD_START = b"WARC/"
NEXT_RECORD = re.compile(rb"WARC/[01]\.[0-9]{1,2}\r?\n(?=[A-Za-z][A-Za-z-]{0,40}:)")
NEXT_RECORD_BYTES = 64
"""The bytes of a record that this pattern needs at most, up to the first colon."""

# So much of a damaged member is searched again for the next one; the rest is searched from where reading stopped.
_REWIND_BYTES = 1 << 20
_GZIP_START = b"\x1f\x8b\x08"
_ZSTD_START = b"\x28\xb5\x2f\xfd"
# Frames without data of their own: https://iipc.github.io/warc-specifications/specifications/warc-zstd/ gives one of
# the sixteen kinds a meaning.
_SKIPPED_FRAME = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_SKIPPED_HEAD_BYTES = 8
_DICTIONARY_FRAME_START = b"\x5d\x2a\x4d\x18"
_DICTIONARY_START = b"\x37\xa4\x30\xec"
_DICTIONARY_FRAME = re.compile(
    re.escape(_DICTIONARY_FRAME_START)
    + b"....(?:"
    + re.escape(_DICTIONARY_START)
    + b"|"
    + re.escape(_ZSTD_START)
    + b")",
    re.DOTALL,
)
_DICTIONARY_BYTES_MAX = 100_000_000
_FIRST_RECORD = re.compile(NEXT_RECORD.pattern + rb"|\x1f\x8b\x08|\x28\xb5\x2f\xfd|\x5d\x2a\x4d\x18")
_FIRST_BYTES = re.compile(rb"WARC/|\x1f\x8b\x08|\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
_PADDING_BYTES = b"\r\n\0"
_MARKS_MAX = 256
_MARK_SPACING = 1 << 20
_STEP_SHRINK = 16
# What one call unpacks before damage is lost with it.
_ZSTD_STEP = 1 << 12


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
    """Where a record begins: a byte of the file and, in a gzip member of several records, an unpacked byte of it.

    `dictionary` is the place of the frame whose dictionary unpacks a zstd frame, `packed_file` the URL of the file if
    it is one of many in a ZIP file.
    """

    offset: int
    inside: int = 0
    dictionary: int | None = None
    packed_file: str | None = None

    def __str__(self) -> str:
        return f"byte {self.offset:,}" + (f", unpacked byte {self.inside:,} from there" if self.inside else "")


class LostRecordError(Exception):
    """A record cannot be read; `damage` is the reason."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage)
        self.damage = damage


class MemberMarks:
    """Places in a gzip member of several records, each the start for unpacking a record without the earlier ones.

    There are at most 256, so the memory is bounded; the longer a member, the further they are apart. What stands
    before the first member is kept too, because a member cannot be unpacked without it.
    """

    def __init__(self) -> None:
        self._marks: list[MemberMark] = []
        self._spacing = _MARK_SPACING
        self.prelude = _Prelude()

    def is_due(self, offset: int, unpacked: int) -> bool:
        """Return True if the member at an offset has no mark near an unpacked byte."""
        last = self._marks[-1].unpacked if self._marks and self._marks[-1].offset == offset else 0
        return unpacked - last >= self._spacing

    def add(self, mark: MemberMark) -> None:
        self._marks.append(mark)
        if len(self._marks) > _MARKS_MAX:
            del self._marks[::2]
            self._spacing *= 2

    def drop(self, offset: int) -> None:
        """Forget the marks of the last member: it has one record, which begins where the member begins."""
        while self._marks and self._marks[-1].offset == offset:
            self._marks.pop()

    def last_before(self, place: RecordPlace) -> MemberMark | None:
        marks = (mark for mark in self._marks if mark.offset == place.offset and mark.unpacked <= place.inside)
        return max(marks, key=lambda mark: mark.unpacked, default=None)


@dataclass(frozen=True, slots=True)
class MemberMark:
    """The state of unpacking a member: the position in the file, and how many bytes have been unpacked."""

    offset: int
    position: int
    unpacked: int
    inflate: Any


@dataclass(frozen=True, slots=True)
class _Prelude:
    """Where the first member of a file begins, and the last dictionary: a zstd file may be several files in one."""

    dictionary: zstd.ZstdDict | None = None
    dictionary_place: int | None = None
    end: int = 0


class PlainMembers:
    """An uncompressed file as one member. After damage, a member begins at the next record.

    `position` is that of the next byte that is read.
    """

    is_packed = False
    is_first = True
    dictionary_place = None
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
        data = data or self._file.read(CHUNK_BYTES)
        self.position += len(data)
        return data

    def mark(self) -> MemberMark | None:
        """Return the place of the next byte; None if the file cannot go back."""
        return MemberMark(0, self.position, 0, None) if self._file.seekable() else None

    def return_to(self, mark: MemberMark) -> None:
        self._file.seek(mark.position)
        self.position = mark.position
        self._rest = b""

    def recover(self, position: int, rest: bytes, *, after_others: bool) -> bool:  # noqa: ARG002 — of both sources
        """Go to the next record behind a position whose next bytes are known; return False if there is none."""
        next_record = _find_record(rest, self.read)
        if next_record is None:
            self._rest = b""
            return False
        self.position, self._rest = position + next_record[0], next_record[1]
        return True

    def end(self, count: int) -> None:
        """Do nothing: there is one member."""


class _PackedMembers:
    """The members of a packed file. After damage, the next member that begins like a record.

    `offset` is that of the member, `position` that of the next unpacked byte in it.
    """

    is_packed = True
    _start: bytes
    """The first bytes of a member."""
    _is_cut = False
    """True if the file ends before the next member begins."""

    def __init__(
        self, file: BinaryIO, position: int, start: bytes, marks: MemberMarks | None, prelude: _Prelude
    ) -> None:
        self._file = file
        self._pending = start
        self._file_position = position  # of the pending bytes
        self._seen = bytearray()
        self._rest = b""  # unpacked bytes that are read again
        self._unpacked = 0
        self._has_several = False  # records are in this member
        self._marks = marks
        self.prelude = prelude
        self.offset = position
        self._unpacker: Any = None

    @property
    def position(self) -> int:
        return self._unpacked - len(self._rest)

    @property
    def is_first(self) -> bool:
        """True if no member stands before this one: it may hold the whole file."""
        return self.offset == self.prelude.end

    @property
    def dictionary_place(self) -> int | None:
        return self.prelude.dictionary_place

    def begin(self) -> bool:
        """Begin the next member, or go on in this one after damage; return False at the end of the file."""
        if self._rest:
            return True
        self._skip_padding()
        self._skip_prelude()
        self.offset = self._file_position
        self._has_several = False
        self._reset()
        return bool(self._pending) or self._is_cut

    def read(self) -> bytes:
        """Return more of the member's bytes; b"" at its end. Raises LostRecordError."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        while not self._unpacker.eof:
            if not self._pending and self._needs_input():
                self._pending = self._file.read(CHUNK_BYTES)
                if not self._pending:
                    raise LostRecordError(Damage.TRUNCATED)
            if data := self._unpack():
                self._unpacked += len(data)
                self._add_mark()
                return data
        return b""

    def _reset(self) -> None:
        self._seen.clear()
        self._unpacked = 0
        self._unpacker = self._new_unpacker()

    def _new_unpacker(self) -> Any:
        raise NotImplementedError

    def _needs_input(self) -> bool:
        return True

    def _unpack(self) -> bytes:
        """Unpack some of the pending bytes. Raises LostRecordError once all bytes before the damage are unpacked."""
        raise NotImplementedError

    def _begins_record(self, packed: bytes) -> bool:
        """Return True if some packed bytes begin like a record."""
        raise NotImplementedError

    def _skip_prelude(self) -> None:
        """Read on behind bytes that do not belong to a member."""

    def mark(self) -> MemberMark | None:
        """Return the place of the next byte; None if the file cannot go back."""
        raise NotImplementedError

    def _add_mark(self) -> None:
        """Keep a mark of the next byte, if that is due."""

    def recover(self, position: int, rest: bytes, *, after_others: bool) -> bool:  # noqa: ARG002 — of both sources
        """Go to the next record of a member that holds several, else to the next member; return False if there is none.

        A member of its own may quote a record in its text, so it is only passed over.
        """
        self._has_several |= after_others or self.is_first
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
                self._pending = self._file.read(CHUNK_BYTES)
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

    def _find_start(self, position: int) -> int:
        return self._pending.find(self._start, position)

    def _find_member(self) -> bool:
        start = 0
        while True:
            found = self._find_start(start)
            start = found if found >= 0 else max(start, len(self._pending) - len(self._start) + 1)
            if len(self._pending) - start < HEADER_BYTES_MAX and (more := self._file.read(CHUNK_BYTES)):
                self._file_position += start
                self._pending = self._pending[start:] + more
                start = 0
            elif found < 0:
                self._pending = b""
                return False
            elif self._begins_record(self._pending[start : start + HEADER_BYTES_MAX]):
                self._file_position += start
                self._pending = self._pending[start:]
                return True
            else:
                start += 1


class GzipMembers(_PackedMembers):
    """The members of a gzip file."""

    _start = _GZIP_START
    _step = CHUNK_BYTES

    def _reset(self) -> None:
        super()._reset()
        self._step = CHUNK_BYTES

    def _new_unpacker(self) -> Any:
        return zlib.decompressobj(zlib.MAX_WBITS | 16)

    def _unpack(self) -> bytes:
        packed = self._pending[: self._step]
        before = self._unpacker.copy()
        try:
            data: bytes = self._unpacker.decompress(packed, CHUNK_BYTES)
        except zlib.error as error:
            if len(packed) == 1:
                raise LostRecordError(Damage.UNPACKABLE) from error
            # What the call unpacked before the damage is gone, so it is unpacked again in smaller steps.
            self._unpacker = before
            self._step = max(1, len(packed) // _STEP_SHRINK)
            return b""
        left = self._unpacker.unused_data if self._unpacker.eof else self._unpacker.unconsumed_tail
        used = len(packed) - len(left)
        self._remember(packed[:used])
        self._file_position += used
        self._pending = self._pending[used:]
        return data

    def _add_mark(self) -> None:
        if self._marks is None or self._unpacker.eof or not self._marks.is_due(self.offset, self._unpacked):
            return
        if (mark := self.mark()) is not None:
            self._marks.add(mark)

    def mark(self) -> MemberMark | None:
        """Return the place of the next byte, with the state of unpacking; None if the file cannot go back."""
        if not self._file.seekable():
            return None
        return MemberMark(self.offset, self._file_position, self._unpacked, self._unpacker.copy())

    def return_to(self, mark: MemberMark) -> None:
        self._file.seek(mark.position)
        self._pending = b""
        self._rest = b""
        self._seen.clear()
        self._file_position = mark.position
        self._unpacked = mark.unpacked
        self._unpacker = mark.inflate.copy()

    def _begins_record(self, packed: bytes) -> bool:
        return _is_gzipped_record(packed)


class ZstdMembers(_PackedMembers):
    """The frames of a zstd file. A frame may hold a dictionary, which unpacks those behind it.

    The state of unpacking cannot be copied. So a record that is not the first one of its frame is found from the
    beginning of the frame.
    """

    _start = _ZSTD_START
    _has_begun = False

    def _new_unpacker(self) -> Any:
        return zstd.ZstdDecompressor(self.prelude.dictionary)

    def _needs_input(self) -> bool:
        return bool(self._unpacker.needs_input)

    def _unpack(self) -> bytes:
        packed = self._pending[:_ZSTD_STEP] if self._unpacker.needs_input else b""
        try:
            data: bytes = self._unpacker.decompress(packed, CHUNK_BYTES)
        except zstd.ZstdError as error:
            raise LostRecordError(Damage.UNPACKABLE) from error
        self._remember(packed)
        # What follows the frame may have been given to an earlier call.
        left = self._unpacker.unused_data if self._unpacker.eof else b""
        self._file_position += len(packed) - len(left)
        self._pending = left + self._pending[len(packed) :]
        return data

    def mark(self) -> MemberMark | None:
        """Return the place of the next byte, found from the frame's beginning; None if the file cannot go back."""
        return MemberMark(self.offset, self.offset, self.position, None) if self._file.seekable() else None

    def return_to(self, mark: MemberMark) -> None:
        self._file.seek(mark.position)
        self._pending = b""
        self._rest = b""
        self._file_position = mark.position
        self._reset()
        while self._unpacked < mark.unpacked and (data := self.read()):
            self._rest = data[len(data) - (self._unpacked - mark.unpacked) :] if self._unpacked > mark.unpacked else b""

    def _begins_record(self, packed: bytes) -> bool:
        # Behind damage another file may begin, with its own dictionary.
        return _DICTIONARY_FRAME.match(packed) is not None or _is_zstd_record(packed, self.prelude.dictionary)

    def _find_start(self, position: int) -> int:
        starts = (self._pending.find(start, position) for start in (self._start, _DICTIONARY_FRAME_START))
        return min((start for start in starts if start >= 0), default=-1)

    def _skip_prelude(self) -> None:
        """Read on behind frames without data. One with a dictionary gives the dictionary of the frames behind it."""
        while _SKIPPED_FRAME.match(self._look(_SKIPPED_HEAD_BYTES)):
            place = self._file_position
            has_dictionary = self._pending.startswith(_DICTIONARY_FRAME_START)
            size = int.from_bytes(self._pending[4:_SKIPPED_HEAD_BYTES], "little")
            self._pass(_SKIPPED_HEAD_BYTES)
            if has_dictionary and size <= _DICTIONARY_BYTES_MAX:
                dictionary = _read_dictionary(self._look(size)[:size])
                if dictionary is not None:
                    self.prelude = replace(self.prelude, dictionary=dictionary, dictionary_place=place)
            self._is_cut = not self._pass(size)
            if not self._has_begun:
                self.prelude = replace(self.prelude, end=self._file_position)
            if self._marks is not None:
                self._marks.prelude = self.prelude
            self._skip_padding()
        self._has_begun = True

    def _look(self, size: int) -> bytes:
        """Return the pending bytes, at least `size` of them if the file has that many."""
        parts = [self._pending]
        missing = size - len(self._pending)
        while missing > 0 and (more := self._file.read(CHUNK_BYTES)):
            parts.append(more)
            missing -= len(more)
        self._pending = b"".join(parts)
        return self._pending

    def _pass(self, size: int) -> bool:
        """Pass over some bytes; return False if the file has fewer."""
        while size > 0 and self._look(1):
            passed = min(size, len(self._pending))
            self._pending = self._pending[passed:]
            self._file_position += passed
            size -= passed
        return size == 0


Members = PlainMembers | GzipMembers | ZstdMembers


def open_members(file: BinaryIO, position: int, start: bytes, marks: MemberMarks | None = None) -> Members:
    """Return the members of a file that was read up to a position and some bytes from there on."""
    # Behind garbage nothing is known to be the first member.
    return _open(file, position, start, marks, _Prelude(end=-1 if position else 0))


def open_member_at(file: BinaryIO, place: RecordPlace, marks: MemberMarks | None) -> Members:
    """Return the members of a file that can seek, from one of them on."""
    if marks is not None:
        prelude = marks.prelude
    else:
        file.seek(0)
        first = open_members(file, 0, file.read(CHUNK_BYTES))
        first.begin()
        prelude = _Prelude() if isinstance(first, PlainMembers) else first.prelude
    if place.dictionary != prelude.dictionary_place:
        dictionary = None if place.dictionary is None else _dictionary_at(file, place.dictionary)
        prelude = replace(prelude, dictionary=dictionary, dictionary_place=place.dictionary)
        if marks is not None:
            marks.prelude = prelude  # the next record probably needs the same
    file.seek(place.offset)
    return _open(file, place.offset, file.read(CHUNK_BYTES), None, prelude)


def _dictionary_at(file: BinaryIO, place: int) -> zstd.ZstdDict | None:
    """Return the dictionary of the frame at a place of a file."""
    file.seek(place)
    head = file.read(_SKIPPED_HEAD_BYTES)
    return _read_dictionary(file.read(min(int.from_bytes(head[4:], "little"), _DICTIONARY_BYTES_MAX)))


def _open(file: BinaryIO, position: int, start: bytes, marks: MemberMarks | None, prelude: _Prelude) -> Members:
    if start.startswith(_GZIP_START):
        return GzipMembers(file, position, start, marks, prelude)
    if start.startswith(_ZSTD_START) or _SKIPPED_FRAME.match(start):
        return ZstdMembers(file, position, start, marks, prelude)
    return PlainMembers(file, position, start)


def is_start(start: bytes) -> bool:
    """Return True if a WARC file may begin with these bytes."""
    return _FIRST_BYTES.match(start) is not None


def find_first(pending: bytes, read: Callable[[], bytes]) -> tuple[int, bytes]:
    """Return the position of a file's first record, packed or not, and the bytes from it on, b"" if there is none."""
    passed = 0
    while pending:
        for match in _FIRST_RECORD.finditer(pending):
            if match[0] not in _IS_PACKED_RECORD or _IS_PACKED_RECORD[match[0]](pending[match.start() :]):
                return passed + match.start(), pending[match.start() :]
        more = read()
        kept = pending[-HEADER_BYTES_MAX:] if more else b""
        passed += len(pending) - len(kept)
        pending = kept + more
    return passed, b""


def _find_record(pending: bytes, read: Callable[[], bytes]) -> tuple[int, bytes] | None:
    """Return how many bytes stand before the next record, and the bytes from it on; None if there is none.

    Some bytes were read already; `read` returns more of them, b"" at the end.
    """
    passed = 0
    while (match := NEXT_RECORD.search(pending)) is None:
        more = read()
        if not more:
            return None
        kept = pending[-NEXT_RECORD_BYTES:]
        passed += len(pending) - len(kept)
        pending = kept + more
    return passed + match.start(), pending[match.start() :]


def _is_gzipped_record(packed: bytes) -> bool:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, len(RECORD_START)) == RECORD_START
    except zlib.error:
        return False


def _is_zstd_record(packed: bytes, dictionary: zstd.ZstdDict | None = None) -> bool:
    try:
        return zstd.ZstdDecompressor(dictionary).decompress(packed, len(RECORD_START)) == RECORD_START
    except zstd.ZstdError:
        return False


# What begins like a packed member, and may be something else.
_IS_PACKED_RECORD: dict[bytes, Callable[[bytes], bool]] = {
    _GZIP_START: _is_gzipped_record,
    _ZSTD_START: _is_zstd_record,
}


def _read_dictionary(content: bytes) -> zstd.ZstdDict | None:
    """Return the dictionary in a frame, which may be packed itself; None if it is damaged."""
    try:
        if content.startswith(_ZSTD_START):
            content = zstd.ZstdDecompressor().decompress(content, _DICTIONARY_BYTES_MAX)
        dictionary = zstd.ZstdDict(content, is_raw=not content.startswith(_DICTIONARY_START))
        zstd.ZstdDecompressor(dictionary)  # fails here, not for each frame
    except (zstd.ZstdError, ValueError):
        return None
    return dictionary
