"""A visit against the page's earlier blocks, without a database."""

import pytest
from block_candidates import make_candidate

from crawler.page_comparison import EarlierRow, OriginalBlock, compare_blocks
from crawler.storage.near_duplicates import MAX_DISTANCE


@pytest.fixture
def candidate():
    return make_candidate


def compare(candidates, earlier, max_distance=MAX_DISTANCE):
    return compare_blocks(candidates, earlier, max_distance)


def block(make, row_id, text, *, position=0, gone=False, fingerprint=None):
    candidate = make(position, text, fingerprint=fingerprint)
    original = OriginalBlock(row_id, text, candidate.digest, candidate.fingerprint)
    return EarlierRow(row_id, False, original, position, candidate.digest, text, gone)


def sighting(make, row_id, text, of, *, position=0, gone=False):
    candidate = make(position, text)
    return EarlierRow(row_id, True, of.original, position, candidate.digest, text, gone)


def summary(comparison):
    return (
        [(kept.position, kept.earlier.row_id) for kept in comparison.kept],
        [candidate.position for candidate in comparison.new],
        [row.row_id for row in comparison.missing],
        comparison.changed,
    )


def test_the_same_text_is_kept(candidate):
    assert summary(compare([candidate(0, "red fox")], [block(candidate, 1, "red fox")])) == (
        [(0, 1)],
        [],
        [],
        False,
    )


def test_case_and_punctuation_make_no_new_block(candidate):
    assert summary(compare([candidate(0, "Red fox!")], [block(candidate, 1, "red fox")]))[0] == [(0, 1)]


def test_another_text_is_new_and_the_old_one_missing(candidate):
    comparison = compare([candidate(0, "grey wolf")], [block(candidate, 1, "red fox")])
    assert summary(comparison) == ([], [0], [1], True)


def test_the_same_digest_with_other_terms_is_another_block(candidate):
    earlier = block(candidate, 1, "red fox")
    collision = candidate(0, "grey wolf", digest=earlier.digest)
    assert summary(compare([collision], [earlier]))[:3] == ([], [0], [1])


def test_a_row_serves_one_candidate_only(candidate):
    comparison = compare([candidate(0, "red fox"), candidate(1, "red fox")], [block(candidate, 1, "red fox")])
    assert summary(comparison) == ([(0, 1)], [1], [], True)


def test_live_rows_are_kept_before_gone_ones(candidate):
    earlier = [block(candidate, 1, "red fox", gone=True), block(candidate, 2, "red fox", position=5)]
    assert summary(compare([candidate(0, "red fox")], earlier))[0] == [(0, 2)]


def test_a_gone_row_comes_back_and_changes_the_page(candidate):
    comparison = compare([candidate(0, "red fox")], [block(candidate, 1, "red fox", gone=True)])
    assert summary(comparison) == ([(0, 1)], [], [], True)


def test_a_row_gone_before_is_not_missing_again(candidate):
    assert summary(compare([], [block(candidate, 1, "red fox", gone=True)])) == ([], [], [], False)


def test_a_repeat_is_kept_as_the_sighting_and_the_first_as_the_block(candidate):
    first = block(candidate, 1, "red fox")
    earlier = [sighting(candidate, 1, "red fox", first, position=1), first]
    comparison = compare([candidate(0, "red fox"), candidate(1, "red fox", repeats=0)], earlier)
    assert [kept.earlier.is_sighting for kept in comparison.kept] == [False, True]


def test_a_sighting_of_the_page_s_own_lost_block_becomes_a_block(candidate):
    lost = block(candidate, 1, "red fox in the long grass")
    earlier = [lost, sighting(candidate, 9, "red fox in the tall grass", lost, position=1)]
    comparison = compare([candidate(0, "red fox in the tall grass")], earlier)
    assert summary(comparison) == ([], [0], [1, 9], True)


def test_a_sighting_of_another_page_s_block_is_kept(candidate):
    elsewhere = block(candidate, 1, "red fox")
    assert summary(compare([candidate(0, "red fox")], [sighting(candidate, 9, "red fox", elsewhere)]))[0] == [(0, 9)]


