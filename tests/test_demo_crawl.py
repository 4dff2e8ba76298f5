"""The whole of it: the demo site crawled twice by the real `scrapy crawl ezine`, held against the site's truth."""

import json
import sqlite3
import urllib.request
from collections import Counter
from contextlib import closing

import pytest
from followed import following

from cleaning.blocks import Reason
from cleaning.terms import normalise
from crawler.demo.run import BASE_URL, crawl_site, run_site
from crawler.demo.site import read_truth

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def facts():
    return read_truth()


@pytest.fixture(scope="module")
def crawls(tmp_path_factory):
    """Two crawls into one database: what it held after each, and what the site was asked for in all."""
    folder = tmp_path_factory.mktemp("demo")
    database = folder / "blocks.db"
    quiet = {"LOG_FILE": str(folder / "demo.log"), "PROGRESS": "off"}
    archive = folder / "crawl.warc.gz"
    with run_site() as address, following(f"sqlite:///{database}") as followers:
        first = crawl_site(address, database, {"categories": "all"}, quiet | {"ARCHIVE": str(archive)})
        after_first = contents(database)
        second = crawl_site(address, database, {"categories": "all"}, quiet)
        with urllib.request.urlopen(f"{address}demo/requests") as answer:
            requests = json.loads(answer.read())
    log = (folder / "demo.log").read_text("utf-8")
    return {
        "followers": followers,
        "codes": (first, second),
        "first": after_first,
        "second": contents(database),
        "requests": requests,
        "log": log,
        "archive": archive,
    }


def contents(path):
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        read = lambda query: [dict(row) for row in database.execute(query)]  # noqa: E731 — three uses, one line
        return {
            "pages": read("select * from page"),
            "blocks": read("select b.*, p.url from block b join page p on p.id = b.page_id"),
            "texts": read(
                "select p.url, t.* from page_text t join page p on p.id = t.page_id order by p.url, t.position"
            ),
            "crawls": [json.loads(row["totals"]) for row in read("select totals from crawl order by id")],
        }


def url(path):
    return BASE_URL.rstrip("/") + path


def texts_by_url(held):
    texts = {}
    for row in held["texts"]:
        texts.setdefault(row["url"], []).append(normalise(row["text"]))
    return texts


def test_both_crawls_end_with_exit_code_0_and_no_traceback(crawls):
    assert crawls["codes"] == (0, 0)
    assert "Traceback" not in crawls["log"]
    assert "do not add up" not in crawls["log"]


def test_who_follows_the_crawls_by_increments_has_in_the_end_what_a_whole_export_gives(crawls):
    blocks, pages = crawls["followers"]
    assert blocks.rows == blocks.whole
    assert pages.rows == pages.whole
    assert len(blocks.rows) > len(pages.rows) > 100
    assert min(blocks.times, pages.times) >= 3  # of which the first alone may have been everything


def test_every_article_is_stored_once_under_its_own_url(crawls, facts):
    stored = Counter(page["url"] for page in crawls["first"]["pages"])
    assert stored == Counter(url(article["path"]) for article in facts["articles"])


def test_title_author_and_date_are_the_articles(crawls, facts):
    pages = {page["url"]: page for page in crawls["first"]["pages"]}
    for article in facts["articles"]:
        page = pages[url(article["path"])]
        metadata = (page["title"], page["author"], str(page["published"])[:10], page["section"])
        assert metadata == (article["title"], article["author"], article["published"], article["section"])


def test_no_articles_text_is_lost(crawls, facts):
    texts = texts_by_url(crawls["first"])
    lost = [
        (article["path"], block["text"])
        for article in facts["articles"]
        for block in article["blocks"]
        if normalise(block["text"]) not in " ".join(texts.get(url(article["path"]), []))
    ]
    assert lost == []


def test_no_noise_is_kept(crawls, facts):
    kept = [row["text"] for row in crawls["first"]["texts"]]
    markers = {noise["marker"] for noise in facts["noise"] for text in kept if noise["marker"] in text}
    assert markers == set()


