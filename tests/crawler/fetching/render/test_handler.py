"""Crawls with RENDER=true: which responses are rendered, and the cost of a browser that hangs or dies."""

import re
import socket
from contextlib import closing

import pytest

from crawler.demo.run import BASE_URL

PAGE = "<html><body><p id=p>A river runs from the hills to the sea, slowly.</p>{}</body></html>"
SCRIPTED = PAGE.format("<script>p.textContent = 'A lake lies between the hills, quietly.'</script>")
CHINESE = "<meta charset=gb2312>" + PAGE.format("湖水很安静。")
HANG = PAGE.format("<script>for (;;) {}</script>")
RENDER = {"RENDER": "true", "RENDER_SECONDS": "120"}

# What a spider sees of each response.
LOOK = """
    import scrapy
    from scrapy.http import TextResponse
    from crawler.page import page

    class Look(scrapy.Spider):
        name = "look"

        async def start(self):
            for path in self.paths.split():
                meta = {"judge": False} if "feed" in path else {"render": False} if "plain" in path else {}
                yield scrapy.Request(self.site + path, dont_filter=True, meta=meta)

        def parse(self, response):
            layout = getattr(response, "tree", None) and response.tree.layout
            yield {
                "path": response.url.removeprefix(self.site),
                "text": response.text if isinstance(response, TextResponse) else None,
                "type": response.headers["Content-Type"].decode(),
                "boxes": layout and len(layout.boxes),
            }
"""
# Ends the browser, or Playwright's driver, once: after the first page.
KILL = """
    from contextlib import suppress
    import psutil
    import scrapy
    from crawler.page import page

    class Kill(scrapy.Spider):
        name = "kill"
        custom_settings = {"CONCURRENT_REQUESTS": 1}

        async def start(self):
            for path in self.paths.split():
                yield scrapy.Request(self.site + path, dont_filter=True, priority=-int(path[1:]))

        def parse(self, response):
            if response.url.endswith("/1"):
                for process in psutil.Process().children(recursive=True):
                    with suppress(psutil.NoSuchProcess):  # it has ended, or went with its parent
                        if "VICTIM" in process.name():
                            process.kill()
            yield page(response)
"""


@pytest.fixture
def rendered(visit, chromium, temporary):
    """Crawl with RENDER=true; `temporary`, as what is killed leaves its folders behind."""

    def run(answers, source=LOOK, **settings):
        crawled = visit(answers, source, **(RENDER | {"CHROMIUM": chromium} | settings))
        assert crawled.code in {0, 1}, crawled.log
        crawled.seen = {item["path"]: item for item in crawled.items}
        return crawled

    return run


def test_only_pages_are_rendered(rendered):
    answers = {
        "/page": {"body": SCRIPTED},
        "/chinese": {"body": CHINESE.encode("gb18030"), "headers": {"Content-Type": "text/html"}},
        "/feed": {"body": SCRIPTED, "headers": {"Content-Type": "text/xml"}},
        "/plain": {"body": SCRIPTED},
        "/captcha": {"body": "<div class=g-recaptcha></div><p>Prove that you are no machine.</p>"},
        "/binary": {"body": b"%PDF-1.7", "headers": {"Content-Type": "text/html"}},
        "/image": {"body": b"\x89PNG", "headers": {"Content-Type": "image/png"}},
        "/empty": {"body": " "},
        "/grown": {"body": PAGE.format("<script>document.body.append('x'.repeat(3e6))</script>")},
        "/forbidden": {"body": SCRIPTED, "status": 403},
    }
    crawled = rendered(answers, PAGE_MAX_BYTES="1000000")
    refused = {path: outcome for path, outcome in crawled.outcomes().items() if outcome != "section"}
    assert refused == {
        "/captcha": "captcha",
        "/binary": "binary",
        "/image": "not_html",
        "/empty": "empty",
        "/forbidden": "forbidden",
    }
    assert crawled.stats["visit/too_large"] == 1
    assert crawled.stats["render/pages"] == 3  # the captcha is one of them
    assert crawled.seen["/feed"]["text"] == crawled.seen["/plain"]["text"] == SCRIPTED
    assert crawled.seen["/plain"]["boxes"] is None
    assert "A lake lies" in crawled.seen["/page"]["text"]
    assert not re.search(r"data-[0-9a-f]{16}", crawled.seen["/page"]["text"])
    assert crawled.seen["/page"]["boxes"] >= 5
    assert "湖水很安静。" in crawled.seen["/chinese"]["text"]
    assert crawled.seen["/chinese"]["type"] == "text/html; charset=utf-8"
    assert [path for path, _ in crawled.requests].count("/page") == 1


