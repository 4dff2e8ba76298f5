"""Deciding whether a page is an article."""

import pytest

from cleaning.blocks import Block, Decision, Kind, Metadata, PageType, Reason
from cleaning.structure.clean_page import CleanPage
from crawler.discovery.article_detection import RunningText, is_article


def cleaned(*words, type=None, confidence=None, method="default"):  # noqa: A002 — as CleanPage has it
    blocks = [Block(n, "/p", Kind.PARAGRAPH, "x", count, 0, 1.0) for n, count in enumerate(words)]
    decisions = [Decision(block, 1.0, Reason.KEPT) for block in blocks]
    dropped = Decision(Block(99, "/p", Kind.PARAGRAPH, "x", 500, 0, 1.0), 0.0, Reason.RELATED)
    return CleanPage(None, method, None, Metadata(), (*decisions, dropped), (), type, confidence)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((60, 40), True),
        ((60, 39), False),
        ((100, *[10] * 23), True),
        ((100, *[10] * 24), False),  # teasers beside one long paragraph
        ([19] * 50, False),
        ((), False),
    ],
)
def test_an_article_has_enough_running_text(words, expected):
    assert is_article(cleaned(*words)) is expected


def test_only_kept_blocks_count():
    assert RunningText.of(cleaned(30, 5)) == RunningText(35, 30)


@pytest.mark.parametrize(
    ("kind", "confidence", "expected"),
    [
        (PageType.LISTING, 0.5, False),
        (PageType.LISTING, 0.49, True),
        (PageType.COLLECTION, 0.9, True),  # as articles in Chinese are often taken for
        (PageType.ARTICLE, 0.9, True),
    ],
)
def test_a_page_classified_as_a_listing_with_confidence_is_not_an_article(kind, confidence, expected):
    assert is_article(cleaned(200, type=kind, confidence=confidence)) is expected


def test_pages_of_other_methods_are_not_judged():
    assert is_article(cleaned(method="weighted")) is None
    assert is_article(cleaned(500, method="pab")) is None
