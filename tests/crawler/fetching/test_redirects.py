"""Redirects that lead back to an address of their own chain."""

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from crawler.fetching.redirects import (
    RecentKeys,
    RedirectGuard,
    RedirectLoop,
    moved_from,
    redirect_chain,
    sets_cookies,
)
from crawler.urls import url_key

A, B = "https://a.example/a", "https://a.example/b"


def redirected(url, *chain, reasons=()):
    return Request(url, meta={"redirect_urls": list(chain), "redirect_reasons": list(reasons)})


def guard(*, has_cookies):
    crawler = get_crawler(settings_dict={"COOKIES_ENABLED": has_cookies})
    return RedirectGuard.from_crawler(crawler), crawler.stats


def test_with_cookies_an_address_is_requested_three_times():
    with_cookies, stats = guard(has_cookies=True)
    with_cookies.process_request(redirected(A, A, B))
    with_cookies.process_request(redirected(A, A, B, A, B))
    with pytest.raises(RedirectLoop, match="after 3 requests for it"):
        with_cookies.process_request(redirected(A, A, B, A, B, A, B))
    assert stats.get_value("redirects/loops") == 1


def test_without_cookies_the_addresses_of_a_loop_are_remembered():
    without_cookies, stats = guard(has_cookies=False)
    without_cookies.process_request(redirected(A, A, B))
    with pytest.raises(RedirectLoop, match="COOKIES_ENABLED=true keeps cookies"):
        without_cookies.process_request(redirected(A, A, B, A, B))
    with pytest.raises(RedirectLoop):
        without_cookies.process_request(redirected(B, "https://a.example/other"))
    assert stats.get_value("redirects/loops") == 2


def test_a_request_that_no_redirect_led_to_passes():
    with_cookies, _ = guard(has_cookies=True)
    with_cookies.process_request(Request(A))
    assert redirect_chain(Request(A)) == []


def test_a_page_has_moved_if_all_redirects_are_permanent():
    assert moved_from(redirected(B, A, reasons=[301])) == (url_key(A),)
    assert moved_from(redirected(B, A, reasons=[301, 302])) == ()
    assert moved_from(redirected(A, A, reasons=[308])) == ()
    assert moved_from(None) == ()


def test_only_a_temporary_redirect_may_set_a_cookie():
    crawler = get_crawler(settings_dict={"COOKIES_ENABLED": True})
    assert sets_cookies(redirected(B, A, reasons=[302]), crawler)
    assert not sets_cookies(redirected(B, A, reasons=[301]), crawler)
    assert not sets_cookies(redirected(B, A, reasons=[302]), get_crawler(settings_dict={"COOKIES_ENABLED": False}))


def test_the_oldest_keys_are_forgotten():
    keys = RecentKeys(most=2)
    keys.update(["a", "b"])
    keys.update(["a", "c"])
    assert "b" not in keys
    assert "a" in keys
