"""What is to be visited again, and how re-crawls begin, on both kinds of database."""

import tracemalloc
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import String, cast, event, insert, literal, select, true, update

from crawler.config.arguments import RECRAWL
from crawler.schedule import PageKind, RevisitBounds
from crawler.storage import crawls, due, requests
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import write_transaction
from crawler.storage.store import Store
from crawler.storage.tables import crawl, page
from crawler.visit import Outcome, RequestRecord, Visit

LATER = timedelta(days=60)


def request_for(url):
    return RequestRecord(url, url, "a.example", callback="parse_article", cb_kwargs={"n": 1}, headers={"Accept": ["x"]})


@pytest.fixture
def keep(engine):
    """Save visits of a crawl of a spider."""
    stores = []

    def save(*visits, spider="one", arguments=None):
        store = Store(engine)
        stores.append(store)
        crawl_id = store.join_crawl(spider, arguments or {"a": "1"}, CrawlPolicy()).crawl_id
        store.save(crawl_id, visits)
        store.end_crawl(crawl_id, "finished", {"visit/page": len(visits)})

    yield save
    for store in stores:
        if store._crawl_lock is not None:
            store._crawl_lock.close()


@pytest.fixture
def read(visit):
    return lambda url, day=0: replace(visit(url, "one", day=day), request=request_for(url))


@pytest.fixture
def listing(now):
    return lambda url: Visit(
        url, now, Outcome.SECTION, request=request_for(url), requests=(request_for("https://a.example/x"),)
    )


@pytest.fixture
def ask(engine):
    def of(function, *arguments):
        with engine.connect() as connection:
            return function(connection, *arguments)

    return of


@pytest.fixture
def begin(engine):
    def of(revisits, spider="one", arguments=None):
        with write_transaction(engine) as connection:
            requests_of_revisits = [(revisit, request_for(revisit.url)) for revisit in revisits]
            arguments = (arguments or {"a": "1"}) | {RECRAWL: "{}"}
            begun = due.begin_recrawl(connection, spider, arguments, requests_of_revisits, 60.0)
            return None if begun is None else begun.added

    return of


def urls(revisits):
    return [revisit.url for revisit in revisits]


def test_nothing_is_due_before_its_time(keep, read, ask, now):
    keep(read("https://a.example/1"))
    assert ask(due.due_revisits, now, RevisitBounds()) == []
    (revisit,) = ask(due.due_revisits, now + LATER, RevisitBounds())
    assert (revisit.url, revisit.is_section, revisit.history.visits) == ("https://a.example/1", False, 1)
    assert revisit.history.key == "https://a.example/1"


def test_sections_are_due_too_and_come_first(keep, read, listing, ask, now):
    keep(read("https://a.example/1"), listing("https://a.example/"))
    revisits = ask(due.due_revisits, now + LATER, RevisitBounds())
    assert urls(revisits) == ["https://a.example/", "https://a.example/1"]
    assert [revisit.history.kind for revisit in revisits] == [PageKind.SECTION, PageKind.OTHER]


def test_what_is_page_and_section_is_visited_once(keep, read, listing, ask, now):
    keep(read("https://a.example/1"), listing("https://a.example/1"))
    assert [revisit.is_section for revisit in ask(due.due_revisits, now + LATER, RevisitBounds())] == [True]


def test_a_site_can_be_picked(keep, read, ask, now):
    keep(read("https://a.example/1"), read("https://b.example/1"))
    assert urls(ask(due.due_revisits, now + LATER, RevisitBounds(), "b.example")) == ["https://b.example/1"]
    assert urls(ask(due.all_revisits, "a.example")) == ["https://a.example/1"]


def test_pages_that_are_retired_or_cannot_be_visited_again_are_never_due(engine, keep, read, visit, ask, now):
    keep(read("https://a.example/1"), visit("https://a.example/2", "two"))
    gone = Visit("https://a.example/1", now, Outcome.NOT_FOUND, 410, request=request_for("https://a.example/1"))
    keep(gone)
    assert ask(due.due_revisits, now + LATER, RevisitBounds()) == ask(due.all_revisits) == []


def test_without_a_time_the_oldest_visit_comes_first(keep, read, ask):
    keep(read("https://a.example/1", 2), read("https://a.example/2", 1), read("https://a.example/3", 3))
    assert [revisit.url[-1] for revisit in ask(due.all_revisits)] == ["2", "1", "3"]


