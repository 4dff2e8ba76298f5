"""A crawl by a profile stores what the paper's system stores, and cron's command keeps to it."""

import json

from changing_site import article, listing, prose

PATHS = [f"/news/{number}" for number in (1, 2, 3)]
COMMON = "Sign up for the letter of the lantern makers"


def test_all_blocks_of_pab_are_in_the_database_and_the_view(world):
    world.site.put("/news/", listing(*PATHS))
    for number, path in enumerate(PATHS, 1):
        world.site.put(path, article(f"Title {number}", COMMON, prose(1), COMMON), validators="none")
    first = world.crawl(PROFILE="pab2015", BOILERPLATE_MIN_PAGES="0")
    assert first.returncode == 0, first.stderr
    assert "repeats the system of a paper: Kabir, Kabir and Amin 2015" in first.stderr
    # PAB merges the blocks of a page with the same text, and no others.
    query = "SELECT url, text, priority FROM informative_block ORDER BY url, position"
    expected = [
        (world.site.url + path, *block)
        for path in PATHS
        for block in ((f"Title {path[-1]}", 1.0), (COMMON, 0.1), (prose(1), 0.1))
    ]
    blocks = [tuple(row.values()) for row in world.rows(query)]
    assert blocks == expected
    assert world.rows("SELECT count(*) AS n FROM sighting") == [{"n": 0}]
    world.make_due()
    again = world.scrapy("recrawl", "--due", BOILERPLATE_MIN_PAGES="0")
    assert again.returncode == 0, again.stderr
    assert [tuple(row.values()) for row in world.rows(query)] == expected
    assert json.loads(world.page(PATHS[0])["settings"])["PROFILE"] == "pab2015"
    # Another method on the command line ends the profile, and the command says so.
    told = world.scrapy("recrawl", CLEANING_METHOD="default")
    assert told.returncode == 0, told.stderr
    assert "CLEANING_METHOD=default PROFILE=none" in told.stderr
    settings = json.loads(world.page(PATHS[0])["settings"])
    assert (settings["PROFILE"], settings["CLEANING_METHOD"]) == ("none", "default")
    refused = world.crawl(PROFILE="pab2015", DEDUP_SCOPE="all")
    assert refused.returncode == 2
    assert "PROFILE=pab2015 means DEDUP_SCOPE=off" in refused.stderr


def test_density_ranks_without_priorities(world):
    world.site.put("/news/", listing(*PATHS[:1]))
    text = "lantern lantern meadow quarry"
    world.site.put(PATHS[0], f"<html><title>A page</title><body><p>{text}</p><h1>One lantern of many more</h1>")
    assert world.crawl(PROFILE="pab2015", BOILERPLATE_MIN_PAGES="0").returncode == 0
    hits = {}
    for rank in ("density", "priority"):
        done = world.scrapy("search", "lantern", "--rank", rank, "--format", "json")
        hits[rank] = [(hit["text"], round(hit["rank"], 6)) for page in json.loads(done.stdout) for hit in page["hits"]]
    assert hits["density"] == [(text, 0.5), ("One lantern of many more", 0.2)]
    assert hits["priority"] == [("One lantern of many more", 0.2), (text, 0.05)]
