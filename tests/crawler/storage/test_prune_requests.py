"""What removed pages leave in the frontier: nothing."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert

from crawler.storage.crawls import join_crawl
from crawler.storage.database import write_transaction
from crawler.storage.prune import PruneCounts, PruneSelection, count_prunable, prune_pages
from crawler.storage.requests import add_requests
from crawler.storage.tables import host, section, sitemap_trust
from crawler.visit import RequestRecord

A, BLOG, B, C = (
    "https://a.example/1?b=2&a=1",
    "https://blog.a.example/caf%C3%A9",
    "https://b.example/1",
    "http://c.example/",
)
ASKED = (
    RequestRecord("a", A, "a.example"),
    RequestRecord("blog", BLOG, "blog.a.example", headers={"referer": [A]}),
    RequestRecord("b", B, "b.example", headers={"Referer": [A], "Accept": ["text/html"]}),
    RequestRecord("c", C, "c.example", headers={"Referer": [B]}),
)


@pytest.fixture
def frontier(engine, now):
    """The same four requests in two crawls; for each a section, and the rows of its host."""
    hosts = [record.host for record in ASKED]
    with write_transaction(engine) as connection:
        for spider in ("one", "two"):
            add_requests(connection, join_crawl(connection, spider, {}, fresh=False).crawl_id, ASKED, now)
        connection.execute(insert(host), [{"host": name, "delay": 1.0, "refusals": 0} for name in hosts])
        connection.execute(insert(sitemap_trust), [{"host": name, "right": 1, "wrong": 0} for name in hosts])
        connection.execute(insert(section), [make_section(number, record, now) for number, record in enumerate(ASKED)])


def make_section(number, record, now):
    seen = now + timedelta(days=number)
    return {
        "url": record.url,
        "url_key": "https://a.example/1?a=1&b=2" if record.key == "a" else record.url,
        "site": "a.example" if "a.example" in record.host else record.host,
        "spider": "one",
        "cb_kwargs": {},
        "arguments": {},
        "headers": {},
        "meta": {},
        "settings": {},
        "first_seen": seen,
        "last_seen": seen,
        "last_changed": seen,
        "visits": 1,
        "changes": 0,
        "links_hash": 2**64 - 1,
    }


@pytest.fixture
def left(engine, rows):
    """What is left in a table, each once."""

    def read(column, table):
        return [row["it"] for row in rows(f"SELECT DISTINCT {column} AS it FROM {table} ORDER BY it")]

    return read


def test_a_site_leaves_nothing(engine, frontier, left, save, visit):
    save(visit(A, "text"), visit(B, "text"))
    expected = PruneCounts(1, 1, 0, 1, sections=2, requests=4, records=4)
    assert count_prunable(engine, PruneSelection.of(site="a.example")) == expected
    assert prune_pages(engine, PruneSelection.of(site="a.example")) == expected
    assert left("url", "request") == left("url", "section") == [C, B]
    assert left("host", "host") == left("host", "sitemap_trust") == ["b.example", "c.example"]
    assert left("CAST(headers AS TEXT)", "request") == ['{"Accept": ["text/html"]}', f'{{"Referer": ["{B}"]}}']


@pytest.mark.parametrize("typed", [A, "https://a.example/1?a=1&b=2", "HTTPS://me:pw@A.example/1?b=2&a=1#top"])
def test_a_page_leaves_its_site(engine, frontier, left, typed):
    assert prune_pages(engine, PruneSelection.of(url=typed)) == PruneCounts(0, 0, 0, 0, sections=1, requests=2)
    assert left("key", "request") == ["b", "blog", "c"]
    assert left("url", "section") == [C, B, BLOG]
    assert left("host", "host") == ["a.example", "b.example", "blog.a.example", "c.example"]
    assert not any("a.example" in headers for headers in left("CAST(headers AS TEXT)", "request"))


def test_a_page_that_goes_by_age_takes_its_requests_along(engine, frontier, left, save, visit):
    save(visit(BLOG.replace("%C3%A9", "é"), "old"), visit(B, "new", day=2))
    old = PruneSelection(last_seen_before=datetime(2024, 5, 2, 13, tzinfo=UTC))
    assert prune_pages(engine, old) == PruneCounts(1, 1, 0, 0, sections=2, requests=2)
    assert left("key", "request") == ["a", "b", "c"]
    assert left("url", "section") == [C, B]


def test_criteria_add_up(engine, frontier, left):
    assert prune_pages(engine, PruneSelection.of(site="b.example", url=A)) == PruneCounts(0, 0, 0, 0)
    assert prune_pages(engine, PruneSelection.of(site="b.example", older_than_days=1)) == PruneCounts(
        0, 0, 0, 0, sections=1
    )
    assert left("key", "request") == ["a", "b", "blog", "c"]
    assert left("host", "host") == ["a.example", "b.example", "blog.a.example", "c.example"]


def test_an_address_with_a_port_is_a_site_of_a_host(engine, now, crawl_id, left):
    urls = ["http://127.0.0.1:8000/1", "http://127.0.0.1:9000/1"]
    with write_transaction(engine) as connection:
        add_requests(connection, crawl_id, [RequestRecord(url, url, "127.0.0.1") for url in urls], now)
        connection.execute(insert(host), {"host": "127.0.0.1", "delay": 0.0, "refusals": 0})
    assert prune_pages(engine, PruneSelection.of(site=urls[0])).requests == 1
    assert left("url", "request") == urls[1:]
    assert left("host", "host") == []
