"""Removal for good, and what lives on elsewhere."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from crawler.errors import StoreError
from crawler.health.conditions import Condition, Finding, SiteCounts
from crawler.health.records import add_counts, read_alerts, read_crawls, record_findings
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.prune import PruneCounts, PruneSelection, count_prunable, prune_pages
from crawler.storage.store import Store
from crawler.visit import Visit

A, B, C, D = (f"https://{letter}.example/1" for letter in "abcd")
TEXT = "The quick brown fox jumps over the lazy dog"


@pytest.fixture
def families(save, visit, candidate):
    """A's block, its repeat on A, two near sightings and an equal one on other sites; blocks of A's and B's own."""
    save(
        visit(A, candidate(0, TEXT, fingerprint=0b000), candidate(1, TEXT, fingerprint=0b000, repeats=0), "only on A"),
        visit(B, candidate(0, f"{TEXT} twice", fingerprint=0b011), "only on B"),
        visit(C, candidate(0, TEXT, fingerprint=0b000)),
        visit(D, candidate(0, f"{TEXT} twice", fingerprint=0b011)),
    )


def test_a_page_goes_with_all_that_is_its_own(save, visit, engine, rows):
    save(visit(A, TEXT, "short"), visit(B, "other"))
    assert prune_pages(engine, PruneSelection.of(url=A)) == PruneCounts(1, 2, 0, 0)
    assert rows("SELECT url FROM page") == [{"url": B}]
    assert rows("SELECT text FROM block") == [{"text": "other"}]
    assert rows("SELECT count(*) AS n FROM fingerprint") == [{"n": 0}]


def test_texts_that_other_pages_hold_live_on_there(families, engine, rows, page_texts):
    assert prune_pages(engine, PruneSelection.of(site="a.example")) == PruneCounts(1, 2, 1, 1)
    assert page_texts(B) == [f"{TEXT} twice", "only on B"]
    assert page_texts(C) == [TEXT]
    assert page_texts(D) == [f"{TEXT} twice"]
    assert rows("SELECT id FROM sighting WHERE block_id NOT IN (SELECT id FROM block)") == []


def test_the_oldest_sighting_becomes_the_block_and_the_others_point_to_it(families, engine, rows):
    prune_pages(engine, PruneSelection.of(url=A))
    (heir,) = rows("SELECT id, page_id, site, position, fingerprint FROM block WHERE text LIKE :t", t=f"{TEXT}%")
    assert (heir["page_id"], heir["site"], heir["position"], heir["fingerprint"]) == (2, "b.example", 0, 0b011)
    assert rows("SELECT fingerprint, block_id FROM fingerprint") == [{"fingerprint": 3, "block_id": heir["id"]}]
    assert rows("SELECT page_id, block_id, distance, text FROM sighting ORDER BY page_id") == [
        {"page_id": 3, "block_id": heir["id"], "distance": 2, "text": TEXT},
        {"page_id": 4, "block_id": heir["id"], "distance": 0, "text": None},
    ]


@pytest.fixture
def chain(save, visit, candidate):
    """Blocks of A and B, four bits apart; C's sighting of A's block is as near to B's, D's sighting is not."""
    save(
        visit(A, candidate(0, TEXT, fingerprint=0b0000)),
        visit(B, candidate(0, f"{TEXT} thrice", fingerprint=0b1111)),
        visit(C, candidate(0, f"{TEXT} twice", fingerprint=0b0011)),
        visit(D, candidate(0, f"{TEXT} today", fingerprint=0b110000)),
    )


def test_the_sightings_of_a_deleted_block_move_to_a_stored_duplicate(chain, engine, rows, page_texts):
    prune_pages(engine, PruneSelection.of(url=A))
    assert rows("SELECT page_id, fingerprint FROM block ORDER BY page_id") == [
        {"page_id": 2, "fingerprint": 0b1111},
        {"page_id": 4, "fingerprint": 0b110000},
    ]
    assert rows("SELECT page_id, block_id, distance FROM sighting") == [{"page_id": 3, "block_id": 2, "distance": 2}]
    assert [page_texts(url) for url in (B, C, D)] == [[f"{TEXT} thrice"], [f"{TEXT} twice"], [f"{TEXT} today"]]


