"""Crawls: what they came to, and the ones that go on."""

import newspapers
import pytest


@pytest.fixture
def latest(ask_newspapers):
    """Return the latest crawl of a site's spider, as its page has it."""

    def read(site, place=0):
        spider = site.partition(".")[0]
        record = ask_newspapers(f"/api/crawls?spider={spider}").json["crawls"][place]
        return ask_newspapers(f"/api/crawls/{record['id']}").json

    return read


def test_obedience_and_missing_pages_are_no_failures(latest):
    crawl = latest(newspapers.OBEYED)["crawl"]
    outcomes = crawl["outcomes"]
    assert (outcomes["robots"], outcomes["left_alone"], outcomes["not_found"]) == (2, 2, 1)
    assert "failed" not in outcomes
    assert (crawl["failed"], crawl["result"]) == ({}, "met")


def test_a_crawl_that_was_refused_is_not_green(latest, ask_newspapers):
    answer = latest(newspapers.REFUSED)
    assert answer["crawl"]["result"] == "failed"
    assert "visits were refused" in answer["crawl"]["problem"]
    page = ask_newspapers(f"/crawls/{answer['crawl']['id']}").text
    assert '<span class="state bad">failed</span>' in page
    assert '<span class="state good">' not in page


def test_a_crawl_that_removed_texts_says_so(latest):
    answer = latest(newspapers.REDESIGNED)
    removed = answer["crawl"]["effects"]["texts_removed"]
    assert removed > 40
    assert f"{removed} texts are no longer shown." in answer["sentence"]
    assert answer["crawl"]["result"] == "failed"
    assert answer["crawl"]["problem"].startswith("no text was kept of ")


def test_a_crawl_that_lost_most_stored_pages_is_not_green(latest):
    crawl = latest(newspapers.VANISHED)["crawl"]
    missing = crawl["outcomes"]["not_found"]
    assert crawl["result"] == "failed"
    assert crawl["problem"] == f"{missing} of {missing + 2} stored pages were not found any more"


def test_an_open_crawl_says_how_far_it_is_and_what_continues_it(latest):
    answer = latest(newspapers.OPEN)
    queue = answer["queue"]
    assert (queue["total"], queue["ended"] + queue["failed"], queue["failed"]) == (65, 20, 3)
    assert queue["elapsed"] >= 240
    assert queue["rate"] > 0
    assert answer["crawl"]["result"] == "open"
    front = f"https://www.{newspapers.OPEN}/news/"
    assert answer["command"] == f"scrapy crawl harbour-post -a url={front}"
    assert answer["crawl"]["words"] == f"url={front}"
    assert answer["retry"] == "scrapy retry --failed --spider harbour-post"
    assert latest(newspapers.OPEN, 1)["command"] is None


def test_a_crawl_counts_each_visit_once_in_its_sentence(latest):
    answer = latest(newspapers.CHINESE)
    visits = sum(answer["crawl"]["outcomes"].values())
    assert answer["sentence"].startswith(f"This crawl made {visits} visits: ")


def test_crawls_filter_and_page_back(ask_newspapers):
    first = ask_newspapers("/api/crawls").json
    assert (len(first["crawls"]), first["previous"]) == (50, None)
    second = ask_newspapers(f"/api/crawls?cursor={first['next']}").json
    third = ask_newspapers(f"/api/crawls?cursor={second['next']}").json
    assert ask_newspapers(f"/api/crawls?cursor={second['previous']}").json["crawls"] == first["crawls"]
    assert ask_newspapers(f"/api/crawls?cursor={third['previous']}").json["crawls"] == second["crawls"]
    failed = ask_newspapers("/api/crawls?result=failed").json["crawls"]
    assert {crawl["result"] for crawl in failed} == {"failed"}
    assert {crawl["spider"] for crawl in failed} >= {"coast-herald", "forest-gazette", "mountain-star"}
    assert first["sums"]["new"] == sum(crawl["outcomes"].get("new", 0) for crawl in first["crawls"])


def test_a_crawl_that_is_not_stored_has_no_page(ask_newspapers):
    assert ask_newspapers("/crawls/9999").status == 404


def test_the_page_of_a_crawl_names_settings_behind_a_fold(ask):
    page = ask("/crawls/2").text
    assert "<summary>Arguments and settings as they were given</summary>" in page
    assert "secret-1234" not in page
