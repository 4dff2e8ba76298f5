"""Sites whose pages all state one canonical address, and sites that move, by the commands as users run them."""

from contextlib import closing

from changing_site import Site, article, listing, prose

PATHS = [f"/news/{number}" for number in (1, 2, 3, 4)]


def put_articles(world, canonical):
    world.site.put("/news/", listing(*PATHS))
    for number, path in enumerate(PATHS):
        world.site.put(path, article(f"Title {number}", prose(number), prose(number + 50), canonical=canonical))


def page_addresses(world):
    rows = world.rows("SELECT url_key, visits, changes FROM page ORDER BY url_key")
    return [(row["url_key"].removeprefix(world.site.url), row["visits"], row["changes"]) for row in rows]


def test_articles_that_state_their_listing_as_canonical_stay_pages_of_their_own(world):
    put_articles(world, "/news/")
    crawled = world.crawl(SUMMARY="-")
    assert crawled.returncode == 0
    assert page_addresses(world) == [(path, 1, 0) for path in PATHS]
    assert world.totals()["page/canonical_doubted"] == 4
    assert crawled.stderr.count("states the canonical address") == 1
    assert "page/canonical_doubted 4" in crawled.stderr
    assert '"page/canonical_doubted": 4' in crawled.stdout
    # A re-crawl finds each page at its own address; nothing is missed, and nothing is stored twice.
    world.site.put(PATHS[0], article("Title 0", prose(0), prose(90), canonical="/news/"))
    world.make_due()
    assert world.scrapy("recrawl", "--due").returncode == 0
    assert page_addresses(world) == [(PATHS[0], 2, 1), *((path, 2, 0) for path in PATHS[1:])]
    assert (
        world.rows("SELECT misses FROM page WHERE misses > 0 UNION SELECT misses FROM section WHERE misses > 0") == []
    )


def test_a_site_that_moves_to_another_host_is_one_site_with_its_history(world):
    """The listing and two articles move for good, one for a time; one is removed by a redirect to the home page."""
    put_articles(world, "")
    assert world.crawl().returncode == 0
    before = {path: world.texts(path) for path in PATHS}
    with closing(Site()) as new:
        targets = dict(zip([*PATHS, "/news/"], [*PATHS[:3], "/", "/news/"], strict=True))
        for path, target in targets.items():
            status = 302 if path == PATHS[2] else 301
            world.site.put(path, "", status=status, location=new.url + target)
            new.put(path, world.site.pages[path].body)
        for number, path in enumerate(PATHS[:3]):
            new.put(path, article(f"Title {number}", prose(number), prose(number + 50)))
        new.put("/", article("Our home", prose(200), prose(250)))
        new.put("/news/", listing(*PATHS[:2]))
        world.make_due()
        recrawled = world.scrapy("recrawl", "--due")
        assert recrawled.returncode == 0
        assert "Traceback" not in recrawled.stderr
        rows = world.rows("SELECT url, visits, misses, site FROM page ORDER BY id")
        counts = {row["url"]: (row["visits"], row["misses"]) for row in rows}
        assert counts == {
            new.url + PATHS[0]: (2, 0),
            new.url + PATHS[1]: (2, 0),
            world.site.url + PATHS[2]: (1, 1),
            world.site.url + PATHS[3]: (1, 1),
            new.url + PATHS[2]: (1, 0),
            new.url + "/": (1, 0),
        }
        assert world.rows("SELECT url, visits FROM section") == [{"url": f"{new.url}/news/", "visits": 2}]
        assert world.totals()["store/moved"] == 2
        query = "SELECT text FROM block JOIN page ON page.id = page_id WHERE url = :url ORDER BY position"
        assert [row["text"] for row in world.rows(query, url=new.url + PATHS[0])] == before[PATHS[0]]
        history = world.scrapy("history", world.site.url + PATHS[0])
        assert new.url + PATHS[0] in history.stdout + history.stderr
