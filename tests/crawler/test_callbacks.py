"""The output of every kind of callback: one visit per response, requests and items unchanged."""

import pytest

PROSE = "The river rose in the night and carried the old bridge down to the mill, where it lies until today. "
HTML = f"<html><head><title>The bridge</title></head><body><h1>The bridge</h1><p>{PROSE * 8}</p></body></html>"
ARTICLE = {"body": HTML}
FORBIDDEN = {"body": "<h1>Forbidden</h1>", "status": 403}
FEED = {"body": "<?xml version='1.0'?><rss version='2.0'></rss>"}
GONE = {"body": HTML, "status": 410}

CALLBACKS = """
    import scrapy
    from crawler.page import page

    class Callbacks(scrapy.Spider):
        name = "callbacks"

        async def start(self):
            for path in self.paths.split():
                yield scrapy.Request(self.site + path, callback=getattr(self, path[1:]))

        def generator(self, response):
            yield {"first": 1}
            yield scrapy.Request(response.urljoin("/done"), callback=self.nothing, dont_filter=True)
            yield page(response)
            yield {"second": 2}

        async def async_generator(self, response):
            yield page(response)

        async def coroutine(self, response):
            return [page(response), {"item": "of coroutine"}]

        def plain(self, response):
            return [page(response)]

        def single(self, response):
            return page(response)

        def nothing(self, response):
            pass

        def two_pages(self, response):
            yield page(response, title="one")
            yield page(response, title="two")

        def fails_at_once(self, response):
            raise ValueError("at once")

        def fails_later(self, response):
            yield {"before": "the error"}
            yield scrapy.Request(response.urljoin("/done"), callback=self.nothing, dont_filter=True)
            yield page(response, title="before the error")
            raise ValueError("later")

        async def fails_async(self, response):
            yield {"before": "the async error"}
            raise KeyError("async")

        def closes(self, response):
            yield page(response)
            raise scrapy.exceptions.CloseSpider("enough")
"""


def run_callback(visit, name):
    return visit(
        {f"/{name}": ARTICLE, "/done": ARTICLE},
        CALLBACKS.replace("self.paths.split()", f"['/{name}']"),
    )


@pytest.mark.parametrize("name", ["generator", "async_generator", "coroutine", "plain", "single"])
def test_every_kind_of_callback_gives_one_visit(visit, name):
    crawled = run_callback(visit, name)
    visits = [record for record in crawled.visits if record["url"].endswith(name)]
    assert [record["outcome"] for record in visits] == ["page"]
    assert crawled.stats["visit/page"] == 1


def test_requests_and_items_pass_unchanged_and_in_order(visit):
    crawled = run_callback(visit, "generator")
    assert crawled.items == [{"first": 1}, {"second": 2}]
    assert {record["outcome"]: record["children"] for record in crawled.visits} == {"page": 1, "section": 0}


def test_a_callback_without_a_page_makes_a_section(visit):
    assert run_callback(visit, "nothing").outcomes() == {"/nothing": "section"}


def test_two_pages_of_one_response_are_two_visits(visit):
    crawled = run_callback(visit, "two_pages")
    assert [record["page"]["title"] for record in crawled.visits] == ["one", "two"]
    assert crawled.stats["visit/page"] == 2


@pytest.mark.parametrize(
    ("name", "error", "kept"),
    [
        ("fails_at_once", "ValueError: at once", []),
        ("fails_later", "ValueError: later", [{"before": "the error"}]),
        ("fails_async", "KeyError: 'async'", [{"before": "the async error"}]),
    ],
)
def test_a_failing_callback_gives_one_visit_with_its_earlier_output(visit, name, error, kept):
    crawled = run_callback(visit, name)
    [failed] = [record for record in crawled.visits if record["url"].endswith(name)]
    assert (failed["outcome"], failed["error"]) == ("callback_failed", error)
    assert crawled.items == kept
    assert crawled.stats["visit/callback_failed"] == crawled.stats["spider_exceptions/count"] == 1
    assert "Traceback" in crawled.log


def test_the_page_and_the_requests_before_the_error_are_kept(visit):
    crawled = run_callback(visit, "fails_later")
    [failed, done] = sorted(crawled.visits, key=lambda record: record["outcome"])
    assert (failed["page"]["title"], failed["children"]) == ("before the error", 1)
    assert done["url"].endswith("/done")


def test_closing_the_spider_is_not_a_failed_callback(visit):
    crawled = run_callback(visit, "closes")
    assert crawled.outcomes() == {"/closes": "page"}
    assert "Spider closed (enough)" in crawled.log


def test_an_errback_may_handle_a_refusal_and_the_visit_stays_refused(visit):
    crawled = visit(
        {"/forbidden": FORBIDDEN, "/article": ARTICLE},
        """
        import scrapy

        class Errback(scrapy.Spider):
            name = "errback"

            async def start(self):
                yield scrapy.Request(self.site + "/forbidden", errback=self.instead)

            def instead(self, failure):
                yield {"refused": failure.value.response.status}
                yield scrapy.Request(self.site + "/article")

            def parse(self, response):
                pass
        """,
    )
    assert crawled.items == [{"refused": 403}]
    assert crawled.outcomes() == {"/forbidden": "forbidden", "/article": "section"}


def test_a_spider_may_request_responses_that_would_be_rejected(visit):
    crawled = visit(
        {"/feed": FEED, "/gone": GONE},
        """
        import scrapy

        class Asks(scrapy.Spider):
            name = "asks"

            async def start(self):
                yield scrapy.Request(self.site + "/feed", meta={"judge": False})
                yield scrapy.Request(self.site + "/gone", meta={"handle_httpstatus_list": [410]})

            def parse(self, response):
                yield {"status": response.status, "start": response.text[:5]}
        """,
    )
    assert sorted(crawled.items, key=str) == [{"status": 200, "start": "<?xml"}, {"status": 410, "start": "<html"}]
    assert set(crawled.outcomes().values()) == {"section"}


def test_another_middleware_s_output_after_an_error_makes_no_second_visit(visit):
    crawled = visit(
        {"/article": ARTICLE},
        """
        import scrapy

        class Recovers:
            def process_spider_exception(self, response, exception):
                return [{"instead": str(exception)}]

        class Recovered(scrapy.Spider):
            name = "recovered"
            custom_settings = {"SPIDER_MIDDLEWARES": {Recovers: 950}}

            async def start(self):
                yield scrapy.Request(self.site + "/article")

            def parse(self, response):
                yield {"before": 1}
                raise ValueError("mended")
        """,
    )
    assert crawled.items == [{"before": 1}, {"instead": "mended"}]
    assert crawled.outcomes() == {"/article": "section"}
    assert crawled.stats["visit/section"] == 1
