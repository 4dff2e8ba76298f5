"""A day of an operator: ten sites in a file, crawled in the morning and again later, while things happen to them.

`BLOCKSIEVE_DAY_PAGES=300` runs it with that many pages a site.
"""

import json
import os
import re
from contextlib import ExitStack

import pytest
from changing_site import Site, article, listing, prose
from operator_day import Operator

pytestmark = pytest.mark.slow
PAGES = int(os.environ.get("BLOCKSIEVE_DAY_PAGES", "12"))
NAMES = "quiet busy steady moved refused redesigned vanished limited silent unchanged".split()
EVERY_TIME = 1_000_000
SETTINGS = {
    "AUTOTHROTTLE_MAX_DELAY": "0.1",
    "BOILERPLATE_MIN_PAGES": "0",
    "HOST_PAUSE_MAX_SECONDS": "2",
    "PARALLEL_CRAWLS": "10",
}


class Day(Operator):
    """Ten sites of news, and a new home for one of them."""

    def __init__(self, folder, stack):
        sites = {name: Site(f"127.0.0.{number}") for number, name in enumerate(NAMES, 1)}
        super().__init__(folder, sites, SETTINGS)
        self.new_home = Site("127.0.0.20")
        for site in (*sites.values(), self.new_home):
            stack.callback(site.close)
        for number, site in enumerate(sites.values()):
            self.fill(site, number)
        arguments = "arguments = { allow = '/news/\\d+' }"
        self.write_file(lambda site: f'sections = ["{site.url}/news/"]\ninterval = "6h"\n{arguments}')

    def fill(self, site, number):
        paths = self.paths()
        site.put("/news/", listing(*paths))
        for page, path in enumerate(paths):
            seed = 1000 * number + page
            site.put(path, article(f"Title {seed}", prose(seed), prose(seed + 500)))

    def paths(self):
        return [f"/news/{page}" for page in range(PAGES)]


@pytest.fixture
def day(tmp_path):
    with ExitStack() as stack:
        yield Day(tmp_path, stack)


def in_the_night(day):
    """What happens to the sites between the morning and the evening."""
    sites = day.sites
    day.fill(day.new_home, NAMES.index("moved"))
    for path in ("/news/", *day.paths()):
        sites["moved"].put(path, "", status=301, location=day.new_home.url + path)
        sites["refused"].put(path, "forbidden", status=403)
        sites["silent"].put(path, "broken", status=500)
        sites["limited"].pages[path].refusals = EVERY_TIME
    for page, path in enumerate(day.paths()):
        sites["redesigned"].put(path, article(f"Title {page}", f"Please read story {page} in our new application."))
        if page % 3:
            sites["vanished"].put(path, "not here", status=404)
    sites["busy"].put("/news/", listing(*day.paths(), "/news/9001"))
    for path in day.paths()[:2]:
        sites["steady"].pages[path].refusals = 1
    sites["busy"].put("/news/9001", article("News", prose(77_001), prose(77_002)))


def expect_limits(day, health, errors):
    """A site that asks for a pause at two pages is waited for; one that asks for pauses without end is given up."""
    assert sorted(day.sites["steady"].paths(429)) == sorted(day.paths()[:2])
    limited = day.sites["limited"]
    assert limited.paths(429)[0] in {"/news/", *day.paths()}
    # It is asked once more after each of three pauses, and its other pages are left alone.
    assert 4 <= len(limited.paths(429)) < PAGES
    assert "127.0.0.8 has refused after 3 pauses in a row, more than FRONTIER_MAX_ATTEMPTS=3" in errors
    (sentence,) = health["limited"]["sentences"]
    begin = rf"{re.escape(day.host('limited'))}: refused since [\d-]+ [\d:]+ UTC: "
    number = re.fullmatch(rf"{begin}(\d+) of \1 visits were refused", sentence)[1]
    # Those are counted too, as the exit code does.
    assert int(number) > PAGES
    assert f"{number} of {number} visits were refused, more than MAX_REFUSED_SHARE=0.5" in errors


