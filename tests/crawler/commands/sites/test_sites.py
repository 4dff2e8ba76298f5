"""`scrapy sites crawl`: the crawls of a file of sites."""

import csv
import json
from contextlib import ExitStack

from changing_site import Site, article, listing, prose


def test_the_crawls_of_a_file_of_sites_write_one_feed(world):
    with ExitStack() as stack:
        sites = [world.site, Site("127.0.0.2")]
        stack.callback(sites[1].close)
        tables = []
        for number, site in enumerate(sites):
            site.put("/news/", listing("/news/1", "/news/2"))
            for page in (1, 2):
                site.put(
                    f"/news/{page}", article(f"Title {number}{page}", prose(10 * number + page), prose(number + 50))
                )
            allow = r"arguments = { allow = '/news/\d+' }"
            tables.append(f'[sites.number{number}]\nsections = ["{site.url}/news/"]\n{allow}\n')
        (world.folder / "sites.toml").write_text("\n".join(tables), "utf-8")
        urls = sorted(f"{site.url}/news/{page}" for site in sites for page in (1, 2))
        feed = world.folder / "pages.jsonl"
        feed.write_text("of yesterday\n")

        def crawl(option):
            finished = world.scrapy("sites", "crawl", option, feed.name, FEED_UNCHANGED="1")
            assert finished.returncode == 0, finished.stderr
            assert "one after the other" not in finished.stderr
            return sorted(json.loads(line)["url"] for line in feed.read_text().splitlines())

        assert crawl("-O") == urls
        # No crawl begins, so nothing replaces the file.
        assert crawl("-O") == urls
        world.make_due()
        assert crawl("-O") == urls
        world.make_due()
        assert crawl("-o") == sorted(urls * 2)
        world.make_due()
        for site in sites:
            site.hold()
        asked = [len(site.paths()) for site in sites]
        together = world.started("sites", "crawl", "-O", feed.name, FEED_UNCHANGED="1")
        for site, number in zip(sites, asked, strict=True):
            site.wait_for(number + 1)  # both, before any is answered
        for site in sites:
            site.let_go()
        together.communicate(timeout=600)
        assert sorted(json.loads(line)["url"] for line in feed.read_text().splitlines()) == urls
        world.make_due()
        in_turn = world.scrapy("sites", "crawl", "-O", "pages.csv", FEED_UNCHANGED="1")
        assert "crawls run one after the other, because they write to pages.csv" in in_turn.stderr
        with (world.folder / "pages.csv").open(newline="") as table:
            assert sorted(row["url"] for row in csv.DictReader(table)) == urls


def test_a_run_of_sites_that_may_not_visit_all_says_so(world):
    world.site.put("/news/", listing("/news/1", "/news/2"))
    for page in (1, 2):
        world.site.put(f"/news/{page}", article(f"Title {page}", prose(page), prose(50)))
    table = f"[sites.one]\nsections = [\"{world.site.url}/news/\"]\narguments = {{ allow = '/news/\\d+' }}\n"
    (world.folder / "sites.toml").write_text(table, "utf-8")
    assert world.scrapy("sites", "crawl").returncode == 0
    world.make_due()
    sentence = "scrapy sites crawl: 2 stored addresses are left: REVISIT_BUDGET is 1 for 24 hours; "
    limited = world.scrapy("sites", "crawl", REVISIT_BUDGET="1")
    assert limited.returncode == 0
    assert sentence in limited.stderr
    used_up = world.scrapy("sites", "crawl", REVISIT_BUDGET="1")
    assert (used_up.returncode, used_up.stdout) == (0, ""), used_up.stderr
    assert sentence in used_up.stderr
    silent = world.scrapy("sites", "crawl", REVISIT_BUDGET="1", LOG_LEVEL="ERROR")  # cron mails what a command prints
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")


def test_a_site_whose_crawls_fail_wholly_is_named(world):
    world.site.put("/", "<p>The news of the town.")
    closed = Site("127.0.0.3")
    closed.close()
    table = f"""
    [sites.section]
    sections = ["{closed.url}/news/"]
    [sites.portal]
    spider = "news"
    arguments = {{ site = "{closed.url}/" }}
    """
    (world.folder / "sites.toml").write_text(table, "utf-8")
    checked = world.scrapy("sites", "check", "--fetch")
    assert checked.returncode == 1
    for name in ("section: the section", "portal: the section"):
        assert f"{name} {closed.url}/" in checked.stderr
    assert world.scrapy("sites", "crawl").returncode == 1
    shown = world.scrapy("sites", "status", "--json")
    assert [row["state"] for row in json.loads(shown.stdout)["sites"]] == ["silent", "silent"]
    assert shown.returncode == 1
    assert "silent" in world.scrapy("sites", "alerts").stdout


def test_a_crawl_that_keeps_no_block_says_so(world):
    for number in range(1, 4):
        world.site.put(f"/news/{number}", article(f"Title {number}", prose(number), prose(10 + number)))
    world.site.put("/news/", listing("/news/1", "/news/2", "/news/3"))
    crawled = world.crawl(PROFILE="weighted2020")
    assert crawled.returncode == 1
    assert "no block of text was kept of 3 pages: all " in crawled.stderr