@pytest.mark.parametrize("rules", [DuplicateRules("site"), DuplicateRules("page"), DuplicateRules(max_distance=1)])
def test_a_block_that_the_rules_exclude_gets_no_sightings_of_a_deleted_one(chain, engine, rows, rules):
    prune_pages(engine, PruneSelection.of(url=A), rules)
    assert rows("SELECT page_id FROM block ORDER BY page_id") == [{"page_id": 2}, {"page_id": 3}, {"page_id": 4}]


def test_a_short_text_moves_to_a_stored_block_of_its_site(engine, visit, rows):
    off = Store(engine, rules=DuplicateRules("off"))
    on = Store(engine)
    crawl = off.begin_crawl("test", {})
    first, second, third = (f"https://a.example/{number}" for number in (1, 2, 3))
    off.save(crawl, [visit(first, "short one"), visit(second, "Short one!")])
    on.save(crawl, [visit(third, "short one")])
    prune_pages(engine, PruneSelection.of(url=first))
    assert rows("SELECT id, page_id FROM block") == [{"id": 2, "page_id": 2}]
    assert rows("SELECT page_id, block_id, text FROM sighting") == [{"page_id": 3, "block_id": 2, "text": "short one"}]


def test_a_moved_sighting_and_its_page_carry_the_change(families, engine, rows):
    before = rows("SELECT max(changed) AS n FROM change_log")[0]["n"]
    prune_pages(engine, PruneSelection.of(url=A))
    assert rows("SELECT page_id FROM sighting WHERE changed <= :n", n=before) == []
    assert rows("SELECT page_id FROM change_log WHERE changed > :n ORDER BY page_id", n=before) == [
        {"page_id": page_id} for page_id in (1, 2, 3, 4)
    ]


def test_a_promoted_block_is_found_by_later_pages(families, engine, save, visit, candidate):
    prune_pages(engine, PruneSelection.of(url=A))
    saved = save(visit("https://e.example/", candidate(0, f"{TEXT} again", fingerprint=0b111)))
    assert saved[0].near == 1


def test_a_visit_after_promotion_finds_the_page_unchanged(families, engine, save, visit, candidate):
    prune_pages(engine, PruneSelection.of(url=A))
    again = visit(B, candidate(0, f"{TEXT} twice", fingerprint=0b011), "only on B", day=1)
    assert (save(again)[0].state, save(again)[0].refreshed) == ("unchanged", 2)


def test_a_live_sighting_inherits_before_a_gone_one(families, engine, save, visit, rows):
    save(visit(B, "only on B", day=1))
    prune_pages(engine, PruneSelection.of(url=A))
    assert rows("SELECT page_id FROM block WHERE text = :t", t=TEXT) == [{"page_id": 3}]


def test_no_text_survives_where_all_its_pages_go(families, engine, rows):
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE page SET last_seen = '2000-01-01 00:00:00.000000' WHERE id < 5")
    assert prune_pages(engine, PruneSelection.of(older_than_days=30)).promoted == 0
    for table in ("page", "block", "sighting", "fingerprint"):
        assert rows(f"SELECT count(*) AS n FROM {table}") == [{"n": 0}]


def test_age_counts_from_the_last_visit(save, visit, engine, rows):
    now = datetime.now(UTC)
    old = visit(A)
    new = visit(B)
    save(
        *(
            Visit(v.url, now - timedelta(days=d), v.outcome, page=replace(v.page, blocks=()))
            for v, d in ((old, 31), (new, 29))
        )
    )
    assert prune_pages(engine, PruneSelection.of(older_than_days=30)).pages == 1
    assert rows("SELECT url FROM page") == [{"url": B}]


