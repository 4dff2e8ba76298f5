"""Blocks and pages get fingerprints; blocks of one page are compared with one another."""

from cleaning.blocks import Block, Decision, Kind, Reason
from cleaning.fingerprint import distance, fingerprint
from cleaning.page_fingerprint import Fingerprinter

LONG = (
    "The old ferry left the harbour before sunrise with forty passengers, nine bicycles and a crate of oranges, while "
    "fishermen mended their nets along the quiet pier and gulls argued about breakfast above the customs house roof."
)
SHORT = "The ticket costs 10 dollars today."


def process(*texts, kind=Kind.PARAGRAPH, **values):
    """Fingerprint a page that keeps these texts."""
    decisions = [
        Decision(Block(position, "/html/body/p[1]", kind, text, len(text.split()), 0, 0.1), 1.0, Reason.KEPT)
        for position, text in enumerate(texts)
    ]
    return Fingerprinter(**values).fingerprint(decisions)


def blocks(*texts, **values):
    return process(*texts, **values).blocks


def test_a_repeated_paragraph_repeats_the_first_one():
    repeated = blocks(LONG, "Something else entirely.", LONG.upper())
    assert [block.repeats for block in repeated] == [None, None, 0]


def test_a_near_duplicate_within_the_page_carries_its_distance():
    edited = LONG.replace("house roof", "house gate")
    bits = distance(fingerprint(LONG), fingerprint(edited))
    repeated = blocks(LONG, edited)
    assert 0 < bits <= 3
    assert (repeated[1].repeats, repeated[1].distance) == (0, bits)


def test_short_texts_that_differ_in_a_number_are_not_duplicates():
    repeated = blocks(SHORT, "The ticket costs 20 dollars today.")
    assert [block.fingerprint for block in repeated] == [None, None]
    assert repeated[1].repeats is None


def test_headings_match_by_digest_only():
    assert blocks(LONG, kind=Kind.HEADING)[0].fingerprint is None


def test_texts_without_terms_repeat_equal_ones():
    compared = blocks("!!!", "It wasn't.", "!!!", "It wasn't.", "it wasn't.")
    assert {block.unique_terms for block in compared} == {0}
    assert [block.repeats for block in compared] == [None, None, 0, 1, None]


def test_without_a_distance_no_blocks_are_compared():
    assert blocks(LONG, LONG, max_distance=None)[1].repeats is None


def test_the_weighting_is_the_fingerprinter_s():
    (block,) = blocks(LONG, weighting="plain")
    assert block.fingerprint == fingerprint(LONG, weighting="plain") != fingerprint(LONG)


def test_dropped_blocks_are_left_out():
    dropped = Decision(Block(0, "/p", Kind.PARAGRAPH, LONG, 36, 0, 0.1), 0.0, Reason.FOOTER)
    assert Fingerprinter().fingerprint([dropped]).blocks == ()


def test_a_page_has_the_fingerprint_of_all_its_kept_text():
    first, second = LONG[:120], LONG[120:]
    assert process(first, second).fingerprint == fingerprint(f"{first} {second}")


def test_a_page_of_few_terms_has_no_fingerprint():
    assert process(SHORT).fingerprint is None
    assert process().fingerprint is None
    assert process(SHORT, min_terms=1).fingerprint is not None
