"""What waits, what failed, and what is asked for once more."""

from datetime import timedelta

import pytest
from sqlalchemy import JSON, event, insert, select, update

from crawler.schedule import RevisitBounds
from crawler.storage import crawls, requests
from crawler.storage.crawls import begin_crawl, end_crawl, join_crawl
from crawler.storage.database import read_transaction, write_transaction
from crawler.storage.requests import RequestState, queue_status
from crawler.storage.tables import crawl, page, section

FAILED = RequestState.FAILED


@pytest.fixture
def seen(engine, now):
    """What `queue` tells of the database at a moment."""

    def tell(function, *more):
        with read_transaction(engine) as connection:
            return function(connection, *(more or (now,)))

    return tell


@pytest.fixture
def retry(engine):
    def run(**chosen):
        with write_transaction(engine) as connection:
            return crawls.retry_failed(connection, crawls.FailedFilter(**chosen))

    return run


@pytest.fixture
def fail(store_requests, take, record, end):
    """Store requests and let them fail: outcome by key."""

    def run(outcomes, **values):
        store_requests(*(record(key, **values) for key in outcomes))
        for leased in take():
            end([leased], FAILED, outcomes[leased.record.key], error="the server said no")

    return run


def test_an_empty_database_has_nothing_waiting(seen, now):
    assert seen(crawls.crawl_queues) == []
    assert seen(crawls.slow_hosts) == []
    assert seen(crawls.count_due, now, RevisitBounds()) == crawls.DueCounts(0, 0, 0, 0)


def test_the_requests_of_an_open_crawl_are_told_apart(seen, fail, store_requests, take, record, now):
    fail({"a": "download_failed", "b": "http_error", "c": "http_error"})
    store_requests(*(record(key) for key in "defg"))
    take("one", limit=1)
    take("two", limit=1, seconds=90)
    (queue,) = seen(crawls.crawl_queues)
    assert (queue.crawl_id, queue.spider, queue.arguments, queue.state) == (1, "test", {}, "open")
    assert (queue.queued, queue.leased, queue.processes) == (2, 2, 2)
    assert queue.leased_until == now + timedelta(seconds=90)
    assert list(queue.failed.items()) == [("http_error", 2), ("download_failed", 1)]


def test_who_does_not_renew_is_not_at_it_any_more(seen, crawl_id, store_requests, take, record, now):
    store_requests(record("a"), record("b"))
    take("one", limit=1)
    take("two", limit=1, seconds=90)
    (queue,) = seen(crawls.crawl_queues, now + timedelta(seconds=61))
    assert (queue.leased, queue.processes) == (2, 1)


def test_a_finished_crawl_is_shown_for_what_failed_in_it(seen, engine, crawl_id, fail):
    with write_transaction(engine) as connection:
        end_crawl(connection, crawl_id, "finished", {}, finished=True)
    assert seen(crawls.crawl_queues) == []
    fail({"a": "http_error"})
    (queue,) = seen(crawls.crawl_queues)
    assert (queue.state, queue.failed) == ("finished", {"http_error": 1})


def test_hosts_that_want_to_be_left_alone_come_before_slow_ones(seen, engine, now):
    with write_transaction(engine) as connection:
        requests.set_host_delays(
            connection, {"fast.example": 0.0, "slow.example": 2.0, "slower.example": 5.0, "no.example": 9.0}
        )
        until = requests.pause_host(connection, "no.example", now, "quota", first_seconds=60, max_seconds=600)
    assert seen(crawls.slow_hosts) == [
        crawls.HostState("no.example", 9.0, until, "quota"),
        crawls.HostState("slower.example", 5.0, None, None),
        crawls.HostState("slow.example", 2.0, None, None),
    ]
    assert seen(crawls.slow_hosts, until)[0] == crawls.HostState("no.example", 9.0, None, None)


