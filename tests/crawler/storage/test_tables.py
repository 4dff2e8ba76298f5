"""Values on their way into the database and back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, select
from sqlalchemy.exc import StatementError

from crawler.storage.near_duplicates import FINGERPRINT_INDEXES, IndexEntry
from crawler.storage.tables import crawl, fingerprint, signed, unsigned

BITS = [0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]


def new_crawl(started):
    return {"spider": "test", "arguments": {}, "state": "open", "started": started, "totals": {}}


@given(st.integers(0, 2**64 - 1))
def test_bits_come_back_from_their_signed_form(bits):
    assert -(2**63) <= signed(bits) < 2**63
    assert unsigned(signed(bits)) == bits


def test_all_64_bits_are_stored(engine):
    with engine.begin() as connection:
        FINGERPRINT_INDEXES[engine.dialect.name](3).add(connection, [IndexEntry(bits, 1) for bits in BITS])
        assert set(connection.scalars(select(fingerprint.c.fingerprint))) == set(BITS)


def test_moments_come_back_aware_and_sort_across_time_zones(engine):
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    tokyo = (noon - timedelta(hours=1)).astimezone(timezone(timedelta(hours=9)))
    with engine.begin() as connection:
        connection.execute(insert(crawl), [new_crawl(noon), new_crawl(tokyo)])
        started = connection.scalars(select(crawl.c.started).order_by(crawl.c.started)).all()
        earlier = connection.scalars(select(crawl.c.started).where(crawl.c.started < noon)).all()
    assert started == [tokyo, noon]
    assert earlier == [tokyo]
    assert all(moment.tzinfo is UTC for moment in started)


def test_a_moment_without_time_zone_is_refused(engine):
    with pytest.raises(StatementError, match="has no time zone"), engine.begin() as connection:
        connection.execute(insert(crawl), new_crawl(datetime(2024, 5, 1)))  # noqa: DTZ001 — what is tested
