"""Which pages a re-crawl visits, and by which crawls."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from scrapy import Request, Spider
from scrapy.utils.request import fingerprint
from scrapy.utils.test import get_crawler
from sqlalchemy import func, select, update

from crawler.commands.recrawl import _queue
from crawler.config import Config
from crawler.config.arguments import RECRAWL
from crawler.frontier.recrawl import RecrawlChoice, RecrawlGroup, choose_revisits, describe_left, group_revisits
from crawler.schedule import PageKind, VisitHistory
from crawler.storage import crawls, due, requests
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import write_transaction
from crawler.storage.due import Revisit, RevisitRequest
from crawler.storage.pages import REVISIT_KEY
from crawler.storage.store import Store
from crawler.storage.tables import crawl, request
from crawler.visit import Outcome, RequestRecord, Visit

START = datetime(2024, 5, 1, tzinfo=UTC)


SETTINGS = {"CLEANING_METHOD": "pab", "CLEANING_OPTIONS": {}}


class News(Spider):
    name = "news"

    def parse_article(self, response):
        pass


def a_way(number=1, arguments=None, **values):
    url = f"https://a.example/{number}"
    revisit = Revisit(number, url, VisitHistory(url, PageKind.OTHER, START, START, START), START)
    way = RevisitRequest(
        revisit, "news", arguments or {}, "parse_article", {"n": number}, {"Accept": ["x"]}, {"depth": 1}, SETTINGS
    )
    return replace(way, **values)


def test_a_group_that_can_be_crawled_has_no_fault():
    assert RecrawlGroup("news", {"a": "1"}, SETTINGS, (a_way(), a_way(2, callback=None))).fault(News, {}) is None


def test_a_spider_that_is_gone_is_named():
    assert RecrawlGroup("news", {}).fault(None, {}) == "the spider 'news' no longer exists"


def test_a_callback_that_is_gone_is_named():
    group = RecrawlGroup("news", {}, SETTINGS, (a_way(), a_way(2, callback="parse_gallery")))
    assert group.fault(News, {}) == "the spider 'news' no longer has parse_gallery"


def test_secrets_are_to_be_given_again():
    group = RecrawlGroup("news", {"token": "***", "url": "https://***@a.example/", "pages": "2"})
    assert group.fault(News, {"token": "1"}) == (
        "the secrets in the arguments of 'news' are not stored; pass them again: -a url=VALUE"
    )
    arguments = {"token": "1", "url": "https://me:1@a.example/", "pages": "9"}
    assert group.fault(News, arguments) is None
    assert group.filled(arguments) == {"token": "1", "url": "https://me:1@a.example/", "pages": "2", RECRAWL: "{}"}


def test_requests_have_the_key_that_the_spiders_own_would_have():
    requests = list(RecrawlGroup("news", {}, SETTINGS, (a_way(), a_way(2))).requests(get_crawler(News)))
    assert [record.key for _, record in requests] == sorted(record.key for _, record in requests)
    requests.sort(key=lambda pair: -pair[1].priority)
    assert [revisit.row_id for revisit, _ in requests] == [1, 2]
    first, second = (record for _, record in requests)
    assert first == RequestRecord(
        key=fingerprint(Request("https://a.example/1")).hex(),
        url="https://a.example/1",
        host="a.example",
        headers={"Accept": ["x"]},
        callback="parse_article",
        cb_kwargs={"n": 1},
        meta={"depth": 1, REVISIT_KEY: "https://a.example/1"},
        priority=0,
    )
    assert second.priority == -1


@pytest.fixture
def section(engine):
    """Store a section that a crawl with these arguments has visited so often."""

    def store(path, arguments=None, *, visits=1, changes=0, day=0, url="https://a.example"):
        store = Store(engine)
        joined = store.join_crawl("news", arguments or {"a": "1"}, CrawlPolicy())
        record = RequestRecord("key", url + path, "a.example", callback="parse_listing")
        for number in range(visits):
            child = RequestRecord(f"child{min(number, changes)}", url + path, "a.example")
            moment = START + timedelta(days=day + number / 24)
            store.save(joined.crawl_id, [Visit(record.url, moment, Outcome.SECTION, request=record, requests=(child,))])
        store.end_crawl(joined.crawl_id, "finished", {})
        store.close()

    return store


@pytest.fixture
def chosen(engine):
    """Return the paths that are chosen some days after the start."""

    def choosing(days=20, *, config=None, **choice):
        with engine.connect() as connection:
            chosen_revisits = choose_revisits(
                connection, RecrawlChoice(**choice), config or Config(), START + timedelta(days=days)
            )
        return [revisit.url.removeprefix("https://a.example") for revisit in chosen_revisits.revisits]

    return choosing


def test_the_most_worthwhile_comes_first_and_a_limit_holds(section, chosen):
    section("/quiet", visits=30)
    section("/busy", visits=30, changes=6)
    assert chosen(days=1.6, only_due=True) == ["/busy", "/quiet"]
    assert chosen(days=1.6, only_due=True, limit=1) == ["/busy"]
    assert chosen(only_due=True, limit=0) == []
    assert chosen(days=0, only_due=True) == []


def test_without_due_all_are_visited_the_oldest_visit_first(section, chosen):
    section("/new", day=3)
    section("/old")
    section("/other", day=2, url="https://b.example")
    assert chosen(days=0) == ["/old", "https://b.example/other", "/new"]
    assert chosen(days=0, limit=2) == ["/old", "https://b.example/other"]
    assert chosen(days=0, site="a.example") == ["/old", "/new"]


def test_a_days_budget_is_shared_by_the_runs_of_a_day(engine, section, chosen):
    for number in range(4):
        section(f"/{number}", day=number)
    config = Config(revisit_budget=3)
    assert len(chosen(config=config)) == 3
    with write_transaction(engine) as connection:
        now = requests.database_now(connection)
        crawl = crawls.begin_crawl(connection, "news", {RECRAWL: "{}"})
        crawls.end_crawl(connection, crawl, "finished", {"visit/section": 2}, finished=True)
    with engine.connect() as connection:
        assert len(choose_revisits(connection, RecrawlChoice(limit=9), config, now).revisits) == 1
        assert len(choose_revisits(connection, RecrawlChoice(limit=9), config, now + timedelta(days=2)).revisits) == 3
        assert len(choose_revisits(connection, RecrawlChoice(limit=2), config, now + timedelta(days=2)).revisits) == 2


MOST = "a run visits at most 3 pages and as many sections"
GOES_ON = "the same command goes on with them"


@pytest.mark.parametrize(
    ("choice", "config", "sentence"),
    [
        ({}, {}, f"2 stored addresses are left: {MOST}; {GOES_ON}, the oldest visit first"),
        ({"only_due": True}, {}, f"2 stored addresses are left: {MOST}; {GOES_ON}"),
        ({"limit": 9}, {}, f"2 stored addresses are left: {MOST}; {GOES_ON}, the oldest visit first"),
        ({"limit": 1}, {}, f"4 stored addresses are left: --limit is 1; {GOES_ON}, the oldest visit first"),
        (
            {"limit": 2, "only_due": True},
            {"revisit_budget": 1},
            f"4 stored addresses are left: REVISIT_BUDGET is 1 for 24 hours; {GOES_ON}",
        ),
        (
            {"limit": 1, "sections": ("https://a.example/1", "https://a.example/2")},
            {},
            "1 stored address is left: --limit is 1",
        ),
        ({"site": "b.example"}, {}, None),
        ({"site": "b.example", "limit": 1}, {}, None),
    ],
)
def test_a_run_says_what_it_leaves(engine, section, monkeypatch, choice, config, sentence):
    monkeypatch.setattr(due, "REVISITS_MAX", 3)
    for number in range(4):
        section(f"/{number}", day=number)
    section("/", url="https://b.example")
    with engine.connect() as connection:
        recrawl_choice = RecrawlChoice(**choice)
        chosen = choose_revisits(connection, recrawl_choice, Config(**config), START + timedelta(days=20))
    assert (describe_left(chosen, recrawl_choice) if chosen.left else None) == sentence


def test_the_runs_of_a_command_reach_every_address(engine, section, monkeypatch):
    monkeypatch.setattr(due, "REVISITS_MAX", 2)
    addresses = [f"https://a.example/{number}" for number in range(5)]
    for number in range(5):
        section(f"/{number}", visits=1 + 3 * number, changes=2 * number)
    visited = []
    for day in (1, 2, 3):
        with engine.connect() as connection:
            chosen = choose_revisits(connection, RecrawlChoice(), Config(), START + timedelta(days=day))
        for revisit in chosen.revisits:
            section(revisit.url.removeprefix("https://a.example"), day=day)
        visited.append([revisit.url for revisit in chosen.revisits])
    assert sorted({url for urls in visited for url in urls}) == addresses
    assert [len(urls) for urls in visited] == [2, 2, 2]


def all_groups(engine):
    """Return the crawls that visit everything again."""
    with engine.connect() as connection:
        return group_revisits(connection, choose_revisits(connection, RecrawlChoice(), Config(), START).revisits)


def test_one_crawl_for_each_spider_and_arguments_in_the_order_of_their_best(engine, section):
    section("/1", {"url": "one"})
    section("/2", {"url": "two"}, day=1)
    section("/3", {"url": "one"}, day=2)
    assert [(group.arguments, [way.revisit.url[-2:] for way in group.revisits]) for group in all_groups(engine)] == [
        ({"url": "one"}, ["/1", "/3"]),
        ({"url": "two"}, ["/2"]),
    ]


def test_an_unfinished_recrawl_is_gone_on_with(engine, section):
    section("/1", {"url": "one"})
    with write_transaction(engine) as connection:
        crawls.begin_crawl(connection, "news", {"url": "two", RECRAWL: "{}"})
        crawls.begin_crawl(connection, "news", {"url": "three"})
    with engine.connect() as connection:
        assert group_revisits(connection, []) == [RecrawlGroup("news", {"url": "two"})]


def test_requests_are_queued_in_parts_and_others_write_in_between(engine, section, monkeypatch):
    monkeypatch.setattr(due, "REQUESTS_PER_PART", 2)
    for number in range(5):
        section(f"/{number}")
    (group,) = all_groups(engine)
    queued = []

    def records():
        for number, way in enumerate(group.revisits):
            with write_transaction(engine) as connection:
                of_group = select(func.count()).where(request.c.key.in_([str(key) for key in range(5)]))
                queued.append(connection.scalar(of_group))
                crawls.begin_crawl(connection, "other", {"number": str(number)})
            yield way.revisit, RequestRecord(str(number), way.revisit.url, "a.example")

    config = Config(database_url=engine.url.render_as_string(hide_password=False))
    begun = _queue(config, "news", {RECRAWL: "{}"}, records())
    assert (begun.added, begun.is_active) == (5, False)
    assert queued == [0, 0, 2, 2, 4]


def test_if_the_recrawl_ends_meanwhile_the_next_part_begins_another(engine, section, monkeypatch):
    monkeypatch.setattr(due, "REQUESTS_PER_PART", 2)
    for number in range(3):
        section(f"/{number}")
    (group,) = all_groups(engine)

    def records():
        for number, way in enumerate(group.revisits):
            if number == 2:
                with write_transaction(engine) as connection:
                    connection.execute(update(crawl).values(state=crawls.CrawlState.FINISHED.value))
            yield way.revisit, RequestRecord(str(number), way.revisit.url, "a.example")

    config = Config(database_url=engine.url.render_as_string(hide_password=False))
    begun = _queue(config, "news", {RECRAWL: "{}"}, records())
    assert (begun.added, begun.is_active) == (3, False)
    with engine.connect() as connection:
        is_open = crawl.c.state == crawls.CrawlState.OPEN.value
        assert connection.scalars(select(crawl.c.id).where(is_open)).all() == [begun.crawl_id]
        assert connection.scalars(select(request.c.key).where(request.c.crawl_id == begun.crawl_id)).all() == ["2"]
