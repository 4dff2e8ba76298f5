"""The patterns of the shipped table on all saved pages whose address is known."""

from urllib.parse import urlsplit

import pytest

from crawler.discovery.portals import read_portals
from crawler.fetching.replay import read_replay_index

# What was saved beside articles: home pages, sections, an archive of links, television, a gallery.
OTHERS = {
    "abcnews": {"/Entertainment/slideshow/lindsay-lohan-makeup-3161542"},
    "bbc": {"/news", "/technology"},
    "cnn": {"/"},
    "indianexpress": {"/"},
    "news18": {"/livetv/"},
    "thehindu": {"/archive/web/2025/07/11/"},
    "timesofindia": {"", "/business", "/city/delhi", "/city/nagpur"},
}


@pytest.fixture(scope="module")
def saved(data):
    return [url for url, _ in read_replay_index(data / "sites") if ".invalid/" not in url]


@pytest.mark.parametrize("name", [name for name, portal in read_portals().items() if portal.articles])
def test_a_pattern_matches_exactly_the_saved_articles_of_its_site(saved, name):
    portal = read_portals()[name]
    own = [url for url in saved if portal.owns(url)]
    assert own
    assert {urlsplit(url).path for url in own if not portal.articles.search(url)} == OTHERS.get(name, set())


def test_every_saved_page_belongs_to_one_portal(saved):
    table = read_portals().values()
    assert {sum(portal.owns(url) for portal in table) for url in saved} == {1}
