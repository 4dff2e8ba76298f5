"""Three sites and the database that their crawls share."""

from contextlib import ExitStack

import pytest
from changing_site import Site, article, listing, prose

PAGES = 4


class Sites:
    """Sites and the database that their crawls share."""

    def __init__(self, world, sites):
        self.world = world
        self.sites = sites

    def crawl(self):
        for number, site in enumerate(self.sites):
            paths = [f"/news/{page}" for page in range(1, PAGES + 1)]
            site.put("/news/", listing(*paths))
            for page, path in enumerate(paths):
                seed = 100 * number + page
                site.put(path, article(f"Title {seed}", prose(seed), prose(seed + 50)))
            arguments = ("-a", f"url={site.url}/news/", "-a", r"allow=/news/\d+")
            finished = self.world.scrapy("crawl", "section", *arguments)
            assert finished.returncode == 0, finished.stderr
            site.asked.clear()


@pytest.fixture
def three_sites(world):
    with ExitStack() as stack:
        sites = [world.site, Site("127.0.0.2"), Site("127.0.0.3")]
        for site in sites[1:]:
            stack.callback(site.close)
        three = Sites(world, sites)
        three.crawl()
        yield three
