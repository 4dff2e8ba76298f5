"""Duplicates among all stored blocks."""

import pytest

from cleaning.fingerprint import distance
from crawler.storage import dedup
from crawler.storage.dedup import DedupCounts, deduplicate
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.store import Store

A, B, C, D = (f"https://{letter}.example/1" for letter in "abcd")
TEXT = "The quick brown fox jumps over the lazy dog"


@pytest.fixture
def unmerged(engine, visit, candidate):
    """Pages stored without look-ups, with a sighting by hand: C's of B's block."""
    store = Store(engine, rules=DuplicateRules("off"))
    crawl = store.begin_crawl("test", {})
    store.save(
        crawl,
        [
            visit(A, candidate(0, TEXT, fingerprint=2**63), "short one"),
            visit(B, candidate(0, f"{TEXT} twice", fingerprint=2**63 + 3), "short one"),
        ],
    )
    exact = Store(engine, rules=DuplicateRules(max_distance=0))
    exact.save(crawl, [visit(C, candidate(0, f"{TEXT}, twice", fingerprint=2**63 + 3))])
    store.save(crawl, [visit(D, candidate(0, TEXT, fingerprint=2**63))])


def quietly(_):
    """Report to nobody."""


def test_later_blocks_become_sightings_and_no_text_is_lost(unmerged, engine, rows, page_texts):
    assert deduplicate(engine, DuplicateRules(), quietly) == DedupCounts(compared=3, repeats=2, repointed=1)
    assert rows("SELECT id, text FROM block WHERE fingerprint IS NOT NULL") == [{"id": 1, "text": TEXT}]
    assert rows("SELECT page_id, block_id, distance, text FROM sighting ORDER BY page_id") == [
        {"page_id": 2, "block_id": 1, "distance": 2, "text": f"{TEXT} twice"},
        {"page_id": 3, "block_id": 1, "distance": 2, "text": f"{TEXT}, twice"},
        {"page_id": 4, "block_id": 1, "distance": 0, "text": None},
    ]
    assert [page_texts(url)[0] for url in (A, B, C, D)] == [TEXT, f"{TEXT} twice", f"{TEXT}, twice", TEXT]
    assert rows("SELECT fingerprint, block_id FROM fingerprint") == [{"fingerprint": -(2**63), "block_id": 1}]


def test_a_moved_sighting_and_its_page_carry_the_change(unmerged, engine, rows):
    before = rows("SELECT max(changed) AS n FROM change_log")[0]["n"]
    deduplicate(engine, DuplicateRules(), quietly)
    assert rows("SELECT page_id FROM sighting WHERE changed <= :n", n=before) == []
    assert rows("SELECT page_id FROM change_log WHERE changed > :n ORDER BY page_id", n=before) == [
        {"page_id": page_id} for page_id in (2, 3, 4)
    ]


def test_short_blocks_are_left_as_they_are(unmerged, engine, rows):
    deduplicate(engine, DuplicateRules(), quietly)
    assert len(rows("SELECT id FROM block WHERE text = 'short one'")) == 2


def test_a_dry_run_counts_and_changes_nothing(unmerged, engine, rows):
    before = rows("SELECT * FROM block ORDER BY id"), rows("SELECT * FROM sighting ORDER BY id")
    assert deduplicate(engine, DuplicateRules(), quietly, dry_run=True) == DedupCounts(3, 2, 0)
    assert (rows("SELECT * FROM block ORDER BY id"), rows("SELECT * FROM sighting ORDER BY id")) == before


@pytest.mark.parametrize(("scope", "most", "repeats"), [("all", 1, 1), ("site", 3, 0), ("page", 3, 0), ("off", 3, 0)])
def test_scope_and_distance_are_the_stores(unmerged, engine, scope, most, repeats):
    assert deduplicate(engine, DuplicateRules(scope, most), quietly).repeats == repeats


def test_a_second_run_finds_nothing(unmerged, engine):
    deduplicate(engine, DuplicateRules(), quietly)
    assert deduplicate(engine, DuplicateRules(), quietly) == DedupCounts(1, 0, 0)


def test_the_next_visit_finds_the_pages_unchanged(unmerged, engine, visit, candidate):
    deduplicate(engine, DuplicateRules(), quietly)
    store = Store(engine)
    (saved,) = store.save(1, [visit(B, candidate(0, f"{TEXT} twice", fingerprint=2**63 + 3), "short one", day=1)])
    assert (saved.state, saved.refreshed, saved.stored) == ("unchanged", 2, 0)


def test_a_run_that_broke_off_is_finished_by_the_next(unmerged, engine, rows, monkeypatch):
    monkeypatch.setattr(dedup, "_MERGES_PER_TRANSACTION", 1)

    def broken(line):
        if line.startswith("1 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deduplicate(engine, DuplicateRules(), broken)
    assert len(rows("SELECT id FROM block WHERE fingerprint IS NOT NULL")) == 2
    assert deduplicate(engine, DuplicateRules(), quietly).repeats == 1
    assert rows("SELECT id FROM block WHERE fingerprint IS NOT NULL") == [{"id": 1}]


def test_no_two_blocks_that_are_left_are_near(engine, visit, candidate, rows):
    store = Store(engine, rules=DuplicateRules("off"))
    prints = [number * number * 0x9E3779B97F4A7C15 % 2**64 ^ flip for number in range(12) for flip in (0, 1, 6, 2**63)]
    pages = [visit(f"{A}/{n}", candidate(0, f"{TEXT} {n}", fingerprint=bits)) for n, bits in enumerate(prints)]
    store.save(store.begin_crawl("test", {}), pages)
    assert deduplicate(engine, DuplicateRules(), quietly).repeats == 36
    left = [row["fingerprint"] % 2**64 for row in rows("SELECT fingerprint FROM block")]
    assert min(distance(a, b) for n, a in enumerate(left) for b in left[:n]) > 3
