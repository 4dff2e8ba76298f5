"""The stored counts and conditions."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import event, insert, select, update

from crawler.config import Config
from crawler.health import records
from crawler.health.alerts import HealthStep
from crawler.health.conditions import Condition, Finding, SiteCounts
from crawler.storage.database import open_engine
from crawler.storage.requests import database_now
from crawler.storage.store import PageState, SavedVisit, Store
from crawler.storage.tables import alert, site_crawl
from crawler.visit import Outcome, Visit

NOW = datetime(2024, 5, 20, tzinfo=UTC)
BEGUN = Finding(Condition.REFUSED, holds=True, sentence="9 of 9 visits were refused")
OVER = Finding(Condition.REFUSED, holds=False)


@pytest.fixture
def connection(engine):
    with engine.begin() as connection:
        yield connection


def test_two_processes_of_a_crawl_add_their_counts(connection):
    for pages in (3, 4):
        records.add_counts(connection, 1, {"a.example": SiteCounts(pages=pages), "b.example": SiteCounts()}, NOW)
    records.add_counts(connection, 2, {"a.example": SiteCounts(pages=1)}, NOW + timedelta(days=1))
    crawls = records.read_crawls(connection, ["a.example", "b.example", "c.example"])
    assert [(crawl.crawl_id, crawl.counts.pages) for crawl in crawls["a.example"]] == [(2, 1), (1, 7)]
    assert list(crawls) == ["a.example", "b.example"]


def test_the_counts_of_the_oldest_crawls_are_forgotten(connection):
    rows = [
        {"site": "a.example", "crawl_id": number, "ended": NOW + timedelta(days=number)} | asdict(SiteCounts())
        for number in range(1, records._CRAWLS_MAX + 6)
    ]
    connection.execute(insert(site_crawl), rows)
    records.add_counts(connection, 1_000, {"a.example": SiteCounts()}, NOW + timedelta(days=1_000))
    numbers = connection.scalars(select(site_crawl.c.crawl_id).order_by(site_crawl.c.crawl_id)).all()
    assert (len(numbers), numbers[0], numbers[-1]) == (records._CRAWLS_MAX, 7, 1_000)


def test_a_condition_is_told_once_and_once_that_it_is_over(connection):
    records.record_findings(connection, {"a.example": [BEGUN]}, NOW)
    (begun,) = records.claim_alerts(connection, NOW)
    assert (begun.site, begun.condition, begun.since, begun.sentence) == (
        "a.example",
        Condition.REFUSED,
        NOW,
        BEGUN.sentence,
    )
    records.record_findings(connection, {"a.example": [BEGUN]}, NOW + timedelta(days=1))
    assert records.claim_alerts(connection, NOW) == []
    assert [held.since for held in records.read_alerts(connection)] == [NOW]
    records.record_findings(connection, {"a.example": [OVER]}, NOW + timedelta(days=2))
    assert records.read_alerts(connection) == []
    (over,) = records.claim_alerts(connection, NOW)
    assert (over.since, over.ended) == (NOW, NOW + timedelta(days=2))
    assert records.claim_alerts(connection, NOW) == []
    assert connection.execute(select(alert)).all() == []


def test_what_nobody_was_told_is_told_by_the_next_crawl(connection):
    records.record_findings(connection, {"a.example": [BEGUN]}, NOW)
    records.release_alerts(connection, records.claim_alerts(connection, NOW), NOW)
    assert len(records.claim_alerts(connection, NOW)) == 1
    records.record_findings(connection, {"a.example": [OVER]}, NOW)
    records.release_alerts(connection, records.claim_alerts(connection, NOW), NOW)
    assert [told.ended for told in records.claim_alerts(connection, NOW)] == [NOW]


def test_a_condition_that_was_over_before_anybody_was_told_is_not_told(connection):
    records.record_findings(connection, {"a.example": [BEGUN]}, NOW)
    records.record_findings(connection, {"a.example": [OVER]}, NOW)
    assert records.claim_alerts(connection, NOW) == []


A_SITE = {"a.example"}


@pytest.fixture
def store(engine):
    return Store(engine)


def step_with(*outcomes):
    """The counts of a process that met so many answers on a.example."""
    step = HealthStep(Config())
    for number, outcome in enumerate(outcomes):
        visit = Visit(f"https://a.example/{number}", NOW, outcome)
        step.add_visit(visit, SavedVisit(visit.url, PageState.NONE))
    return step


def sentences(findings):
    return [finding.sentence for finding in findings["a.example"] if finding.holds]


def test_a_run_of_a_continued_crawl_is_judged_by_what_it_met_itself(store):
    refused = step_with(*[Outcome.REFUSED] * 9).record(store, 7, A_SITE)
    assert sentences(refused) == ["9 of 9 visits were refused"]
    store.write(lambda connection: connection.execute(update(site_crawl).values(ended=NOW)))
    assert sentences(step_with(*[Outcome.SECTION] * 2).record(store, 7, A_SITE)) == []
    (crawl,) = store.read(lambda connection: records.read_crawls(connection, ["a.example"]))["a.example"]
    assert (crawl.counts.refused, crawl.counts.sections) == (9, 2)


def test_processes_that_work_at_a_crawl_together_are_judged_together(store):
    step = step_with(*[Outcome.REFUSED] * 3)
    store.write(
        lambda connection: records.add_counts(
            connection, 7, {"a.example": SiteCounts(sections=1)}, database_now(connection)
        )
    )
    assert sentences(step.record(store, 7, set())) == ["3 of 4 visits were refused"]


def test_a_process_that_ends_while_another_judges_waits_for_no_lock(url, store):
    first = step_with(*[Outcome.REFUSED] * 3)
    second = step_with(Outcome.SECTION)
    impatient = open_engine(url, busy_seconds=0.05)
    findings = []

    def end_second(_connection, _cursor, statement, *_arguments):
        if "FROM alert" in statement and not findings:  # with it the first one begins to judge
            findings.append(second.record(Store(impatient), 7, set()))

    event.listen(store.engine, "before_cursor_execute", end_second)
    findings.append(first.record(store, 7, set()))
    impatient.dispose()
    assert [sentences(of_process) for of_process in findings] == [["3 of 4 visits were refused"]] * 2
