"""The context of a crawl: one for each crawler, without an add-on."""

from scrapy.utils.test import get_crawler

from crawler.context import context_of


def test_all_components_of_a_crawl_share_one_context():
    crawler = get_crawler()
    context_of(crawler).command_settings = {"LOG_LEVEL": "INFO"}
    assert context_of(crawler).command_settings == {"LOG_LEVEL": "INFO"}


def test_two_crawls_share_nothing():
    crawlers = [get_crawler(), get_crawler()]
    contexts = [context_of(crawler) for crawler in crawlers]
    assert contexts[0] is not contexts[1]
    assert contexts[0].cleaned_pages is not contexts[1].cleaned_pages


def test_a_crawl_begins_without_components():
    context = context_of(get_crawler())
    assert (context.config, context.store_thread, context.frontier, context.looks_only) == (None, None, None, False)
