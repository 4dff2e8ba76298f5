"""`scrapy recrawl` as users and cron run it."""

import json
import signal
from collections import Counter

import pytest
from changing_site import article, listing, prose

PATHS = [f"/news/{number}" for number in range(1, 13)]


@pytest.fixture
def crawled():
    """Put pages on a world's site and crawl it."""

    def crawl(world, paths=PATHS):
        world.site.put("/news/", listing(*paths))
        for number, path in enumerate(paths, 1):
            world.site.put(path, article(f"Title {number}", prose(number), prose(number + 100)))
        assert world.crawl().returncode == 0
        world.site.asked.clear()
        return world

    return crawl


def test_two_at_once_fetch_nothing_twice(either_world, crawled):
    world = crawled(either_world)
    world.make_due()
    processes = [world.started("recrawl", "--due", "--json") for _ in range(2)]
    said = [process.communicate(timeout=600) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert Counter(world.site.paths()) == Counter(["/news/", *PATHS])
    assert {row["visits"] for row in world.rows("SELECT visits FROM page")} == {2}
    assert world.rows("SELECT count(*) AS n FROM crawl WHERE state = 'open'") == [{"n": 0}]
    begun = [crawl["begun_with"] for out, _ in said for crawl in json.loads(out)["crawls"]]
    assert sum(begun) == 13


def test_what_is_shown_is_what_is_visited_and_showing_fetches_nothing(world, crawled):
    crawled(world, PATHS[:3])
    assert "There is nothing to visit" in world.scrapy("recrawl", "--due", "--dry-run").stdout
    world.make_due("/news/2", "/news/")
    plan = json.loads(world.scrapy("recrawl", "--due", "--dry-run", "--json").stdout)
    assert [(row["url"].removeprefix(world.site.url), row["kind"]) for row in plan] == [
        ("/news/", "section"),
        ("/news/2", "other"),
    ]
    assert (plan[0]["visits"], plan[0]["changes"], plan[0]["due_since"][:10]) == (1, 0, "2024-01-01")
    assert plan[1]["why"].startswith("visited once; ")
    table = world.scrapy("recrawl", "--dry-run", "--limit", "1").stdout
    assert "changed" in table
    assert sum(world.site.url in line for line in table.splitlines()) == 1
    assert world.site.asked == []


@pytest.mark.parametrize(
    ("site", "says"),
    [("other.example", "no page of the site other.example is in the database"), ("", "the site '' is unknown")],
)
def test_a_site_that_is_not_stored_is_an_error(world, crawled, site, says):
    crawled(world, PATHS[:1])
    refused = world.scrapy("recrawl", "--dry-run", "--site", site)
    assert (refused.returncode, says in refused.stderr) == (2, True), refused.stderr


def test_with_nothing_due_nothing_is_done(world, crawled):
    crawled(world, PATHS[:1])
    finished = world.scrapy("recrawl", "--due")
    assert (finished.returncode, finished.stdout) == (0, "There is nothing to visit.\n")
    silent = world.scrapy("recrawl", "--due", "-s", "LOG_LEVEL=ERROR")  # cron mails what a command prints
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    assert world.site.asked == []
    assert len(world.rows("SELECT id FROM crawl")) == 1


def test_all_pages_are_gone_and_that_is_no_failure(world, crawled):
    crawled(world, PATHS[:2])
    for path in (*PATHS[:2], "/news/"):
        world.site.put(path, "gone", status=404)
    assert world.scrapy("recrawl").returncode == 0
    assert [row["misses"] for row in world.rows("SELECT misses FROM page")] == [1, 1]


def test_what_cannot_be_visited_is_named_and_the_rest_is_visited(world, crawled):
    crawled(world, PATHS[:4])
    url = world.site.url
    world.change("UPDATE page SET spider = 'blog' WHERE url = :url", url=f"{url}/news/1")
    world.change("UPDATE page SET arguments = :new WHERE url = :url", url=f"{url}/news/2", new='{"token": "***"}')
    world.change("UPDATE section SET next_visit = NULL")
    finished = world.scrapy("recrawl")
    assert finished.returncode == 1
    assert "the spider 'blog' no longer exists" in finished.stderr
    assert "pass them again: -a token=VALUE" in finished.stderr
    assert f"  {url}/news/1\n" in finished.stderr
    assert f"  {url}/news/2\n" in finished.stderr
    assert sorted(world.site.paths()) == ["/news/3", "/news/4"]


def test_an_argument_that_a_spider_does_not_take_fails_its_crawl_alone(world, crawled):
    crawled(world, PATHS[:2])
    wrong = json.dumps({"url": world.site.url, "colour": "red"})
    world.change("UPDATE page SET arguments = :new WHERE url = :url", url=f"{world.site.url}/news/1", new=wrong)
    world.change("UPDATE section SET next_visit = NULL")
    finished = world.scrapy("recrawl", "--json")
    assert finished.returncode == 1
    assert "the spider 'section' has no argument 'colour'" in finished.stderr
    assert sorted(crawl["exit_code"] for crawl in json.loads(finished.stdout)["crawls"]) == [0, 1]
    assert world.site.paths() == ["/news/2"]


def test_a_stopped_recrawl_goes_on_where_it_stood(world, crawled):
    crawled(world)
    world.make_due()
    slow = {"DOWNLOAD_DELAY": "0.5", "RANDOMIZE_DOWNLOAD_DELAY": "0", "CONCURRENT_REQUESTS_PER_DOMAIN": "1"}
    process = world.started("recrawl", "--due", **slow)
    while len(world.site.paths()) < 3:
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 143
    assert len(world.site.paths()) < len(PATHS)
    finished = world.scrapy("recrawl", "--due")
    assert finished.returncode == 0
    assert Counter(world.site.paths()) == Counter(["/news/", *PATHS])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--limit", "-1"), "--limit is -1"),
        (("now",), "unexpected argument: now"),
        (("-s", "REVISIT_MIN_SECONDS=9000", "-s", "REVISIT_MAX_SECONDS=8000"), "REVISIT_MIN_SECONDS"),
    ],
)
def test_a_mistake_is_one_sentence(world, arguments, sentence):
    finished = world.scrapy("recrawl", *arguments)
    assert finished.returncode == 2
    assert sentence in finished.stdout + finished.stderr
    assert "Traceback" not in finished.stderr


def test_there_is_no_database_to_visit_again(world):
    finished = world.scrapy("recrawl", "--due")
    assert finished.returncode == 2
    assert "blocks.db" in finished.stderr
    assert not (world.folder / "blocks.db").exists()


def test_a_run_that_may_not_visit_all_says_so(world, crawled):
    crawled(world, PATHS[:3])
    limited = world.scrapy("recrawl", "--limit", "3")
    assert (limited.returncode, limited.stdout) == (0, ""), limited.stderr
    assert "scrapy recrawl: 1 stored address is left: --limit is 3; the same command goes on with it" in limited.stderr
    used_up = world.scrapy("recrawl", REVISIT_BUDGET="3")
    assert (used_up.returncode, used_up.stdout) == (0, ""), used_up.stderr
    assert "4 stored addresses are left: REVISIT_BUDGET is 3 for 24 hours; " in used_up.stderr
    silent = world.scrapy("recrawl", "--limit", "0", LOG_LEVEL="ERROR")  # cron mails what a command prints
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
