"""WARC files, gzipped, packed with zstd or not: `members.py` unpacks them, `records.py` reads their records."""

from crawler.fetching.warc.members import Damage, LostRecordError, MemberMarks, RecordPlace
from crawler.fetching.warc.records import LostRecord, WarcRecord, read_record, read_warc

__all__ = [
    "Damage",
    "LostRecord",
    "LostRecordError",
    "MemberMarks",
    "RecordPlace",
    "WarcRecord",
    "read_record",
    "read_warc",
]
