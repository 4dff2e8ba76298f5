"""What stands on many pages of a site is left out of the views, and comes back when it does not any more."""

import pytest

from cleaning.blocks import Kind
from crawler.storage.boilerplate import BoilerplateBounds
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.store import SavedVisit, Store

NOTICE = "Sign up for our letter"


@pytest.fixture
def save(engine):
    """Save visits in one batch by a store that calls a text on three pages and a tenth of a site template."""
    store = Store(engine, boilerplate=BoilerplateBounds(3, 0.10))
    crawl = store.begin_crawl("test", {})
    return lambda *visits: store.save(crawl, visits)


def url(number, site="a.example"):
    return f"https://{site}/{number}"


@pytest.fixture
def pages(visit):
    """Visits to pages of a site, each with the notice and a text of its own."""

    def make(*numbers, texts=(NOTICE,), site="a.example", day=0):
        return [visit(url(number, site), f"own words of page number {number}", *texts, day=day) for number in numbers]

    return make


def test_the_third_page_makes_a_text_template_on_all_of_them(save, pages, page_texts):
    save(*pages(1, 2))
    assert page_texts(url(1)) == ["own words of page number 1", NOTICE]
    save(*pages(3))
    assert [page_texts(url(number)) for number in (1, 2, 3)] == [
        [f"own words of page number {number}"] for number in (1, 2, 3)
    ]


def test_it_is_demoted_and_not_deleted(save, pages, rows):
    save(*pages(1, 2, 3))
    assert rows("SELECT text, gone_at FROM block WHERE text = :notice", notice=NOTICE) == [
        {"text": NOTICE, "gone_at": None}
    ]
    assert rows("SELECT count(*) AS n FROM sighting") == [{"n": 2}]
    assert NOTICE not in [row["text"] for row in rows("SELECT text FROM informative_block")]


def test_later_copies_are_counted_as_template(save, pages):
    save(*pages(1, 2, 3))
    (saved,) = save(*pages(4))
    assert (saved.stored, saved.exact, saved.boilerplate) == (1, 0, 1)


def test_copies_within_a_batch_are_what_they_were_before_it(save, pages):
    assert [(result.stored, result.exact, result.boilerplate) for result in save(*pages(1, 2, 3, 4))] == [(2, 0, 0)] + [
        (1, 1, 0)
    ] * 3


def test_a_page_seen_again_counts_once(save, pages, page_texts, rows):
    for day in range(5):
        save(*pages(1, 2, day=day))
    assert page_texts(url(1)) == ["own words of page number 1", NOTICE]
    assert rows("SELECT pages FROM site") == [{"pages": 2}]


def test_a_text_twice_on_a_page_counts_once(save, visit, candidate, page_texts):
    save(*(visit(url(number), NOTICE, candidate(1, NOTICE, repeats=0)) for number in (1, 2)))
    assert page_texts(url(1)) == [NOTICE, NOTICE]


def test_on_a_site_of_few_pages_three_of_them_are_needed(save, pages, visit, page_texts):
    save(*pages(1, 2), *(visit(url(number), f"other words {number}") for number in range(3, 6)))
    assert page_texts(url(1)) == ["own words of page number 1", NOTICE]


def test_a_quotation_on_three_of_twenty_pages_is_template(save, pages, visit, page_texts):
    save(*pages(1, 2, 3), *(visit(url(number), f"other words {number}") for number in range(4, 21)))
    assert page_texts(url(1)) == ["own words of page number 1"]


def test_below_a_tenth_of_the_pages_it_is_revived_and_at_a_tenth_demoted_again(save, pages, visit, page_texts):
    save(*pages(1, 2, 3), *(visit(url(number), f"other words {number}") for number in range(4, 31)))
    assert page_texts(url(1)) == ["own words of page number 1"]
    save(visit(url(31), "other words 31"))
    assert page_texts(url(1)) == ["own words of page number 1", NOTICE]
    save(*pages(32))
    assert page_texts(url(1)) == ["own words of page number 1"]


def test_pages_that_lose_it_revive_it_on_the_others(save, pages, page_texts):
    save(*pages(1, 2, 3))
    save(*pages(3, texts=(), day=1))
    assert page_texts(url(1)) == ["own words of page number 1", NOTICE]
    save(*pages(3, day=2))
    assert page_texts(url(1)) == ["own words of page number 1"]


def test_other_sites_keep_it(save, pages, page_texts, rows):
    save(*pages(1, 2, 3))
    save(*pages(1, 2, site="b.example"))
    assert page_texts(url(1, "b.example")) == ["own words of page number 1", NOTICE]
    assert NOTICE in [row["text"] for row in rows("SELECT text FROM informative_block")]


def test_a_site_s_sightings_of_another_site_s_block_are_template(save, pages, candidate, page_texts, rows):
    texts = [candidate(1, "the very same notice", fingerprint=5)]
    save(*pages(1, texts=texts, site="b.example"), *pages(2, 3, 4, texts=texts))
    assert page_texts(url(2)) == ["own words of page number 2"]
    assert page_texts(url(1, "b.example")) == ["own words of page number 1", "the very same notice"]
    assert {"text": "the very same notice"} in rows("SELECT text FROM informative_block")


