"""Addresses that were visited and gave no page."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from crawler.schedule import RevisitBounds
from crawler.storage import due, schema
from crawler.storage.tables import empty_address

NOW = datetime(2024, 5, 20, tzinfo=UTC)
DAY = timedelta(days=1)
URL = "https://a.example/1"


def known(connection, now):
    return due.known_pages(connection, [URL], now, RevisitBounds()).get(URL)


def test_an_address_without_a_page_is_due_ever_more_rarely_and_then_forgotten(engine):
    schema.prepare_schema(engine)
    with engine.begin() as connection:
        assert known(connection, NOW) is None
        last = NOW
        for days in (7, 14, 28, 56, 112, 180, 180):
            due.record_empty_visits(connection, [due.EmptyVisit(URL, "not_found", last)])
            assert not known(connection, last + (days - 1) * DAY).is_due
            last += days * DAY
            assert known(connection, last).is_due
        # A clock that was ahead does not hide an address for years.
        assert known(connection, NOW - 900 * DAY).is_due
        last -= 180 * DAY
        due.forget_addresses(connection, last + 399 * DAY)
        assert connection.execute(select(empty_address.c.site, empty_address.c.visits)).all() == [("a.example", 7)]
        due.forget_addresses(connection, last + 401 * DAY)
        assert known(connection, last) is None
