"""The state of each site, in a word and a sentence."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

from crawler.health import records
from crawler.health.conditions import Condition, Finding, SiteCounts
from crawler.health.states import read_state, read_states
from crawler.storage.tables import address, alert, site

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
NOW = START + timedelta(days=10)
ANSWERED = SiteCounts(pages=2, new=1, changed=1, blocks_seen=10, blocks_kept=5)


@pytest.fixture
def connection(engine):
    with engine.begin() as connection:
        yield connection


def crawled(connection, name, *counts):
    """Store the counts of crawls of a site, a day apart, the latest yesterday."""
    for place, crawl_counts in enumerate(counts):
        moment = NOW - timedelta(days=len(counts) - place)
        records.add_counts(connection, place + 1, {name: crawl_counts}, moment)


def test_a_healthy_site_says_when_it_answered(connection):
    crawled(connection, "a.example", ANSWERED, ANSWERED)
    (state,) = read_states(connection, NOW)
    assert (state.state, state.since, state.needs_look) == ("ok", None, False)
    assert state.sentence == "answered 2024-05-10 12:00 UTC; 4 pages new or changed in 7 days"


def test_a_refused_site_says_since_when(connection):
    crawled(connection, "a.example", ANSWERED)
    finding = Finding(Condition.REFUSED, holds=True, sentence="9 of 9 visits were refused")
    records.record_findings(connection, {"a.example": [finding]}, START)
    state = read_state(connection, "a.example", NOW)
    assert (state.state, state.since, state.needs_look, state.is_failing) == ("refused", START, True, True)
    assert state.sentence == "refused since 2024-05-01 12:00 UTC: 9 of 9 visits were refused"
    assert read_states(connection, NOW) == [state]


def test_too_few_refusals_for_a_condition_do_not_look_fine(connection):
    crawled(connection, "a.example", ANSWERED, SiteCounts(refused=1), SiteCounts(failed=1))
    state = read_state(connection, "a.example", NOW)
    assert (state.state, state.is_failing) == ("no answer", True)
    assert state.sentence == "no answer since 2024-05-09 12:00 UTC"


def test_a_page_that_is_gone_is_an_answer(connection):
    crawled(connection, "a.example", ANSWERED, SiteCounts(other=1))
    assert read_state(connection, "a.example", NOW).state == "ok"


def test_a_site_that_has_moved_says_where_to(connection):
    crawled(connection, "old.example", ANSWERED)
    led = {"url_key": "https://www.old.example/1", "leads_to": "https://www.new.example/1"}
    connection.execute(insert(address), led)
    state = read_state(connection, "old.example", NOW)
    assert (state.state, state.needs_look, state.is_failing) == ("moved", True, False)
    assert state.sentence == "its pages have moved to new.example"


def test_a_site_without_counts_is_not_judged(connection):
    connection.execute(insert(site), {"site": "a.example", "pages": 3})
    (state,) = read_states(connection, NOW)
    assert (state.state, state.needs_look, state.is_failing) == ("not judged", False, False)


def test_a_host_that_never_answered_and_the_database_are_no_sites(connection):
    crawled(connection, "linked.example", SiteCounts(failed=1))
    row = {"site": "database", "condition": "slow_database", "since": START, "sentence": "slow"}
    connection.execute(insert(alert), row)
    assert read_states(connection, NOW) == []