def test_headings_are_template_too(save, pages, candidate, page_texts):
    save(*pages(1, 2, 3, texts=[candidate(1, "Related articles", kind=Kind.HEADING)]))
    assert page_texts(url(1)) == ["own words of page number 1"]


def prose(topic, words=20):
    return " ".join(f"{topic}{number}" for number in range(words))


def manual(visit, *versions, chapters=("install", "use", "extend"), day=0):
    """Visits to versions of a manual: nine texts of a chapter are in all of them, one only in its version."""
    return [
        visit(
            f"https://a.example/{version}/{chapter}",
            *(prose(f"{chapter}{number}") for number in range(9)),
            prose(f"{chapter}{version}"),
            NOTICE,
            day=day,
        )
        for version in versions
        for chapter in chapters
    ]


@pytest.mark.parametrize("together", [True, False])
def test_versions_of_a_manual_are_not_template_but_their_notice_is(save, visit, page_texts, rows, together):
    for day in range(2):
        visits = manual(visit, "v1", "v2", "latest", day=day)
        for batch in [visits] if together else [[page_visit] for page_visit in visits]:
            save(*batch)
    for version in ("v1", "v2", "latest"):
        own = [*(prose(f"use{number}") for number in range(9)), prose(f"use{version}")]
        assert page_texts(f"https://a.example/{version}/use") == own
    assert len(rows("SELECT * FROM informative_block")) == 3 * (9 + 3)


def test_a_text_that_is_most_of_a_page_is_not_template(save, pages, visit, page_texts):
    save(*pages(1, 2, 3, texts=(prose("moved"),)))
    assert page_texts(url(1)) == ["own words of page number 1", prose("moved")]
    save(visit(url(4), prose("long", 30), prose("moved")))
    assert page_texts(url(1)) == ["own words of page number 1"]


def test_near_duplicates_count_once(save, visit, page_texts):
    copies = [visit(url(number), prose("story", 40), NOTICE, fingerprint=7) for number in range(1, 5)]
    save(*copies, visit(url(5), prose("other", 40), NOTICE, fingerprint=1 << 40))
    assert page_texts(url(5)) == [prose("other", 40), NOTICE]
    save(visit(url(6), prose("third", 40), NOTICE, fingerprint=1 << 50 | 15 << 20))
    assert page_texts(url(5)) == [prose("other", 40)]
    assert page_texts(url(4)) == [prose("story", 40)]


def test_texts_without_terms_are_never_template(save, visit, page_texts):
    save(*(visit(url(number), "* * *") for number in range(1, 6)))
    assert page_texts(url(1)) == ["* * *"]


@pytest.mark.parametrize("scope", ["all", "site", "page", "off"])
def test_whatever_counts_as_a_duplicate(engine, pages, page_texts, scope):
    store = Store(engine, rules=DuplicateRules(scope), boilerplate=BoilerplateBounds(3, 0.10))
    crawl = store.begin_crawl("test", {})
    store.save(crawl, pages(1, 2, 3))
    (saved,) = store.save(crawl, pages(4))
    assert (saved.stored, saved.boilerplate) == (1, 1)
    assert page_texts(url(4)) == ["own words of page number 4"]


def test_switched_off_it_comes_back_with_the_site_s_next_page(engine, save, pages, page_texts):
    save(*pages(1, 2, 3))
    store = Store(engine, boilerplate=BoilerplateBounds(0, 0.10))
    assert store.save(store.begin_crawl("test", {}), pages(1, day=1)) == [
        SavedVisit(url(1), "unchanged", 1, refreshed=2)
    ]
    assert page_texts(url(2)) == ["own words of page number 2", NOTICE]


def test_removed_pages_count_no_more(engine, save, pages, rows, page_texts):
    save(*pages(1, 2, 3, 4))
    prune_pages(engine, PruneSelection.of(url=url(4)))
    prune_pages(engine, PruneSelection.of(url=url(1)))
    assert rows("SELECT pages FROM document_frequency WHERE boilerplate_since IS NOT NULL") == [{"pages": 2}]
    assert rows("SELECT pages FROM site") == [{"pages": 2}]
    save(*pages(2, day=1))
    assert page_texts(url(3)) == ["own words of page number 3", NOTICE]
    prune_pages(engine, PruneSelection.of(site="a.example"))
    assert rows("SELECT * FROM document_frequency") == rows("SELECT * FROM site") == []


@pytest.mark.parametrize(("pages", "needed"), [(1, 3), (30, 3), (31, 4), (100, 10), (101, 11)])
def test_the_larger_bound_rules(pages, needed):
    assert BoilerplateBounds(3, 0.10).needed(pages) == needed


def test_a_share_is_not_raised_by_its_binary_fraction():
    assert BoilerplateBounds(3, 0.07).needed(100) == 7
