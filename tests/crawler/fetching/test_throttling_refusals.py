"""Slowing down for sites that refuse requests."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.extensions.throttle import AutoThrottle as ScrapyAutoThrottle
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from crawler import settings as ours
from crawler.config import Config
from crawler.fetching.throttling import AutoThrottle, PauseRequest, RefusalBackoff
from crawler.visit import Outcome

SITE = "slow.example"


@pytest.fixture
def slot():
    return Slot(concurrency=2, delay=1.0, jitter=0.0)


@pytest.fixture
def backoff(slot):
    engine = SimpleNamespace(downloader=SimpleNamespace(slots={SITE: slot}))
    crawler = SimpleNamespace(engine=engine, stats=StatsCollector(SimpleNamespace(settings=Settings())))
    return RefusalBackoff(crawler, Config(max_refusals_in_a_row=1_000, host_pause_seconds=15.0), max_delay=10.0)


def response(path="a", status=200, **headers):
    request = Request(f"https://{SITE}/{path}", meta={"download_slot": SITE})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(request.url, status=status, request=request, headers=named)


@pytest.fixture
def refuse(backoff):
    """Let the site refuse a page, another one at each call."""
    numbers = iter(range(1_000))
    return lambda outcome=Outcome.FORBIDDEN: backoff.record(response(next(numbers)), outcome, served=False)


@pytest.fixture
def serve_page(backoff):
    return lambda path="b": backoff.record(response(path), Outcome.PAGE, served=True)


def test_one_refused_page_is_not_a_refusing_site(backoff, slot, caplog):
    for _ in range(3):
        assert backoff.record(response(), Outcome.CAPTCHA, served=False) is None
    assert slot.delay == 1.0
    assert "refuses our requests" not in caplog.text


def test_a_site_that_refuses_a_share_of_its_last_answers_is_slowed_down(refuse, serve_page, slot, caplog):
    for _ in range(6):
        serve_page()
    delays = []
    for _ in range(4):
        refuse()
        delays.append(slot.delay)
    assert delays == [1.0, 1.0, 1.0, 2.0]
    assert f"{SITE} refuses our requests (4 of its last 8 answers, at 4 pages): slowing down" in caplog.text


def test_server_errors_say_nothing_about_refusals(backoff, refuse, slot):
    refuse()
    for number in range(8):
        backoff.record(response(f"error-{number}", 503), Outcome.HTTP_ERROR, served=False)
    refuse()
    assert slot.delay == 2.0


def test_too_many_requests_slow_a_site_down_at_once(backoff, slot):
    backoff.record(response(status=429), Outcome.FORBIDDEN, served=False)
    assert slot.delay == 2.0


def test_only_challenges_at_several_pages_are_evidence_for_a_pause(backoff, refuse):
    assert [refuse(), refuse(Outcome.CAPTCHA)] == [None, None]
    assert refuse(Outcome.QUOTA) == PauseRequest("2 of its last 3 answers, at 2 pages")
    assert refuse() is None


def test_each_refusal_doubles_the_delay_up_to_the_limit(refuse, slot):
    refuse()
    delays = []
    for _ in range(5):
        refuse()
        delays.append(slot.delay)
    assert delays == [2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_quick_refusal_does_not_reduce_the_delay(refuse, slot):
    refuse()
    refuse()
    slot.delay /= 2  # what AutoThrottle does after a quick answer
    refuse()
    assert slot.delay == 4.0


def test_unmodified_pages_restore_the_delay_and_end_a_row_of_refusals(backoff, refuse, slot):
    refuse()
    refuse()
    refuse()
    assert slot.delay == 4.0
    for number in range(2):
        backoff.record(response(f"known-{number}", 304), Outcome.NOT_MODIFIED, served=False)
    assert slot.delay == 1.0
    assert backoff._in_a_row == 0


@pytest.mark.parametrize(("status", "delay"), [(200, 0.6), (304, 0.6), (404, 1.0), (301, 1.0)])
def test_autothrottle_lowers_the_delay_after_a_304_as_after_a_200(slot, status, delay):
    crawler = get_crawler(settings_dict={"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_TARGET_CONCURRENCY": 1.0})
    throttle = AutoThrottle.from_crawler(crawler)
    throttle.mindelay, throttle.maxdelay = 0.0, 60.0
    throttle._adjust_delay(slot, 0.2, response(status=status))
    assert slot.delay == delay


def test_our_autothrottle_takes_the_place_of_scrapys():
    crawler = get_crawler(settings_dict={"ADDONS": ours.ADDONS, "AUTOTHROTTLE_ENABLED": True, "LOG_ENABLED": False})
    crawler._apply_settings()
    throttles = [
        type(extension) for extension in crawler.extensions.middlewares if isinstance(extension, ScrapyAutoThrottle)
    ]
    assert throttles == [AutoThrottle]


def test_pages_restore_the_delay_from_before(refuse, serve_page, slot):
    for _ in range(3):
        refuse()
    delays = []
    for _ in range(4):
        serve_page()
        delays.append(slot.delay)
    assert delays == [2.0, 1.0, 1.0, 1.0]


def test_a_slot_without_delay_gets_one(refuse, slot):
    slot.delay = 0.0
    refuse()
    refuse()
    assert slot.delay == 1.0


@pytest.mark.parametrize(
    ("status", "outcome"), [(503, Outcome.REFUSED), (429, Outcome.REFUSED), (500, Outcome.HTTP_ERROR)]
)
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_asks_for_a_pause(backoff, status, outcome, form):
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=120), usegmt=True)
    after = "120" if form == "seconds" else then
    pause = backoff.record(response(status=status, Retry_After=after), outcome, served=False)
    assert pause.evidence == f"HTTP status {status}, Retry-After: {after}"
    assert pause.retry_after_seconds == pytest.approx(120, abs=60)


@pytest.mark.parametrize("after", ["9" * 21, "9" * 5_000, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_crawl_in_memory_waits_for_a_bounded_time(backoff, slot, after):
    pause = backoff.record(response(status=503, Retry_After=after), Outcome.REFUSED, served=False)
    assert pause.retry_after_seconds > 1e9
    backoff.pause_slot(response(), pause)
    assert slot.lastseen + slot.delay - time.monotonic() == pytest.approx(600, abs=60)  # FRONTIER_WAIT_SECONDS


@pytest.mark.parametrize("after", ["", "soon", "-5", "Sun, 06 Nov 1994 08:49:37 GMT", "\u00b2"])
def test_an_invalid_retry_after_leaves_the_default_pause(backoff, slot, after):
    pause = backoff.record(response(status=503, Retry_After=after), Outcome.REFUSED, served=False)
    assert pause == PauseRequest("HTTP status 503")
    assert (slot.lastseen, slot.delay) == (0, 1.0)


def test_pauses_in_memory_double_until_a_page_is_served(backoff, slot, serve_page):
    waits = []
    for number in range(3):
        pause = backoff.record(response(number, 503), Outcome.REFUSED, served=False)
        slot.lastseen = 0
        backoff.pause_slot(response(number), pause)
        waits.append(round((slot.lastseen + slot.delay - time.monotonic()) / 15))
    assert waits == [1, 2, 4]
    serve_page()
    slot.lastseen = 0
    backoff.pause_slot(response(), PauseRequest("HTTP status 503"))
    assert round((slot.lastseen + slot.delay - time.monotonic()) / 15) == 1


def test_a_page_that_alone_answers_503_pauses_its_host_once(backoff, serve_page):
    broken = response("broken", 503)
    assert backoff.record(broken, Outcome.REFUSED, served=False) == PauseRequest("HTTP status 503")
    serve_page()
    assert backoff.record(broken, Outcome.REFUSED, served=False) is None
    assert backoff.record(response("broken", 429), Outcome.REFUSED, served=False) == PauseRequest("HTTP status 429")
    assert backoff.record(response("other", 503), Outcome.REFUSED, served=False) == PauseRequest("HTTP status 503")


def test_a_retry_after_of_a_missing_page_is_ignored(backoff):
    assert backoff.record(response(status=404, Retry_After="120"), Outcome.NOT_FOUND, served=False) is None


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
    assert crawled.stats["throttling/slower"] == crawled.stats["visit/forbidden"] - 1


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