def test_what_is_due_and_what_is_retired_is_counted(seen, engine, save, visit, now):
    save(*(visit(f"https://a.example/{number}", f"text {number}") for number in range(6)))
    with write_transaction(engine) as connection:
        connection.execute(update(page).values(spider="section"))
        for number, values in enumerate(
            ({"next_visit": now}, {"next_visit": now + timedelta(1)}, {"next_visit": None})
        ):
            connection.execute(update(page).where(page.c.id == number + 1).values(values))
        connection.execute(update(page).where(page.c.id == 4).values(next_visit=now, retired_at=now))
        connection.execute(update(page).where(page.c.id == 5).values(next_visit=now - timedelta(days=9)))
        connection.execute(update(page).where(page.c.id == 6).values(next_visit=now, spider=None))
        connection.execute(insert(section), [a_section(1, now, None), a_section(2, now, now)])
    assert seen(crawls.count_due, now, RevisitBounds()) == crawls.DueCounts(
        pages=2, sections=1, retired_pages=1, retired_sections=1
    )


def a_section(number, next_visit, retired_at):
    texts = {"url": f"https://a.example/s{number}", "url_key": f"https://a.example/s{number}", "site": "a.example"}
    moments = dict.fromkeys(("first_seen", "last_seen", "last_changed"), next_visit)
    numbers = dict.fromkeys(("visits", "changes", "links_hash"), 1)
    empty = {column.name: {} for column in section.c if isinstance(column.type, JSON)}
    others = {"spider": "section", "next_visit": next_visit, "retired_at": retired_at}
    return texts | moments | numbers | empty | others


def test_what_failed_is_queued_again_as_if_it_were_new(rows, engine, crawl_id, fail, retry):
    fail({"a": "http_error", "b": "http_error"})
    with write_transaction(engine) as connection:
        end_crawl(connection, crawl_id, "finished", {"visit/page": 3}, finished=True)
    (queue,) = retry()
    assert (queue.crawl_id, queue.failed) == (crawl_id, {"http_error": 2})
    assert rows("SELECT state, finished, reason FROM crawl") == [{"state": "open", "finished": None, "reason": None}]
    columns = "state, attempts, not_before, lease_id, lease_until, outcome, error, ended"
    for row in rows(f"SELECT {columns} FROM request"):
        assert row == dict.fromkeys(row) | {"state": "queued", "attempts": 0}


def test_the_same_command_joins_a_crawl_with_requests_to_retry(engine, crawl_id, fail, retry, take):
    fail({"a": "http_error"})
    with write_transaction(engine) as connection:
        end_crawl(connection, crawl_id, "finished", {}, finished=True)
    retry()
    with write_transaction(engine) as connection:
        joined = join_crawl(connection, "test", {}, fresh=False)
    assert (joined.crawl_id, joined.resumed) == (crawl_id, True)
    assert [leased.record.key for leased in take()] == ["a"]


def test_what_has_not_failed_is_left_as_it_is(rows, store_requests, take, record, end, retry):
    store_requests(record("done"), record("leased"), record("queued", priority=-1))
    end(take(limit=1))
    take(limit=1)
    before = rows("SELECT * FROM request ORDER BY id")
    assert retry() == []
    assert rows("SELECT * FROM request ORDER BY id") == before


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"host": "b.example"}, {"b"}),
        ({"outcome": "download_failed"}, {"a"}),
        ({"host": "a.example", "outcome": "http_error"}, {"c"}),
        ({"spider": "test"}, {"a", "b", "c"}),
        ({"spider": "other"}, set()),
    ],
)
def test_only_what_is_chosen_is_queued(rows, fail, retry, chosen, expected):
    fail({"a": "download_failed", "c": "http_error"})
    fail({"b": "http_error"}, host="b.example")
    retry(**chosen)
    assert {row["key"] for row in rows("SELECT key FROM request WHERE state = 'queued'")} == expected


def test_a_crawl_that_a_later_one_replaces_is_not_the_latest(engine, crawl_id, fail, retry, rows):
    fail({"a": "http_error"})
    with write_transaction(engine) as connection:
        begin_crawl(connection, "test", {})
    assert retry() == []
    assert rows("SELECT state FROM request") == [{"state": "failed"}]


def test_other_arguments_are_another_crawl(engine, crawl_id, fail, retry):
    fail({"a": "http_error"})
    with write_transaction(engine) as connection:
        begin_crawl(connection, "test", {"url": "https://a.example/"})
    assert [queue.crawl_id for queue in retry()] == [crawl_id]


