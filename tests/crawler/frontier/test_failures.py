"""Requests that end without a response: a visit each, with what their errback yields."""

import asyncio
from datetime import UTC, datetime

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler
from twisted.internet.error import DNSLookupError
from twisted.python.failure import Failure

from crawler.errors import ArchiveError
from crawler.fetching.throttling import RobotsUnavailable
from crawler.frontier.failures import RequestFailures
from crawler.storage.requests import LeasedRequest
from crawler.visit import LeaseToken, Outcome, RequestRecord

URL = "https://a.example/1"


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def fail(pauses):
    """Let a leased request fail, and return what comes of it."""

    def failing(error, errback=None):
        leased = LeasedRequest(LeaseToken(1, "lease"), RequestRecord("key", URL, "a.example"), 1, datetime.now(UTC))
        failures = RequestFailures(
            get_crawler(),
            lambda _request: leased,
            lambda request, key: RequestRecord(key, request.url, "a.example"),
            lambda host, seconds: pauses.append((host, seconds)),
        )
        request = Request(URL, errback=errback)
        failures.wrap(request)
        failure = Failure(error)
        failure.request = request
        output = request.errback(failure)
        return asyncio.run(_all(output)) if hasattr(output, "__aiter__") else list(output)

    return failing


async def _all(outputs):
    return [output async for output in outputs]


def test_a_failed_download_is_a_visit(fail, pauses):
    (visit,) = fail(DNSLookupError("no such host"))
    assert (visit.outcome, visit.children, visit.attempts) == (Outcome.DOWNLOAD_FAILED, 0, 1)
    assert "no such host" in visit.error
    assert pauses == []


def test_requests_of_an_errback_are_children_of_the_visit(fail):
    (visit,) = fail(DNSLookupError(), lambda _failure: [Request(f"{URL}/a"), Request(f"{URL}/b")])
    assert visit.children == 2
    assert [child.url for child in visit.requests] == [f"{URL}/a", f"{URL}/b"]


def test_items_of_an_errback_pass(fail):
    item, visit = fail(DNSLookupError(), lambda _failure: [{"a": 1}])
    assert item == {"a": 1}
    assert visit.children == 0


def test_an_errback_that_returns_the_failure_yields_nothing(fail):
    (visit,) = fail(DNSLookupError(), lambda failure: failure)
    assert visit.outcome is Outcome.DOWNLOAD_FAILED


def test_a_host_whose_robots_txt_fails_is_paused(fail, pauses):
    (visit,) = fail(RobotsUnavailable("robots.txt answers 503", 30.0))
    assert visit.outcome is Outcome.ROBOTS_UNAVAILABLE
    assert visit.retry_after_seconds == 30.0
    assert pauses == [("a.example", 30.0)]


def test_a_request_that_was_not_sent_has_not_ended(fail):
    assert fail(ArchiveError("the disk is full")) == []
