"""The records of an ARC file, the format before WARC, as if a WARC file held them."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from crawler.fetching.warc import Damage, LostRecord, RecordPlace, WarcRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

_SKIPPED_BYTES = 1 << 20


def read_arc(file: BinaryIO, max_bytes: int) -> Iterator[WarcRecord | LostRecord]:
    """Yield each record of an ARC file, packed or not, in order; at most `max_bytes` + 1 bytes of a block are kept.

    Damage loses the rest of the file: the format has no sign by which the next record could be found.
    """
    records = ArchiveIterator(file, no_record_parse=True, arc2warc=True)
    offset, is_empty = 0, True
    try:
        for record in records:
            is_empty = False
            header = {name.lower(): value for name, value in record.rec_headers.headers}
            block = record.raw_stream.read(max_bytes + 1)
            length = len(block)
            while rest := record.raw_stream.read(_SKIPPED_BYTES):
                length += len(rest)
            offset = records.get_record_offset()  # it reads to the record's end
            if length < record.length:
                yield LostRecord(RecordPlace(offset), Damage.TRUNCATED)
                return
            yield WarcRecord(RecordPlace(offset), header, block, length)
        if is_empty and file.tell():
            yield LostRecord(RecordPlace(0), Damage.BAD_HEADER)
    except (ArchiveLoadFailed, EOFError, OSError, ValueError) as error:
        damage = Damage.TRUNCATED if isinstance(error, EOFError) else Damage.BAD_HEADER
        yield LostRecord(RecordPlace(offset), damage)
