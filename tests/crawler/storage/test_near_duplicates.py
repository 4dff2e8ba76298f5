"""Pages that are nearly the same as one stored before."""

import pytest

from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.store import Store

A, B, C, D = (f"https://{letter}.example/1" for letter in "abcd")


@pytest.fixture
def page(visit):
    """A visit to a page of this fingerprint."""
    return lambda url, fingerprint, *texts, day=0: visit(url, *texts, day=day, fingerprint=fingerprint)


@pytest.fixture
def mirrors(rows):
    """The mirrors, each with its original and distance."""

    def read():
        mirror_rows = rows(
            "SELECT m.url AS mirror, o.url AS original, distance FROM near_duplicate_page "
            "JOIN page m ON m.id = page_id JOIN page o ON o.id = original_id ORDER BY m.url"
        )
        return [(row["mirror"], row["original"], row["distance"]) for row in mirror_rows]

    return read


@pytest.fixture
def check_index(rows):
    """Every page with a fingerprint mirrors another or is in the index, by that fingerprint."""
    yield
    expected = (
        "SELECT page_fingerprint AS f, id FROM page WHERE page_fingerprint IS NOT NULL "
        "AND id NOT IN (SELECT page_id FROM near_duplicate_page) ORDER BY id"
    )
    assert rows("SELECT fingerprint AS f, page_id AS id FROM page_fingerprint ORDER BY page_id") == rows(expected)
    assert (
        rows("SELECT * FROM near_duplicate_page WHERE original_id IN (SELECT page_id FROM near_duplicate_page)") == []
    )


pytestmark = pytest.mark.usefixtures("check_index")


def test_a_page_within_three_bits_mirrors_the_first(save, page, mirrors, page_texts):
    assert save(page(A, 2**63, "first text"))[0].near_duplicate_pages == 0
    assert save(page(B, 2**63 + 7, "second text"))[0].near_duplicate_pages == 1
    assert mirrors() == [(B, A, 3)]
    assert page_texts(B) == ["second text"]


def test_four_bits_apart_is_another_page(save, page, mirrors):
    save(page(A, 0), page(B, 15))
    assert mirrors() == []


def test_a_page_of_few_terms_mirrors_none(save, page, mirrors):
    save(page(A, None, "same"), page(B, None, "same"))
    assert mirrors() == []


def test_mirrors_of_a_mirror_are_compared_with_originals_only(save, page, mirrors):
    save(page(A, 0b000), page(B, 0b111), page(C, 0b111111))
    assert mirrors() == [(B, A, 3)]


def test_the_nearest_is_mirrored(save, page, mirrors):
    save(page(A, 0b1111), page(B, 0b0), page(C, 0b1))
    assert mirrors() == [(C, B, 1)]


@pytest.mark.parametrize(("scope", "expected"), [("all", 2), ("site", 1), ("page", 0), ("off", 0)])
def test_the_scope_bounds_mirrors(engine, page, mirrors, scope, expected):
    store = Store(engine, rules=DuplicateRules(scope))
    crawl = store.begin_crawl("test", {})
    store.save(crawl, [page(A, 5), page("https://a.example/2", 5), page(B, 5)])
    assert len(mirrors()) == expected


def test_a_smaller_distance_finds_less(engine, page, mirrors):
    store = Store(engine, rules=DuplicateRules(max_distance=1))
    store.save(store.begin_crawl("test", {}), [page(A, 0), page(B, 1), page(C, 6)])
    assert mirrors() == [(B, A, 1)]


def test_a_second_visit_changes_and_counts_nothing(save, page, mirrors, rows):
    save(page(A, 0), page(B, 1))
    before = rows("SELECT * FROM near_duplicate_page ORDER BY page_id")
    assert [result.near_duplicate_pages for result in save(page(B, 1, day=1), page(A, 0, day=1))] == [0, 0]
    assert rows("SELECT * FROM near_duplicate_page ORDER BY page_id") == before


def test_a_mirror_that_becomes_another_page_is_one(save, page, mirrors):
    save(page(A, 0), page(B, 1))
    save(page(B, 2**40 - 1, day=1))
    assert mirrors() == []
    assert save(page(C, 2**40 - 2))[0].near_duplicate_pages == 1
    assert mirrors() == [(C, B, 1)]


def test_a_page_that_becomes_like_another_mirrors_it(save, page, mirrors):
    save(page(A, 0), page(B, 2**40 - 1))
    assert save(page(B, 1, day=1))[0].near_duplicate_pages == 1
    assert mirrors() == [(B, A, 1)]


def test_a_mirror_edited_within_three_bits_stays_one(save, page, mirrors):
    save(page(A, 0), page(B, 1))
    assert save(page(B, 3, day=1))[0].near_duplicate_pages == 0
    assert mirrors() == [(B, A, 2)]


def test_a_mirror_whose_original_has_changed_is_seen_at_its_own_next_visit(save, page, mirrors):
    save(page(A, 0), page(B, 1))
    save(page(A, 2**40 - 1, day=1))
    assert mirrors() == [(B, A, 1)]
    save(page(B, 1, day=2))
    assert mirrors() == []


def test_a_page_that_has_mirrors_becomes_none(save, page, mirrors):
    save(page(A, 0), page(B, 1), page(C, 2**40 - 1))
    save(page(A, 2**40 - 1, day=1))
    assert mirrors() == [(B, A, 1)]


def test_a_page_that_loses_its_fingerprint_mirrors_none(save, page, mirrors):
    save(page(A, 0), page(B, 1))
    save(page(B, None, day=1), page(A, None, day=1))
    assert mirrors() == []


def test_the_first_mirror_of_a_removed_page_takes_its_place(engine, save, page, mirrors):
    save(page(A, 0b000), page(B, 0b001), page(C, 0b011), page(D, 0b111000))
    assert mirrors() == [(B, A, 1), (C, A, 2), (D, A, 3)]
    prune_pages(engine, PruneSelection.of(url=A))
    assert mirrors() == [(C, B, 1)]
    assert save(page(A, 0b111000, day=1))[0].near_duplicate_pages == 1
    assert mirrors() == [(A, D, 0), (C, B, 1)]


def test_removed_mirrors_leave_nothing(engine, save, page, rows):
    save(page(A, 0), page(B, 1))
    prune_pages(engine, PruneSelection.of(url=B))
    assert rows("SELECT * FROM near_duplicate_page") == []
    prune_pages(engine, PruneSelection.of(url=A))
    assert rows("SELECT * FROM page_fingerprint") == []