def test_a_page_that_hangs_is_a_failed_download_and_the_others_are_rendered(rendered):
    answers = {"/hang": {"body": HANG}, "/page": {"body": SCRIPTED}}
    crawled = rendered(answers, CONCURRENT_REQUESTS="1", RENDER_SECONDS="4")
    assert crawled.stats["visit/download_failed"] == 1
    assert crawled.stats["render/timeouts"] == 1
    assert "A lake lies" in crawled.seen["/page"]["text"]
    assert "setting RENDER_SECONDS" in crawled.log


@pytest.mark.parametrize("victim", ["chrom", "node"])
def test_a_browser_that_dies_is_restarted(rendered, victim):
    crawled = rendered({f"/{place}": {"body": SCRIPTED} for place in (1, 2, 3)}, KILL.replace("VICTIM", victim))
    assert crawled.outcomes() == {"/1": "page", "/2": "page", "/3": "page"}
    assert crawled.stats["render/restarts"] == 1
    assert crawled.stats["playwright/browser_count"] == 2
    assert len(crawled.requests) == 1 + 3  # robots.txt, and each page once


def test_a_page_loads_its_layout_but_nothing_from_private_addresses(crawl, serve, spider, answer, chromium):
    """The page is reached as through a proxy, under a public name; the server is on the loopback address."""
    answers = {f"{BASE_URL}style.css": answer("p { left: 7px }", headers={"Content-Type": "text/css"})}
    site, requests = serve(answers)
    hosts = (site.removeprefix("http://"), "localhost", "10.0.0.1")
    inside = "".join(f"<img src='http://{host}/secret'>" for host in hosts)
    outside = (
        "<link rel=stylesheet href=/style.css><img src=/i.png><video src=/film></video><iframe src=/frame></iframe>"
    )
    answers[f"{BASE_URL}page"] = answer(PAGE.format(inside + outside))
    settings = RENDER | {"ALLOW_ADDRESSES": "", "CHROMIUM": chromium}
    arguments = {"site": BASE_URL.rstrip("/"), "paths": "/page"}
    crawled = crawl(spider(LOOK), arguments, settings, environment={"http_proxy": site, "no_proxy": ""})
    requested = dict(requests)
    needed = {f"{BASE_URL}{name}" for name in ("robots.txt", "page", "style.css", "i.png")}
    assert needed <= requested.keys() <= needed | {f"{BASE_URL}favicon.ico"}, crawled.log
    assert requested[f"{BASE_URL}i.png"]["User-Agent"].startswith("blocksieve/")
    assert crawled.stats["render/refused"] == len(hosts)


def test_a_redirect_to_a_private_address_is_refused_to_a_page(crawl, serve, spider, answer, chromium, temporary):
    """What the page asks for is allowed; the server sends the browser on to an address that is not."""
    with closing(socket.create_server(("127.0.0.2", 0))) as inside:
        inside.setblocking(False)
        secret = f"http://127.0.0.2:{inside.getsockname()[1]}/secret"
        answers = {
            "/page": answer(PAGE.format("<img src=/seen.png><img src=/moved.png>")),
            "/moved.png": answer(status=302, headers={"Location": secret}),
        }
        site, requests = serve(answers)
        settings = RENDER | {"ALLOW_ADDRESSES": "127.0.0.1", "CHROMIUM": chromium}
        crawled = crawl(spider(LOOK), {"site": site, "paths": "/page"}, settings)
        assert {"/page", "/seen.png", "/moved.png"} <= {path for path, _ in requests}, crawled.log
        assert crawled.stats["render/refused"] == 1
        with pytest.raises(BlockingIOError):
            inside.accept()


def test_a_replay_is_rendered_with_the_network_denied_and_scripts_can_be_switched_off(
    crawl, serve, tmp_path, chromium, spider
):
    site, requests = serve({})
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "page.html").write_text(
        PAGE.format(f"<img src='{site}/a.png'><script>p.textContent = 'No.'</script>"), "utf-8"
    )
    (folder / "index.tsv").write_text("file\turl\npage.html\thttps://lake.example/page\n", "utf-8")
    settings = RENDER | {"CHROMIUM": chromium, "REPLAY": str(folder), "RENDER_JAVASCRIPT": "false"}
    crawled = crawl(spider(LOOK), {"site": "https://lake.example", "paths": "/page"}, settings)
    assert "A river runs" in crawled.items[0]["text"], crawled.log
    assert crawled.items[0]["boxes"] >= 5
    assert requests == []
