"""The estimate of a page's change rate."""

import math
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from histories import histories
from hypothesis import given
from hypothesis import strategies as st

from crawler.schedule import (
    _CHANGE_PRIORS,
    ChangeEstimate,
    PageKind,
    VisitHistory,
    _change_rate,
    _clock_days,
    _days_until_clock,
    _estimate_changes,
    clock_speed,
)

START = datetime(2024, 3, 1, tzinfo=UTC)


def history(kind=PageKind.OTHER, *, intervals=0, changes=0, days=1.0, **more):
    last = START + timedelta(days=days * intervals)
    return VisitHistory("a", kind, START, last, last, intervals + 1, changes, **more)


def posterior_mean(kind, intervals, changes, days):
    """Integrate the likelihood of intervals of one length over the prior, on a fine grid of log rates."""
    prior, rates = _CHANGE_PRIORS[kind], np.exp(np.linspace(-25, 12, 40_001))
    log = changes * np.log(-np.expm1(-rates * days)) - rates * (intervals - changes) * days
    log += prior.changes * np.log(rates) - prior.days * rates
    weights = np.exp(log - log.max())
    return (rates * weights).sum() / weights.sum()


@pytest.mark.parametrize("kind", [PageKind.SECTION, PageKind.OTHER])
@pytest.mark.parametrize("days", [0.05, 1, 10])
@pytest.mark.parametrize(("intervals", "changes"), [(0, 0), (1, 0), (2, 1), (4, 1), (10, 5), (40, 1), (40, 39)])
def test_the_rate_is_near_the_posterior_mean(kind, intervals, changes, days):
    rate = _estimate_changes(history(kind, intervals=intervals, changes=changes, days=days)).rate
    assert rate == pytest.approx(posterior_mean(kind, intervals, changes, days), rel=0.08)


@pytest.mark.parametrize("kind", [PageKind.SECTION, PageKind.OTHER])
@pytest.mark.parametrize("days", [0.05, 1, 10])
@pytest.mark.parametrize("intervals", [1, 4, 40])
def test_a_page_that_changed_at_every_visit_is_held_for_up_to_a_third_slower(kind, intervals, days):
    rate = _estimate_changes(history(kind, intervals=intervals, changes=intervals, days=days)).rate
    assert 0.65 < rate / posterior_mean(kind, intervals, intervals, days) < 1


def test_many_visits_outweigh_the_prior():
    random = np.random.default_rng(7)
    for true in (0.02, 0.3, 2.0):
        page = history()
        for _ in range(400):
            waited = random.uniform(0.2, 1.2) / true
            changed = random.random() < -math.expm1(-true * waited)
            page = page.visited(page.last_seen + timedelta(days=waited), changed=changed)
        assert _change_rate(page, page.last_seen) == pytest.approx(true, rel=0.15)


def test_it_corrects_for_visits_that_are_too_rare():
    # 3 changes a day show at 950 of 1,000 daily visits; changes by days would say 0.95.
    assert _estimate_changes(history(intervals=1_000, changes=950)).rate == pytest.approx(-math.log(0.05), rel=0.1)


def test_the_rate_of_an_unchanged_page_keeps_falling():
    rates = [_estimate_changes(history(intervals=count)).rate for count in (0, 1, 5, 50)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0] / 10


def test_an_article_changes_less_as_it_ages_and_a_section_does_not():
    article = history(PageKind.ARTICLE)
    section = history(PageKind.SECTION)
    later = START + timedelta(days=30)
    assert _change_rate(article, later) < _change_rate(article, START) / 10
    assert _change_rate(section, later) == _change_rate(section, START)


def test_an_article_that_was_published_long_ago_starts_slow():
    old = history(PageKind.ARTICLE, published=date(2023, 3, 1))
    assert _change_rate(old, START) < _change_rate(history(PageKind.ARTICLE), START) / 10


@pytest.mark.parametrize("published", [None, date(1970, 1, 1), date(2099, 1, 1), date.min, date.max, START.date()])
def test_an_article_with_an_absurd_date_is_new_when_first_seen(published):
    assert history(PageKind.ARTICLE, published=published).age_days(START) == 0


def test_yesterdays_article_is_hours_old():
    page = history(PageKind.ARTICLE, published=date(2024, 2, 29))
    assert page.age_days(START + timedelta(hours=6)) == pytest.approx(0.25)


def test_visits_and_misses_are_counted():
    later = START + timedelta(days=1)
    missed = history().missed().missed()
    assert missed.misses == 2
    assert missed.last_seen == START
    new_history = missed.visited(later, changed=True).visited(later + timedelta(days=1), changed=False)
    assert (new_history.visits, new_history.changes, new_history.misses) == (3, 1, 0)
    assert (new_history.last_changed, new_history.last_seen) == (later, later + timedelta(days=1))


@given(st.sampled_from(PageKind), st.floats(0, 20_000), st.floats(0, 5_000))
def test_a_pages_own_clock_is_read_both_ways(kind, age, own):
    assert _clock_days(kind, age + _days_until_clock(kind, age, own)) == pytest.approx(
        _clock_days(kind, age) + own, rel=1e-6, abs=1e-6
    )


@given(st.floats(0, 20_000))
def test_an_articles_clock_slows_down(age):
    assert 0.05 < clock_speed(PageKind.ARTICLE, age + 1) < clock_speed(PageKind.ARTICLE, age) <= 1
    slope = (_clock_days(PageKind.ARTICLE, age + 1e-3) - _clock_days(PageKind.ARTICLE, age)) / 1e-3
    assert slope == pytest.approx(clock_speed(PageKind.ARTICLE, age), rel=1e-2)


@pytest.mark.parametrize("changes", [0.3, 1.0, 1.3, 20.0])
@pytest.mark.parametrize("own_days", [0.1, 3.0, 50.0])
def test_the_gain_is_the_mean_of_what_known_rates_would_give(changes, own_days):
    known = ChangeEstimate(changes, 4.0)
    rates = np.exp(np.linspace(-40, 8, 200_001))
    x = rates * own_days
    density = np.exp(changes * np.log(rates) - rates * known.days)
    expected = (density * (-np.expm1(-x) - x * np.exp(-x)) / rates).sum() / density.sum()
    assert known.gain(own_days) == pytest.approx(expected, rel=1e-3)


def test_the_gain_starts_at_0_and_rises():
    gains = [ChangeEstimate(2.0, 3.0).gain(days) for days in (0, 0.5, 1, 10, 1_000)]
    assert gains[0] == 0
    assert gains == sorted(gains)


moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC))  # noqa: DTZ001 — naive bounds


@given(histories(moments), moments)
def test_every_history_has_a_finite_rate_above_0(page, now):
    assert 0 < _change_rate(page, now) < math.inf
    assert 0 < _estimate_changes(page).rate < math.inf
