"""A day of a media monitor: twelve news sites whose feeds, listings and sitemaps link with tracking parameters.

The menu of one site leads nowhere. In the afternoon a consent wall falls before another one, a live blog goes on, and
an article is corrected. In the evening the wall is gone.
"""

from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from changing_site import Site, article, prose
from operator_day import Operator

pytestmark = pytest.mark.slow
NAMES = "walled live corrected deadmenu plain quiet north south east west upper lower".split()
PATHS = [f"/news/2026/{number}-story-of-the-{word}.html" for number, word in enumerate("abcdefghijkl", 101)]
# Each way to an article marks it in its own way.
FEED_MARKS, LISTING_MARKS = "?utm_source=rss&utm_medium=feed", "?xtor=RSS-1&at_medium=listing&CMP=share"
MENU = ["/politics/", "/science/", "/sport/"]
WALL = (
    "<!DOCTYPE html><html lang=en><head><title>Before you continue</title></head><body><div class=message>"
    "<h1>We value your privacy</h1><p>We and our partners store and access information on a device, such as cookies, "
    "and process personal data.</p><button>Accept all</button><button>Reject all</button></div></body></html>"
)
WALLED_TEXTS = """
SELECT page_id, position, text FROM page_text JOIN page ON page.id = page_id
WHERE page.site LIKE '127.0.1.1:%' ORDER BY page_id, position
"""
LIVE = '<script type="application/ld+json">{"@context":"https://schema.org","@type":"LiveBlogPosting"}</script>'


