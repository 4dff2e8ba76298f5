"""A wall in place of articles: nothing of it is stored, the crawl is not green, and what it hid comes when it opens."""

import pytest
from changing_site import article, prose

TITLE = "We value your privacy"
MARKED = f"<title>{TITLE}</title><h1>{TITLE}</h1><p>We and our partners use cookies. Choose.</p><button>Accept</button>"
# Nothing but its repetition tells that this is one.
UNKNOWN = (
    "<title>Leht</title><body><div><b>Tere tulemast</b><p>Lugemiseks vajuta palun nuppu.</p><input type=submit></div>"
)
PATHS = [f"/news/{number}" for number in range(1, 6)]


def news(number):
    return article(f"River {number}", prose(number), prose(100 + number), prose(200 + number), prose(300 + number))


def fill(site, wall=None):
    for number, path in enumerate(PATHS, 1):
        site.put(path, wall or news(number))


def sitemap(site):
    urls = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in PATHS)
    site.put("/robots.txt", f"Sitemap: {site.url}/map.xml", headers={"Content-Type": "text/plain"})
    site.put("/map.xml", f"<urlset>{urls}</urlset>", headers={"Content-Type": "application/xml"})
    site.put("/", "<title>News</title><h1>The news of the town by the river</h1>")


def stored(world):
    return {row["url"] for row in world.rows("SELECT url FROM page WHERE retired_at IS NULL")}


def conditions(world):
    rows = world.rows("SELECT condition FROM alert WHERE ended IS NULL")
    return {row["condition"] for row in rows}


@pytest.mark.parametrize(("spider", "wall"), [("news", UNKNOWN), ("section", UNKNOWN), ("section", MARKED)])
def test_a_wall_stores_nothing_and_hides_nothing_for_good(either_world, spider, wall):
    world = either_world
    arguments = ["-a", f"site={world.site.url}/"]
    if spider == "news":
        sitemap(world.site)
    else:
        arguments = ["-a", f"url={world.site.url}/news/", "-a", r"allow=/news/\d+"]
        world.site.put("/news/", "<ul>" + "".join(f'<li><a href="{path}">{path}</a>' for path in PATHS))
    fill(world.site, wall)
    walled = world.scrapy("crawl", spider, *arguments)
    assert walled.returncode == 1
    assert f"wall {len(PATHS)}" in walled.stderr
    assert stored(world) == set()
    assert (world.totals()["visit/wall"], world.totals().get("visit/page", 0)) == (len(PATHS), 0)
    assert "store/imbalances" not in world.totals()
    assert conditions(world) == {"walled"}
    assert "walled" in world.scrapy("status", "--json").stdout
    fill(world.site)
    if spider == "section":  # its listing names other articles by now
        world.site.put("/news/", '<ul><li><a href="/news/1">1</a>')
    opened = world.scrapy("crawl", spider, *arguments)
    assert opened.returncode == 0, opened.stderr
    assert len(stored(world)) == len(PATHS)
    assert conditions(world) == set()


@pytest.mark.parametrize(("wall", "processes"), [(MARKED, 1), (UNKNOWN, 0)])
def test_a_stored_page_behind_a_wall_keeps_its_text_and_version(world, wall, processes):
    fill(world.site)
    world.site.put("/news/", "<ul>" + "".join(f'<li><a href="{path}">{path}</a>' for path in PATHS))
    assert world.crawl(CLEANING_PROCESSES=processes).returncode == 0
    before = {path: (world.texts(path), world.page(path)["changes"]) for path in PATHS}
    fill(world.site, wall)
    world.make_due()
    visited = world.scrapy("recrawl", "--due", CLEANING_PROCESSES=processes)
    assert visited.returncode == 1
    assert {path: (world.texts(path), world.page(path)["changes"]) for path in PATHS} == before
    assert world.totals()["visit/wall"] == len(PATHS)
    assert conditions(world) == {"walled"}
    # A single page, of which no other one tells.
    world.make_due("/news/1")
    world.scrapy("recrawl", "--due", "--url", f"{world.site.url}/news/1", CLEANING_PROCESSES=processes)
    assert world.texts("/news/1") == before["/news/1"][0]
    fill(world.site)
    world.site.put("/news/3", news(400))
    world.make_due()
    assert world.scrapy("recrawl", "--due").returncode == 0
    assert conditions(world) == set()
    assert world.page("/news/3")["changes"] == 1


def test_what_was_stored_of_a_wall_before_it_was_known_is_no_page(world):
    fill(world.site, UNKNOWN)
    world.site.put("/news/", "<ul>" + "".join(f'<li><a href="{path}">{path}</a>' for path in PATHS[:3]))
    ended = world.crawl(STORE_BATCH_PAGES=1, CONCURRENT_REQUESTS=1, DOWNLOAD_DELAY=0.3)
    assert ended.returncode == 1, ended.stderr
    assert stored(world) == set()
    assert world.totals()["visit/wall"] == 3


def test_short_pages_are_pages(world):
    texts = ["The mill burned down.", "The mayor resigned today.", "A bridge was opened in light rain."]
    for path, text in zip(PATHS, texts, strict=False):
        world.site.put(path, article(text, text))
    world.site.put("/news/", "<ul>" + "".join(f'<li><a href="{path}">{path}</a>' for path in PATHS[:3]))
    assert world.crawl().returncode == 0
    assert len(stored(world)) == 3