def test_every_planted_duplicate_is_stored_once(crawls, facts):
    bare = {article["path"] for article in facts["articles"] if article["bare"]}
    blocks = {(article["path"], i): b for article in facts["articles"] for i, b in enumerate(article["blocks"])}
    stored = Counter(normalise(block["text"]).casefold() for block in crawls["first"]["blocks"])
    for family in facts["exact"]:
        places = [tuple(place) for place in family if place[0] not in bare]
        copies = {normalise(blocks[place]["text"]).casefold() for place in places}
        assert sum(stored[copy] for copy in copies) <= 1, copies


def test_a_near_family_is_stored_as_one_block_and_sightings_with_their_own_text(crawls, facts):
    blocks = {(article["path"], i): b for article in facts["articles"] for i, b in enumerate(article["blocks"])}
    stored = {normalise(block["text"]) for block in crawls["first"]["blocks"]}
    texts = texts_by_url(crawls["first"])
    for family in facts["near"]:
        places = [tuple(family["centre"]), *map(tuple, family["copies"])]
        members = [normalise(blocks[place]["text"]) for place in places]
        assert sum(member in stored for member in members) == 1, members[0]
        for place, member in zip(places, members, strict=True):
            assert member in texts[url(place[0])]


def test_short_texts_that_differ_in_a_number_are_all_stored(crawls, facts):
    blocks = {(article["path"], i): b for article in facts["articles"] for i, b in enumerate(article["blocks"])}
    stored = {normalise(block["text"]) for block in crawls["first"]["blocks"]}
    for group in facts["numbered"]:
        members = {normalise(blocks[tuple(place)]["text"]) for place in group}
        assert members <= stored


def test_refusals_are_counted_and_never_stored(crawls, facts):
    expected = Counter(facts["refusals"].values())
    counted = {outcome: crawls["first"]["crawls"][0].get(f"visit/{outcome}", 0) for outcome in expected}
    assert counted == expected
    assert not {url(path) for path in facts["refusals"]} & {page["url"] for page in crawls["first"]["pages"]}


def test_robots_txt_is_obeyed(crawls):
    assert not [request for request in crawls["requests"] if "/private" in request]


def test_no_article_is_fetched_twice_by_one_crawl(crawls, facts):
    redirected = {target["to"] for target in facts["redirects"].values()}
    for article in facts["articles"]:
        if article["path"] not in redirected:
            assert crawls["requests"][f"200 {article['path']}"] <= 2  # two crawls


def test_a_second_crawl_stores_no_page_and_no_block_again(crawls):
    for table in ("pages", "blocks", "texts"):
        assert len(crawls["second"][table]) == len(crawls["first"][table])
    assert {b["id"]: b["text"] for b in crawls["second"]["blocks"]} == {
        b["id"]: b["text"] for b in crawls["first"]["blocks"]
    }
    assert all(page["visits"] >= 2 and page["changes"] == 0 for page in crawls["second"]["pages"])


def test_a_second_crawl_reads_no_page_again(crawls):
    totals = crawls["second"]["crawls"][1]
    assert totals["visit/not_modified"] == len(crawls["first"]["pages"])
    assert "clean/pages" not in totals


def test_blocks_in_are_kept_or_dropped_for_a_reason(crawls):
    assert crawls["second"]["crawls"][0]["blocks/seen"] > 0
    for totals in crawls["second"]["crawls"]:
        assert totals.get("blocks/seen", 0) == sum(totals.get(f"blocks/{reason}", 0) for reason in Reason)
        assert totals.get("store/imbalances", 0) == 0


def test_a_replay_of_the_archive_gives_each_page_the_same_texts(crawls, tmp_path):
    quiet = {"LOG_FILE": str(tmp_path / "replay.log"), "PROGRESS": "off", "REPLAY": str(crawls["archive"])}
    arguments = {"category": "Computers-and-Technology", "pages": "1"}
    assert crawl_site("http://127.0.0.1:9", tmp_path / "replay.db", arguments, quiet) == 0
    first, replayed = (digests(crawled["texts"]) for crawled in (crawls["first"], contents(tmp_path / "replay.db")))
    assert len(replayed) > 10
    assert {url: first[url] for url in replayed} == replayed


def digests(texts):
    """Return the digests of each page's texts in reading order."""
    digests_by_page = {}
    for row in texts:
        digests_by_page.setdefault(row["url"], []).append(row["digest"])
    return digests_by_page
