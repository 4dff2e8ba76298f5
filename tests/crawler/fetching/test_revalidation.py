"""Requests that ask only for changed pages."""

import pytest
from scrapy import Request
from scrapy.http import Response
from xxhash import xxh64_intdigest

from crawler.fetching.revalidation import (
    KNOWN_PAGE,
    add_conditions,
    is_doubtful_304,
    reject_unmodified,
    without_conditions,
)
from crawler.storage.pages import PageValidators
from crawler.visit import Outcome

URL = "https://a.example/1"
STORED = PageValidators(xxh64_intdigest(b"the body"), '"tag"', "Mon, 01 Jan 2024 00:00:00 GMT")


@pytest.fixture
def conditional():
    request = Request(URL)
    add_conditions(request, STORED, conditionally=True)
    return request


def conditions(request):
    return request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since")


def test_a_stored_pages_validators_are_sent(conditional):
    assert conditions(conditional) == (b'"tag"', b"Mon, 01 Jan 2024 00:00:00 GMT")


def test_a_request_keeps_its_own_conditions():
    request = Request(URL, headers={"If-None-Match": '"mine"'})
    add_conditions(request, STORED, conditionally=True)
    assert conditions(request) == (b'"mine"', None)
    assert conditions(without_conditions(request)) == (b'"mine"', None)
    assert not is_doubtful_304(request, Response(URL, 304, {"ETag": '"mine"'}))


def test_a_page_without_validators_is_recognised_by_its_body():
    request = Request(URL)
    add_conditions(request, PageValidators(STORED.body_hash, None, None), conditionally=True)
    assert conditions(request) == (None, None)
    assert reject_unmodified(request, Response(URL, body=b"the body")).outcome is Outcome.NOT_MODIFIED


def test_the_body_is_compared_even_without_conditions():
    request = Request(URL)
    add_conditions(request, STORED, conditionally=False)
    assert conditions(request) == (None, None)
    assert reject_unmodified(request, Response(URL, body=b"the body")).outcome is Outcome.NOT_MODIFIED


def test_another_body_is_not_rejected(conditional):
    assert reject_unmodified(conditional, Response(URL, body=b"another body")) is None
    assert reject_unmodified(conditional, Response(URL, 503, body=b"the body")) is None


def test_a_request_without_a_stored_page_is_not_rejected():
    assert reject_unmodified(Request(URL), Response(URL, body=b"the body")) is None
    assert without_conditions(Request(URL)).meta == {}


def test_an_expected_304_is_left_to_its_status(conditional):
    assert reject_unmodified(conditional, Response(URL, 304)) is None


def test_a_304_without_a_condition_is_an_http_error():
    assert reject_unmodified(Request(URL), Response(URL, 304)).outcome is Outcome.HTTP_ERROR


@pytest.mark.parametrize(("etag", "doubtful"), [('"tag"', False), ('W/"tag"', False), ('"other"', True), (None, False)])
def test_a_304_with_another_etag_is_doubtful(conditional, etag, doubtful):
    headers = {} if etag is None else {"ETag": etag}
    assert is_doubtful_304(conditional, Response(URL, 304, headers)) is doubtful
    assert not is_doubtful_304(conditional, Response(URL, 200, headers))


def test_without_conditions_a_request_still_has_the_body_hash(conditional):
    bare = without_conditions(conditional)
    assert conditions(bare) == (None, None)
    assert bare.meta[KNOWN_PAGE] == PageValidators(STORED.body_hash, None, None)
    assert conditions(conditional) == (b'"tag"', b"Mon, 01 Jan 2024 00:00:00 GMT")
    assert reject_unmodified(bare, Response(URL, 304)).outcome is Outcome.HTTP_ERROR
