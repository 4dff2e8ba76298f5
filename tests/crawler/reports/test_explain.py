"""What an explanation says of each block."""

from datetime import UTC, datetime

import pytest

from cleaning import OptionError, clean
from cleaning.blocks import Block, Decision, Kind, Reason
from cleaning.fingerprint import distance, fingerprint
from cleaning.methods import METHODS
from cleaning.page_fingerprint import Fingerprinter
from crawler.errors import CompareError
from crawler.reports.explain import EarlierBlock, _find_copies, explain, find_text
from crawler.storage.queries import PageContents, StoredText

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def contents(*texts):
    return PageContents(
        "https://a.example/", "a.example", "default", 1, "utf-8", NOW, NOW, 1, None, b"", None, texts, 0
    )


def stored(text, block_id=7, distance=None, boilerplate=False):
    return StoredText(block_id, text, distance, "https://b.example/", boilerplate)


def kept(explained):
    return [row for row in explained.rows if row.decision.kept]


def test_every_block_has_the_decision_of_clean(golden):
    page = golden.read_bytes()
    assert tuple(row.decision for row in explain(page).rows) == clean(page).decisions


def test_counts_add_up_to_all_blocks_and_words(some_golden, raw_method):
    explained = explain(some_golden.read_bytes(), method=raw_method)
    assert sum(explained.counts().values()) == len(explained.rows)
    assert sum(count.words for count in explained.reasons()) == explained.words
    assert [count.reason for count in explained.reasons()] == list(explained.counts())


def test_positions_tell_blocks_apart(some_golden, raw_method):
    positions = [row.block.position for row in explain(some_golden.read_bytes(), method=raw_method).rows]
    assert len(set(positions)) == len(positions)


def test_every_reason_and_every_method_has_its_words():
    meanings = [reason.meaning for reason in Reason]
    assert all(meanings)
    assert len(set(meanings)) == len(Reason)
    assert not any("own scale" in method.scale for method in METHODS.values())


def test_pab_names_the_block_that_stays():
    rows = explain("<p>A sentence that stands twice.</p>" * 2, method="pab").rows
    assert [row.repeats and row.repeats.position for row in rows] == [None, 0]


def test_weighted_names_a_near_duplicate_with_its_bits(long):
    near = long.replace("house roof", "house gate")
    rows = explain(f"<div>{long}</div><div>{near}</div>", method="weighted").rows
    assert rows[1].decision.reason is Reason.PAGE_DUPLICATE
    assert rows[1].repeats == EarlierBlock(0, distance(fingerprint(long), fingerprint(near)))


def test_kept_blocks_that_would_be_stored_as_duplicates_say_so(long):
    near = long.replace("house roof", "house gate")
    page = f"<article><p>{long}</p><p>{near}</p></article>"
    rows = explain(page).rows
    assert [row.decision.kept for row in rows] == [True, True]
    assert rows[1].repeats.position == 0
    assert rows[1].repeats.distance > 0
    assert explain(page, fingerprinter=Fingerprinter(max_distance=None)).rows[1].repeats is None


def test_weighted_tells_its_threshold(article):
    assert explain("<div>One, two.</div><div></div>", method="weighted").threshold == 0.5
    assert explain(article).threshold is None


def test_a_page_without_text_has_no_rows():
    assert explain("<img>").rows == ()


def test_options_are_checked(article):
    with pytest.raises(OptionError, match="unknown method"):
        explain(article, method="defualt")
    with pytest.raises(OptionError, match="needs the page's template"):
        explain(article, method="ce")


def test_stored_texts_stand_beside_what_is_kept(article):
    texts = [row.block.text for row in kept(explain(article))]
    explained = explain(article).with_contents(contents(*(stored(text) for text in texts)))
    assert [row.stored.text for row in kept(explained)] == texts
    assert explained.missing == 0


def test_stored_texts_that_are_not_kept_now_are_counted(article):
    explained = explain(article).with_contents(contents(stored("Copyright 2024 by the town"), stored("Nowhere")))
    assert explained.missing == 2
    assert all(row.stored is None for row in explained.rows)


def test_equal_texts_are_matched_in_their_order():
    page = "<p>Yes, said he.</p>" * 2
    explained = explain(page, method="eniw").with_contents(
        contents(stored("Yes, said he.", 1), stored("Yes, said he.", 1, distance=0))
    )
    assert [row.stored.distance for row in explained.rows] == [None, 0]


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
    assert _find_copies(page, None) == {4: EarlierBlock(1)}


def test_weighted_compares_before_it_scores():
    page = decisions(("It rained.", Reason.LOW_SCORE), ("It rained.", Reason.PAGE_DUPLICATE))
    assert _find_copies(page, 3) == {1: EarlierBlock(0)}
    assert _find_copies(page, None) == {}


def test_a_copy_whose_original_is_not_found_is_left_out():
    assert _find_copies(decisions(("It rained.", Reason.PAGE_DUPLICATE)), 3) == {}


FOUND = b"""<html><body><div class=nav><a href=/a>Home of the lake</a> <a href=/b>The weather</a></div><article>
<p>The ferryman of the lake told every visitor how many storms he had crossed in the year.</p>
<p>The harbour office asks all guests to be at the pier ten minutes before the ferry leaves.</p></article>
<script>var text = "a sentence that only a script has";</script></body></html>"""

OVER_TWO = (
    "crossed in the year. The harbour office asks all guests to be at the pier ten minutes before the ferry leaves."
)


@pytest.mark.parametrize(
    ("text", "positions", "whole"),
    [
        ("how MANY storms, he had crossed", [1], True),
        (OVER_TWO, [2], False),
        ("The harbour office asks every guest to be at the pier some minutes before the ferry leaves", [2], False),
        ("Home of the lake", [0], True),
    ],
)
def test_a_text_is_found_whole_in_part_or_nearly(text, positions, whole):
    matches = find_text(explain(FOUND), text)
    assert [match.row.block.position for match in matches] == positions
    assert {match.whole for match in matches} == {whole}


@pytest.mark.parametrize(
    ("text", "reason"),
    [("...", "no word to look for"), ("a sentence that only a script has", "in a script"), ("absent words", "not in")],
)
def test_a_text_that_no_block_has_is_refused_with_the_reason(text, reason):
    with pytest.raises(CompareError, match=reason):
        find_text(explain(FOUND), text)
