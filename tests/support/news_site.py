"""A news site on the loopback address, made up page by page."""

PROSE = "<p>The river rose in the night and carried the old bridge down to the mill, said the mayor of the town.</p>"
XML = {"Content-Type": "application/xml"}
RSS = {"Content-Type": "application/rss+xml"}


def article(name):
    return f"<title>{name}</title><article><h1>{name}</h1>{PROSE * 8}</article>"


def story(number, day=20):
    return f"/news/2024/05/{day}/the-river-rose-again-{number}"


def listing(*paths):
    items = "".join(f'<li><a href="{path}">The river rose again {number}</a>' for number, path in enumerate(paths))
    return f"<main><ul>{items}</ul></main>"


def loc(url, lastmod=None):
    return f"<url><loc>{url}</loc>{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</url>"


def rss(*entries):
    items = "".join(f"<item><link>{url}</link><pubDate>{day}</pubDate></item>" for url, day in entries)
    return f'<rss version="2.0"><channel><title>News</title>{items}</channel></rss>'


class Site:
    """A site under an address that is known before its pages are."""

    def __init__(self, serve, answer):
        self._answer, self._answers = answer, {}
        self.url, self._requests = serve(self._answers)

    def add(self, path, body, headers=None, status=200):
        more = {} if headers is None else {"headers": headers}
        self._answers[path] = self._answer(body, status, **more)

    def add_articles(self, *paths):
        for path in paths:
            self.add(path, article(path))

    @property
    def requested(self):
        return [path for path, _ in self._requests if path != "/robots.txt"]

    def headers(self, path):
        return next(headers for requested, headers in self._requests if requested == path)


def pages(crawled):
    return sorted(visit["url"].split("/", 3)[3] for visit in crawled.visits if visit["outcome"] == "page")


def numbers(crawled):
    return sorted(page.rpartition("-")[2] for page in pages(crawled))
