"""Every record of a WARC file is read or reported as lost, whatever is damaged."""

import gzip
import io
import re
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcs import write_warc

from crawler.fetching.warc import Damage, LostRecord, MemberMarks, WarcRecord, members, read_record, read_warc

LIMIT = 1 << 20
PAGES = [(f"https://a.example/{number}", f"<p>page {number} {'x' * 500 * number}</p>") for number in range(6)]


@pytest.fixture(params=[True, False], ids=["gzip", "plain"])
def packed(request):
    return request.param


@pytest.fixture
def content(tmp_path, packed):
    return write_warc(tmp_path / "a.warc", PAGES, packed=packed).read_bytes()


def read(content, limit=LIMIT):
    return list(read_warc(io.BytesIO(content), limit))


def offsets(content):
    records = ArchiveIterator(io.BytesIO(content))
    return [records.get_record_offset() for record in records if record.raw_stream.read() is not None]


def urls(records):
    return [record.header.get("warc-target-uri") for record in records if isinstance(record, WarcRecord)]


def damages(records):
    return [record.damage for record in records if isinstance(record, LostRecord)]


def test_records_are_those_that_warcio_reads(content):
    records = read(content)
    expected = [record.raw_stream.read() for record in ArchiveIterator(io.BytesIO(content), no_record_parse=True)]
    assert [record.block for record in records] == expected
    assert [record.place.offset for record in records] == offsets(content)
    assert urls(records) == [url for url, _ in PAGES]


def test_an_empty_file_has_no_records():
    assert read(b"") == []


def test_a_gzip_file_with_one_member_for_all_records_is_read(tmp_path):
    plain = write_warc(tmp_path / "a.warc", PAGES, packed=False).read_bytes()
    packer = zlib.compressobj(wbits=31)
    assert urls(read(packer.compress(plain) + packer.flush())) == [url for url, _ in PAGES]


def test_a_long_block_is_cut_after_the_limit(content):
    last = read(content, limit=100)[-1]
    assert len(last.block) == 101
    assert last.length > 2_500


def test_a_truncated_file_loses_its_last_record_only(content):
    records = read(content[:-100])
    assert urls(records) == [url for url, _ in PAGES[:-1]]
    assert damages(records) == [Damage.TRUNCATED]


def test_a_file_may_end_anywhere(tmp_path, packed):
    content = write_warc(tmp_path / "a.warc", PAGES[:2], packed=packed).read_bytes()
    _, second = offsets(content)
    for size in range(1, len(content) - 20):
        records = read(content[:size])
        assert urls(records) == ["https://a.example/0"][: len(urls(records))]
        assert len(damages(records)) <= 1
        assert len(records) == 1 + (size > second)


@pytest.mark.parametrize("inside", range(12))
def test_the_start_of_a_record_may_be_cut_by_the_end_of_a_chunk(tmp_path, inside):
    """The first chunk, three bytes longer than the others, has `inside` + 3 bytes of the second record."""
    empty = len(write_warc(tmp_path / "a.warc", [("https://a.example/0", "x" * 100_000)], packed=False).read_bytes())
    pages = [("https://a.example/0", "x" * (100_000 + (1 << 18) - empty - inside)), *PAGES]
    content = write_warc(tmp_path / "a.warc", pages, packed=False).read_bytes()
    assert urls(read(content)) == [url for url, _ in pages]
    assert offsets(content)[1] == (1 << 18) - inside


def test_a_header_without_an_end_is_lost_alone():
    endless = b"WARC/1.0\r\n" + b"X-Name: value\r\n" * 10_000
    assert damages(read(endless)) == [Damage.BAD_HEADER]


def test_twenty_thousand_headers_without_an_end_cost_no_other_record(tmp_path):
    content = write_warc(tmp_path / "a.warc", PAGES, packed=False).read_bytes()
    records = read(b"WARC/1.0\r\nWARC-Type: response\r\n" * 20_000 + content)
    assert (len(damages(records)), urls(records)) == (20_000, [url for url, _ in PAGES])


@pytest.mark.parametrize("stated", ["9", "999999"], ids=["too short", "too long"])
def test_a_record_that_lies_about_its_length_is_lost_alone(tmp_path, packed, stated):
    parts = []
    for number, page in enumerate(PAGES):
        part = write_warc(tmp_path / f"{number}.warc", [page], packed=False).read_bytes()
        if number == 2:
            head, _, rest = part.partition(b"Content-Length: ")
            part = head + b"Content-Length: " + stated.encode() + rest[rest.index(b"\r\n") :]
        if packed:
            packer = zlib.compressobj(wbits=31)
            part = packer.compress(part) + packer.flush()
        parts.append(part)
    records = read(b"".join(parts))
    assert urls(records) == [url for number, (url, _) in enumerate(PAGES) if number != 2]
    lost = [record for record in records if isinstance(record, LostRecord)]
    assert len(lost) == 1
    assert lost[0].place.offset == sum(map(len, parts[:2]))
    assert lost[0].damage in {Damage.WRONG_LENGTH, Damage.TRUNCATED}


