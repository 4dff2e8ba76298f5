"""The index against brute force."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning.fingerprint import distance
from crawler.storage import schema
from crawler.storage.database import open_engine, write_transaction
from crawler.storage.near_duplicates import (
    CANDIDATES_MAX,
    FINGERPRINT_INDEXES,
    BandsIndex,
    FingerprintMatch,
    FingerprintMatches,
    HalvesIndex,
    IndexEntry,
)

BOUNDARIES = (0, 15, 16, 31, 32, 47, 48, 63)
FINGERPRINTS = st.integers(0, 2**64 - 1)
# Bases of all kinds of sign and half.
BASES = (0, 2**64 - 1, 2**63, 2**63 - 1, 2**32, 2**32 - 1, 0x8000800080008000, 0x123456789ABCDEF0)


@pytest.fixture(scope="module")
def engine(dialect, tmp_path_factory, request):
    """A database for all tests: each rolls back what it stores."""
    if dialect == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('index') / 'index.db'}"
    else:
        url = request.getfixturevalue("new_database")()
    engine = open_engine(url)
    schema.prepare_schema(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def index(dialect):
    return FINGERPRINT_INDEXES[dialect](3)


@pytest.fixture
def connection(engine):
    with write_transaction(engine) as connection:
        yield connection
        connection.get_transaction().rollback()


def mask(bits):
    return sum(1 << bit for bit in bits)


def look_up(connection, index, queries):
    return {(match.query, match.owner_id, match.distance) for match in index.lookup(connection, queries).matches}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_boundary_bits_are_found_up_to_three_and_never_from_four(connection, index, base, size):
    index.add(connection, [IndexEntry(base, 7)])
    queries = [base ^ mask(bits) for bits in combinations(BOUNDARIES, size)]
    expected = {(query, 7, size) for query in queries} if size <= 3 else set()
    assert look_up(connection, index, queries) == expected


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_combination_of_bits_up_to_three_is_found(connection, index, size):
    base = 0x9234567890ABCDEF
    index.add(connection, [IndexEntry(base, 1)])
    queries = [base ^ mask(bits) for bits in combinations(range(64), size)]
    assert look_up(connection, index, queries) == {(query, 1, size) for query in queries}


@given(
    stored=st.lists(FINGERPRINTS, max_size=30),
    near=st.lists(st.tuples(st.integers(0, 29), st.sets(st.integers(0, 63), max_size=5)), max_size=30),
    strangers=st.lists(FINGERPRINTS, max_size=5),
    most=st.integers(0, 3),
)
def test_lookup_equals_brute_force(dialect, engine, stored, near, strangers, most):
    neighbours = [stored[number % len(stored)] ^ mask(bits) for number, bits in near if stored]
    queries = neighbours + strangers
    expected = {
        FingerprintMatch(query, fingerprint, block_id, distance(query, fingerprint))
        for query in queries
        for block_id, fingerprint in enumerate(stored)
        if distance(query, fingerprint) <= most
    }
    index = FINGERPRINT_INDEXES[dialect](most)
    with write_transaction(engine) as connection:
        index.add(connection, [IndexEntry(fingerprint, block_id) for block_id, fingerprint in enumerate(stored)])
        matches = index.lookup(connection, queries).matches
        connection.get_transaction().rollback()
    assert len(matches) == len(set(matches))
    assert set(matches) == expected


def test_one_fingerprint_stands_for_several_blocks(connection, index):
    index.add(connection, [IndexEntry(2**63 + 5, 1), IndexEntry(2**63 + 5, 2)])
    assert look_up(connection, index, [2**63 + 5]) == {(2**63 + 5, 1, 0), (2**63 + 5, 2, 0)}


def test_a_removed_fingerprint_is_not_found(connection, index):
    index.add(connection, [IndexEntry(2**63 + 5, 1), IndexEntry(2**63 + 5, 2)])
    index.remove(connection, [IndexEntry(2**63 + 5, 1), IndexEntry(99, 1)])
    assert look_up(connection, index, [2**63 + 5]) == {(2**63 + 5, 2, 0)}


def test_nothing_asked_finds_nothing(connection, index):
    assert index.lookup(connection, []) == FingerprintMatches()


@pytest.mark.sqlite
def test_a_lookup_seeks_and_never_scans_the_fingerprints(connection, index):
    rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {index._statement}", ("[1]", 1)).fetchall()
    steps = [row[3] for row in rows if row[3].split()[1] == "f"]
    assert len(steps) == 2
    assert steps[0].startswith("SEARCH f USING PRIMARY KEY")
    assert steps[1].startswith("SEARCH f USING COVERING INDEX ix_fingerprint_low")


@pytest.mark.postgresql
@pytest.mark.parametrize("analysed", [False, True], ids=["new", "analysed"])
def test_a_lookup_among_many_seeks_the_indexes(connection, index, analysed):
    """Also in a table that the server has no statistics of yet, and in a plan for any queries."""
    many = "SELECT hashint8extended(n, 0), n FROM generate_series(1, 100000) AS n"
    connection.exec_driver_sql(f"INSERT INTO fingerprint {many}")
    if analysed:
        connection.exec_driver_sql("ANALYZE fingerprint")
    connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")
    used = ("pk_fingerprint", "ix_fingerprint_low_half", "ix_fingerprint_band_0", "ix_fingerprint_band_2")
    for statement, times in zip(index._statements, ([1, 1, 1, 1], [1, 1, 0, 0]), strict=True):
        connection.exec_driver_sql(f"PREPARE page (bigint[], int) AS {statement % ('$1', '$2')}")
        steps = [row[0] for row in connection.exec_driver_sql("EXPLAIN EXECUTE page ('{1,2}', 3)")]
        connection.exec_driver_sql("DEALLOCATE page")
        assert [sum(name in step for step in steps) for name in used] == times, steps
        assert not any("Seq Scan" in step for step in steps)


# What the members of a full bucket have in common, and the bits in which they differ.
FULL_BUCKETS = {
    "upper half": range(32),
    "lower half": range(32, 64),
    "upper band": range(48),
    "lower band": range(16, 64),
}


def scattered(base, bits, count):
    """Return fingerprints that differ from the base in random ones of these bits."""
    chance = random.Random(7)
    return list({base ^ mask(bit for bit in bits if chance.random() < 0.5) for _ in range(count)})


@pytest.mark.parametrize("bucket", FULL_BUCKETS)
def test_a_full_bucket_hides_nothing_of_others(connection, index, bucket):
    """Queries whose halves are not full find everything, and those in the full bucket find only what is there."""
    full = scattered(0x9234567890ABCDEF, FULL_BUCKETS[bucket], 3 * CANDIDATES_MAX)
    chance = random.Random(8)
    stored = full + [chance.getrandbits(64) for _ in range(300)]
    index.add(connection, [IndexEntry(bits, number) for number, bits in enumerate(stored)])
    near = [bits ^ mask(chance.sample(range(64), chance.randint(0, 3))) for bits in (*stored[-300:], *full[:20])]
    matches = index.lookup(connection, near)
    truth = {
        FingerprintMatch(query, bits, number, distance(query, bits))
        for query in near
        for number, bits in enumerate(stored)
        if distance(query, bits) <= 3
    }
    assert set(matches.matches) <= truth
    assert {match for match in truth if match.query not in matches.not_compared} <= set(matches.matches)
    halves_are_full = bucket.endswith("half")
    assert not matches.not_compared & set(near[:300])
    assert bool(matches.not_compared) == halves_are_full


@pytest.fixture
def empty_connection(new_database):
    """A connection to a PostgreSQL database of its own: what other tests have rolled back would be read too."""
    engine = open_engine(new_database())
    schema.prepare_schema(engine)
    with write_transaction(engine) as connection:
        yield connection
    engine.dispose()


@pytest.mark.postgresql
@pytest.mark.parametrize("analysed", [False, True], ids=["new", "analysed"])
@pytest.mark.parametrize("bucket", FULL_BUCKETS)
def test_a_lookup_in_a_full_bucket_reads_a_bounded_number_of_entries(empty_connection, bucket, analysed):
    """The server cannot know how full a bucket is, and would read all of it first."""
    index, execute = BandsIndex(), empty_connection.exec_driver_sql
    full = scattered(0x9234567890ABCDEF, FULL_BUCKETS[bucket], 20_000)
    index.add(empty_connection, [IndexEntry(bits, number) for number, bits in enumerate(full)])
    if analysed:
        execute("ANALYZE fingerprint")
    entries = (
        "SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid)) "
        "FROM pg_index WHERE indrelid = 'fingerprint'::regclass"
    )
    settings = "SELECT current_setting('enable_seqscan'), current_setting('enable_bitmapscan')"
    before = execute(entries).scalar_one()
    former = execute(settings).one()
    index.lookup(empty_connection, full[:10])
    number = execute(entries).scalar_one() - before
    # Bands and halves give 501 each, and the first ones of them a few more.
    assert 10 <= number <= 1.1 * 10 * 2 * (CANDIDATES_MAX + 1) < len(full)
    assert execute(settings).one() == former == ("on", "on")


def test_a_query_with_many_equal_fingerprints_gets_a_bounded_answer(connection, index):
    index.add(connection, [IndexEntry(5, number) for number in range(2 * CANDIDATES_MAX)])
    matches = index.lookup(connection, [5, 2**40 + 5, 2**64 - 1])
    assert matches.not_compared == {5, 2**40 + 5}
    assert 0 < len([match for match in matches.matches if match.query == 5]) <= CANDIDATES_MAX + 1


@pytest.mark.parametrize("most", [-1, 4])
@pytest.mark.parametrize("kind", [HalvesIndex, BandsIndex])
def test_a_distance_that_would_not_be_exact_is_refused(kind, most):
    with pytest.raises(ValueError, match="between 0 and 3"):
        kind(most)
