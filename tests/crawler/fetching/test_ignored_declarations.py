"""What a page declares and browsers ignore: addresses that are none, and charsets that browsers do not know."""

import textwrap

import pytest

PROSE = (
    "<p>The river rose in the night, and the bridge at the mill was closed until the morning, said the mayor.</p>" * 4
)
ADDRESSES = (
    "http://[domain]/",
    "http://[x",
    "http://river.example:99999/",
    "http://a:b/",
    "http://\N{ACCOUNT OF}.example/",
)
HEADS = {
    "base": '<base href="{}">',
    "refresh": '<meta http-equiv="refresh" content="0; url={}">',
    "canonical": '<link rel="canonical" href="{0}"><link rel="shortlink" href="{0}"><link rel="icon" href="{0}">',
    "languages": '<link rel="alternate" hreflang="de" href="{0}"><link rel="next" href="{0}">',
    "property": '<meta property="og:url" content="{0}"><meta property="og:image" content="{0}">',
    "data": '<script type="application/ld+json">{{"@type": "NewsArticle", "url": "{0}", "image": "{0}"}}</script>',
}
BODIES = {
    "links": '<a href="{0}">The mill</a><a href="{0}" rel="next">Next</a>',
    "pictures": '<img src="{0}" srcset="{0} 2x, {0} 640w"><iframe src="{0}"></iframe><video poster="{0}"></video>',
}
CHARSETS = ("rot13", "zlib_codec", "idna", "base64", "hex", "undefined", "mbcs", "punycode", "utf-7", "unicode_escape")
SPIDER = """
    import scrapy
    from crawler.page import page

    class Every(scrapy.Spider):
        name = "every"

        async def start(self):
            for path in self.paths.split():
                yield scrapy.Request(self.site + path, dont_filter=True)

        def parse(self, response):
            yield page(response)
            for request in response.follow_all(css="a.more"):
                yield request
"""


@pytest.fixture
def every(crawl, serve, answer, tmp_path):
    """Crawl these pages, each a body or an Answer, with a spider that follows their links to `more`."""
    (tmp_path / "every.py").write_text(textwrap.dedent(SPIDER), "utf-8")

    def run(pages, settings=None):
        replies = {path: page if hasattr(page, "body") else answer(page) for path, page in pages.items()}
        replies |= {"/more": answer(f"<title>More</title><h1>More</h1>{PROSE}")}
        url, requests = serve(replies)
        database = {"DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db"}
        arguments = {"site": url, "paths": " ".join(pages)}
        return crawl(tmp_path / "every.py", arguments, database | (settings or {})), [path for path, _ in requests]

    return run


def html(head="", body=""):
    return f'<title>River</title>{head}<body><h1>River</h1>{body}{PROSE}<a class="more" href="/more">More</a>'


def test_an_address_that_is_none_costs_a_page_nothing(every):
    pages = {
        f"/{name}-{number}": html(*((text, "") if name in HEADS else ("", text)))
        for number, address in enumerate(ADDRESSES)
        for name, text in ((name, text.format(address)) for name, text in (HEADS | BODIES).items())
    }
    crawled, requests = every(pages, {"STRUCTURE": "true"})
    assert set(crawled.outcomes().items()) >= {(path, "page") for path in pages}
    assert "Traceback" not in crawled.log
    assert sorted(path for path in requests if path in pages) == sorted(pages)


def test_a_refresh_is_followed_beside_a_base_that_is_none(every):
    head = HEADS["base"].format(ADDRESSES[0]) + HEADS["refresh"].format("/more")
    crawled, _ = every({"/gone": html(head)})
    assert crawled.outcomes() == {"/more": "page"}


def test_a_part_of_a_page_that_nobody_asked_for_is_not_a_page(every, answer):
    headers = {"Content-Type": "text/html", "Content-Range": "bytes 0-499/9000"}
    crawled, _ = every({"/part": answer(html(), 206, headers)})
    assert crawled.outcomes() == {"/part": "http_error"}


def test_a_charset_that_browsers_do_not_know_costs_a_page_nothing(every, answer):
    pages = {}
    for charset in CHARSETS:
        body = html().replace("river", "rivière")
        pages[f"/{charset}-header"] = answer(body, 200, {"Content-Type": f"text/html; charset={charset}"})
        pages[f"/{charset}-meta"] = answer(html(f'<meta charset="{charset}">'), 200, {"Content-Type": "text/html"})
        declaration = f'<?xml version="1.0" encoding="{charset}"?>'
        pages[f"/{charset}-xml"] = answer(declaration + html(), 200, {"Content-Type": "application/xhtml+xml"})
        refresh = html(f'<meta charset="{charset}">' + HEADS["refresh"].format(f"/{charset}-meta"))
        pages[f"/{charset}-refresh"] = answer(refresh, 200, {"Content-Type": "text/html"})
    crawled, requests = every(pages, {"RETRY_TIMES": 2})
    stored = {(path, "page") for path in pages if not path.endswith("refresh")}
    assert set(crawled.outcomes().items()) == {*stored, ("/more", "page")}
    assert "Traceback" not in crawled.log
    assert all(requests.count(path) == 1 for path in pages if not path.endswith("meta"))