@pytest.mark.parametrize("site", ["a.example", "www.a.example", "https://blog.a.example/x"])
def test_a_site_may_be_given_by_any_of_its_addresses(save, visit, engine, site):
    save(visit("https://www.a.example/1"), visit(B))
    assert count_prunable(engine, PruneSelection.of(site=site)).pages == 1


def test_a_page_is_found_by_its_canonical_address_too(save, visit, engine):
    save(visit(f"{A}?from=mail", canonical=A))
    assert count_prunable(engine, PruneSelection.of(url=A)).pages == 1
    assert count_prunable(engine, PruneSelection.of(url=f"{A}?from=mail")).pages == 1


def test_all_criteria_must_hold(save, visit, engine):
    save(visit(A), visit(B))
    assert count_prunable(engine, PruneSelection.of(site="a.example", url=B)).pages == 0


def test_without_criteria_nothing_is_removed(engine):
    with pytest.raises(StoreError, match="needs a site, a URL or an age"):
        prune_pages(engine, PruneSelection())


def test_counting_removes_nothing_and_tells_what_pruning_does(families, engine, rows):
    before = rows("SELECT * FROM block ORDER BY id")
    counted = count_prunable(engine, PruneSelection.of(url=A))
    assert rows("SELECT * FROM block ORDER BY id") == before
    assert prune_pages(engine, PruneSelection.of(url=A)) == counted


@pytest.mark.sqlite
def test_nothing_of_a_removed_text_is_left_in_the_files(save, visit, engine, tmp_path):
    save(visit(A, "a most secret sentence"), visit(B, "other"))
    prune_pages(engine, PruneSelection.of(url=A))
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"most secret" not in left
    assert b"other" in left


@pytest.mark.postgresql
def test_removed_rows_are_taken_out_of_their_table(save, visit, engine, rows):
    save(visit(A, "a most secret sentence"), visit(B, "other"))
    prune_pages(engine, PruneSelection.of(url=A))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS pageinspect")
    items = "FROM generate_series(0, pg_relation_size('block') / 8192 - 1) AS page, "
    items += "heap_page_items(get_raw_page('block', page::int)) WHERE t_data IS NOT NULL"
    assert rows(f"SELECT count(*) AS n {items}") == [{"n": 1}]


def test_ids_of_removed_rows_are_not_given_out_again(save, visit, engine, rows):
    save(visit(A, "one"), visit(B, "two"))
    prune_pages(engine, PruneSelection.of(url=B))
    save(visit(C, "three"))
    assert rows("SELECT id FROM page ORDER BY id") == [{"id": 1}, {"id": 3}]
    assert rows("SELECT id FROM block ORDER BY id") == [{"id": 1}, {"id": 3}]


@pytest.mark.parametrize(
    ("selection", "sites"),
    [
        (PruneSelection.of(site="a.example"), ["b.example", "moved.example"]),
        (PruneSelection.of(url=A), ["a.example", "b.example", "moved.example"]),
        (PruneSelection.of(url=B), ["a.example", "moved.example"]),
        (PruneSelection.of(older_than_days=0), ["moved.example"]),
    ],
)
def test_the_health_of_a_site_goes_with_the_last_of_its_pages(save, visit, engine, selection, sites):
    save(visit(A), visit("https://a.example/2"), visit(B))
    now = datetime.now(UTC)
    with engine.begin() as connection:
        for site in ("a.example", "b.example", "moved.example"):
            add_counts(connection, 1, {site: SiteCounts(refused=9)}, now)
            record_findings(connection, {site: [Finding(Condition.REFUSED, holds=True, sentence="all refused")]}, now)
    prune_pages(engine, selection)
    with engine.connect() as connection:
        assert sorted(read_crawls(connection, ["a.example", "b.example", "moved.example"])) == sites
        assert [alert.site for alert in read_alerts(connection)] == sites
