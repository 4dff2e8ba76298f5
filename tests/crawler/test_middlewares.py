"""Each response becomes one visit: a page, a section, or a rejection."""

import gzip

PROSE = "The river rose in the night and carried the old bridge down to the mill, where it lies until today. "
ARTICLE = f"<html><head><title>The bridge</title></head><body><h1>The bridge</h1><p>{PROSE * 8}</p></body></html>"
WIDGET = '<div class="g-recaptcha" data-sitekey="k"></div>'
ANSWER = "<textarea name=g-recaptcha-response></textarea>"
FRAME = '<iframe src="https://www.google.com/recaptcha/api2/anchor?k=1"></iframe>'
SHORT = "<p>Please confirm that you are human.</p>"

# path: what the server sends, and the outcome of the visit
PAGES = {
    "/article": ({"body": ARTICLE}, "page"),
    "/no-type": ({"body": ARTICLE, "headers": {}}, "page"),
    "/octets": ({"body": ARTICLE, "headers": {"Content-Type": "application/octet-stream"}}, "page"),
    "/xhtml": ({"body": ARTICLE, "headers": {"Content-Type": "application/xhtml+xml"}}, "page"),
    "/not-modified": ({"status": 304}, "http_error"),  # nobody had asked whether it is
    "/gone": ({"body": ARTICLE, "status": 410}, "not_found"),
    "/missing": ({"body": f"<p>{WIDGET}</p>", "status": 404}, "not_found"),
    "/forbidden": ({"body": "<h1>Forbidden</h1>", "status": 403}, "forbidden"),
    "/unauthorised": ({"body": "log in", "status": 401}, "forbidden"),
    "/too-many": ({"body": "later", "status": 429}, "refused"),
    "/legal": ({"body": "by order of the court", "status": 451}, "forbidden"),
    "/server-error": ({"body": "oops", "status": 500}, "http_error"),
    "/teapot": ({"body": ARTICLE, "status": 418}, "http_error"),
    "/challenge-403": ({"body": f"<form>{FRAME}</form>", "status": 403}, "captcha"),
    "/challenge-503": ({"body": "<script>window._cf_chl_opt={}</script>", "status": 503}, "captcha"),
    "/challenge": ({"body": f"<title>One more step</title>{SHORT}<form>{FRAME}<input type=submit></form>"}, "captcha"),
    "/hcaptcha": ({"body": f'{SHORT}<div class="h-captcha"></div>'}, "captcha"),
    "/turnstile": ({"body": f'{SHORT}<div class="cf-turnstile"></div>'}, "captcha"),
    "/challenge-answer": ({"body": f"{SHORT}<form>{WIDGET}{ANSWER}</form>"}, "captcha"),
    "/excessive": ({"body": "<p>We see an excessive\n<b>amount</b> of traffic from your address.</p>"}, "quota"),
    "/quota": ({"body": "<p>The Maximum Allowed Daily Connections were reached.</p>"}, "quota"),
    "/removed": ({"body": "<title>Page not found</title><p>It was removed.</p>"}, "removed"),
    "/removed-404": ({"body": "<title>404 - Not Found | Example</title><p>Nothing here.</p>"}, "removed"),
    "/pdf": ({"body": "%PDF-1.7", "headers": {"Content-Type": "application/pdf"}}, "not_html"),
    "/json": ({"body": '{"a": 1}', "headers": {"Content-Type": "application/json"}}, "not_html"),
    "/plain": ({"body": "just text", "headers": {"Content-Type": "text/plain"}}, "page"),
    "/feed": ({"body": "<?xml version='1.0'?><rss version='2.0'></rss>"}, "not_html"),
    "/json-as-html": ({"body": '[{"title": "x"}]'}, "not_html"),
    "/binary": ({"body": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8}, "binary"),
    "/empty": ({"body": b""}, "empty"),
    "/blank": ({"body": b" \n\t\n"}, "empty"),
    "/large": ({"body": "<p>" + PROSE * 300}, "too_large"),
    # These look like refusals and are not.
    "/about-captchas": (
        {"body": f"<title>How a CAPTCHA works</title><p>A reCAPTCHA, an excessive amount of clicks. {PROSE * 8}</p>"},
        "page",
    ),
    "/comment-form": ({"body": f"{ARTICLE}<form><textarea name=comment></textarea>{WIDGET}{FRAME}</form>"}, "page"),
    "/short-with-form": ({"body": f"<p>{PROSE}</p><form><textarea name=comment></textarea>{WIDGET}</form>"}, "page"),
    "/short-with-script": ({"body": f"<p>{PROSE}</p><script src=//google.com/recaptcha/api.js></script>"}, "page"),
    "/about-quotas": ({"body": f'<div id="article-content">{PROSE} An excessive amount of traffic.</div>'}, "page"),
    "/about-404": ({"body": f"<title>Page not found: how to mend it</title><p>{PROSE * 8}</p>"}, "page"),
}  # fmt: skip


