"""ARC files, packed or not, whole and damaged, give the answers that a WARC file gives."""

import gzip
import io

import pytest
from warcs import arc_records

from crawler.fetching.answers import Answer, OtherRequests, answers_of
from crawler.fetching.arc import read_arc
from crawler.fetching.warc import Damage, LostRecord

LIMIT = 1_000
PAGES = [(f"https://a.example/{number}", f"<p>Storm {number}") for number in range(4)]
RECORDS = arc_records(PAGES)
PACKED = [gzip.compress(record, mtime=0) for record in RECORDS]


def read(data):
    return list(read_arc(io.BytesIO(data), LIMIT))


@pytest.mark.parametrize("records", [RECORDS, PACKED])
def test_each_record_is_an_answer(records):
    answers = list(answers_of(iter(read(b"".join(records))), LIMIT, OtherRequests()))
    whole = [answer for answer in answers if isinstance(answer, Answer)]
    assert [(answer.url, answer.body.decode()) for answer in whole] == PAGES
    assert {answer.status for answer in whole} == {200}
    assert whole[0].at.isoformat() == "2026-03-01T12:00:00+00:00"
    assert whole[1].place.offset == len(b"".join(records[:2]))


@pytest.mark.parametrize("records", [RECORDS, PACKED])
def test_the_record_in_which_a_file_ends_is_lost(records):
    *whole, lost = read(b"".join(records)[:-12])
    assert len(whole) == len(records) - 1
    assert lost.damage is Damage.TRUNCATED


def test_damage_loses_the_rest():
    *whole, lost = read(RECORDS[0] + RECORDS[1] + b"no header\n" + RECORDS[2])
    assert (len(whole), lost.damage) == (2, Damage.BAD_HEADER)


@pytest.mark.parametrize("data", [b"no archive\n", b"\x1f\x8b\x08", bytes(2_000)])
def test_another_file_is_one_lost_record(data):
    (lost,) = read(data)
    assert isinstance(lost, LostRecord)


def test_an_empty_file_has_no_records():
    assert read(b"") == []


def test_a_long_block_is_cut():
    (_, record) = read(b"".join(arc_records([("https://a.example/1", "x" * 5_000_000)])))
    assert len(record.block) == LIMIT + 1
    assert record.length > 5_000_000
