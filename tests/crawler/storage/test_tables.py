"""Values on their way into the database and back."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, event, insert, select, text
from sqlalchemy.exc import StatementError

from crawler.storage.near_duplicates import FINGERPRINT_INDEXES, IndexEntry
from crawler.storage.tables import (
    Rows,
    block,
    block_tokens,
    crawl,
    fingerprint,
    insert_rows,
    page,
    reserve_ids,
    signed,
    unsigned,
)

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


SEEN = datetime(2024, 5, 1, 12, 30, 15, 123456, tzinfo=timezone(timedelta(hours=9)))


def new_block(position, **values):
    """The row of a block on page 1, with values that a JSON text could spoil."""
    odd = {"kind": "paragraph", "path": '/html/p["1"]', "words": 3, "score": 0.1 + 0.2, "priority": 1e-300}
    bits = {"digest": BITS[-1 - position], "fingerprint": None if position else BITS[-2]}
    texts = {"site": "a.example", "text": f'{position} % %s ? "quoted" \\ \U0001f600\u2028\''}
    seen = {"first_seen": SEEN, "last_seen": SEEN, "changed": 2**62, "added": 2**62}
    return {"page_id": 1, "position": position} | odd | bits | texts | seen | values


def as_rows(rows):
    return Rows(tuple(rows[0]) if rows else (), [tuple(row.values()) for row in rows])


@pytest.fixture
def one_page(engine):
    with engine.begin() as connection:
        connection.execute(insert(crawl), new_crawl(SEEN))
        values = {"url": "u", "url_key": "u", "site": "a.example", "visits": 1, "changes": 0, "crawl_id": 1}
        seen = {"first_seen": SEEN, "last_seen": SEEN, "last_changed": SEEN}
        connection.execute(insert(page), values | seen | {"body_hash": 1, "method": "default", "scheme": "s"})
    return engine


def test_inserted_rows_have_the_values_that_sqlalchemy_would_write(one_page):
    rows = [new_block(position) for position in range(3)]
    with one_page.begin() as connection:
        insert_rows(connection, block, as_rows(rows))
        connection.execute(insert(block), rows)
        stored = connection.execute(select(block).order_by(block.c.id)).mappings().all()
    ours, theirs = ([{**row, "id": None} for row in part] for part in (stored[:3], stored[3:]))
    assert ours == theirs
    assert [row["text"] for row in ours] == [row["text"] for row in rows]


def reserve(connection, number):
    return list(islice(reserve_ids(connection, {page: 0, block: number})[block], number))


def test_an_id_is_given_out_once_even_if_its_row_is_deleted(one_page):
    with one_page.begin() as connection:
        first = reserve(connection, 2)
        rows = [{"id": row_id, **new_block(position)} for position, row_id in enumerate(first)]
        insert_rows(connection, block, as_rows(rows))
        connection.execute(delete(block))
    with one_page.begin() as connection:
        (second,) = reserve(connection, 1)
        insert_rows(connection, block, as_rows([{"id": second, **new_block(0)}]))
        connection.execute(insert(block), new_block(2))
        stored = connection.scalars(select(block.c.id).order_by(block.c.id)).all()
    assert stored[0] == second > first[1] > first[0]
    assert stored[1] > stored[0]


def test_rows_inserted_at_once_fire_their_triggers(one_page):
    rows = [
        {"block_id": number, "words": 1, "priority": 0.5, "length": 1, "tokens": f" \u4e2d\u6587{number} "}
        for number in (1, 2)
    ]
    with one_page.begin() as connection:
        insert_rows(connection, block_tokens, as_rows(rows), at_once=True)
        stored = connection.execute(select(block_tokens).order_by(block_tokens.c.block_id)).mappings().all()
        assert [dict(row) for row in stored] == rows
        index = "SELECT count(*) FROM block_fts WHERE block_fts MATCH '\u4e2d\u65871'"
        counted = "SELECT sum(blocks) - 1 FROM search_total"
        assert connection.scalar(text(index if one_page.dialect.name == "sqlite" else counted)) == 1


def test_no_rows_are_inserted_without_a_statement(engine):
    with engine.begin() as connection:
        statements = []
        event.listen(connection, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        insert_rows(connection, block, as_rows([]))
    assert statements == []


def test_a_row_without_time_zone_is_refused_by_bulk_inserts_too(one_page):
    with pytest.raises(ValueError, match="has no time zone"), one_page.begin() as connection:
        insert_rows(connection, block, as_rows([new_block(0, first_seen=datetime(2024, 5, 1))]))  # noqa: DTZ001 — what is tested
