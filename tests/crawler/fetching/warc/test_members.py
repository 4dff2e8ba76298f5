"""WARC files packed with zstd: frames, the dictionary in the first one, and damage."""

import io
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st
from warcs import answer_records, article, paragraph

from crawler.fetching.warc import Damage, LostRecord, MemberMarks, WarcRecord, read_record, read_warc

LIMIT = 1 << 20
RECORDS = [
    answer_records(f"https://a.example/{number}", article(f"Page {number}", paragraph(number), paragraph(-number)))[0]
    for number in range(6)
]
CHECKED = {zstd.CompressionParameter.checksum_flag: 1}
DICTIONARY = zstd.train_dict([*RECORDS, *(record[:700] for record in RECORDS)] * 4, 4_000)


def skipped_frame(content, kind=0x5D):
    return bytes([kind, 0x2A, 0x4D, 0x18]) + len(content).to_bytes(4, "little") + content


def packed(*records, dictionary=None):
    return b"".join(zstd.compress(record, options=CHECKED, zstd_dict=dictionary) for record in records)


OTHER_DICTIONARY = zstd.train_dict([record[::-1] for record in RECORDS] * 8, 3_000)
LEARNED = packed(*RECORDS, dictionary=DICTIONARY)
FILES = {
    "frames": packed(*RECORDS),
    "dictionary": skipped_frame(DICTIONARY.dict_content) + LEARNED,
    "packed dictionary": skipped_frame(zstd.compress(DICTIONARY.dict_content)) + LEARNED,
    "other frames": skipped_frame(b"x" * 300_000, 0x50)
    + packed(*RECORDS[:3])
    + skipped_frame(b"", 0x5E)
    + packed(*RECORDS[3:])
    + skipped_frame(b"index", 0x5E),
    "two files with dictionaries": skipped_frame(DICTIONARY.dict_content)
    + packed(*RECORDS[:3], dictionary=DICTIONARY)
    + skipped_frame(zstd.compress(OTHER_DICTIONARY.dict_content))
    + packed(*RECORDS[3:5], dictionary=OTHER_DICTIONARY)
    + skipped_frame(DICTIONARY.dict_content)
    + packed(RECORDS[5], dictionary=DICTIONARY),
    "a file without a dictionary before one with it": packed(*RECORDS[:3])
    + skipped_frame(DICTIONARY.dict_content)
    + packed(*RECORDS[3:], dictionary=DICTIONARY),
    "one frame": packed(b"".join(RECORDS)),
    "NUL padding": packed(*RECORDS[:3]) + bytes(600) + packed(*RECORDS[3:]) + bytes(600),
}


def read(content, marks=None):
    return list(read_warc(io.BytesIO(content), LIMIT, marks))


def summary(records):
    """Return the number in each record's URL, or the damage of a lost one."""
    return [
        str(record.damage) if isinstance(record, LostRecord) else int(record.header["warc-target-uri"][-1])
        for record in records
    ]


@pytest.mark.parametrize("name", FILES)
def test_every_record_is_read_in_order_and_again_at_its_place(name):
    content, marks = FILES[name], MemberMarks()
    records = read(content, marks)
    assert summary(records) == [0, 1, 2, 3, 4, 5]
    assert [record.block for record in records] == [record.block for record in read(b"".join(RECORDS))]
    for kept in (marks, None):
        again = [read_record(io.BytesIO(content), record.place, LIMIT, kept) for record in reversed(records)]
        assert again == records[::-1]


def test_a_record_that_is_longer_than_the_limit_is_cut_and_the_next_one_is_read():
    records = list(read_warc(io.BytesIO(FILES["one frame"]), 100))
    assert summary(records) == [0, 1, 2, 3, 4, 5]
    assert {len(record.block) for record in records} == {101}


def test_a_longer_record_whose_length_is_a_lie_costs_no_other():
    lying = RECORDS[1].replace(b"Content-Length: ", b"Content-Length: 9", 1)
    content = packed(RECORDS[0] + lying + RECORDS[2] + RECORDS[3])
    assert summary(read_warc(io.BytesIO(content), 100)) == [0, Damage.WRONG_LENGTH, 2, 3]


def corrupt(content, place):
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


FIRST = len(packed(RECORDS[0]))
GARBAGE = b"\x07garbage" * 30


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (FILES["frames"][:-100], [0, 1, 2, 3, 4, Damage.TRUNCATED]),
        (FILES["one frame"][:-20], [Damage.TRUNCATED]),
        (corrupt(FILES["frames"], 0), [Damage.BAD_HEADER, 1, 2, 3, 4, 5]),
        (corrupt(FILES["frames"], FIRST + 200), [0, Damage.UNPACKABLE, 2, 3, 4, 5]),
        (b"garbage" + FILES["frames"], [Damage.BAD_HEADER, 0, 1, 2, 3, 4, 5]),
        (b"garbage" + FILES["dictionary"], [Damage.BAD_HEADER, 0, 1, 2, 3, 4, 5]),
        (
            FILES["frames"][:FIRST] + b"\x07garbage" * 30 + FILES["frames"][FIRST:],
            [0, Damage.UNPACKABLE, 1, 2, 3, 4, 5],
        ),
        (FILES["dictionary"][:700], [Damage.TRUNCATED]),
        (
            FILES["dictionary"][:-50] + FILES["two files with dictionaries"],
            [0, 1, 2, 3, 4, Damage.UNPACKABLE, 0, 1, 2, 3, 4, 5],
        ),
        (
            FILES["dictionary"] + skipped_frame(b"\x37\xa4\x30\xec is damaged") + packed(RECORDS[0]) + LEARNED,
            [0, 1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5],
        ),
        (LEARNED, [Damage.UNPACKABLE]),
        (skipped_frame(b"no dictionary") + packed(*RECORDS[:2]), [0, 1]),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else "-".join(map(str, value)),
)
def test_damage_costs_its_record_only(content, expected):
    assert summary(read(content)) == expected


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.integers(0, 200_000), st.integers(0, 255), st.booleans())
def test_no_byte_of_a_file_makes_reading_fail(name, place, byte, cut):
    content = FILES[name]
    place %= len(content)
    content = content[:place] if cut else content[:place] + bytes([byte]) + content[place + 1 :]
    for record in read(content):
        if isinstance(record, WarcRecord):
            assert read_record(io.BytesIO(content), record.place, LIMIT) == record


def test_a_zstd_file_is_read_whatever_it_is_called(tmp_path):
    path = Path(tmp_path, "a.warc")
    path.write_bytes(FILES["dictionary"])
    with path.open("rb") as file:
        assert summary(read_warc(file, LIMIT)) == [0, 1, 2, 3, 4, 5]
