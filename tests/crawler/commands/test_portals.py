"""`scrapy portals`."""

import json

import pytest

PAGE = """<!doctype html><html lang="en"><title>The river</title>
<link rel="alternate" type="application/rss+xml" href="/feed.xml">
<nav><a href="/science/">Science</a></nav><main><p>The river rose in the night, and the bridge at the mill was closed
until the morning, said the mayor of the town, who had seen it.</p></main>"""
OWN = """
[river]
host = "river.example.org"
sections = ["https://river.example.org/science/"]
feeds = ["https://river.example.org/feed.xml"]
articles = '/\\d{4}/'
language = "en"

[river.evidence]
host = "notes.txt"
sections = "sites/river/1.html"
feeds = "sites/river/1.html"
articles = "sites/river/1.html"
language = "sites/river/1.html"
"""


@pytest.fixture
def folder(tmp_path):
    """Write a saved page with its index, a document and a table that rests on both; return their folder."""
    site = tmp_path / "saved" / "sites" / "river"
    site.mkdir(parents=True)
    (site / "1.html").write_text(PAGE, "utf-8")
    (site.parent / "index.tsv").write_text(
        "site\tfile\turl\nriver\t1.html\thttps://river.example.org/2024/the-river\n", "utf-8"
    )
    (tmp_path / "saved" / "notes.txt").write_text("Of river.example.org we know nothing.", "utf-8")
    (tmp_path / "own.toml").write_text(OWN, "utf-8")
    return tmp_path


def run(scrapy, folder, *more):
    return scrapy("portals", "river", "-s", f"PORTALS={folder / 'own.toml'}", "--data", str(folder / "saved"), *more)


def test_all_portals_are_listed(scrapy):
    listed = scrapy("portals", BLOCKSIEVE_DATA="")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "40 portals; nothing was checked" in listed.stdout
    assert len(json.loads(scrapy("portals", "--json", BLOCKSIEVE_DATA="").stdout)) == 40


def test_a_value_on_the_saved_page_is_proven(scrapy, folder):
    listed = run(scrapy, folder, "--json")
    assert (listed.returncode, listed.stderr) == (0, "")
    (portal,) = json.loads(listed.stdout)
    assert {finding["column"]: finding["state"] for finding in portal["findings"]} == dict.fromkeys(
        ("host", "sections", "feeds", "articles", "language"), "proven"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/science/", "/sport/", "river: sections: https://river.example.org/sport/ is not named there"),
        ("/feed.xml", "/rss.xml", "river: feeds: https://river.example.org/rss.xml is not named there"),
        (r"/\d{4}/", r"/\d{5}/", "river: articles: it matches neither https://river.example.org/2024/the-river nor 3"),
        (r"/\d{4}/", "/", "river: articles: it matches https://river.example.org/, which is not an article"),
        ('language = "en"', 'language = "de"', "river: language: the text of https://river.example.org/2024/the-river"),
        ("notes.txt", "absent.txt", "river: host: there is no absent.txt"),
        ("sites/river/1.html", "sites/river/2.html", "there is no sites/river/2.html"),
        ("sites/river/1.html", "sites/../../own.toml", "there is no sites/../../own.toml"),
        ("river.example.org", "ver.example.org", "river: host: ver.example.org is not named there"),
    ],
)
def test_a_value_missing_from_the_evidence_is_wrong(scrapy, folder, old, new, message):
    own = folder / "own.toml"
    own.write_text(own.read_text("utf-8").replace(old, new), "utf-8")
    listed = run(scrapy, folder)
    assert listed.returncode == 1
    assert message in listed.stderr


def test_a_value_without_evidence_is_unproven_and_not_wrong(scrapy, folder):
    own = folder / "own.toml"
    own.write_text(own.read_text("utf-8").split("[river.evidence]")[0], "utf-8")
    listed = run(scrapy, folder)
    assert listed.returncode == 0
    assert "1 portal; 0 values proven, 5 values unproven, 0 values wrong" in listed.stdout


def test_the_shipped_table_matches_its_evidence(scrapy, data):
    listed = scrapy("portals", "--data", str(data))
    assert listed.stderr == ""
    assert "0 values unproven, 0 values wrong" in listed.stdout


def test_wrong_usage_is_one_sentence(scrapy, folder):
    for arguments, message in (
        (["bcb"], "did you mean 'bbc'?"),
        (["-s", f"PORTALS={folder / 'absent.toml'}"], "which cannot be read"),
    ):
        failed = scrapy("portals", *arguments)
        assert (failed.returncode, failed.stdout) == (2, "")
        assert message in failed.stderr
    assert "holds no saved pages" in scrapy("portals", "--data", str(folder)).stderr


def test_live_requests_each_address_once_and_prints_its_kind(scrapy, serve, answer, tmp_path):
    feed = "<rss version='2.0'><channel><item><link>/2024/a</link></item></channel></rss>"
    answers = {
        "/": answer(PAGE),
        "/science/": answer(PAGE + '<a href="/2024/a">A</a><a href="/2024/b">B</a>'),
        "/feed.xml": answer(feed, headers={"Content-Type": "application/rss+xml"}),
        "/map.xml": answer("<!doctype html><title>Sorry</title>"),
    }
    site, requests = serve(answers)
    own = tmp_path / "own.toml"
    own.write_text(
        f'[river]\nhost = "{site.removeprefix("http://")}"\nhome = "{site}/"\narticles = "/2024/"\n'
        f'sections = ["{site}/science/", "{site}/absent/"]\nfeeds = ["{site}/feed.xml"]\nsitemaps = ["{site}/map.xml"]',
        "utf-8",
    )
    hurry = ["-s", "ALLOW_ADDRESSES=127.0.0.0/8", "-s", "AUTOTHROTTLE_ENABLED=0"]
    listed = scrapy("portals", "river", "--live", "--json", "-s", f"PORTALS={own}", *hurry)
    (portal,) = json.loads(listed.stdout)
    told = {
        answered["url"].removeprefix(site): (answered["status"], answered["kind"], answered["entries"])
        for answered in portal["answers"]
    }
    assert told == {
        "/": (200, "page", 0),
        "/science/": (200, "page", 2),
        "/absent/": (404, "", 0),
        "/feed.xml": (200, "feed", 1),
        "/map.xml": (200, "", 0),
    }
    assert listed.returncode == 1
    assert listed.stderr.splitlines() == [
        f"river: {site}/absent/: not_found: HTTP status 404",
        f"river: {site}/map.xml: it is not a feed or sitemap: html",
    ]
    assert sorted(path for path, _ in requests) == sorted([*answers, "/absent/", "/robots.txt"])
