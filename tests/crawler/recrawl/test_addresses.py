"""Sites whose pages all state one canonical address, and sites that move, by the commands as users run them."""

from changing_site import article, listing, prose

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
