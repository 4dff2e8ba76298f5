"""A crawl that ends waits neither for threads that resolve names nor for the pause that a host asked for."""

import signal
import time

import pytest

MINUTES = 300  # nobody waits for so long
SPIDER = """
    import socket
    import time

    import scrapy
    from crawler.page import page

    resolve = socket.gethostbyname

    def resolve_slowly(name):
        if name == "slow.example":
            time.sleep(300)
        return resolve(name)

    socket.gethostbyname = resolve_slowly

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            for number, url in enumerate(self.urls.split()):
                yield scrapy.Request(url, priority=-number)

        def parse(self, response):
            yield page(response)
"""


def test_a_name_that_is_still_being_resolved_keeps_no_process_alive(run, serve, answer, page, database):
    site, _ = serve({"/": answer(page)})
    began = time.monotonic()
    urls = f"{site}/ http://slow.example/"
    crawled = run(SPIDER, {"urls": urls}, DOWNLOAD_TIMEOUT=2, ROBOTSTXT_OBEY=0)
    assert crawled.code == 0, crawled.log
    assert database.states() == {"done": 1, "failed": 1}
    assert time.monotonic() - began < MINUTES / 2


@pytest.fixture
def site(serve, slow, answer, page):
    """A slow site whose page `/busy` asks for a pause of 3000 seconds."""
    busy = answer("later", 503, {"Content-Type": "text/html", "Retry-After": "3000"})
    return serve(slow({"/": answer(page), "/busy": busy}))[0]


def test_ctrl_c_does_not_wait_for_a_pause_that_a_host_asked_for(start, wait_until, site, database):
    urls = " ".join(f"{site}/{path}" for path in ("", "busy", *range(60)))
    process = start(SPIDER, {"urls": urls}, CONCURRENT_REQUESTS_PER_DOMAIN=1, FRONTIER_WAIT_SECONDS=7200)
    wait_until(lambda: "is paused for 3000 seconds" in process.log.read_text("utf-8"), process)
    process.send_signal(signal.SIGINT)
    assert process.wait(MINUTES / 3) == 130
    assert "Traceback" not in process.log.read_text("utf-8")
    assert database.requests()["/busy"] == ("queued", "refused", 1)
    assert database.states()["queued"] > 1
