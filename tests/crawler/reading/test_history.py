"""The history of a page: changes computed from the lifetimes of texts, and reading it on both databases."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cleaned_pages import address, html, visit
from cpu_time import cpu_growth
from scrapy import Request
from scrapy.utils.request import fingerprint
from sqlalchemy import event
from sqlalchemy import text as sql

from crawler.errors import QueryError
from crawler.reading.history import TextLifetime, _page_revisions, print_history, read_page_history
from crawler.storage import schema
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import open_engine, read_transaction
from crawler.storage.requests import add_requests
from crawler.storage.store import Store
from crawler.visit import Outcome, RequestRecord, Visit

START = datetime(2024, 5, 1, tzinfo=UTC)


def text(words, position=0, came=0, gone=None, kind="paragraph"):
    ended = None if gone is None else START + timedelta(days=gone)
    return TextLifetime(1, None, position, kind, words, START + timedelta(days=came), START, ended)


def told(*texts):
    revisions = _page_revisions(texts, START)
    return [
        (
            (revision.visited - START).days,
            [lifetime.text for lifetime in revision.added],
            [lifetime.text for lifetime in revision.gone],
            [(edit.old.text, edit.new.text) for edit in revision.edited],
        )
        for revision in revisions
    ]


def test_added_and_removed_texts_are_grouped_by_visit_in_reading_order():
    assert told(
        text("first", 0), text("second words", 1, gone=2), text("third", 2, came=2), text("fourth", 1, came=2)
    ) == [(0, ["first", "second words"], [], []), (2, ["fourth", "third"], ["second words"], [])]


def test_a_text_that_replaces_a_similar_one_is_an_edit():
    old = text("the boat costs ten pounds", 3, gone=1)
    new = text("the boat costs twenty pounds", 5, came=1)
    assert told(old, new)[1] == (1, [], [], [(old.text, new.text)])


def test_each_text_is_paired_once_with_the_most_similar_one():
    texts = [text("a b c d", 0, gone=1), text("a b c e", 1, came=1), text("a b c d f", 2, came=1)]
    assert told(*texts)[1] == (1, ["a b c e"], [], [("a b c d", "a b c d f")])


def test_texts_of_different_kinds_or_too_different_are_not_an_edit():
    texts = [text("one two", 0, gone=1), text("one two", 0, came=1, kind="heading"), text("one six ten", 0, came=1)]
    assert told(*texts)[1] == (1, ["one two", "one six ten"], ["one two"], [])


def test_the_first_visit_has_no_edits():
    revisions = _page_revisions([text("a b c", 0, gone=0), text("a b d", 0)], START)
    assert (revisions[0].first, len(revisions[0].edited), len(revisions[0].gone)) == (True, 0, 1)


def test_thousands_of_texts_that_change_at_once_are_fast():
    def changed(count):
        gone = [text(f"paragraph {n} of the old page", n, gone=1) for n in range(count)]
        return gone + [text(f"paragraph {n} of the new page", n, came=1) for n in range(count)]

    few = changed(400)
    many = changed(3_200)
    assert len(_page_revisions(many, START)[1].edited) == 3_200
    assert cpu_growth(lambda texts: _page_revisions(texts, START), few, many) < 20


LATE, EARLY = "Ferry 1 is late", "Ferry 1 is early"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    engine = open_engine(url if request.param == "sqlite" else request.getfixturevalue("new_database")())
    schema.prepare_schema(engine)
    store = Store(engine)
    yield store
    store.close()


@pytest.fixture
def read_history(store):
    def read(url):
        with read_transaction(store.engine) as connection:
            return read_page_history(connection, url)

    return read


def save(store, *visits):
    crawl = store.begin_crawl("test", {})
    for page_visit in visits:
        store.save(crawl, [page_visit])


def test_visits_and_changes_of_a_page(store, read_history):
    changed = html(1).replace(LATE, EARLY)
    save(store, visit(0), visit(1), visit(1, day=1), visit(1, changed, day=3))
    history = read_history(address(1))
    assert (history.page.visits, history.page.changes, history.page.texts) == (3, 1, len(history.revisions[0].added))
    first, second = history.revisions
    assert (first.first, first.visited, second.visited) == (True, history.page.first_seen, history.page.last_changed)
    (edit,) = second.edited
    assert (edit.old.text, edit.new.text) == (LATE, EARLY)
    assert not second.added
    assert not second.gone


def test_a_duplicate_names_its_page_and_a_near_duplicate_page_its_original(store, read_history):
    save(store, visit(0), visit(1))
    texts = read_history(address(1)).revisions[0].added
    assert {text.of for text in texts} == {None, address(0)}


def test_a_page_is_found_by_its_canonical_address_too(store, read_history):
    canonical = html(2).replace("<title>", '<link rel="canonical" href="https://lake.example.org/ferry"><title>')
    save(store, visit(2, canonical))
    for url in (address(2), "https://lake.example.org/ferry"):
        history = read_history(url)
        assert (history.url, history.page.url, history.page.key) == (url, address(2), "https://lake.example.org/ferry")


def test_failed_requests_are_returned_without_a_page(store, read_history):
    url = "https://lake.example.org/lost"
    record = RequestRecord(fingerprint(Request(url)).hex(), url, "lake.example.org")
    joined = store.join_crawl("test", {}, CrawlPolicy())
    with store.engine.begin() as connection:
        add_requests(connection, joined.crawl_id, [record], visit(0).at)
        connection.execute(sql("UPDATE request SET state = 'done', outcome = 'not_found'"))
    history = read_history(url)
    assert history.page is None
    assert [(request.spider, request.outcome) for request in history.requests] == [("test", "not_found")]


def test_an_unknown_address_is_an_error_with_the_most_similar_one_of_its_host(store, read_history):
    save(store, visit(12), visit(50))
    with pytest.raises(QueryError, match=r"/13 is not in the database; the most similar address is .*/12$"):
        read_history(address(13))
    with pytest.raises(QueryError, match=r"nor is any page of other\.example"):
        read_history("https://other.example/13")


def test_a_section_is_an_error_that_says_so(store, read_history):
    store.join_crawl("test", {}, CrawlPolicy())
    url = "https://lake.example.org/news/"
    record = RequestRecord("key", url, "lake.example.org")
    child = replace(record, key="child")
    store.save(1, [Visit(url, visit(0).at, Outcome.SECTION, request=record, requests=(child,))])
    with pytest.raises(QueryError, match="is a section"):
        read_history(url)


def test_requests_are_found_by_index(store, read_history):
    save(store, visit(0))
    plans = []

    @event.listens_for(store.engine, "before_cursor_execute", retval=True)
    def explain(_connection, cursor, statement, parameters, _context, _many):
        if "FROM request" in statement and store.engine.dialect.name == "sqlite":
            plans.extend(row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))
        return statement, parameters

    read_history(address(0))
    assert all("uq_request_crawl_id_key" in plan for plan in plans)
    assert plans or store.engine.dialect.name != "sqlite"


def test_another_headline_and_title_are_in_the_history_with_their_dates(store, read_history):
    renamed = html(1).replace("Ferry 1 is late", "Ferry 1 sinks").replace("<title>Ferry 1<", "<title>Ferry 1 gone<")
    save(store, visit(1), visit(1, day=1), visit(1, renamed, day=3))
    history = read_history(address(1))
    assert (history.page.headline, history.page.visits, history.page.changes) == ("Ferry 1 sinks", 3, 1)
    (revision,) = [revision for revision in history.revisions if revision.metadata]
    edits = [(edit.name, edit.old, edit.new, edit.first_seen, edit.last_seen) for edit in revision.metadata]
    first, second, third = (visit(1, day=day).at for day in (0, 1, 3))
    assert revision.visited == third
    assert edits == [
        ("headline", "Ferry 1 is late", "Ferry 1 sinks", first, second),
        ("stated_title", "Ferry 1", "Ferry 1 gone", first, second),
    ]
    assert [(part.change, part.text) for part in revision.metadata[0].parts] == [
        ("same", "Ferry 1"),
        ("removed", "is late"),
        ("added", "sinks"),
    ]


def test_values_that_follow_one_another_are_told_in_order(store, read_history):
    pages = [html(1).replace("Ferry 1 is late", title) for title in ("One", "Two", "Three")]
    save(store, *(visit(1, page, day=day) for day, page in enumerate(pages)))
    edits = [edit for revision in read_history(address(1)).revisions for edit in revision.metadata]
    assert [(edit.name, edit.old, edit.new) for edit in edits] == [
        ("headline", "One", "Two"),
        ("headline", "Two", "Three"),
    ]


def test_the_history_shows_what_a_page_was_called(store, read_history, capsys):
    save(store, visit(1), visit(1, html(1).replace("is late", "sinks"), day=3))
    print_history(read_history(address(1)), 20)
    printed = capsys.readouterr().out
    assert "edited, another headline" in printed
    assert "  ~ headline: Ferry 1 [-is late-] {+sinks+}" in printed


def test_an_unknown_host_has_a_most_similar_address_elsewhere(store, read_history):
    save(store, visit(12), visit(50))
    for url in ("https://www.lake.example.org/12", "http://lake.example.org:8080/12", "https://lake.example.com/12"):
        with pytest.raises(QueryError, match=r"nor is any page of .*; the most similar address is .*example\.org/12$"):
            read_history(url)
