"""What changed when, from the lifetimes of texts."""

import time
from datetime import UTC, datetime, timedelta

from crawler.reading.history import TextLifetime, page_revisions

START = datetime(2024, 5, 1, tzinfo=UTC)


def text(words, position=0, came=0, gone=None, kind="paragraph"):
    ended = None if gone is None else START + timedelta(days=gone)
    return TextLifetime(1, None, position, kind, words, START + timedelta(days=came), START, ended)


def told(*texts):
    found = page_revisions(texts, START)
    return [
        (
            (moment.at - START).days,
            [each.text for each in moment.added],
            [each.text for each in moment.gone],
            [(edit.old.text, edit.new.text) for edit in moment.edited],
        )
        for moment in found
    ]


def test_added_and_removed_texts_are_grouped_by_visit_in_reading_order():
    assert told(
        text("first", 0), text("second words", 1, gone=2), text("third", 2, came=2), text("fourth", 1, came=2)
    ) == [(0, ["first", "second words"], [], []), (2, ["fourth", "third"], ["second words"], [])]


def test_a_text_that_replaces_a_similar_one_is_an_edit():
    old, new = text("the boat costs ten pounds", 3, gone=1), text("the boat costs twenty pounds", 5, came=1)
    assert told(old, new)[1] == (1, [], [], [(old.text, new.text)])


def test_each_text_is_paired_once_with_the_most_similar_one():
    texts = [text("a b c d", 0, gone=1), text("a b c e", 1, came=1), text("a b c d f", 2, came=1)]
    assert told(*texts)[1] == (1, ["a b c e"], [], [("a b c d", "a b c d f")])


def test_texts_of_different_kinds_or_too_different_are_not_an_edit():
    texts = [text("one two", 0, gone=1), text("one two", 0, came=1, kind="heading"), text("one six ten", 0, came=1)]
    assert told(*texts)[1] == (1, ["one two", "one six ten"], ["one two"], [])


def test_the_first_visit_has_no_edits():
    found = page_revisions([text("a b c", 0, gone=0), text("a b d", 0)], START)
    assert (found[0].first, len(found[0].edited), len(found[0].gone)) == (True, 0, 1)


def test_thousands_of_texts_that_change_at_once_are_fast():
    texts = [text(f"paragraph {n} of the old page", n, gone=1) for n in range(3_000)]
    texts += [text(f"paragraph {n} of the new page", n, came=1) for n in range(3_000)]
    began = time.process_time()
    assert len(page_revisions(texts, START)[1].edited) == 3_000
    assert time.process_time() - began < 5