def test_blocks_without_terms_are_the_same_letter_for_letter_only(candidate):
    earlier = [block(candidate, 1, "* * *"), block(candidate, 2, "---", position=1)]
    comparison = compare([candidate(0, "---"), candidate(1, "###")], earlier)
    assert summary(comparison) == ([(0, 2)], [1], [1], True)


def test_another_order_is_a_change_with_nothing_new(candidate):
    earlier = [block(candidate, 1, "red fox"), block(candidate, 2, "grey wolf", position=1)]
    comparison = compare([candidate(0, "grey wolf"), candidate(1, "red fox")], earlier)
    assert summary(comparison) == ([(0, 2), (1, 1)], [], [], True)


def test_a_new_text_above_its_kept_near_duplicate_repeats_it(candidate):
    earlier = [block(candidate, 1, "red fox", fingerprint=0b000)]
    page = [
        candidate(0, "grey fox", fingerprint=0b011),
        candidate(1, "red fox", fingerprint=0b000, repeats=0),
        candidate(2, "blue fox", fingerprint=0b10011, repeats=0),
        candidate(3, "green fox", fingerprint=0b11011, repeats=0),
        candidate(4, "black fox", fingerprint=0b111011, repeats=0),
    ]
    comparison = compare(page, earlier)
    assert summary(comparison) == ([(1, 1)], [0, 2, 3, 4], [], True)
    # Blue is near enough to red; green is too far from it and becomes a block, which black repeats.
    assert [(new_block.repeats, new_block.distance) for new_block in comparison.new] == [
        (1, 2),
        (1, 3),
        (None, 0),
        (3, 1),
    ]


def test_of_two_near_duplicates_that_were_gone_one_comes_back(candidate):
    earlier = [
        block(candidate, 1, "red fox", gone=True, fingerprint=0b000),
        block(candidate, 2, "grey fox", gone=True, fingerprint=0b011),
    ]
    page = [candidate(0, "grey fox", fingerprint=0b011), candidate(1, "red fox", fingerprint=0b000, repeats=0)]
    assert summary(compare(page, earlier)) == ([(0, 2)], [1], [], True)


def test_a_block_that_was_gone_does_not_come_back_above_its_live_near_duplicate(candidate):
    earlier = [
        block(candidate, 1, "red fox", fingerprint=0b000),
        block(candidate, 2, "grey fox", gone=True, fingerprint=0b011),
    ]
    page = [candidate(0, "grey fox", fingerprint=0b011), candidate(1, "red fox", fingerprint=0b000, repeats=0)]
    comparison = compare(page, earlier)
    assert summary(comparison) == ([(1, 1)], [0], [], True)
    assert [(new_block.repeats, new_block.distance) for new_block in comparison.new] == [(1, 2)]


def test_a_text_keeps_its_live_block_where_it_now_repeats_a_new_one(candidate):
    first = block(candidate, 1, "red fox")
    earlier = [first, sighting(candidate, 9, "red fox", first, position=1)]
    comparison = compare([candidate(0, "grey fox"), candidate(1, "red fox", repeats=0)], earlier)
    assert [(kept.earlier.is_sighting, kept.earlier.row_id) for kept in comparison.kept] == [(False, 1)]


def test_near_duplicates_on_a_page_are_those_within_the_given_distance(candidate):
    earlier = [block(candidate, 1, "red fox", fingerprint=0b000)]
    page = [candidate(0, "grey fox", fingerprint=0b011), candidate(1, "red fox", fingerprint=0b000, repeats=0)]
    assert [new_block.repeats for new_block in compare(page, earlier, 1).new] == [None]


def test_twenty_thousand_equal_blocks_take_no_time_to_speak_of(candidate):
    red_fox = candidate(0, "red fox")
    earlier = [
        EarlierRow(n, False, OriginalBlock(n, "red fox", red_fox.digest, None), n, red_fox.digest, "red fox", False)
        for n in range(20_000)
    ]
    assert len(compare([candidate(n, "red fox") for n in range(20_000)], earlier).kept) == 20_000
