"""Candidates within one page."""

from datetime import UTC, datetime

from cleaning.blocks import Block, CleanPage, Decision, Kind, Metadata, Reason
from cleaning.fingerprint import distance, fingerprint
from crawler.config import Config
from crawler.stages.dedup import DedupPipeline
from crawler.visit import Outcome, Visit

URL = "https://a.example/1"
LONG = (
    "The old ferry left the harbour before sunrise with forty passengers, nine bicycles and a crate of oranges, while "
    "fishermen mended their nets along the quiet pier and gulls argued about breakfast above the customs house roof."
)


def decision(position, text, kind=Kind.PARAGRAPH):
    return Decision(Block(position, "/html/body/p[1]", kind, text, len(text.split()), 0, 0.1), 1.0, Reason.KEPT)


def candidates(*texts, kind=Kind.PARAGRAPH, **settings):
    pipeline = DedupPipeline(Config(cleaning_options={}, **settings))
    decisions = tuple(decision(position, text, kind) for position, text in enumerate(texts))
    cleaned = CleanPage(URL, "default", None, Metadata(), decisions)
    return pipeline.process_item(Visit(URL, datetime.now(UTC), Outcome.PAGE, cleaned=cleaned)).candidates


def test_a_repeated_paragraph_repeats_the_first_one():
    found = candidates(LONG, "Something else entirely.", LONG.upper())
    assert [candidate.repeats for candidate in found] == [None, None, 0]


def test_a_near_duplicate_within_the_page_carries_its_distance():
    edited = LONG.replace("house roof", "house gate")
    bits = distance(fingerprint(LONG), fingerprint(edited))
    found = candidates(LONG, edited)
    assert 0 < bits <= 3
    assert (found[1].repeats, found[1].distance) == (0, bits)


def test_short_texts_that_differ_in_a_number_are_no_duplicates():
    found = candidates("The lease_token costs 10 dollars today.", "The lease_token costs 20 dollars today.")
    assert [candidate.fingerprint for candidate in found] == [None, None]
    assert found[1].repeats is None


def test_headings_are_compared_word_for_word_only():
    assert candidates(LONG, kind=Kind.HEADING)[0].fingerprint is None


def test_texts_without_terms_are_never_duplicates():
    found = candidates("!!!", "!!!")
    assert [candidate.terms for candidate in found] == [0, 0]
    assert found[1].repeats is None


def test_scope_off_compares_nothing():
    assert candidates(LONG, LONG, dedup_scope="off")[1].repeats is None


def test_fingerprints_are_weighed_as_the_settings_say():
    (found,) = candidates(LONG, fingerprint_weighting="plain")
    assert found.fingerprint == fingerprint(LONG, weighting="plain") != fingerprint(LONG)


def page_fingerprint(*texts, **settings):
    decisions = tuple(decision(position, text) for position, text in enumerate(texts))
    cleaned = CleanPage(URL, "default", None, Metadata(), decisions)
    pipeline = DedupPipeline(Config(cleaning_options={}, **settings))
    return pipeline.process_item(Visit(URL, datetime.now(UTC), Outcome.PAGE, cleaned=cleaned)).fingerprint


def test_a_page_has_the_fingerprint_of_all_its_kept_text():
    first, second = LONG[:120], LONG[120:]
    assert page_fingerprint(first, second) == fingerprint(f"{first} {second}")


def test_a_page_of_few_terms_has_no_fingerprint():
    assert page_fingerprint("The lease_token costs 10 dollars today.") is None
    assert page_fingerprint() is None
    assert page_fingerprint("The lease_token costs 10 dollars today.", fingerprint_min_terms=1) is not None
