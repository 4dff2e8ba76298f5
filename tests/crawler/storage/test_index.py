"""The index against brute force."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning.fingerprint import distance
from crawler.storage import schema
from crawler.storage.engine import open_engine, writing
from crawler.storage.index import Entry, HalvesIndex, Match

BOUNDARIES = (0, 1, 30, 31, 32, 33, 62, 63)
FINGERPRINTS = st.integers(0, 2**64 - 1)
# Bases of all kinds of sign and half.
BASES = (0, 2**64 - 1, 2**63, 2**63 - 1, 2**32, 2**32 - 1, 0x8000000080000000, 0x123456789ABCDEF0)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('index') / 'index.db'}")
    schema.prepare(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(engine):
    with writing(engine) as connection:
        yield connection
        connection.get_transaction().rollback()


def mask(bits):
    return sum(1 << bit for bit in bits)


def found(connection, index, queries):
    return {(match.query, match.block_id, match.distance) for match in index.lookup(connection, queries)}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_boundary_bits_are_found_up_to_three_and_never_from_four(connection, base, size):
    HalvesIndex().add(connection, [Entry(base, 7)])
    queries = [base ^ mask(bits) for bits in combinations(BOUNDARIES, size)]
    expected = {(query, 7, size) for query in queries} if size <= 3 else set()
    assert found(connection, HalvesIndex(), queries) == expected


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_combination_of_bits_up_to_three_is_found(connection, size):
    base = 0x9234567890ABCDEF
    HalvesIndex().add(connection, [Entry(base, 1)])
    queries = [base ^ mask(bits) for bits in combinations(range(64), size)]
    assert found(connection, HalvesIndex(), queries) == {(query, 1, size) for query in queries}


@given(
    stored=st.lists(FINGERPRINTS, max_size=30),
    near=st.lists(st.tuples(st.integers(0, 29), st.sets(st.integers(0, 63), max_size=5)), max_size=30),
    strangers=st.lists(FINGERPRINTS, max_size=5),
    most=st.integers(0, 3),
)
def test_lookup_equals_brute_force(engine, stored, near, strangers, most):
    neighbours = [stored[number % len(stored)] ^ mask(bits) for number, bits in near if stored]
    queries = neighbours + strangers
    expected = {
        Match(query, fingerprint, block_id, distance(query, fingerprint))
        for query in queries
        for block_id, fingerprint in enumerate(stored)
        if distance(query, fingerprint) <= most
    }
    index = HalvesIndex(most)
    with writing(engine) as connection:
        index.add(connection, [Entry(fingerprint, block_id) for block_id, fingerprint in enumerate(stored)])
        matches = index.lookup(connection, queries)
        connection.get_transaction().rollback()
    assert len(matches) == len(set(matches))
    assert set(matches) == expected


def test_one_fingerprint_stands_for_several_blocks(connection):
    index = HalvesIndex()
    index.add(connection, [Entry(2**63 + 5, 1), Entry(2**63 + 5, 2)])
    assert found(connection, index, [2**63 + 5]) == {(2**63 + 5, 1, 0), (2**63 + 5, 2, 0)}


def test_a_removed_fingerprint_is_not_found(connection):
    index = HalvesIndex()
    index.add(connection, [Entry(2**63 + 5, 1), Entry(2**63 + 5, 2)])
    index.remove(connection, [Entry(2**63 + 5, 1), Entry(99, 1)])
    assert found(connection, index, [2**63 + 5]) == {(2**63 + 5, 2, 0)}


def test_nothing_asked_finds_nothing(connection):
    assert HalvesIndex().lookup(connection, []) == []


def test_a_lookup_seeks_and_never_scans_the_fingerprints(connection):
    index = HalvesIndex()
    rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {index._statement}", ("[1]",)).fetchall()
    steps = [row[3] for row in rows if row[3].split()[1] == "f"]
    assert len(steps) == 2
    assert steps[0].startswith("SEARCH f USING PRIMARY KEY")
    assert steps[1].startswith("SEARCH f USING COVERING INDEX ix_fingerprint_low")


@pytest.mark.parametrize("most", [-1, 4])
def test_a_distance_that_would_not_be_exact_is_refused(most):
    with pytest.raises(ValueError, match="between 0 and 3"):
        HalvesIndex(most)
