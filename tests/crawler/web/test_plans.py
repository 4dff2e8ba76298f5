"""What the views read: no statement goes through a whole table of pages, blocks, sightings or requests."""

import re
from datetime import UTC, datetime

import pytest
from scrapy.settings import Settings
from shown_pages import fill
from sqlalchemy import event, select, text

from crawler.config import Config
from crawler.errors import NotStoredError
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.tables import page
from crawler.web.routes import make_views
from crawler.web.snapshot import DatabaseSnapshot
from crawler.web.views.pages import find_page

VALUES = {
    "site": {"site": "example.org"},
    "page": {"page": 2},
    "block": {"block": 1},
    "methods": {"page": 2},
    "crawl": {"crawl": 2},
}
VALUES |= {f"page_{name}": {"page": 2} for name in ("original", "changes", "duplicates", "metadata")}
VALUES |= {"copies_of_site": {"site": "example.org", "original": "example.net"}, "beside": {"page": 2, "other": 3}}
# They are read once in minutes, and kept.
CACHED = {"overview": "count(*)", "families": "GROUP BY", "copies": "GROUP BY"}
LARGE = re.compile(
    r"\bSCAN (page|block|sighting|request|origin)\b(?! USING (COVERING )?INDEX ix_)"
    r"|Seq Scan on (page|block|sighting|request|block_tokens|fingerprint|document_frequency)\b"
)
EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN ", "postgresql": "EXPLAIN "}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request, fresh_url):
    """A database of either kind."""
    with opened_engine(fresh_url(request.param)) as engine:
        fill(engine)
        yield engine


@pytest.fixture
def plans(engine):
    """Return each statement that something executes, with its plan.

    PostgreSQL scans small tables whatever indexes they have; here it scans only a table that no index serves.
    """
    dialect = engine.dialect.name

    def explain(work):
        executed = []

        def note(_connection, _cursor, statement, parameters, *_):
            executed.append((statement, parameters))

        with read_transaction(engine) as connection:
            if dialect == "postgresql":
                connection.execute(text("SET LOCAL enable_seqscan = off"))
            event.listen(engine, "before_cursor_execute", note)
            work(DatabaseSnapshot(connection, datetime.now(UTC), Config.read(Settings()), Settings()))
            event.remove(engine, "before_cursor_execute", note)
            queries = [
                (statement, values)
                for statement, values in executed
                if statement.lstrip().startswith(("SELECT", "WITH"))
            ]
            return {
                statement: plan(connection, statement, values)
                for statement, values in queries
                if "json_each" not in statement
            }

    def plan(connection, statement, values):
        return "\n".join(str(row[-1]) for row in connection.exec_driver_sql(EXPLAIN[dialect] + statement, values))

    return explain


def test_a_page_is_found_by_its_address_without_reading_all(plans):
    def look(snapshot):
        assert find_page(snapshot.connection, "https://lake.example.org/7") == 8
        with pytest.raises(NotStoredError, match=r"lake\.example\.org/unknown is not in the database"):
            find_page(snapshot.connection, "https://lake.example.org/unknown")

    plan_of = plans(look)
    assert len(plan_of) == 3
    assert not any(LARGE.search(plan) for plan in plan_of.values())


def test_a_statement_that_reads_all_is_noticed(plans):
    plan_of = plans(
        lambda snapshot: snapshot.connection.execute(select(page.c.id).where(page.c.url == "https://a.example/"))
    )
    assert all(LARGE.search(plan) for plan in plan_of.values())


@pytest.mark.parametrize("name", [view.name for view in make_views()])
def test_no_view_reads_a_large_table(plans, name):
    (view,) = [view for view in make_views() if view.name == name]  # a new view has cached nothing yet
    question = view.question(**VALUES.get(view.name, {"q": "ferryman"} if view.name == "search" else {}))
    plan_of = plans(lambda snapshot: view.read(snapshot, question))
    cached = CACHED.get(view.name, "nothing")
    assert {query: plan for query, plan in plan_of.items() if LARGE.search(plan) and cached not in query} == {}
    assert plan_of or view.name == "settings"
