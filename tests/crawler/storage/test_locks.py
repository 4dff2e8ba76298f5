"""Processes that store the same pages at the same moment, with the locks and without them."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import processes
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.storage import schema
from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.locks import LOCK_KEYS, block_keys, lock, lock_all, page_fingerprint_keys, page_key

PROGRAM = Path(__file__).parents[2] / "support" / "store_pages.py"
BATCHES, PAGES, BLOCKS = 3, 10, 24
FINGERPRINTS = st.integers(0, 2**64 - 1)


def store_at_once(url, workers, scope="all", locking="locked"):
    """Let workers store the same batches, each started in all of them at once."""
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                processes.start(
                    [sys.executable, str(PROGRAM), url, str(worker), scope, locking],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for worker in range(workers)
        ]
        outputs = [[process.stdout.readline() for process in running]]
        for _ in range(2 * BATCHES):
            for process in running:
                process.stdin.write("\n")
                process.stdin.flush()
            outputs.append([process.stdout.readline() for process in running])
        for process in running:
            process.stdin.close()
    assert [process.returncode for process in running] == [0] * workers
    assert outputs == [[f"{word}\n"] * workers for word in ["ready", *["made", "saved"] * BATCHES]]


def pairs_within_three_bits(engine, table="fingerprint"):
    with engine.connect() as connection:
        stored = np.array(connection.exec_driver_sql(f"SELECT fingerprint FROM {table}").scalars().all(), np.int64)
    differing = np.bitwise_count((stored[:, None] ^ stored[None, :]).view(np.uint64))
    return int((np.triu(differing <= 3, k=1)).sum())


@pytest.mark.postgresql
@pytest.mark.parametrize(("workers", "scope"), [(2, "site"), (2, "all"), (8, "all")])
def test_pages_stored_at_the_same_moment_are_stored_once(url, engine, rows, workers, scope):
    """On a server with default settings, without a deadlock."""
    assert rows("SELECT current_setting('max_locks_per_transaction') AS n") == [{"n": "64"}]
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    before = rows(deadlocks)
    store_at_once(url, workers, scope)
    assert rows(deadlocks) == before
    check_stored_once(engine, rows, workers)


def check_stored_once(engine, rows, workers):
    assert pairs_within_three_bits(engine) == 0
    own, shared = BATCHES * PAGES // 2 * workers, BATCHES * PAGES // 2
    assert rows("SELECT count(*) AS n FROM page") == [{"n": own + shared}]
    assert rows("SELECT DISTINCT visits, changes FROM page WHERE site = 'shared.example'") == [
        {"visits": workers, "changes": 0}
    ]
    lost = "SELECT page_id FROM page_text GROUP BY page_id HAVING count(*) <> :blocks"
    assert rows(lost, blocks=BLOCKS) == []
    assert rows("SELECT count(DISTINCT page_id) AS n FROM page_text") == [{"n": own + shared}]
    check_counts(engine, rows)
    assert pairs_within_three_bits(engine, "page_fingerprint") == 0
    assert rows("SELECT count(*) AS n FROM near_duplicate_page") == [{"n": own - own // workers}]
    assert (
        rows("SELECT 1 FROM near_duplicate_page WHERE original_id IN (SELECT page_id FROM near_duplicate_page)") == []
    )
    headings = "SELECT site FROM block WHERE kind = 'heading' GROUP BY site HAVING count(*) > 1"
    assert rows(headings) == []


def check_counts(engine, rows):
    """The pages of each site, and those that show a text, are as many as counting them all again gives."""
    pages = "SELECT site, {} AS pages FROM {} ORDER BY site"
    assert rows(pages.format("pages", "site")) == rows(pages.format("count(*)", "page GROUP BY site"))
    with engine.begin() as connection:
        connection.exec_driver_sql("ANALYZE")  # without statistics, PostgreSQL joins the view's parts by nested loops
    page_texts = "page_text AS t JOIN page ON page.id = t.page_id GROUP BY site, digest"
    texts = "SELECT site, digest, {} AS pages FROM {} ORDER BY site, digest"
    assert rows(texts.format("pages", "document_frequency")) == rows(
        texts.format("count(DISTINCT page_id)", page_texts)
    )


@pytest.mark.sqlite
def test_two_processes_take_turns_on_sqlite(url, engine, rows):
    store_at_once(url, 2)
    check_stored_once(engine, rows, 2)


@pytest.mark.postgresql
def test_without_the_locks_duplicates_are_stored(url, engine):
    store_at_once(url, 4, locking="unlocked")
    assert pairs_within_three_bits(engine) > 0


@pytest.mark.postgresql
def test_everything_locked_fits_into_a_server_s_table(engine, rows):
    with write_transaction(engine) as connection:
        lock_all(connection)
        ours = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        query = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND {ours}"
        held = connection.exec_driver_sql(query).scalar()
        connections = int(connection.exec_driver_sql("SHOW max_connections").scalar())
    assert held == LOCK_KEYS <= 64 * connections // 2


@pytest.mark.postgresql
def test_a_lock_keeps_out_who_wants_it_until_the_end_of_the_transaction(engine):
    with write_transaction(engine) as holder:
        lock(holder, [5, 3, 3])
        with write_transaction(engine) as other:
            lock(other, [4])
            assert holder.exec_driver_sql("SELECT pg_try_advisory_xact_lock(1651273571, 4)").scalar() is False
    with write_transaction(engine) as other:
        lock(other, [3, 5])


@settings(deadline=None)  # the first example imports the stemmer
@given(FINGERPRINTS, st.sets(st.integers(0, 63), max_size=3))
def test_blocks_that_may_be_duplicates_share_a_key(candidate, fingerprint, bits):
    near = fingerprint ^ sum(1 << bit for bit in bits)
    keys = set(block_keys([candidate(0, "one text", fingerprint=fingerprint)]))
    near_keys = set(block_keys([candidate(0, "another text", fingerprint=near)]))
    assert keys & near_keys
    assert max(keys | near_keys) < LOCK_KEYS


@given(FINGERPRINTS, st.sets(st.integers(0, 63), max_size=3))
def test_pages_that_may_be_mirrors_share_a_key(fingerprint, bits):
    near = fingerprint ^ sum(1 << bit for bit in bits)
    keys = set(page_fingerprint_keys(fingerprint))
    near_keys = set(page_fingerprint_keys(near))
    assert keys & near_keys
    assert max(keys | near_keys) < LOCK_KEYS
    assert list(page_fingerprint_keys(None)) == []


def test_the_same_digest_shares_a_key(candidate):
    keys = [set(block_keys([candidate(0, text)])) for text in ("short words", "Short words!", "* * *", "* * *", "---")]
    assert keys[0] == keys[1]
    assert keys[2] == keys[3] != keys[4]


def test_what_is_never_looked_up_is_not_locked(candidate):
    assert list(block_keys([candidate(1, "repeated text", repeats=0)])) == []


def test_keys_spread(candidate):
    texts = [candidate(0, "text", fingerprint=value * 0x10001000100010001) for value in range(500)]
    assert len(set(block_keys(texts))) > LOCK_KEYS / 2
    assert len({page_key(f"https://a.example/{number}") for number in range(LOCK_KEYS)}) > LOCK_KEYS / 2
