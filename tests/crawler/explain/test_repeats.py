"""What copies within a page are copies of."""

from cleaning.blocks import Block, Decision, Kind, Reason
from crawler.explain.repeats import earlier_copies


def decisions(*pairs):
    return [
        Decision(Block(position, "/p", Kind.PARAGRAPH, text, len(text.split()), 0, 0.1), 0.5, reason)
        for position, (text, reason) in enumerate(pairs)
    ]


def test_a_copy_is_one_of_the_first_kept_block_with_its_text():
    page = decisions(
        ("It rained.", Reason.LINKS),
        ("It rained.", Reason.KEPT),
        ("It snowed.", Reason.KEPT),
        ("It rained.", Reason.KEPT),
        ("It rained.", Reason.PAGE_DUPLICATE),
    )
    assert earlier_copies(page, None) == {4: (1, 0)}


def test_weighted_compares_before_it_scores():
    page = decisions(("It rained.", Reason.LOW_SCORE), ("It rained.", Reason.PAGE_DUPLICATE))
    assert earlier_copies(page, 3) == {1: (0, 0)}
    assert earlier_copies(page, None) == {}


def test_a_copy_of_nothing_that_is_found_is_left_out():
    assert earlier_copies(decisions(("It rained.", Reason.PAGE_DUPLICATE)), 3) == {}