class NewsSite(Site):
    """A front page with a menu, a feed and a sitemap of `articles`: paragraphs by path."""

    def __init__(self, address, seed):
        super().__init__(address)
        self.seed = seed
        self.published = (datetime.now(UTC) - timedelta(hours=5)).isoformat()
        self.articles = {path: self.paragraphs(number) for number, path in enumerate(PATHS)}
        self.live = ""
        self.publish()
        self.put("/robots.txt", f"User-agent: *\nAllow: /\nSitemap: {self.url}/sitemap.xml\n")
        for path in MENU:
            self.put(path, self.front)

    def paragraphs(self, number):
        return [prose(self.seed + 31 * number + step) for step in range(4)]

    def publish(self):
        """Show the articles, and lead to them from everywhere."""
        titles = {path: f"The {path[6:-5].replace('-', ' ')} of {self.seed}" for path in self.articles}
        links = "".join(f'<h2><a href="{path}{LISTING_MARKS}">{title}</a></h2>' for path, title in titles.items())
        menu = "".join(f'<a href="{path}">{path.strip("/").title()}</a>' for path in MENU)
        feed = '<link rel=alternate type="application/rss+xml" href="/feed.xml">'
        self.front = f"<html lang=en><head>{feed}</head><body><nav>{menu}</nav><main>{links}</main></body></html>"
        self.put("/", self.front)
        items = "".join(
            f"<item><title>{title}</title><link>{self.url}{path}{FEED_MARKS.replace('&', '&amp;')}</link></item>"
            for path, title in titles.items()
        )
        self.put("/feed.xml", f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>')
        urls = "".join(f"<url><loc>{self.url}{path}</loc></url>" for path in titles)
        self.put("/sitemap.xml", f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>')
        for path, title in titles.items():
            stated = f'<head><meta property="article:published_time" content="{self.published}">'
            stated += LIVE if path == self.live else ""
            self.show(path, article(title, *self.articles[path]).replace("<head>", stated))

    def show(self, path, body):
        for marks in ("", FEED_MARKS, LISTING_MARKS):
            self.put(path + marks, body)

    def article_requests(self):
        """How often each article was asked for since the last call, whatever the parameters."""
        paths = Counter(path.partition("?")[0] for path in self.paths() if path.startswith("/news/"))
        self.asked.clear()
        return paths


class Monitor(Operator):
    def __init__(self, folder, stack):
        sites = {name: NewsSite(f"127.0.1.{number}", 10_000 * number) for number, name in enumerate(NAMES, 1)}
        for site in sites.values():
            stack.callback(site.close)
        super().__init__(folder, sites, {"PARALLEL_CRAWLS": "4"})
        self.write_file(lambda site: f'spider = "news"\narguments = {{ site = "{site.url}/" }}')
        for path in MENU:
            sites["deadmenu"].put(path, "not here", status=404)
        sites["live"].live = PATHS[0]
        sites["live"].publish()

    def article_requests(self):
        return {name: site.article_requests() for name, site in self.sites.items()}

    def events(self):
        """The pages that were new or changed since the last call, by site."""
        names = {self.host(name): name for name in self.sites}
        query = "SELECT page.site, page.url, kind FROM page_event JOIN page ON page.id = page_id ORDER BY 1, 2, 3"
        events = [(names[site], kind, url.partition("/news/2026/")[2]) for site, url, kind in self.rows(query)]
        self.change("DELETE FROM page_event")
        return events


@pytest.fixture
def monitor(tmp_path):
    with ExitStack() as stack:
        yield Monitor(tmp_path, stack)


def morning(monitor):
    """Each article is asked for once, and stored under its own address."""
    code, codes, errors = monitor.crawl(first=True)
    assert (code, codes) == (0, dict.fromkeys(NAMES, 0)), errors
    assert monitor.article_requests() == {name: Counter(PATHS) for name in NAMES}
    urls = {url for (url,) in monitor.rows("SELECT url FROM page")}
    assert urls == {site.url + path for site in monitor.sites.values() for path in PATHS}
    assert {kind for _site, kind, _page in monitor.events()} == {"new"}
    assert monitor.alerts() == []


def noon(monitor):
    """Nothing has changed, and nothing is said to have; the dead menu is left alone."""
    code, codes, errors = monitor.crawl()
    assert (code, set(codes.values())) == (0, {0}), errors
    assert monitor.events() == []
    assert not set(MENU) & set(monitor.sites["deadmenu"].paths())
    assert monitor.article_requests() == {name: Counter(PATHS) for name in NAMES}


def afternoon(monitor):
    """Two pages change, and the site behind a wall keeps its texts and is not green."""
    walled, live, corrected = (monitor.sites[name] for name in ("walled", "live", "corrected"))
    walled.articles["/news/2026/200-news-behind-the-wall.html"] = walled.paragraphs(200)
    walled.publish()
    for path in walled.articles:
        walled.show(path, WALL)
    live.articles[PATHS[0]].insert(0, prose(live.seed + 900))
    live.publish()
    corrected.articles[PATHS[3]][1] = prose(corrected.seed + 900)
    corrected.publish()
    texts = monitor.rows(WALLED_TEXTS)
    code, codes, errors = monitor.crawl()
    assert code == 1
    assert {name for name in codes if codes[name]} == {"walled"}, errors
    assert monitor.events() == [("live", "changed", PATHS[0][11:]), ("corrected", "changed", PATHS[3][11:])]
    assert monitor.rows(WALLED_TEXTS) == texts
    assert monitor.rows("SELECT count(*) FROM page") == [(len(NAMES) * len(PATHS),)]
    assert monitor.alerts() == [("walled", "walled", "begun")]
    code, health = monitor.status()
    assert code == 1
    assert [name for name, row in health.items() if row["state"] != "ok"] == ["walled"]
    monitor.article_requests()


def evening(monitor):
    """What the wall hid is asked for again, by itself."""
    monitor.sites["walled"].publish()
    code, codes, errors = monitor.crawl()
    assert (code, set(codes.values())) == (0, {0}), errors
    assert monitor.events() == [("walled", "new", "200-news-behind-the-wall.html")]
    expected = {name: Counter(PATHS) for name in NAMES}
    expected["walled"] = Counter([*monitor.sites["walled"].articles])
    assert monitor.article_requests() == expected
    assert monitor.alerts() == [("walled", "walled", "over")]
    assert monitor.status()[0] == 0


def test_a_day_of_a_media_monitor(monitor):
    morning(monitor)
    noon(monitor)
    afternoon(monitor)
    evening(monitor)
