"""Fetching one page for a report: addresses that are refused, and failures in words."""

import pytest
from scrapy.exceptions import IgnoreRequest
from scrapy.settings import Settings
from twisted.internet.error import DNSLookupError
from twisted.python.failure import Failure

from crawler.errors import CompareError
from crawler.reports.fetch import failure_message, fetch_page


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://a.example/", "'ftp://a.example/' is not the address of a page"),
        ("a.example", "'a.example' is not the address of a page"),
        ("https://me:hush@a.example/", "the address of 'https://a.example/' has a user name, which is not sent"),
    ],
)
def test_an_address_that_is_not_requested_is_named(url, message):
    with pytest.raises(CompareError, match=message) as error:
        fetch_page(url, Settings())
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (IgnoreRequest("Forbidden by robots.txt"), "the site's robots.txt forbids it"),
        (DNSLookupError("no such host"), "no such host"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_failure_is_said_in_words(error, words):
    assert words in failure_message(Failure(error))
