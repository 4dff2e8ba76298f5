"""A stored request is restored completely, without secrets."""

import functools

import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st

from crawler.errors import FrontierError
from crawler.frontier.serialize import (
    LEASED_REQUEST_ID,
    START_NUMBER,
    PageFingerprinter,
    WatchedErrback,
    deserialize_request,
    secret_parts,
    serialize_request,
)


def unnamed(method):
    def wrapper(*arguments):
        return method(*arguments)

    return wrapper


def named(method):
    @functools.wraps(method)
    def wrapper(*arguments):
        return method(*arguments)

    return wrapper


class Spider(scrapy.Spider):
    name = "spider"

    def article(self, response):
        return response

    def failed(self, failure):
        return failure

    @unnamed
    def decorated(self, response):
        return response

    @named
    def well_decorated(self, response):
        return response

    def __hidden(self, response):
        return response

    @property
    def hidden(self):
        return self.__hidden


SPIDER = Spider()
URL = "https://a.example/page"


def stored(request):
    return deserialize_request(serialize_request(request, SPIDER, "key"), SPIDER)


def test_every_part_of_a_request_is_restored():
    request = scrapy.Request(
        URL + "?q=\u00fc#part",
        method="POST",
        body=b"\x00\xff",
        headers={"X-Name": ["one", "two"], "Referer": "https://a.example/"},
        callback=SPIDER.article,
        errback=SPIDER.failed,
        cb_kwargs={"number": 3, "nested": {"list": [1.5, None, True, "\u00e9"]}},
        meta={"depth": 2, "download_slot": "slow"},
        flags=["seen"],
        priority=-7,
        dont_filter=True,
    )
    again = stored(request)
    compared = ("url", "method", "body", "headers", "callback", "errback", "cb_kwargs", "meta", "flags", "priority")
    for name in (*compared, "dont_filter"):
        assert getattr(again, name) == getattr(request, name), name


def test_a_plain_request_has_no_extra_values():
    again = stored(scrapy.Request(URL))
    assert (again.callback, again.errback, again.body, again.meta, again.headers) == (None, None, b"", {}, {})
    assert not again.dont_filter


@given(st.binary(min_size=1).filter(lambda value: not set(value) & set(b"\r\n")))
def test_header_bytes_are_restored(value):
    assert stored(scrapy.Request(URL, headers={"X-Name": value})).headers.getlist("X-Name") == [value]


@pytest.mark.parametrize("name", ["article", "decorated", "well_decorated", "hidden"])
def test_every_method_of_the_spider_can_be_restored(name):
    method = getattr(SPIDER, name)
    assert stored(scrapy.Request(URL, callback=method, errback=method)).callback == method


def test_a_watched_errback_is_stored_as_the_original():
    watched = WatchedErrback(SPIDER.failed, lambda failure, errback: (failure, errback))
    assert stored(scrapy.Request(URL, errback=watched)).errback == SPIDER.failed
    assert stored(scrapy.Request(URL, errback=WatchedErrback(None, watched.end))).errback is None


@pytest.mark.parametrize(
    "callback", [lambda response: response, Spider().article, functools.partial(SPIDER.article), print, Spider.article]
)
@pytest.mark.parametrize("role", ["callback", "errback"])
def test_a_callback_that_is_not_a_method_is_rejected_by_name(callback, role):
    with pytest.raises(FrontierError, match=rf"https://a\.example/page has the {role} .* not a method of the spider"):
        serialize_request(scrapy.Request(URL, **{role: callback}), SPIDER, "key")


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", float("nan"), {("a", "tuple"): 1}])
@pytest.mark.parametrize("part", ["meta", "cb_kwargs"])
def test_a_value_that_is_not_json_is_rejected_by_name(part, value):
    request = scrapy.Request(URL, **{part: {"fine": 1, "culprit": value}})
    with pytest.raises(FrontierError, match=rf"page has a value in its {part} that JSON cannot store \(culprit\)"):
        serialize_request(request, SPIDER, "key")


def test_a_missing_callback_is_named():
    record = serialize_request(scrapy.Request(URL, callback=SPIDER.article), SPIDER, "key")

    class Changed(scrapy.Spider):
        name = "spider"

    with pytest.raises(FrontierError, match=r"https://a\.example/page is for spider\.article, which no longer exists"):
        deserialize_request(record, Changed())


def test_secrets_are_left_out_and_named():
    request = scrapy.Request(
        "https://user:hush1@a.example/page",
        headers={"Authorization": "Bearer hush2", "Cookie": "id=hush3", "proxy-authorization": "Basic hush4"},
        cookies={"id": "hush5"},
        meta={"proxy": "http://user:hush6@proxy.example:3128", "_auth_proxy": "hush7"},
    )
    record = serialize_request(request, SPIDER, "key")
    assert "hush" not in repr(record)
    assert record.url == URL
    assert {name.lower() for name in secret_parts(request)} == {
        "authorization",
        "cookie",
        "proxy-authorization",
        "cookies",
        "user and password of the url",
        "user and password of the proxy",
    }
    assert secret_parts(scrapy.Request(URL, meta={"proxy": "http://proxy.example:3128"})) == []


def test_only_a_proxy_chosen_by_the_spider_is_stored():
    chosen = scrapy.Request(URL, meta={"proxy": "http://user:hush@proxy.example:3128"})
    assert stored(chosen).meta == {"proxy": "http://proxy.example:3128"}
    # As Scrapy's middleware leaves it in the meta that a spider may copy.
    from_environment = scrapy.Request(URL, meta={"proxy": "http://proxy.example:3128", "_scheme_proxy": True})
    assert stored(from_environment).meta == {}


def test_transient_values_are_not_passed_to_children():
    meta = {LEASED_REQUEST_ID: 5, START_NUMBER: "start0", "download_latency": 0.1, "depth": 1}
    assert stored(scrapy.Request(URL, meta=meta)).meta == {"depth": 1}


def test_hashbang_addresses_are_requests_of_their_own():
    fingerprint = PageFingerprinter().fingerprint
    first, second, plain, other = (
        fingerprint(scrapy.Request(f"https://a.example/{end}")) for end in ("#!/1", "#!/2", "#top", "#!")
    )
    assert len({first, second, plain}) == 3
    assert plain == other == fingerprint(scrapy.Request("https://a.example/"))