def expect_move(day, health, errors, visits=2):
    """The pages of a site that redirects for good are those of the new one, once and with their history."""
    old = day.host("moved")
    new = day.new_home.url.removeprefix("http://")
    by_host = f"FROM page WHERE site IN ('{old}', '{new}') GROUP BY site"
    rows = day.rows(f"SELECT site, count(*), min(visits), max(visits) {by_host}")
    assert rows == [(new, PAGES, visits, visits)], errors
    for table in ("block", "section"):
        number = {"block": 2 * PAGES, "section": 1}[table]
        assert day.rows(f"SELECT site, count(*) FROM {table} WHERE site IN ('{old}', '{new}') GROUP BY site") == [
            (new, number)
        ]
    assert day.rows("SELECT count(*) FROM page") == [(PAGES * len(NAMES) + 1,)]
    assert health["moved"]["sentences"] == [f"its pages have moved to {new}"]
    # A page that is visited at its new address before the old one redirects there is new until then.
    assert PAGES <= health["moved"]["pages_7_days"] <= 2 * PAGES


def expect_status(day, health, troubled):
    """`scrapy status` says of the sites what `scrapy sites status` says."""
    sentences = [sentence for name in troubled for sentence in health[name]["sentences"]]
    sentences.append(f"{day.host('moved')}: {health['moved']['sentences'][0]}")
    status = json.loads(day.scrapy("status", "--json")[1])
    assert sorted(status["sentences"]) == sorted(sentences)
    states = {site["site"]: site["state"] for site in status["sites"]}
    assert {name: states[day.host(name)] for name in troubled} == {name: health[name]["state"] for name in troubled}
    assert list(states)[:5] == [site for site in states if states[site] != "ok"]
    assert day.host("moved") not in states


def first_morning(day):
    """Everything is new, and all is well."""
    assert day.scrapy("sites", "check", "--fetch")[:2] == (
        0,
        (
            f"sites.toml is right: {len(NAMES)} sites with {len(NAMES)} sections, "
            f"of which {len(NAMES)} addresses were fetched.\n"
        ),
    )
    code, codes, errors = day.crawl(first=True)
    assert (code, codes) == (0, dict.fromkeys(NAMES, 0)), errors
    assert day.rows("SELECT count(*) FROM page") == [(PAGES * len(NAMES),)]
    code, health = day.status()
    assert (code, {row["state"] for row in health.values()}) == (0, {"ok"})
    assert all(row["pages_7_days"] == PAGES for row in health.values())
    assert day.alerts() == []


def evening(day):
    """Half of the sites have trouble, and each is told once."""
    in_the_night(day)
    code, codes, errors = day.crawl()
    troubled = {"limited", "refused", "redesigned", "vanished", "silent"}
    assert code == 1
    assert {name for name in codes if codes[name]} == troubled, errors
    assert day.alerts() == [
        ("limited", "refused", "begun"),
        ("redesigned", "less_text", "begun"),
        ("refused", "refused", "begun"),
        ("silent", "silent", "begun"),
        ("vanished", "vanished", "begun"),
    ]
    vanished = sum(page % 3 > 0 for page in range(PAGES))
    assert f"{vanished} of {PAGES + 1} pages that were visited again were not found" in errors, errors
    assert "the site may have been redesigned" in errors, errors
    code, health = day.status()
    assert code == 1
    assert list(health)[:5] == sorted(troubled)
    assert {name: row["state"] for name, row in health.items() if row["state"] != "ok"} == {
        "limited": "refused",
        "refused": "refused",
        "redesigned": "less text",
        "vanished": "vanished",
        "silent": "silent",
        "moved": "moved",
    }
    expect_limits(day, health, errors)
    expect_move(day, health, errors)
    expect_status(day, health, troubled)


def next_night(day):
    """The trouble lasts, and nobody is told again. The pages of the site that moved are visited where they are now."""
    visits = len(day.sites["moved"].paths())
    code, codes, errors = day.crawl()
    assert code == 1
    assert codes["moved"] == codes["steady"] == 0
    assert day.alerts() == []
    assert len(day.sites["moved"].paths()) == visits
    expect_move(day, day.status()[1], errors, visits=3)


def last_morning(day):
    """Four of the sites are well again, and that is told once."""
    for name in ("limited", "refused", "silent", "redesigned"):
        day.fill(day.sites[name], NAMES.index(name))
    _code, codes, errors = day.crawl()
    assert {name for name in codes if codes[name]} <= {"vanished"}, errors
    over = [alert for alert in day.alerts() if alert[2] == "over"]
    assert over == [
        ("limited", "refused", "over"),
        ("redesigned", "less_text", "over"),
        ("refused", "refused", "over"),
        ("silent", "silent", "over"),
    ]


def test_a_day_of_an_operator(day):
    first_morning(day)
    evening(day)
    next_night(day)
    last_morning(day)
    table = day.scrapy("sites", "status")[1]
    assert re.search(r"vanished\s", table)