@pytest.mark.parametrize("stated", ["9", "999999", "none"])
@pytest.mark.parametrize("damaged", [0, 2, 5])
def test_a_damaged_record_in_a_member_with_others_is_lost_alone(tmp_path, stated, damaged):
    content = write_warc(tmp_path / "a.warc", PAGES, packed=False).read_bytes()
    heads = content.split(b"Content-Length: ")
    behind = heads[damaged + 1]
    heads[damaged + 1] = stated.encode() + behind[behind.index(b"\r\n") :]
    records = read(gzip.compress(b"Content-Length: ".join(heads)))
    assert urls(records) == [url for number, (url, _) in enumerate(PAGES) if number != damaged]
    assert len(damages(records)) == 1


def test_a_member_of_its_own_that_quotes_a_record_is_lost_alone(tmp_path):
    quoted = write_warc(tmp_path / "quoted.warc", [("https://b.example/", "<p>quoted</p>")], packed=False).read_bytes()
    lie = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\n<pre>\n" + quoted
    parts = [write_warc(tmp_path / "a.warc", [page]).read_bytes() for page in PAGES[:2]]
    records = read(gzip.compress(lie).join(parts))
    assert urls(records) == [url for url, _ in PAGES[:2]]
    assert damages(records) == [Damage.WRONG_LENGTH]


@pytest.mark.parametrize("padding", [b"\0" * 512, b"\r\n\r\n"])
def test_padding_behind_the_last_record_is_none(content, padding):
    assert damages(read(content + padding)) == []


def test_a_member_that_cannot_be_unpacked_is_lost_alone(tmp_path):
    content = bytearray(write_warc(tmp_path / "a.warc.gz", PAGES).read_bytes())
    third = offsets(bytes(content))[2]
    content[third + 20 : third + 60] = b"\xff" * 40
    records = read(bytes(content))
    assert urls(records) == [url for number, (url, _) in enumerate(PAGES) if number != 2]
    assert [(record.place.offset, record.damage) for record in records if isinstance(record, LostRecord)] == [
        (third, Damage.UNPACKABLE)
    ]


def test_a_record_without_a_length_is_lost(tmp_path, packed):
    plain = b"WARC/1.0\r\nWARC-Type: response\r\n\r\nbody\r\n\r\n"
    follows = write_warc(tmp_path / "b.warc", PAGES[:1], packed=packed).read_bytes()
    packer = zlib.compressobj(wbits=31)
    first = packer.compress(plain) + packer.flush() if packed else plain
    records = read(first + follows)
    assert damages(records) == [Damage.BAD_HEADER]
    assert urls(records) == ["https://a.example/0"]


def test_a_file_of_something_else_is_one_lost_record():
    assert damages(read(b"<html>no archive</html>" * 1_000)) == [Damage.BAD_HEADER]


@pytest.mark.parametrize("form", ["plain", "members", "one member"])
def test_every_record_is_read_again_at_its_place(tmp_path, form):
    marks = MemberMarks()
    content = in_form(tmp_path, form)
    for record in read_warc(io.BytesIO(content), LIMIT, marks):
        assert read_record(io.BytesIO(content), record.place, LIMIT, marks) == record


def test_marks_of_a_long_member_stay_few(tmp_path):
    pages = [(f"https://a.example/{number}", "x" * (1 << 20)) for number in range(40)]
    content = gzip.compress(write_warc(tmp_path / "a.warc", pages, packed=False).read_bytes(), 1)
    marks = MemberMarks()
    records = list(read_warc(io.BytesIO(content), LIMIT, marks))
    assert len(records) == 40
    assert all(marks.last_before(record.place) for record in records[2:])
    assert read_record(io.BytesIO(content), records[-1].place, LIMIT, marks) == records[-1]


@pytest.mark.parametrize("form", ["plain", "members", "one member"])
def test_a_record_that_states_more_than_the_file_has_costs_no_other(tmp_path, form):
    """Also if the stated length is beyond the limit, so that its block is not kept."""
    parts = [write_warc(tmp_path / f"{page[0][-1]}", [page], packed=False).read_bytes() for page in PAGES]
    parts[2] = re.sub(rb"Content-Length: [0-9]+", b"Content-Length: 99999999", parts[2], count=1)
    records = read(pack(parts, form), limit=1_000)
    assert urls(records) == [url for number, (url, _) in enumerate(PAGES) if number != 2]
    assert len(damages(records)) == 1


def pack(parts, form):
    if form == "members":
        return b"".join(gzip.compress(part, mtime=0) for part in parts)
    return gzip.compress(b"".join(parts), mtime=0) if form == "one member" else b"".join(parts)


def in_form(folder, form):
    return pack([write_warc(folder / "a", [page], packed=False).read_bytes() for page in PAGES], form)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_no_damage_hangs_or_loses_a_record_without_a_word(tmp_path_factory, data):
    form = data.draw(st.sampled_from(["plain", "members", "one member"]))
    content = bytearray(in_form(tmp_path_factory.mktemp("damaged"), form))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content) - 1))
        content[start : start + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    marks = MemberMarks()
    records = list(read_warc(io.BytesIO(bytes(content)), LIMIT, marks))
    # Damage may change what a header says, so records are counted.
    assert len(PAGES) <= len(records) <= 20 or (damages(records) and len(records) <= 20)
    for record in records:
        if isinstance(record, WarcRecord):
            assert read_record(io.BytesIO(bytes(content)), record.place, LIMIT, marks) == record
    pytest.importorskip("zlib_ng")  # as fast, and no less careful
    with pytest.MonkeyPatch.context() as patch:
        assert members.zlib is not zlib
        patch.setattr(members, "zlib", zlib)
        assert read(bytes(content)) == records
