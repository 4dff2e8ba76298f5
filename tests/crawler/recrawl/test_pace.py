"""When pages are visited again: live blogs while they go on, pages of a site by its interval, gone pages no more."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from changing_site import article, listing, prose

SITES = """
[sites.town]
sections = ["{url}/news/"]
interval = "{interval}"
arguments = {{ allow = "/news/\\\\d+" }}
"""


def hours_until_next(world, path):
    row = world.page(path)
    next_visit, last_seen = (datetime.fromisoformat(str(row[name])) for name in ("next_visit", "last_seen"))
    return (next_visit - last_seen) / timedelta(hours=1)


def live(until):
    stated = {"@type": "LiveBlogPosting", "coverageEndTime": until.isoformat()}
    script = f'<script type="application/ld+json">{json.dumps(stated)}</script>'
    return article("Storm live", prose(1), prose(2)).replace("</head>", f"{script}</head>")


@pytest.mark.parametrize(("interval", "hours"), [("20m", 1 / 3), ("2h", 2)])
def test_live_blogs_and_pages_keep_to_the_interval_of_their_site(world, interval, hours):
    site, now = world.site, datetime.now(UTC)
    site.put("/news/", listing("/news/1", "/news/2", "/news/3"))
    site.put("/news/1", live(now + timedelta(days=1)))
    site.put("/news/2", live(now - timedelta(days=1)))
    site.put("/news/3", article("Still", prose(5), prose(6)))
    (world.folder / "sites.toml").write_text(SITES.format(url=site.url, interval=interval), "utf-8")
    assert world.scrapy("sites", "crawl").returncode == 0
    assert hours_until_next(world, "/news/1") == pytest.approx(hours, abs=0.01)
    assert hours_until_next(world, "/news/2") > 2.5
    assert hours_until_next(world, "/news/3") > 2.5


@pytest.mark.parametrize(("seconds", "kinds"), [("0", ["new", "retired"]), ("86400", ["new"])])
def test_a_user_chooses_after_how_long_a_page_is_gone(world, seconds, kinds):
    site = world.site
    site.put("/news/", listing("/news/1"))
    site.put("/news/1", article("Title", prose(1), prose(2)))
    world.crawl()
    site.put("/news/1", "", status=404)
    assert world.scrapy("recrawl", GONE_AFTER_SECONDS=seconds).returncode == 0
    assert [row["kind"] for row in world.rows("SELECT kind FROM page_event ORDER BY visited")] == kinds
