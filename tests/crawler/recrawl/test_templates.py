"""The method `ce` in a crawl: the template of a site is learned from its stored pages."""

import json

from changing_site import article, listing, prose

from crawler.storage.boilerplate import read_template
from crawler.storage.database import opened_engine

# Longer than the text of any page.
COMMON = prose(900, 9)
PATHS = [f"/news/{number}" for number in range(1, 5)]


def put(site, path):
    number = int(path.rpartition("/")[2])
    site.put(path, article(f"Title {number}", COMMON, prose(number)), validators="none")


def template(world):
    with opened_engine(world.url) as engine, engine.connect() as connection:
        return read_template(connection, world.site.url.removeprefix("http://"))


def kept(world, paths):
    return {path: world.texts(path) for path in paths}


def test_a_template_is_learned_at_the_end_of_the_crawl_and_kept_to(world):
    world.site.put("/news/", listing(*PATHS))
    for path in PATHS:
        put(world.site, path)
    own = {path: [prose(int(path.rpartition("/")[2]))] for path in (*PATHS, "/news/5")}
    first = world.crawl(CLEANING_METHOD="ce")
    assert first.returncode == 0, first.stderr
    assert "from 4 pages; of 4 pages cleaned again by ce, 4 changed" in first.stderr
    assert kept(world, PATHS) == {path: own[path] for path in PATHS}
    learned = template(world)
    assert (learned.pages, learned.applied) == (4, True)
    # Cron's command cleans known and new pages by the same template, in workers too.
    put(world.site, "/news/5")
    world.site.put("/news/", listing(*PATHS, "/news/5"))
    world.make_due()
    again = world.scrapy("recrawl", "--due", CLEANING_PROCESSES="1")
    assert again.returncode == 0, again.stderr
    assert "cleaned again" not in again.stderr
    assert kept(world, own) == own
    assert template(world) == learned
    # A page is explained by the template of its site.
    explained = json.loads(world.scrapy("explain", world.site.url + "/news/1", "--json").stdout)
    assert [block["reason"] for block in explained["blocks"]].count("template") == 1
    # Cleaned by another method, and by `ce` again.
    assert world.scrapy("reclean", "--method", "pab", "--processes", "1").returncode == 0
    assert all(len(texts) > 1 for texts in kept(world, own).values())
    done = world.scrapy("reclean", "--method", "ce", "--processes", "1", "--format", "json")
    assert json.loads(done.stdout)["changed"] == 5, done.stderr
    assert kept(world, own) == own
    assert template(world).pages == 5
    assert world.scrapy("prune", "--yes", "--site", world.site.url).returncode == 0
    assert template(world) is None