def test_each_response_is_filtered(visit):
    crawled = visit({path: sent for path, (sent, _) in PAGES.items()}, PAGE_MAX_BYTES=20_000)
    expected = {path: outcome for path, (_, outcome) in PAGES.items()}
    assert crawled.outcomes() == expected
    for outcome in set(expected.values()):
        assert crawled.stats[f"visit/{outcome}"] == list(expected.values()).count(outcome)


def test_a_visit_has_the_detail_of_its_rejection(visit):
    crawled = visit({"/large": PAGES["/large"][0], "/gone": PAGES["/gone"][0]}, PAGE_MAX_BYTES=20_000)
    errors = {v["outcome"]: v["error"] for v in crawled.visits}
    assert errors == {"not_found": "HTTP status 410", "too_large": "30003 bytes, more than PAGE_MAX_BYTES=20000"}


def test_a_page_has_the_validators_of_its_response(visit):
    headers = {
        "Content-Type": "text/html; charset=gb2312",
        "ETag": '"v1"',
        "Last-Modified": "Sun, 06 Nov 2025 08:49:37 GMT",
    }
    body = f"<title>桥</title><p>{'河水在夜里上涨，把旧桥冲到了磨坊。' * 9}</p>".encode("gb18030")
    [only] = visit({"/chinese": {"body": body, "headers": headers}}).visits
    assert (only["status"], only["outcome"], only["error"]) == (200, "page", None)
    assert "旧桥" in only["page"]["text"]
    assert (only["page"]["encoding"], only["page"]["etag"]) == ("gb18030", '"v1"')
    assert only["page"]["last_modified"] == headers["Last-Modified"]


def test_selectors_read_the_tree_that_is_stored(visit):
    crawled = visit(
        {"/article": PAGES["/article"][0]},
        """
        import scrapy
        from crawler.page import page

        class Same(scrapy.Spider):
            name = "same"

            async def start(self):
                yield scrapy.Request(self.site + self.paths)

            def parse(self, response):
                moved = response.replace(url="http://other.example/", status=203)
                fetched = page(response, title=response.css("h1::text").get())
                yield {
                    "same": response.selector.root is fetched.tree.root and moved.selector.root is fetched.tree.root,
                    "response": response.selector.response is response,
                    "text": "old bridge" in response.text,
                    "other": response.replace(body=b"<h2>x</h2>").css("h2::text").get(),
                    "join": response.urljoin("b?c#d").endswith("/b?c#d"),
                }
                yield fetched
        """,
    )
    assert crawled.items == [{"same": True, "response": True, "text": True, "other": "x", "join": True}]
    assert crawled.visits[0]["page"]["title"] == "The bridge"


def test_robots_txt_is_obeyed_and_not_filtered(visit, every_link):
    answers = {"/robots.txt": {"body": "User-agent: *\nDisallow: /secret\n", "headers": {"Content-Type": "text/plain"}}}
    answers |= {"/secret/1": PAGES["/article"][0], "/article": PAGES["/article"][0]}
    crawled = visit(answers, every_link.replace("self.paths.split()", "['/secret/1', '/article']"))
    assert crawled.outcomes() == {"/article": "page"}
    assert crawled.stats["visit/robots"] == 1
    assert "/secret/1" in crawled.log
    assert "visit/not_html" not in crawled.stats


def test_downloads_that_fail_are_counted_whatever_the_cause(visit, every_link):
    gone = "http://127.0.0.1:1/"
    bomb = {
        "body": gzip.compress(b"<p>" + b"x" * 50_000_000),
        "headers": {"Content-Encoding": "gzip", "Content-Type": "text/html"},
    }
    circle = {"status": 302, "headers": {"Location": "/circle"}}
    crawled = visit(
        {"/bomb": bomb, "/circle": circle, "/heavy": {"body": "<p>" + "x" * 30_000_000}},
        every_link.replace("self.paths.split():", f"[*self.paths.split(), {gone!r}]:").replace(
            "self.site + path", "path if path.startswith('http') else self.site + path"
        ),
    )
    assert crawled.visits == []
    assert (crawled.stats["visit/too_large"], crawled.stats["visit/download_failed"]) == (2, 1)
    assert crawled.stats["visit/redirect_loop"] == 1
    assert gone in crawled.log
