"""When a page is visited again, and which of the due pages are chosen."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from histories import histories
from hypothesis import given
from hypothesis import strategies as st

from crawler.schedule import (
    PageKind,
    RevisitBounds,
    VisitHistory,
    choose_due_pages,
    due_page,
    explain_next_visit,
    is_gone,
    next_visit,
)

START = datetime(2024, 3, 1, tzinfo=UTC)
BOUNDS = RevisitBounds()
DAY = timedelta(days=1)


def history(key="a", kind=PageKind.OTHER, **more):
    return VisitHistory(key, kind, START, START, START, **more)


def watched(key, *, intervals, changes, kind=PageKind.OTHER, days=1.0):
    last = START + timedelta(days=intervals * days)
    return VisitHistory(key, kind, START, last, last, intervals + 1, changes)


def seconds(page, now=START, bounds=BOUNDS):
    return (next_visit(page, now, bounds) - now).total_seconds()


def test_a_page_that_changes_often_is_visited_sooner():
    often, seldom = (watched("a", intervals=10, changes=changes) for changes in (9, 1))
    assert seconds(often, often.last_seen) < seconds(seldom, seldom.last_seen) / 5


def test_a_page_that_changes_is_visited_sooner_after_each_change():
    page, waits = watched("a", intervals=10, changes=0), []
    for _ in range(4):
        waits.append(seconds(page, page.last_seen))
        page = page.visited(page.last_seen + DAY, changed=True)
    assert waits == sorted(set(waits), reverse=True)


def test_an_article_is_left_alone_for_longer_as_it_ages():
    page, waits = history(kind=PageKind.ARTICLE), []
    for _ in range(4):
        waits.append(seconds(page, page.last_seen))
        page = page.visited(page.last_seen + DAY, changed=False)
    assert waits == sorted(set(waits))


@pytest.mark.parametrize(
    ("bounds", "waits"),
    [
        (RevisitBounds(), [12, 12]),
        (RevisitBounds(gone_after_seconds=6 * 3600), [3, 3]),
        (RevisitBounds(gone_after_seconds=0), []),
        (RevisitBounds(max_seconds=6 * 3600), [6, 6, 6, 6]),
        (RevisitBounds(48 * 3600, 96 * 3600), [48]),
    ],
)
def test_a_page_that_is_not_found_is_asked_again_within_hours_until_it_is_gone(bounds, waits):
    """Whatever its changes were like: the waits, in hours, add up to what makes it gone, or a little more."""
    page, waited = watched("a", intervals=5, changes=3).missed(), []
    while not is_gone(page, bounds):
        waited.append(seconds(page, START, bounds) / 3600)
        page = page.missed()
    assert waited == waits
    assert sum(waited) * 3600 >= bounds.gone_after_seconds
    assert not is_gone(page.visited(START, changed=False), bounds)


def test_a_page_that_stays_away_is_asked_less_and_less():
    page = replace(history(), misses=RevisitBounds().most_misses)
    waits = [seconds(replace(page, misses=misses), START, RevisitBounds()) / 3600 for misses in (3, 4, 5, 50)]
    assert waits == [24, 48, 96, 720]


def test_pages_of_one_crawl_come_back_at_different_times():
    waits = {seconds(history(f"https://example.com/{number}")) for number in range(200)}
    assert len(waits) == 200
    middle = (max(waits) + min(waits)) / 2
    assert 0.15 < (max(waits) - min(waits)) / middle <= 0.2


def test_the_same_history_gives_the_same_moment():
    assert next_visit(history(), START, BOUNDS) == next_visit(history(), START, BOUNDS)


@pytest.mark.parametrize(("least", "most"), [(0, 10), (-1, 10), (11, 10), (1, math.inf), (math.nan, 1)])
def test_invalid_bounds_raise(least, most):
    with pytest.raises(ValueError, match="no longer than the longest"):
        RevisitBounds(least, most)


moments = st.datetimes(datetime(1, 6, 1), datetime(9990, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 — naive bounds


@given(histories(moments), moments, st.floats(1, 1e6), st.floats(1, 100))
def test_the_next_visit_is_within_bounds_whatever_the_clock_and_the_dates(page, now, least, ratio):
    bounds = RevisitBounds(least, least * ratio)
    # datetime rounds to microseconds.
    assert least - 1e-6 <= seconds(page, now, bounds) <= least * ratio + 1e-6


@given(st.lists(histories(moments), max_size=8, unique_by=lambda page: page.key), moments, moments, st.integers(-2, 10))
def test_choosing_keeps_to_the_budget_whatever_the_clock_and_the_dates(pages, since, now, budget):
    chosen = choose_due_pages([due_page(page, since, BOUNDS) for page in pages], budget, now)
    assert len(chosen) == min(max(0, budget), len(pages))
    assert len({page.history.key for page in chosen}) == len(chosen)


@given(histories(moments), moments)
def test_there_is_a_reason_whatever_the_clock_and_the_dates(page, now):
    assert "last seen" in explain_next_visit(page, now, BOUNDS)


def waiting(pages, since):
    return [due_page(page, since, BOUNDS) for page in pages]


def names(chosen):
    return [page.history.key for page in chosen]


def test_a_page_that_changes_too_fast_to_follow_yields_to_others():
    hectic = [watched(f"hectic {number}", intervals=50, changes=50, days=0.05) for number in range(30)]
    steady = [watched(f"steady {number}", intervals=10, changes=5, days=0.25) for number in range(30)]
    now = START + timedelta(days=4)
    chosen = names(choose_due_pages(waiting(hectic, START) + waiting(steady, START), 20, now))
    assert sum(name.startswith("steady") for name in chosen) == 19  # one is for the page that is latest for its pace


@pytest.mark.slow
def test_no_page_starves():
    pages = {
        f"{kind} {number}": watched(f"{kind} {number}", intervals=intervals, changes=changes, days=days)
        for kind, intervals, changes, days in (("hectic", 50, 50, 0.02), ("steady", 20, 10, 1.0), ("still", 30, 0, 1.0))
        for number in range(20)
    }
    now, visited = START + timedelta(days=30), set()
    due_at = dict.fromkeys(pages, now)
    for _ in range(1_000):
        for due in choose_due_pages(
            [due_page(page, due_at[key], BOUNDS) for key, page in pages.items() if due_at[key] <= now], 3, now
        ):
            key = due.history.key
            visited.add(key)
            pages[key] = due.history.visited(now, changed=not key.startswith("still"))
            due_at[key] = next_visit(pages[key], now, BOUNDS)
        now += timedelta(hours=6)
    assert visited == set(pages)


def test_a_missing_page_yields_to_an_existing_one():
    pages = [history("there"), replace(history("a missing one"), misses=2)]
    now = START + timedelta(days=9)
    assert names(choose_due_pages(waiting(pages, now), 2, now)) == ["there", "a missing one"]


def test_even_a_budget_of_one_is_shared_fairly_in_the_long_run():
    late = watched("late", intervals=50, changes=50, days=0.05)
    better = watched("better", intervals=4, changes=2)
    moments = [START + timedelta(days=9, minutes=minute) for minute in range(2_000)]
    pages = [due_page(late, START, BOUNDS), due_page(better, moments[0], BOUNDS)]
    turns = sum(names(choose_due_pages(pages, 1, now)) == ["late"] for now in moments)
    assert 70 <= turns <= 130


def test_no_pages_give_no_choice():
    assert choose_due_pages([], 10, START) == []
    assert choose_due_pages(waiting([history()], START), 0, START) == []


def test_the_order_of_the_pages_does_not_matter():
    pages = waiting([history(str(number)) for number in range(40)], START)
    now = START + DAY
    assert choose_due_pages(pages, 10, now) == choose_due_pages(pages[::-1], 10, now)


def test_the_reason_has_the_changes_seen():
    page = watched("a", intervals=8, changes=3, days=1.0)
    page = replace(page, last_changed=START + timedelta(days=5))
    now = page.last_seen + timedelta(days=1.4)
    assert explain_next_visit(page, now, BOUNDS) == (
        "changed at 3 of 8 later visits (last 4.4 days ago), about every 2.9 days; last seen 1.4 days ago"
    )


def test_the_reason_without_changes_has_the_estimated_rate():
    now = START + timedelta(hours=5)
    assert explain_next_visit(history(kind=PageKind.SECTION), now, BOUNDS) == (
        "visited once; pages of its kind and age change about every 6.0 hours; last seen 5.0 hours ago"
    )
    assert explain_next_visit(watched("a", intervals=1, changes=0, days=90), START + 90 * DAY, BOUNDS) == (
        "changed at 0 of 1 later visit, less often than every 30 days; last seen 0 minutes ago"
    )


def test_the_reason_has_the_misses():
    now = START + timedelta(minutes=1)
    missing = "not found at the latest 1 visit (gone at 3); visited once"
    assert explain_next_visit(history().missed(), now, BOUNDS).startswith(missing)
