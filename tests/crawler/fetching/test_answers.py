"""The answers in the records of a WARC file, and why a record has none."""

import gzip
import io

import pytest
from warcs import HTML, answer_records, record

from crawler.fetching.answers import Answer, LostAnswer, OtherRequests, Passed, read_answers

URL = "https://a.example/1"
PAGE = b"<!DOCTYPE html><p>The harbour was closed."
CHUNKED = (*HTML, ("Transfer-Encoding", "chunked"))


def read(*records, max_bytes=1_000, others=None):
    return list(read_answers(io.BytesIO(b"".join(records)), max_bytes, others or OtherRequests()))


def test_an_answer_has_its_address_status_and_headers():
    (answer,) = read(*answer_records(URL, PAGE, status=404))
    assert (answer.url, answer.status, answer.body) == (URL, 404, PAGE)
    assert ("Content-Type", "text/html; charset=utf-8") in answer.headers
    assert answer.at.isoformat() == "2026-03-01T12:00:00+00:00"
    assert not answer.is_shortened


def test_a_body_is_returned_without_its_transfer_coding():
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)
    (answer,) = read(*answer_records(URL, chunks, headers=CHUNKED))
    assert answer.body == PAGE
    assert "transfer-encoding" not in {name.lower() for name, _ in answer.headers}


def test_a_packed_body_stays_packed():
    headers = (*HTML, ("Content-Encoding", "gzip"))
    (answer,) = read(*answer_records(URL, gzip.compress(PAGE), headers=headers))
    assert gzip.decompress(answer.body) == PAGE
    assert ("Content-Encoding", "gzip") in answer.headers


def test_a_body_that_was_unpacked_before_is_not_called_packed():
    (answer,) = read(*answer_records(URL, PAGE, headers=(*HTML, ("Content-Encoding", "gzip"))))
    assert answer.body == PAGE
    assert "content-encoding" not in {name.lower() for name, _ in answer.headers}


def test_a_body_beyond_the_limit_is_cut_one_byte_after_it():
    (answer,) = read(*answer_records(URL, PAGE * 100), max_bytes=100)
    assert len(answer.body) == 101


def test_an_archive_may_say_that_it_has_only_the_beginning():
    block = b"HTTP/1.1 200 OK\r\n\r\n" + PAGE
    (answer,) = read(record("response", URL, block, more={"WARC-Truncated": "length"}))
    assert answer.is_shortened


@pytest.mark.parametrize(
    ("kind", "url", "block", "reason", "is_lost"),
    [
        ("metadata", URL, b"fetchTimeMs: 12", Passed.OTHER, False),
        ("revisit", URL, b"HTTP/1.1 304 Not Modified\r\n\r\n", Passed.REVISIT, False),
        ("response", "dns:a.example", b"HTTP/1.1 200 OK\r\n\r\n", Passed.OTHER, False),
        ("response", URL, b"SSH-2.0-server", LostAnswer.UNREADABLE, True),
        ("response", URL, b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nshort", LostAnswer.CUT_BODY, True),
    ],
)
def test_a_record_without_an_answer_has_its_reason(kind, url, block, reason, is_lost):
    (passed,) = read(record(kind, url, block))
    assert (passed.reason, passed.is_lost) == (reason, is_lost)


def test_the_answer_to_another_request_is_known_by_its_id():
    others = OtherRequests()
    records = read(*answer_records(URL, PAGE, method="POST"), others=others)
    (answer,) = [part for part in records if isinstance(part, Answer)]
    assert answer.record_id in others.answer_ids
