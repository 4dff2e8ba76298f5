"""Which conditions of a site hold, from what its crawls met."""

from datetime import UTC, datetime, timedelta

import pytest

from crawler.health.conditions import (
    Condition,
    SiteCounts,
    SiteCrawl,
    SiteTally,
    judge_database,
    judge_site,
)
from crawler.storage.store import PageState, SavedVisit
from crawler.visit import Outcome, Visit

NOW = datetime(2024, 5, 20, 12, tzinfo=UTC)
GOOD = SiteCounts(pages=20, new=20, sections=1, blocks_seen=400, blocks_kept=200, words=6000)


def judged(*counts, days=1.0, now=NOW, since=None, is_target=False):
    """Judge crawls, the latest first, each so many days after the one before."""
    crawls = [SiteCrawl(100 - n, now - timedelta(days=n * days), site_counts) for n, site_counts in enumerate(counts)]
    findings = judge_site(crawls, now, since or {}, is_target=is_target)
    return {finding.condition: finding for finding in findings}


def holding(*counts, **values):
    return {condition: finding.sentence for condition, finding in judged(*counts, **values).items() if finding.holds}


def test_a_site_in_order_has_no_condition():
    assert holding(GOOD) == holding(GOOD, GOOD) == holding(SiteCounts(not_modified=30, sections=1), GOOD) == {}


def test_most_visits_are_refused():
    assert holding(SiteCounts(refused=9, sections=1), GOOD) == {Condition.REFUSED: "9 of 10 visits were refused"}
    assert holding(SiteCounts(refused=3, pages=7), GOOD) == {}


def test_one_refusal_tells_nothing():
    assert Condition.REFUSED not in judged(SiteCounts(refused=1), GOOD)


def test_a_site_that_does_not_answer_is_silent():
    assert holding(SiteCounts(failed=3), GOOD) == {
        Condition.SILENT: "none of 3 visits got an answer that could be used"
    }


def test_a_foreign_host_that_is_gone_is_none_of_ours_but_a_target_is():
    assert judged(SiteCounts(failed=3)) == {}
    assert list(holding(SiteCounts(failed=3), is_target=True)) == [Condition.SILENT]


def test_two_thirds_of_the_pages_vanished():
    gone = SiteCounts(revisits=30, vanished=20, not_modified=10, other=20)
    assert holding(gone, GOOD) == {
        Condition.VANISHED: "20 of 30 pages that were visited again were not found, more than 50%"
    }
    assert not judged(SiteCounts(revisits=30, vanished=3, not_modified=27), GOOD)[Condition.VANISHED].holds
    assert Condition.VANISHED not in judged(SiteCounts(revisits=9, vanished=9, other=9), GOOD)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            SiteCounts(pages=20, changed=20, blocks_seen=400, blocks_kept=200, words=200),
            "10 words of text, usually 300",
        ),
        (SiteCounts(pages=20, changed=20, blocks_seen=400, blocks_kept=40, words=6000), "10% of the blocks were kept"),
    ],
)
def test_pages_have_less_text(counts, sentence):
    sentences = holding(counts, GOOD)
    assert list(sentences) == [Condition.LESS_TEXT]
    assert sentence in sentences[Condition.LESS_TEXT]


def test_what_was_usual_before_a_redesign_stays_usual_until_it_is_over():
    empty = SiteCounts(pages=20, changed=20, blocks_seen=400, blocks_kept=20, words=100)
    history = (empty, empty, empty, empty, GOOD)
    assert not judged(*history)[Condition.LESS_TEXT].holds
    since = {Condition.LESS_TEXT: NOW - timedelta(days=3)}
    assert judged(*history, since=since)[Condition.LESS_TEXT].holds


def test_the_corrections_of_a_site_do_not_fit_any_more():
    redesigned = SiteCounts(pages=20, changed=20, blocks_seen=400, blocks_kept=200, words=4000, taught=6, unlike=14)
    sentences = holding(redesigned, redesigned)
    assert list(sentences) == [Condition.UNLIKE]
    assert "what was corrected does not fit 14 of 20 pages" in sentences[Condition.UNLIKE]
    assert "correct some of its pages again" in sentences[Condition.UNLIKE]
    mixed = SiteCounts(pages=20, changed=20, blocks_seen=400, blocks_kept=200, words=4000, taught=10, unlike=10)
    assert not judged(mixed, mixed)[Condition.UNLIKE].holds
    assert Condition.UNLIKE not in judged(SiteCounts(pages=9, words=900, unlike=9))
    assert Condition.UNLIKE not in judged(GOOD)


def test_few_pages_do_not_tell_how_much_text_there_is():
    assert Condition.LESS_TEXT not in judged(SiteCounts(pages=9, words=1), GOOD)
    assert Condition.LESS_TEXT not in judged(GOOD)


def test_nothing_new_for_several_usual_intervals():
    quiet = SiteCounts(not_modified=5, sections=1)
    news = SiteCounts(pages=1, new=1, sections=1)
    sentences = holding(*[quiet] * 7, *[news] * 6)
    assert list(sentences) == [Condition.NO_NEW_TEXT]
    assert "since 2024-05-13 12:00 UTC" in sentences[Condition.NO_NEW_TEXT]
    assert "5 times the usual 24 hours" in sentences[Condition.NO_NEW_TEXT]
    assert holding(*[quiet] * 4, *[news] * 6) == {}
    assert holding(*[quiet] * 30, *[news] * 3) == {}
    assert not judged(news, *[quiet] * 30, *[news] * 6)[Condition.NO_NEW_TEXT].holds


def test_a_slow_database():
    assert judge_database([9.0, 9.0]) is None
    assert not judge_database([0.1, 9.0, 0.1]).holds
    slow = judge_database([6.0, 7.0, 8.0])
    assert slow.holds
    assert "took 7.0 s or more; the limit is 5 s" in slow.sentence


def test_pages_that_are_not_requested_any_more_count_as_refused():
    tally = SiteTally()
    for number in range(4):
        visit = Visit(f"https://a.example/{number}", NOW, Outcome.REFUSED)
        tally.add(visit, SavedVisit(visit.url, PageState.NONE, refused=number))
    tally.add_unasked({("a.example", "refused"): 10, ("b.example", "robots_unavailable"): 3})
    assert tally.counts == {"a.example": SiteCounts(refused=20), "b.example": SiteCounts(failed=3)}
