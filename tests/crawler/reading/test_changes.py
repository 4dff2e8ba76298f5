"""The events of pages by day and site, with the words that differ."""

from datetime import date

import pytest
from cleaned_pages import address, html, visit
from sqlalchemy import update

from crawler.errors import QueryError
from crawler.reading.changes import ChangeFilters, count_changes, read_changes
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store
from crawler.storage.tables import page


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request, fresh_url):
    """Ten pages, of which two change on the second day and one of them again on the third."""
    with opened_engine(fresh_url(request.param)) as engine:
        prepare_schema(engine)
        store = Store(engine)
        crawl = store.begin_crawl("test", {})
        store.save(crawl, [visit(number) for number in range(10)])
        late = [html(number).replace(f"Ferry {number} is late", f"Ferry {number} is early") for number in (3, 4)]
        store.save(crawl, [visit(number, body, day=1) for number, body in zip((3, 4), late, strict=True)])
        store.save(crawl, [visit(3, late[0].replace("ten minutes", "an hour"), day=2)])
        with engine.begin() as connection:
            connection.execute(update(page).where(page.c.url == address(4)).values(section="News"))
        yield engine


@pytest.fixture
def read(engine):
    """Return the events that meet filters, as (day, kind, last part of the address)."""

    def run(limit=100, **filters):
        with read_transaction(engine) as connection:
            changes = read_changes(connection, ChangeFilters(**filters), limit).changes
        return [(change.visited.day, change.kind, change.url.rpartition("/")[2]) for change in changes]

    return run


def test_the_latest_events_come_first(read):
    assert read(limit=4) == [(3, "changed", "3"), (2, "changed", "4"), (2, "changed", "3"), (1, "new", "9")]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kind": "headline"}, [(2, "changed", "4"), (2, "changed", "3")]),
        ({"since": date(2024, 5, 2), "until": date(2024, 5, 2)}, [(2, "changed", "4"), (2, "changed", "3")]),
        ({"section": "News"}, [(2, "changed", "4"), (1, "new", "4")]),
        ({"site": "example.org", "kind": "changed", "since": date(2024, 5, 3)}, [(3, "changed", "3")]),
        ({"site": "example.net"}, []),
        ({"kind": "moved"}, []),
    ],
)
def test_filters(read, filters, expected):
    assert read(**filters) == expected


def test_an_event_has_the_words_and_the_headline_that_differ(engine):
    with read_transaction(engine) as connection:
        last, _, first, *_ = read_changes(connection, ChangeFilters(kind="changed"), 3).changes
    (edit,) = last.revision.edited
    assert [part.text for part in edit.parts if part.change != "same"] == ["ten minutes", "an hour"] * 2
    assert next((edit.name, edit.old, edit.new) for edit in first.revision.metadata) == (
        "headline",
        "Ferry 3 is late",
        "Ferry 3 is early",
    )
    assert (first.headline, last.headline) == (True, False)


@pytest.mark.parametrize("section", [None, "News"])
def test_a_list_goes_on_at_its_cursor_and_ends(engine, section):
    filters = ChangeFilters(section=section)
    seen, cursor = [], None
    with read_transaction(engine) as connection:
        whole = [change.id for change in read_changes(connection, filters, 100).changes]
        for _ in range(len(whole)):
            part = read_changes(connection, filters, 3, cursor)
            seen += [change.id for change in part.changes]
            cursor = part.next
            if cursor is None:
                break
    assert cursor is None
    assert seen == whole
    assert len(set(seen)) == len(seen)


def test_events_are_counted_by_day_and_site(engine):
    with read_transaction(engine) as connection:
        days = count_changes(connection, ChangeFilters())
    assert [(row.day.day, row.site, row.kinds, row.headlines) for row in days] == [
        (3, "example.org", {"changed": 1}, 0),
        (2, "example.org", {"changed": 2}, 2),
        (1, "example.org", {"new": 10}, 0),
    ]


@pytest.mark.parametrize("cursor", ["", "7", "x.1", "99999999999999999999.1", "1.99999999999999999999"])
def test_a_cursor_of_another_list_is_refused(engine, cursor):
    with read_transaction(engine) as connection, pytest.raises(QueryError, match="not one of this list"):
        read_changes(connection, ChangeFilters(), 1, cursor)