def test_ways_are_those_of_the_last_crawl_in_the_order_asked_for(keep, read, listing, ask, now):
    keep(read("https://a.example/1"), listing("https://a.example/"))
    keep(read("https://a.example/1", 1), spider="two", arguments={"token": "1"})
    revisits = ask(due.due_revisits, now + LATER, RevisitBounds())
    ways = ask(due.revisit_requests, revisits[::-1])
    assert [(way.revisit.url, way.spider) for way in ways] == [
        ("https://a.example/1", "two"),
        ("https://a.example/", "one"),
    ]
    assert (ways[0].arguments, ways[0].callback, ways[0].cb_kwargs) == ({"token": "***"}, "parse_article", {"n": 1})
    assert (ways[1].arguments, ways[1].headers, ways[1].meta) == ({"a": "1"}, {"Accept": ["x"]}, {})


def test_equal_values_of_many_requests_are_in_memory_once(keep, read, ask, now):
    keep(*(read(f"https://a.example/{number}") for number in range(3)), arguments={"url": "https://a.example/" * 1_000})
    revisits = ask(due.due_revisits, now + LATER, RevisitBounds())
    ways = ask(due.revisit_requests, revisits)
    assert len(ways) == 3
    for name in ("arguments", "cb_kwargs", "headers", "meta", "settings"):
        assert len({id(getattr(way, name)) for way in ways}) == 1


def test_a_run_reads_a_bounded_number_of_pages_those_that_have_waited_longest(keep, read, ask, now, monkeypatch):
    keep(*(read(f"https://a.example/{number}", day) for number, day in enumerate((20, 0, 10))))
    monkeypatch.setattr(due, "REVISITS_MAX", 2)
    assert urls(ask(due.due_revisits, now + LATER, RevisitBounds())) == ["https://a.example/1", "https://a.example/2"]
    assert len(ask(due.all_revisits)) == 2


def copy_page(engine, copies):
    """Store copies of the one page that is stored, each with an address of its own."""
    shared = [column.name for column in page.columns if column.name not in {"id", "url", "url_key"}]
    numbers = select(literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < copies))
    address = "https://b.example/" + cast(numbers.c.n, String)
    rows = select(*(page.c[name] for name in shared), address, address).select_from(page.join(numbers, true()))
    with write_transaction(engine) as connection:
        connection.execute(insert(page).from_select([*shared, "url", "url_key"], rows))


