"""A visit against the page's earlier blocks, without a database."""

from crawler.storage.blocks import EarlierRow, OriginalBlock, compare_blocks


def block(make, row_id, text, *, position=0, gone=False):
    made = make(position, text)
    original = OriginalBlock(row_id, text, made.digest, made.fingerprint)
    return EarlierRow(row_id, False, original, position, made.digest, text, gone)


def sighting(make, row_id, text, of, *, position=0, gone=False):
    made = make(position, text)
    return EarlierRow(row_id, True, of.original, position, made.digest, text, gone)


def summary(comparison):
    return (
        [(kept.candidate.decision.block.position, kept.earlier.row_id) for kept in comparison.kept],
        [one.decision.block.position for one in comparison.new],
        [row.row_id for row in comparison.missing],
        comparison.changed,
    )


def test_the_same_text_is_kept(candidate):
    assert summary(compare_blocks([candidate(0, "red fox")], [block(candidate, 1, "red fox")])) == (
        [(0, 1)],
        [],
        [],
        False,
    )


def test_case_and_punctuation_make_no_new_block(candidate):
    assert summary(compare_blocks([candidate(0, "Red fox!")], [block(candidate, 1, "red fox")]))[0] == [(0, 1)]


def test_another_text_is_new_and_the_old_one_missing(candidate):
    comparison = compare_blocks([candidate(0, "grey wolf")], [block(candidate, 1, "red fox")])
    assert summary(comparison) == ([], [0], [1], True)


def test_the_same_digest_with_other_terms_is_another_block(candidate):
    earlier = block(candidate, 1, "red fox")
    collision = candidate(0, "grey wolf", digest=earlier.digest)
    assert summary(compare_blocks([collision], [earlier]))[:3] == ([], [0], [1])


def test_a_row_serves_one_candidate_only(candidate):
    comparison = compare_blocks([candidate(0, "red fox"), candidate(1, "red fox")], [block(candidate, 1, "red fox")])
    assert summary(comparison) == ([(0, 1)], [1], [], True)


def test_live_rows_are_kept_before_gone_ones(candidate):
    earlier = [block(candidate, 1, "red fox", gone=True), block(candidate, 2, "red fox", position=5)]
    assert summary(compare_blocks([candidate(0, "red fox")], earlier))[0] == [(0, 2)]


def test_a_gone_row_comes_back_and_changes_the_page(candidate):
    comparison = compare_blocks([candidate(0, "red fox")], [block(candidate, 1, "red fox", gone=True)])
    assert summary(comparison) == ([(0, 1)], [], [], True)


def test_a_row_gone_before_is_not_missing_again(candidate):
    assert summary(compare_blocks([], [block(candidate, 1, "red fox", gone=True)])) == ([], [], [], False)


def test_a_repeat_is_kept_as_the_sighting_and_the_first_as_the_block(candidate):
    first = block(candidate, 1, "red fox")
    earlier = [sighting(candidate, 1, "red fox", first, position=1), first]
    comparison = compare_blocks([candidate(0, "red fox"), candidate(1, "red fox", repeats=0)], earlier)
    assert [kept.earlier.is_sighting for kept in comparison.kept] == [False, True]


def test_a_sighting_of_the_page_s_own_lost_block_becomes_a_block(candidate):
    lost = block(candidate, 1, "red fox in the long grass")
    earlier = [lost, sighting(candidate, 9, "red fox in the tall grass", lost, position=1)]
    comparison = compare_blocks([candidate(0, "red fox in the tall grass")], earlier)
    assert summary(comparison) == ([], [0], [1, 9], True)


def test_a_sighting_of_another_page_s_block_is_kept(candidate):
    elsewhere = block(candidate, 1, "red fox")
    assert summary(compare_blocks([candidate(0, "red fox")], [sighting(candidate, 9, "red fox", elsewhere)]))[0] == [
        (0, 9)
    ]


def test_blocks_without_terms_are_the_same_letter_for_letter_only(candidate):
    earlier = [block(candidate, 1, "* * *"), block(candidate, 2, "---", position=1)]
    comparison = compare_blocks([candidate(0, "---"), candidate(1, "###")], earlier)
    assert summary(comparison) == ([(0, 2)], [1], [1], False)


def test_another_order_is_a_change_with_nothing_new(candidate):
    earlier = [block(candidate, 1, "red fox"), block(candidate, 2, "grey wolf", position=1)]
    comparison = compare_blocks([candidate(0, "grey wolf"), candidate(1, "red fox")], earlier)
    assert summary(comparison) == ([(0, 2), (1, 1)], [], [], True)


def test_twenty_thousand_equal_blocks_take_no_time_to_speak_of(candidate):
    made = candidate(0, "red fox")
    earlier = [
        EarlierRow(n, False, OriginalBlock(n, "red fox", made.digest, None), n, made.digest, "red fox", False)
        for n in range(20_000)
    ]
    assert len(compare_blocks([candidate(n, "red fox") for n in range(20_000)], earlier).kept) == 20_000
