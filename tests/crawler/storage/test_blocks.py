"""Blocks and their duplicates: which text is a block, and which a sighting of another."""

import pytest
from stored_prose import prose

from cleaning.blocks import Kind
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.store import PageState, SavedVisit, Store

A, B, C = "https://a.example/1", "https://b.example/2", "https://c.example/3"


def test_the_same_text_on_another_site_is_a_sighting_without_own_text(save, visit, rows, page_texts):
    save(visit(A, prose(1)))
    assert save(visit(B, prose(1))) == [SavedVisit(B, PageState.NEW, 2, exact=1)]
    assert rows("SELECT block_id, distance, text FROM sighting") == [{"block_id": 1, "distance": 0, "text": None}]
    assert page_texts(B) == [prose(1)]


def test_another_case_is_an_exact_duplicate_with_own_text(save, visit, page_texts):
    save(visit(A, prose(1)))
    assert save(visit(B, prose(1).upper()))[0].exact == 1
    assert page_texts(B) == [prose(1).upper()]


def test_a_near_duplicate_is_a_sighting_with_own_text(save, visit, candidate, rows, page_texts):
    save(visit(A, candidate(0, prose(1), fingerprint=2**63)))
    assert save(visit(B, candidate(0, prose(2), fingerprint=2**63 + 7))) == [SavedVisit(B, PageState.NEW, 2, near=1)]
    assert rows("SELECT distance, text FROM sighting") == [{"distance": 3, "text": prose(2)}]
    assert page_texts(B) == [prose(2)]


def test_four_bits_apart_is_another_block(save, visit, candidate):
    save(visit(A, candidate(0, prose(1), fingerprint=0)))
    assert save(visit(B, candidate(0, prose(2), fingerprint=15)))[0].stored == 1


def test_the_nearest_block_is_seen_and_among_equals_the_first(save, visit, candidate, rows):
    save(
        visit(A, candidate(0, prose(1), fingerprint=0b111)),
        visit(B, candidate(0, prose(2), fingerprint=0b111000)),
        visit(C, candidate(0, prose(3), fingerprint=0b1111000000)),
    )
    save(visit("https://d.example/", candidate(0, prose(4), fingerprint=0b101)))
    save(visit("https://e.example/", candidate(0, prose(5), fingerprint=0)))
    assert [row["block_id"] for row in rows("SELECT block_id FROM sighting ORDER BY id")] == [1, 1]
    save(visit("https://f.example/", candidate(0, prose(6), fingerprint=0b101000)))
    assert [row["block_id"] for row in rows("SELECT block_id FROM sighting ORDER BY id")] == [1, 1, 2]


def test_duplicates_within_one_batch_are_found(save, visit):
    assert [(saved.stored, saved.exact) for saved in save(visit(A, prose(1)), visit(B, prose(1)))] == [(1, 0), (0, 1)]


@pytest.mark.parametrize("kind", [Kind.HEADING, Kind.PARAGRAPH])
def test_blocks_without_fingerprint_are_duplicates_on_any_site(save, visit, candidate, kind):
    text = "Frequently asked questions"
    save(visit("https://www.a.example/1", candidate(0, text, kind=kind)))
    assert save(visit("https://b.example/", candidate(0, text, kind=kind)))[0].exact == 1
    assert save(visit("https://blog.a.example/2", candidate(0, text, kind=kind)))[0].exact == 1


SHORT_TEXTS = (
    "The ferry to the island leaves at seven from the old pier, and the last one sails at ten.",
    "Köprü yarın sabah trafiğe kapatılacak.",
    "It wasn't.",
    "* * *",
    "新桥明天通车。",
)


@pytest.mark.parametrize("text", SHORT_TEXTS)
def test_a_verbatim_copy_is_found_at_any_length_on_any_site(save, visit, rows, text):
    save(visit("https://a.example/1", text))
    copies = [visit(f"https://{name}.example/2", text) for name in "abc"]
    assert [(saved.stored, saved.exact) for saved in save(*copies)] == [(0, 1)] * 3
    again = [visit(f"https://{name}.example/2", text, day=1) for name in "abc"]
    assert [saved.refreshed for saved in save(*again)] == [1, 1, 1]
    assert rows("SELECT count(*) AS number FROM page_text") == [{"number": 4}]


@pytest.mark.parametrize(("text", "other"), [("* * *", "---"), ("It wasn't.", "It was."), ("It wasn't.", "it wasn't.")])
def test_texts_without_terms_are_equal_letter_for_letter_only(save, visit, text, other):
    save(visit("https://a.example/1", text))
    assert save(visit("https://a.example/2", other))[0].stored == 1