def test_long_arguments_of_many_pages_take_memory_once(engine, keep, read, ask, now):
    sections = 30_000 * "x"
    keep(read("https://a.example/1"), arguments={"url": sections})
    copy_page(engine, 2_000)
    tracemalloc.start()
    plan = ask(due.revisit_requests, ask(due.due_revisits, now + LATER, RevisitBounds()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [request.arguments["url"] == sections for request in plan] == [True] * 2_001
    assert peak < 2_001 * len(sections) / 2


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(due, "REQUESTS_PER_PART", 2)
    monkeypatch.setattr(due, "_ROWS_PER_READ", 2)


@pytest.mark.usefixtures("small_parts")
def test_the_requests_of_few_pages_are_read_at_once(engine, keep, read, ask, now):
    keep(*(read(f"https://a.example/{number}") for number in range(5)))
    revisits = ask(due.due_revisits, now + LATER, RevisitBounds())
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    assert len(ask(due.revisit_requests, revisits)) == 5
    assert len([statement for statement in statements if "page.arguments" in statement]) == 3


def test_a_recrawl_begins_with_what_is_due(keep, read, ask, begin, rows, now):
    keep(read("https://a.example/1"), read("https://a.example/2"))
    assert begin(ask(due.due_revisits, now + LATER, RevisitBounds())) == 2
    (crawl,) = rows("SELECT * FROM crawl WHERE state = 'open'")
    assert crawl["seeded"] is not None
    assert [row["state"] for row in rows("SELECT state FROM request WHERE crawl_id = :id", id=crawl["id"])] == [
        "queued",
        "queued",
    ]


def test_a_recrawl_is_no_generation_of_the_crawl(engine, keep, read, ask, begin, now):
    keep(read("https://a.example/1"))
    begin(ask(due.due_revisits, now + LATER, RevisitBounds()))
    with write_transaction(engine) as connection:
        assert not crawls.join_crawl(connection, "one", {"a": "1"}, fresh=False).resumed
        assert crawls.join_crawl(connection, "one", {"a": "1", RECRAWL: "{}"}, fresh=False).resumed


def test_a_second_start_joins_the_first(keep, read, ask, begin, rows, now):
    keep(read("https://a.example/1"))
    revisits = ask(due.due_revisits, now + LATER, RevisitBounds())
    assert (begin(revisits), begin(revisits)) == (1, 0)
    assert rows("SELECT count(*) AS n FROM request") == [{"n": 1}]
    assert rows("SELECT count(*) AS n FROM crawl WHERE state = 'open'") == [{"n": 1}]


def test_what_was_visited_in_the_meantime_is_not_visited_again(keep, read, ask, begin, rows, now):
    keep(read("https://a.example/1"), read("https://a.example/2"))
    revisits = ask(due.due_revisits, now + LATER, RevisitBounds())
    keep(read("https://a.example/1", 1))
    assert begin(revisits) == 1
    assert [row["url"] for row in rows("SELECT url FROM request")] == ["https://a.example/2"]


def test_where_nothing_is_left_nothing_begins(keep, read, ask, begin, rows, now):
    keep(read("https://a.example/1"))
    revisits = ask(due.due_revisits, now + LATER, RevisitBounds())
    keep(read("https://a.example/1", 1))
    before = rows("SELECT id, state FROM crawl ORDER BY id")
    assert begin(revisits) is None
    assert begin([]) is None
    assert rows("SELECT id, state FROM crawl ORDER BY id") == before


def test_an_unfinished_recrawl_is_found_and_joined(keep, read, ask, begin, now):
    keep(read("https://a.example/1"))
    assert ask(due.open_recrawls) == []
    begin(ask(due.due_revisits, now + LATER, RevisitBounds()))
    assert [tuple(row) for row in ask(due.open_recrawls)] == [("one", {"a": "1", RECRAWL: "{}"})]
    assert begin([]) == 0


def test_the_visits_of_a_day_are_those_of_recrawls(engine, keep, read, ask, begin, now):
    keep(read("https://a.example/1"))
    begin(ask(due.due_revisits, now + LATER, RevisitBounds()))
    store = Store(engine)
    joined = store.join_crawl("one", {"a": "1", RECRAWL: "{}"}, CrawlPolicy())
    store.end_crawl(joined.crawl_id, "finished", {"visit/page": 3, "visit/not_found": 2, "store/pages_new": 9})
    if store._crawl_lock is not None:
        store._crawl_lock.close()
    with engine.connect() as connection:
        present = requests.database_now(connection)
        assert due.count_recent_visits(connection, present) == 5
        assert due.count_recent_visits(connection, present + timedelta(days=2)) == 0


def test_what_a_clock_that_was_ahead_put_off_is_due_now(keep, read, listing, ask, now):
    ahead = timedelta(days=400)
    late = replace(read("https://a.example/1"), at=now + ahead)
    keep(late, replace(listing("https://a.example/"), at=now + ahead), read("https://a.example/2"))
    bounds = RevisitBounds()
    assert urls(ask(due.due_revisits, now, bounds)) == ["https://a.example/", "https://a.example/1"]
    counts = ask(crawls.count_due, now, bounds)
    assert (counts.pages, counts.sections) == (1, 1)
    # Under a longer interval their time may still come.
    assert ask(due.due_revisits, now, RevisitBounds(max_seconds=450 * 86_400.0)) == []
    # A visit by the right clock ends it.
    keep(read("https://a.example/1"))
    assert urls(ask(due.due_revisits, now, bounds)) == ["https://a.example/"]


def test_a_recrawl_that_ended_by_a_clock_that_was_ahead_uses_up_no_budget(engine, ask, now):
    with write_transaction(engine) as connection:
        for moment in (now, now + timedelta(days=400)):
            crawl_id = crawls.begin_crawl(connection, "one", {RECRAWL: "{}"})
            crawls.end_crawl(connection, crawl_id, "finished", {"visit/page": 5}, finished=True)
            connection.execute(update(crawl).where(crawl.c.id == crawl_id).values(finished=moment))
    assert ask(due.count_recent_visits, now) == 5