def test_a_crawl_that_ends_as_its_requests_are_queued_again_stays_open(engine, crawl_id, fail, retry, rows):
    fail({"a": "http_error"})
    retry()
    with write_transaction(engine) as connection:
        end_crawl(connection, crawl_id, "finished", {}, finished=True)
    assert rows("SELECT state FROM crawl") == [{"state": "open"}]


def test_a_crawl_that_ends_while_requests_are_leased_stays_open(engine, crawl_id, store_requests, take, record, rows):
    store_requests(record("a"))
    take()
    with write_transaction(engine) as connection:
        end_crawl(connection, crawl_id, "finished", {}, finished=True)
    assert rows("SELECT state FROM crawl") == [{"state": "open"}]


def test_a_process_at_the_crawl_goes_on_with_what_is_queued_again(engine, crawl_id, fail, retry, take, now):
    fail({"a": "http_error"})
    retry()
    with read_transaction(engine) as connection:
        assert queue_status(connection, crawl_id, now, "one").queued == 1
    (leased,) = take("one")
    assert leased.attempts == 0


def test_a_lost_lease_proves_nothing_after_a_retry(store_requests, take, record, end, retry, rows):
    store_requests(record("a"))
    (leased,) = take()
    end([leased], FAILED, "http_error")
    retry()
    assert end([leased], RequestState.DONE) == set()
    assert rows("SELECT state FROM request") == [{"state": "queued"}]


@pytest.mark.sqlite
def test_no_query_reads_all_requests(engine, dialect, now):
    statements = []

    def note(connection, cursor, statement, parameters, *_context):
        statements.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    with read_transaction(engine) as connection:
        crawls.crawl_queues(connection, now)
        crawls.failed_queues(connection, crawls.FailedFilter(outcome="http_error"))
    event.remove(engine, "before_cursor_execute", note)
    request_queries = [execution for execution in statements if "FROM request" in execution[0]]
    assert len(request_queries) >= 4
    with engine.connect() as connection:
        for statement, parameters in request_queries:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            assert not any(step[3] == "SCAN request" for step in plan), (statement, plan)


@pytest.mark.parametrize("promised", [timedelta(seconds=-1), None])
def test_a_killed_crawl_without_a_queue_is_open_until_its_promise_ends(engine, seen, now, promised):
    """As in a host project: nothing says that its process has died, and nobody can continue it."""
    with write_transaction(engine) as connection:
        crawl_id = begin_crawl(connection, "host", {})
        other_id = join_crawl(connection, "news", {}, fresh=False).crawl_id
        clock = requests.database_now(connection)
    assert [queue.crawl_id for queue in seen(crawls.crawl_queues, clock)] == [other_id, crawl_id]
    with write_transaction(engine) as connection:
        until = None if promised is None else clock + promised
        values = {"active_until": until, "started": clock - timedelta(days=1)}
        connection.execute(update(crawl).where(crawl.c.id == crawl_id).values(values))
    assert [queue.crawl_id for queue in seen(crawls.crawl_queues, clock)] == [other_id]
    with write_transaction(engine) as connection:
        next_id = begin_crawl(connection, "host", {})
        rows = connection.execute(select(crawl.c.id, crawl.c.state, crawl.c.reason).order_by(crawl.c.id)).all()
    assert rows == [(crawl_id, "finished", "killed"), (other_id, "open", None), (next_id, "open", None)]


def test_a_crawl_that_was_taken_for_killed_ends_with_its_own_reason(engine):
    with write_transaction(engine) as connection:
        crawl_id = begin_crawl(connection, "host", {})
        connection.execute(update(crawl).values(active_until=requests.database_now(connection) - timedelta(seconds=1)))
        join_crawl(connection, "news", {}, fresh=False)
        end_crawl(connection, crawl_id, "finished", {}, finished=True)
        row = connection.execute(select(crawl.c.state, crawl.c.reason).where(crawl.c.id == crawl_id)).one()
    assert row == ("finished", "finished")


def test_a_killed_crawl_with_requests_stays_open_to_be_continued(engine, store_requests, record, seen):
    store_requests(record("a"))
    with write_transaction(engine) as connection:
        clock = requests.database_now(connection)
        connection.execute(
            update(crawl).values(active_until=clock - timedelta(days=1), started=clock - timedelta(days=2))
        )
        begin_crawl(connection, "host", {})
    assert len(seen(crawls.crawl_queues, clock)) == 2
