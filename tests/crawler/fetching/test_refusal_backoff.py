"""Slowing down for sites that refuse requests."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector

from crawler.fetching.throttling import RefusalBackoff

SITE = "slow.example"


@pytest.fixture
def slot():
    return Slot(concurrency=2, delay=1.0, jitter=0.0)


@pytest.fixture
def backoff(slot):
    engine = SimpleNamespace(downloader=SimpleNamespace(slots={SITE: slot}))
    return RefusalBackoff(
        SimpleNamespace(engine=engine, stats=StatsCollector(SimpleNamespace(settings=Settings()))),
        max_delay=10.0,
        max_in_a_row=1_000,
    )


def response(**headers):
    request = Request(f"https://{SITE}/a", meta={"download_slot": SITE})
    return Response(request.url, request=request, headers={n.replace("_", "-"): v for n, v in headers.items()})


def test_each_refusal_doubles_the_delay_up_to_the_limit(backoff, slot):
    delays = []
    for _ in range(5):
        backoff.record_refusal(response())
        delays.append(slot.delay)
    assert delays == [2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_quick_refusal_does_not_reduce_the_delay(backoff, slot):
    backoff.record_refusal(response())
    slot.delay /= 2  # what AutoThrottle does after a quick answer
    backoff.record_refusal(response())
    assert slot.delay == 4.0


def test_pages_restore_the_delay_from_before(backoff, slot):
    backoff.record_refusal(response())
    backoff.record_refusal(response())
    delays = []
    for _ in range(4):
        backoff.record_success(response())
        delays.append(slot.delay)
    assert delays == [2.0, 1.0, 1.0, 1.0]


def test_a_slot_without_delay_gets_one(backoff, slot):
    slot.delay = 0.0
    backoff.record_refusal(response())
    assert slot.delay == 1.0


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_pauses_the_site(backoff, slot, form):
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    backoff.record_retry_after(response(Retry_After="120" if form == "seconds" else then))
    assert slot.lastseen + slot.delay - time.monotonic() == pytest.approx(120, abs=5)


def test_a_pause_is_at_most_an_hour(backoff, slot):
    backoff.record_retry_after(response(Retry_After="999999999999999999999"))
    assert slot.lastseen + slot.delay - time.monotonic() == pytest.approx(3_600, abs=5)


@pytest.mark.parametrize("after", ["", "soon", "-5", "Sun, 06 Nov 1994 08:49:37 GMT", "\u00b2"])
def test_an_invalid_retry_after_is_ignored(backoff, slot, after):
    backoff.record_retry_after(response(Retry_After=after))
    assert (slot.lastseen, slot.delay) == (0, 1.0)


def test_refusals_without_a_page_end_the_crawl(crawl, serve, answer):
    listing = "".join(f'<a href="/{n}">article number {n}</a> ' for n in range(200))
    answers = {"/": answer(f"<p>{listing}</p>")} | {f"/{n}": answer("no", 403) for n in range(200)}
    site, requests = serve(answers)
    limits = {"MAX_REFUSALS_IN_A_ROW": 5, "AUTOTHROTTLE_MAX_DELAY": 0.001, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    crawled = crawl("section", {"url": f"{site}/", "allow": r"/\d+$"}, limits)
    assert crawled.code == 1
    assert "Spider closed (refused)" in crawled.log
    assert "MAX_REFUSALS_IN_A_ROW=5" in crawled.log
    assert len(requests) < 100
    assert crawled.stats["throttling/slower"] == crawled.stats["visit/forbidden"]


ONE_BY_ONE = """
import scrapy
from crawler.page import page

class OneByOne(scrapy.Spider):
    name = "one_by_one"

    async def start(self):
        yield self.step(0)

    def step(self, number):
        return scrapy.Request(f"{self.site}/{number}", errback=self.refused, cb_kwargs={"number": number})

    def parse(self, response, number):
        yield page(response)
        yield self.step(number + 1)

    def refused(self, failure):
        yield self.step(failure.request.cb_kwargs["number"] + 1)
"""


def test_pages_in_between_keep_the_crawl_going(crawl, serve, answer, tmp_path):
    (tmp_path / "one_by_one.py").write_text(ONE_BY_ONE, "utf-8")
    pages = {f"/{n}": answer("no", 403) if n % 4 else answer("<p>a page</p>") for n in range(40)}
    site, _ = serve(pages | {f"/{n}": answer("gone", 403) for n in range(40, 60)})
    limits = {"MAX_REFUSALS_IN_A_ROW": 5, "AUTOTHROTTLE_MAX_DELAY": 0.001}
    crawled = crawl(tmp_path / "one_by_one.py", {"site": site}, limits)
    assert (crawled.stats["visit/page"], crawled.stats["visit/forbidden"]) == (10, 30 + 2)
    assert crawled.stats["finish_reason"] == "refused"
