"""Visits in the clean pipeline."""

import asyncio
from datetime import UTC, datetime

import pytest
from scrapy.utils.test import get_crawler

from cleaning import Metadata, parse
from crawler.processing import CleanStep
from crawler.visit import FetchedPage, Outcome, Visit
from pipelines.clean import CleanPipeline

URL = "https://town.example.org/library"
PROSE = "The town library opens again on Monday after two years of repairs, and the reading room has kept its tables. "
PAGE = f"<html lang=en><head><title>Library</title></head><body><h1>Library</h1><p>{PROSE * 2}</p></body></html>"


@pytest.fixture
def crawler():
    return get_crawler()


@pytest.fixture
def stats(crawler):
    return crawler.stats


@pytest.fixture
def process(crawler):
    """Put an item through the pipeline, which cleans in this process."""

    def run(item, method="default"):
        return asyncio.run(CleanPipeline(crawler, CleanStep(crawler, method, {})).process_item(item))

    return run


def visit(outcome=Outcome.PAGE, **stated):
    return Visit(
        URL, datetime.now(UTC), outcome, page=FetchedPage(URL, PAGE.encode(), parse(PAGE, URL), Metadata(**stated))
    )


def test_every_block_is_counted_as_kept_or_dropped(process, stats):
    process(visit())
    counts = stats.get_stats()
    reasons = {name: count for name, count in counts.items() if name.startswith("blocks/") and name != "blocks/seen"}
    assert counts["blocks/seen"] == sum(reasons.values()) > 0


def test_metadata_stated_by_the_spider_wins_over_the_page(process):
    cleaned = process(visit(title="Stated", authors=("A. Writer",))).page.cleaned
    assert (cleaned.title, cleaned.author, cleaned.language) == ("Stated", "A. Writer", "en")


def test_other_items_and_visits_without_a_page_pass_unchanged(process, stats):
    listing = Visit("https://town.example.org/", datetime.now(UTC), Outcome.SECTION)
    assert process({"a": 1}) == {"a": 1}
    assert process(listing) is listing
    assert stats.get_stats() == {}


def test_a_page_that_breaks_cleaning_is_counted_and_logged_and_does_not_end_the_crawl(process, stats, caplog):
    stats.set_value("visit/page", 1)
    failed = process(visit(), "no such method")
    assert (failed.outcome, failed.page) == (Outcome.CLEANING_FAILED, None)
    assert (stats.get_value("visit/page"), stats.get_value("visit/cleaning_failed")) == (0, 1)
    assert URL in caplog.text


def test_a_page_yielded_before_the_callback_failed_is_cleaned_and_stays_counted_as_failed(process):
    result = process(visit(Outcome.CALLBACK_FAILED))
    assert (result.outcome, result.page.cleaned.title) == (Outcome.CALLBACK_FAILED, "Library")
