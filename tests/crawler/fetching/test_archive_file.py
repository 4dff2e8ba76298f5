"""The file of an archive: locked, repaired at its end, and complete after each write."""

import gzip
import os
import random
import resource
from contextlib import closing, contextmanager

import pytest
from scrapy import Request
from scrapy.http import Response
from warcio.archiveiterator import ArchiveIterator

from crawler.errors import ArchiveError
from crawler.fetching.archive import ArchiveFile, ArchiveRecords, NotAnArchiveError, _end_of_whole_records

NOISE = random.Random(5).randbytes(3_000)


@pytest.fixture
def records():
    return ArchiveRecords("a.warc.gz", {"software": "a test"})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.warc.gz"


def pair(records, body=b"<p>text", url="https://lake.example/"):
    return records.pack(Request(url), Response(url, body=body))


def types(path):
    with path.open("rb") as file:
        return [record.rec_type for record in ArchiveIterator(file)]


@contextmanager
def largest_file(size):
    """Let the system refuse to make a file larger than that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_records_are_appended_to_an_existing_file(path, records):
    for _ in range(2):
        with closing(ArchiveFile.open(path)) as file:
            file.append(records.warcinfo)
            file.append(pair(records))
            assert file.torn_bytes == 0
    assert types(path) == ["warcinfo", "response", "request"] * 2


@pytest.mark.parametrize("body", [b"<p>text", NOISE, gzip.compress(b"WARC/1.1\r\n" + NOISE, mtime=0)])
def test_a_partial_last_record_is_cut_off_wherever_it_ends(path, records, body):
    first, last = records.warcinfo + pair(records, NOISE), pair(records, body)
    length = len(last)
    whole = first + last
    ends = {len(first), len(first) + whole[len(first) + 1 :].find(b"\x1f\x8b\x08") + 1, len(whole)}
    cuts = {*range(len(first), len(first) + 16, 3), *range(len(whole) - 12, len(whole) + 1, 4)}
    for cut in sorted(cuts | {len(first) + length // 2}):
        path.write_bytes(whole[:cut])
        with closing(ArchiveFile.open(path)) as file:
            kept = cut - file.torn_bytes
        assert path.stat().st_size == kept <= cut
        if body == b"<p>text":
            assert kept == max(end for end in ends if end <= cut)
        kinds = types(path)
        assert kinds[:3] == ["warcinfo", "response", "request"]
        assert kinds[3:] in ([], ["response"], ["response", "request"])


def test_a_first_record_that_was_cut_off_leaves_an_empty_file(path, records):
    for cut in (1, 5, 20, len(records.warcinfo) - 1):
        path.write_bytes(records.warcinfo[:cut])
        with closing(ArchiveFile.open(path)) as file:
            assert file.torn_bytes == cut
        assert path.stat().st_size == 0


@pytest.mark.parametrize("content", [b"my letters", gzip.compress(b"my letters", mtime=0), b"\x1f\x8b but not gzip"])
def test_a_file_that_is_not_an_archive_is_rejected_and_unchanged(path, content):
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"a\.warc\.gz', which is not a WARC file that can be continued"):
        ArchiveFile.open(path)
    assert path.read_bytes() == content


def test_other_data_after_the_records_is_not_cut_off(path, records):
    path.write_bytes(records.warcinfo + b"a note of mine")
    with path.open("rb") as file, pytest.raises(NotAnArchiveError, match="other data"):
        _end_of_whole_records(file)


def test_a_file_in_use_is_rejected(path):
    with closing(ArchiveFile.open(path)), pytest.raises(ArchiveError, match="another crawl is writing"):
        ArchiveFile.open(path)


def test_on_a_full_disk_no_part_of_a_record_is_written(path, records):
    with closing(ArchiveFile.open(path)) as file:
        file.append(records.warcinfo)
        before = path.read_bytes()
        with largest_file(len(before) + 100), pytest.raises(ArchiveError, match="cannot be written"):
            file.append(os.urandom(1_000))
        assert path.read_bytes() == before
        file.append(pair(records))
    assert types(path) == ["warcinfo", "response", "request"]
