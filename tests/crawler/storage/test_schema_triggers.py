"""What search reads is in step with the blocks, whatever changes them."""

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import text

from crawler.reading.search import search
from crawler.storage import schema
from crawler.storage.database import read_transaction, write_transaction
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.search_index import SearchableBlock, tokens_row

A, B = "https://a.example/1", "https://b.example/1"


@pytest.fixture
def find(engine):
    def texts(query):
        with read_transaction(engine) as connection:
            return [hit.text for page in search(connection, query) for hit in page.hits]

    return texts


@pytest.fixture
def in_step(engine, rows):
    """Compare what search reads with the blocks, and the index and its counts with that."""

    def check():
        blocks = rows("SELECT id, text, priority FROM block ORDER BY id")
        stored = rows("SELECT block_id, words, priority, length, tokens FROM block_tokens ORDER BY block_id")
        assert [tuple(row.values()) for row in stored] == [
            tokens_row(SearchableBlock(*block.values())) for block in blocks
        ]
        if engine.dialect.name == "sqlite":
            with write_transaction(engine) as connection:
                connection.execute(text("INSERT INTO block_fts (block_fts, rank) VALUES ('integrity-check', 1)"))
        else:
            counted = "SELECT CAST(sum(blocks) AS int) AS blocks, CAST(sum(length) AS int) AS length FROM search_total"
            real = "SELECT count(*) AS blocks, CAST(coalesce(sum(length), 0) AS int) AS length FROM block_tokens"
            assert rows(counted) == rows(real)
        return len(blocks)

    return check


def test_a_block_that_reads_otherwise_is_found_by_what_it_reads_now(save, visit, find, in_step):
    save(visit(A, "The bridge"))
    save(visit(A, "A bridge", day=1))
    assert (find("a"), find("the")) == (["A bridge"], [])
    assert in_step() == 1


def test_rank_follows_the_block_s_priority(save, visit, engine, in_step):
    save(visit(A, "one bridge", "two bridges"))
    with write_transaction(engine) as connection:
        connection.execute(text("UPDATE block SET priority = 7, words = 3 WHERE id = 2"))
        connection.execute(text("UPDATE block SET last_seen = first_seen"))
    assert in_step() == 2


def test_removed_blocks_are_not_found_and_leave_nothing_in_the_file(save, visit, engine, find, in_step, tmp_path):
    save(*(visit(f"https://b.example/{n}", f"common words {n}") for n in range(40)))
    save(visit(A, "the xylophonist plays"))
    assert find("xylophonist")
    prune_pages(engine, PruneSelection.of(site="a.example"))
    assert find("xylophonist") == []
    assert in_step() == 40
    if engine.dialect.name == "sqlite":
        assert b"xylophonist" not in b"".join(path.read_bytes() for path in tmp_path.glob("blocks.db*"))


def test_an_heir_is_found_on_its_page(save, visit, candidate, engine, find, in_step):
    save(visit(A, candidate(0, "one bridge", fingerprint=7)), visit(B, candidate(0, "one old bridge", fingerprint=7)))
    assert find("old") == []
    prune_pages(engine, PruneSelection.of(url=A))
    assert find("old") == ["one old bridge"]
    assert in_step() == 1


def test_a_transaction_that_is_rolled_back_changes_nothing(save, visit, engine, in_step):
    save(visit(A, "one bridge"))
    with engine.connect() as connection:
        connection.execute(text("DELETE FROM block"))
        connection.rollback()
    assert in_step() == 1


@pytest.mark.sqlite
def test_triggers_survive_a_migration_that_makes_the_table_anew(save, visit, engine, find, in_step, rows):
    save(visit(A, "one bridge"))
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    before = rows(query)
    with write_transaction(engine) as connection, schema._without_triggers(connection):
        operations = Operations(MigrationContext.configure(connection))
        for view in ("page_text", "placed_block", "informative_block"):
            operations.execute(f"DROP VIEW {view}")
        for table in ("block", "block_tokens"):
            with operations.batch_alter_table(table, recreate="always") as batch:
                batch.alter_column("priority", nullable=False)
    assert rows(query) == before
    assert len(before) == 6
    with write_transaction(engine) as connection:
        connection.execute(text("DELETE FROM block"))
    assert find("bridge") == []
    assert in_step() == 0


@pytest.mark.postgresql
def test_writers_count_without_waiting_for_each_other(engine, in_step):
    values = {"block_id": 1, "words": 1, "priority": 1.0, "length": 1, "tokens": " a "}
    insert = text("INSERT INTO block_tokens VALUES (:block_id, :words, :priority, :length, :tokens)")
    with engine.begin() as first:
        first.execute(insert, values)
        with engine.begin() as second:
            second.execute(text("SET LOCAL lock_timeout = '100ms'"))
            second.execute(insert, values | {"block_id": 2})
    with engine.connect() as connection:
        assert connection.execute(text("SELECT sum(blocks) FROM search_total")).scalar() == 2
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM block_tokens"))
        assert connection.execute(text("SELECT sum(length) FROM search_total")).scalar() == 0


def test_a_long_word_is_found(save, visit, find):
    save(visit(A, "y" * 950))
    assert len(find("y" * 950)) == len(find(f"{'y' * 120}*")) == 1


def test_triggers_are_dropped_and_created_again(engine):
    for _ in range(2):
        with write_transaction(engine) as connection, schema._without_triggers(connection):
            pass
