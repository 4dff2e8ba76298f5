"""What leasing reads of a long queue: the databases' own plans."""

import pytest
from sqlalchemy import event, text

from crawler.storage.database import write_transaction
from crawler.storage.requests import add_requests, lease_requests, queue_status


@pytest.fixture
def crowd(engine, crawl_id, record, now):
    """10,000 queued requests of two hosts, which the database has counted."""
    with write_transaction(engine) as connection:
        add_requests(
            connection, crawl_id, [record(f"{number:05}", host=f"h{number % 2}") for number in range(10_000)], now
        )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE request"))


@pytest.fixture
def plans(engine):
    """Return the plans of all statements that something executes, as texts."""

    def explain(work):
        done = []

        def note(connection, cursor, statement, parameters, *_):
            done.append((statement, parameters))

        with write_transaction(engine) as connection:
            event.listen(engine, "before_cursor_execute", note)
            work(connection)
            event.remove(engine, "before_cursor_execute", note)
            verb = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN (VERBOSE)"
            return ["\n".join(explained(connection, f"{verb} {said}", values)) for said, values in done]

    def explained(connection, statement, values):
        return [str(row[-1]) for row in connection.exec_driver_sql(statement, values)]

    return explain


def test_nothing_reads_all_requests(plans, crawl_id, crowd, terms, now):
    all_plans = plans(
        lambda connection: (
            lease_requests(connection, crawl_id, terms()),
            queue_status(connection, crawl_id, now, "two"),
        )
    )
    reading_requests = [plan for plan in all_plans if "request" in plan]
    assert len(reading_requests) >= 4
    for plan in reading_requests:
        assert "SCAN request" not in plan
        assert "Seq Scan on public.request" not in plan
    assert sum("ix_request_queued" in plan for plan in all_plans) == 3
    assert sum("ix_request_leased" in plan for plan in all_plans) == 3