def test_within_a_site_a_short_text_of_another_is_none(engine, save, visit):
    store = Store(engine, rules=DuplicateRules("site"))
    crawl = store.begin_crawl("test", {})
    store.save(crawl, [visit("https://a.example/1", "short words", "It wasn't.")])
    (saved,) = store.save(crawl, [visit("https://b.example/1", "short words", "It wasn't.")])
    assert (saved.stored, saved.exact) == (2, 0)


def test_the_same_digest_with_other_terms_is_no_duplicate(save, visit, candidate):
    first = candidate(0, "red fox")
    save(visit("https://a.example/1", first))
    collision = candidate(0, "grey wolf", digest=first.digest)
    assert save(visit("https://a.example/2", collision))[0].stored == 1


@pytest.mark.parametrize(
    ("scope", "exact"),
    [("all", [1, 1, 1]), ("site", [1, 1, 0]), ("page", [1, 0, 0]), ("off", [0, 0, 0])],
)
def test_the_scope_bounds_duplicates(engine, visit, candidate, scope, exact):
    store = Store(engine, rules=DuplicateRules(scope))
    crawl = store.begin_crawl("test", {})
    repeated = visit("https://a.example/1", prose(1), candidate(1, prose(1), repeats=0))
    saved = store.save(
        crawl, [repeated, visit("https://a.example/2", prose(1)), visit("https://b.example/1", prose(1))]
    )
    assert [result.exact for result in saved] == exact


def test_a_smaller_distance_finds_less(engine, visit, candidate):
    store = Store(engine, rules=DuplicateRules(max_distance=1))
    crawl = store.begin_crawl("test", {})
    store.save(crawl, [visit(A, candidate(0, prose(1), fingerprint=0))])
    saved = store.save(
        crawl,
        [visit(B, candidate(0, prose(2), fingerprint=1)), visit(C, candidate(0, prose(3), fingerprint=6))],
    )
    assert [result.near for result in saved] == [1, 0]


def test_a_repeat_is_a_sighting_of_the_page_s_own_block(save, visit, candidate, rows, page_texts):
    repeated = visit(A, prose(1), candidate(1, prose(1), repeats=0))
    assert save(repeated) == [SavedVisit(A, PageState.NEW, 1, stored=1, exact=1)]
    assert rows("SELECT block_id, position FROM sighting") == [{"block_id": 1, "position": 1}]
    assert page_texts(A) == [prose(1), prose(1)]
    assert save(repeated) == [SavedVisit(A, PageState.UNCHANGED, 1, refreshed=2)]


def test_a_repeat_of_a_sighting_is_a_sighting_of_its_original(save, visit, candidate, rows):
    save(visit(A, candidate(0, prose(1), fingerprint=0)))
    blocks = [
        candidate(0, prose(2), fingerprint=0b11),
        candidate(1, prose(3), fingerprint=0b110, repeats=0),
        candidate(2, prose(2), fingerprint=0b11, repeats=1),
    ]
    assert save(visit(B, *blocks))[0].near == 3
    sighting_rows = rows("SELECT block_id, distance, text FROM sighting ORDER BY position")
    assert [(row["block_id"], row["distance"]) for row in sighting_rows] == [(1, 2), (1, 2), (1, 2)]


def test_a_repeat_of_a_block_kept_from_before_is_a_sighting_of_it(save, visit, candidate, rows):
    save(visit(A, prose(1)))
    assert save(visit(A, prose(1), candidate(1, prose(1), repeats=0), day=1))[0].exact == 1
    assert rows("SELECT block_id, text FROM sighting") == [{"block_id": 1, "text": None}]


def test_a_reworded_block_changes_for_its_own_page_only(save, visit, rows, page_texts):
    save(visit(A, prose(1)), visit(B, prose(1)))
    assert save(visit(A, prose(1).upper(), day=1)) == [SavedVisit(A, PageState.UNCHANGED, 1, refreshed=1)]
    assert page_texts(A) == [prose(1).upper()]
    assert page_texts(B) == [prose(1)]
    assert rows("SELECT count(*) AS n FROM block") == [{"n": 1}]


def test_a_block_gone_from_its_page_informs_as_long_as_another_page_shows_it(save, visit, rows):
    save(visit(A, prose(1)), visit(B, prose(1)))
    save(visit(A, day=1))
    assert rows("SELECT url, text FROM informative_block") == [{"url": A, "text": prose(1)}]
    save(visit(B, day=1))
    assert rows("SELECT url FROM informative_block") == []
