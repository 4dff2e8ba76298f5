"""The table of portals: its columns, errors, user rows, and its patterns on all saved pages with a known address."""

import re
from urllib.parse import urlsplit

import pytest

from crawler.discovery.portals import PORTAL_COLUMNS, _read_portal, read_portals, select_portals
from crawler.errors import ConfigError
from crawler.fetching.saved_pages import read_replay_index


def written(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_text(text, "utf-8")
    return str(path)


def test_the_shipped_table_has_the_sites_of_the_papers():
    portals = read_portals()
    of_table_5 = [name for name, portal in portals.items() if "Table 5" in str(portal.evidence.get("host"))]
    assert len(of_table_5) == 29
    others = "abcnews bbc cbsnews cnn fox23 msnbc sina qq sohu 163 tutorialspoint"
    assert portals.keys() == {*of_table_5, *others.split()}


def test_every_value_of_the_shipped_table_names_its_evidence():
    for name, portal in read_portals().items():
        unfounded = {column for column in PORTAL_COLUMNS if getattr(portal, column)} - {"evidence", *portal.evidence}
        assert not unfounded, name


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('host = "e.org"\nfeed = []', "the portal 'x' has no column 'feed'; did you mean 'feeds'?"),
        ("host = 7", "'host' of the portal 'x' is 7: it takes a host name, with a port where it has one"),
        ('host = "https://e.org/"', "is 'https://e.org/': it takes a host name"),
        ('sections = ["https://e.org/"]', "the portal 'x' needs the column 'host'"),
        ('host = "e.org"\nsections = "https://e.org/"', "it takes a list of http or https URLs, at most 500"),
        ('host = "e.org"\nfeeds = ["ftp://e.org/f"]', "it takes an http or https URL"),
        ('host = "e.org"\nfeeds = [7]', "it takes an http or https URL"),
        ('host = "e.org"\narticles = "("', "'articles' of the portal 'x' is '(': it takes a regular expression"),
        ('host = "e.org"\nlanguage = "English"', "it takes a language tag like en or zh-CN"),
        ('host = "e.org"\ndelay = -1', "it takes seconds from 0 to 3600"),
        ('host = "e.org"\ndelay = true', "it takes seconds from 0 to 3600"),
        ('host = "e.org"\nheaders = { "a b" = "c" }', "it takes header names and their values, in ASCII"),
        ('host = "e.org"\nheaders = { A = "b\\nc" }', "it takes header names and their values, in ASCII"),
        ('host = "e.org"\nheaders = { Authorization = "c" }', "Authorization is a secret, which is not stored"),
        ('host = "e.org"\nmethod = "defualt"', "did you mean 'default'?"),
        ('host = "e.org"\nmethod = "vce"', "the portal 'x' has the method 'vce', which needs a browser: render = true"),
        ('host = "e.org"\nrender = 1', "it takes true or false"),
        ('host = "e.org"\nsections = ["https://f.org/"]', "'https://f.org/', which is on none of its hosts; name the"),
        ('host = "e.org"\nevidence = { seccions = "a" }', "which is not a column; did you mean 'sections'?"),
        ('host = "e.org"\nevidence = { host = [] }', "it takes names of saved pages and documents"),
    ],
)
def test_an_invalid_row_is_an_error_with_what_the_column_takes(tmp_path, row, message):
    own = written(tmp_path, f"[x]\n{row}\n")
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        read_portals(own)
    assert str(error.value).startswith(own)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[x", "is not valid TOML"),
        ("[X]\nhost = 'e.org'", "'X' is not a valid name of a portal"),
        ("[all]\nhost = 'e.org'", "'all' is not a valid name of a portal"),
        ("x = 7", "'x' is 7; a portal is a table of columns, [x]"),
    ],
)
def test_an_invalid_file_is_an_error(tmp_path, text, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        read_portals(written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"PORTALS is '.*absent.toml', which cannot be read"):
        read_portals(str(tmp_path / "absent.toml"))


def test_a_user_row_replaces_the_columns_that_it_names(tmp_path):
    shipped = read_portals()["bbc"]
    changed = read_portals(
        written(tmp_path, '[bbc]\ndelay = 7.5\nfeeds = ["https://www.bbc.com/f"]\nlanguage = "my"\n')
    )
    bbc = changed["bbc"]
    assert (bbc.delay, bbc.feeds, bbc.language) == (7.5, ("https://www.bbc.com/f",), "my")
    assert (bbc.host, bbc.sections, bbc.articles) == (shipped.host, shipped.sections, shipped.articles)
    assert shipped.evidence.keys() - bbc.evidence.keys() == {"language"}
    assert changed.keys() == read_portals().keys()


def test_portals_are_selected_by_name_by_host_and_all_at_once():
    portals = read_portals()
    assert select_portals(" all ", portals) == tuple(portals.values())
    assert [portal.name for portal in select_portals("bbc, THEHINDU,www.bbc.com,bbc", portals)] == ["bbc", "thehindu"]
    (unknown,) = select_portals("news.example.org", portals)
    assert (unknown.start, unknown.sections, unknown.articles) == ("https://news.example.org/", (), None)
    (with_port,) = select_portals("http://127.0.0.1:8000/news/", portals)
    assert (with_port.start, with_port.domains) == ("http://127.0.0.1:8000/news/", {"127.0.0.1:8000"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bcb", "did you mean 'bbc'?"),
        (" , ", "it takes names of portals"),
        ("http://[::1", "Invalid IPv6 URL"),
        ("a b.c", "host"),
    ],
)
def test_text_that_names_neither_portal_nor_host_is_an_error(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        select_portals(text, read_portals())


def test_a_portal_owns_urls_on_its_domains():
    portal = _read_portal("x", {"host": "www.e.org", "hosts": ["old.f.co.uk"]}, "here")
    assert portal.owns("https://money.e.org/a")
    assert portal.owns("http://f.co.uk/a")
    assert not portal.owns("https://e.org.evil.com/")
    assert portal.download_slots == {"www.e.org", "old.f.co.uk"}


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
