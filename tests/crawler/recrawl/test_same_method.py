"""A page is visited again by the method and options that cleaned it, as cron's command has it."""

import json

from changing_site import article, listing, prose

OPTIONS = {"pab_outer_share": 0.25}
PATHS = [f"/news/{number}" for number in (1, 2, 3)]


def put(site, path, second=0):
    """A page whose last paragraph PAB keeps and `default` does not; every visit reads it anew."""
    number = int(path.rpartition("/")[2])
    body = article(f"Title {number}", prose(number), prose(number + 100 + second), advertisement=f"Buy lamp {number}")
    site.put(path, body, validators="none")


def methods(world):
    query = "SELECT url, method, settings FROM page ORDER BY url"
    rows = [(row["url"].removeprefix(world.site.url), row["method"], row["settings"]) for row in world.rows(query)]
    return {path: (method, json.loads(settings)["CLEANING_OPTIONS"]) for path, method, settings in rows}


def kept_scope(world):
    (row,) = world.rows("SELECT value FROM database_setting WHERE name = 'DEDUP_SCOPE'")
    return json.loads(row["value"])


def read_again_by_cron(world):
    """One page has another text and the section a new page; all are read as they were before."""
    put(world.site, PATHS[0], second=50)
    put(world.site, "/news/4")
    world.site.put("/news/", listing(*PATHS, "/news/4"))
    world.make_due()
    plan = json.loads(world.scrapy("recrawl", "--due", "--dry-run", "--json").stdout)
    assert {row["method"] for row in plan} == {"pab"}
    again = world.scrapy("recrawl", "--due")
    assert again.returncode == 0
    assert "CLEANING_METHOD" not in again.stderr
    assert kept_scope(world) == "site"
    assert "DEDUP_SCOPE" not in again.stderr
    assert json.loads(world.page("/news/4")["settings"])["PAGE_MAX_BYTES"] == 5_000_000


def clean_again(world, before):
    """Without flags every page is cleaned again as it was; with another method, all pages and the section follow it."""
    same = world.scrapy("reclean", "--processes", "1", "--format", "json")
    result = json.loads(same.stdout)
    assert (result["pages"], result["changed"], result["cleaned_by"]) == (4, 0, {"pab pab_outer_share=0.25": 4})
    assert kept_scope(world) == "site"
    assert methods(world) == dict.fromkeys([*PATHS, "/news/4"], ("pab", OPTIONS))
    assert {path: world.texts(path) for path in PATHS[1:]} == {path: before[path] for path in PATHS[1:]}
    assert world.texts("/news/1")[-1] == "Buy lamp 1"
    assert world.scrapy("reclean", "--method", "eniw", "--processes", "1").returncode == 0
    assert methods(world) == dict.fromkeys([*PATHS, "/news/4"], ("eniw", OPTIONS))
    assert json.loads(world.rows("SELECT settings FROM section")[0]["settings"])["CLEANING_METHOD"] == "eniw"


def read_by_another_method(world):
    """The command line decides, and says so; the other options stay."""
    world.make_due("/news/2")
    told = world.scrapy("recrawl", "--due", CLEANING_METHOD="default", DEDUP_SCOPE="all")
    assert told.returncode == 0
    assert "had DEDUP_SCOPE=site; this command changes it to DEDUP_SCOPE=all, which later commands use" in told.stderr
    assert kept_scope(world) == "all"
    assert (
        "1 page or section was read with CLEANING_METHOD=eniw; it is now read with CLEANING_METHOD=default, "
        "as the command line says" in told.stderr
    )
    assert methods(world)["/news/2"] == ("default", OPTIONS)
    assert methods(world)["/news/1"] == ("eniw", OPTIONS)
    assert "Buy lamp 2" not in world.texts("/news/2")


def test_a_page_keeps_its_method_unless_the_command_line_says_otherwise(world):
    world.site.put("/news/", listing(*PATHS))
    for path in PATHS:
        put(world.site, path)
    first = world.crawl(
        CLEANING_METHOD="pab", CLEANING_OPTIONS=json.dumps(OPTIONS), DEDUP_SCOPE="site", PAGE_MAX_BYTES="5000000"
    )
    assert first.returncode == 0
    before = {path: world.texts(path) for path in PATHS}
    assert before["/news/1"][-1] == "Buy lamp 1"
    read_again_by_cron(world)
    clean_again(world, before)
    read_by_another_method(world)
    # An ordinary crawl that changes the method warns once.
    changed = world.crawl(CLEANING_METHOD="pab", fresh="1")
    assert changed.stderr.count("CLEANING_METHOD=") == 1
    assert world.totals()["store/pages_other_method"] == 4


def test_a_method_that_is_gone_is_named(world):
    world.site.put("/news/", listing(PATHS[0]))
    put(world.site, PATHS[0])
    assert world.crawl().returncode == 0
    world.change("UPDATE page SET settings = :new", new=json.dumps({"CLEANING_METHOD": "mine"}))
    world.change("UPDATE section SET next_visit = NULL")
    finished = world.scrapy("recrawl")
    assert finished.returncode == 1
    assert "the method 'mine' no longer exists; -s CLEANING_METHOD=NAME chooses another" in finished.stderr
    assert world.scrapy("recrawl", CLEANING_METHOD="pab").returncode == 0
    assert methods(world)[PATHS[0]] == ("pab", {})
