"""One record: rejected with its reason, or cleaned with the keys of its blocks."""

import gzip

import pytest
from batch_jobs import settings
from warcs import article, paragraph

from cleaning import clean
from cleaning.page_fingerprint import Fingerprinter
from crawler.batch.clean_record import RecordCleaner, RecordToClean
from crawler.urls import url_key
from crawler.visit import Outcome, TextForm

URL = "https://a.example/1"
PAGE = article("Storm", paragraph(1), paragraph(2), paragraph(1))
HTML = ("Content-Type", "text/html; charset=utf-8")


@pytest.fixture(scope="module")
def cleaner():
    return RecordCleaner(settings(), TextForm())


def record(body=PAGE, *headers, status=200):
    return RecordToClean(URL, status, (HTML, *headers), body.encode() if isinstance(body, str) else body)


def test_a_page_has_the_kept_blocks_and_keys_of_a_crawl(cleaner):
    cleaned = cleaner.clean(record())
    kept = [decision for decision in clean(PAGE, URL).decisions if decision.kept]
    keys = Fingerprinter().fingerprint(kept).blocks
    assert cleaned.outcome is Outcome.PAGE
    assert cleaned.key == url_key(URL)
    assert cleaned.blocks.text == [decision.block.text for decision in kept]
    assert len(cleaned.blocks) == len(keys) == cleaned.reasons["kept"]


def test_a_block_that_repeats_an_earlier_one_names_it(cleaner):
    blocks = cleaner.clean(record()).blocks
    (repeat,) = [number for number, earlier in enumerate(blocks.repeats) if earlier >= 0]
    assert blocks.text[repeat] == blocks.text[blocks.repeats[repeat]]


def test_a_packed_body_is_unpacked(cleaner):
    packed = cleaner.clean(record(gzip.compress(PAGE.encode()), ("Content-Encoding", "gzip")))
    assert packed.blocks.text == cleaner.clean(record()).blocks.text


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (record(status=404), Outcome.NOT_FOUND),
        (record(b"%PDF-1.4"), Outcome.BINARY),
        (record(b"no gzip", ("Content-Encoding", "gzip")), Outcome.DOWNLOAD_FAILED),
        (record(PAGE, ("X-Robots-Tag", "noindex")), Outcome.NOINDEX),
    ],
)
def test_an_answer_without_a_page_has_its_reason(cleaner, answer, outcome):
    cleaned = cleaner.clean(answer)
    assert (cleaned.outcome, len(cleaned.blocks)) == (outcome, 0)
