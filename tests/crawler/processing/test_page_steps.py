"""The steps that clean and fingerprint a page, without a pipeline."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cleaned_pages import without
from scrapy.utils.test import get_crawler

from cleaning import Metadata, clean, parse
from crawler.processing import CleanStep, FingerprintStep, SiteTemplates
from crawler.visit import CleanedPage, FetchedPage, Outcome, ProcessedPage, Visit

URL = "https://a.example/1"
SENTENCE = "The old ferry left the harbour before sunrise with forty passengers, nine bicycles and a crate of oranges. "
PAGE = f"<html><body><article><p>{SENTENCE * 2}</p><p>{SENTENCE * 2}</p></article></body></html>"


@pytest.fixture
def crawler():
    return get_crawler()


def fetched(method=None):
    page = FetchedPage(URL, PAGE.encode(), parse(PAGE, URL), Metadata(), method=method)
    return Visit(URL, datetime.now(UTC), Outcome.PAGE, page=page)


def test_a_cleaned_page_is_counted_when_it_is_told_to(crawler):
    step = CleanStep(crawler, "pab", {})
    visit = asyncio.run(step.clean(fetched()))
    assert isinstance(visit.page, CleanedPage)
    assert crawler.stats.get_value("blocks/seen") is None
    step.count(visit)
    assert crawler.stats.get_value("blocks/seen") == len(visit.page.cleaned.decisions)
    assert crawler.stats.get_value("clean/pages") == 1


def test_a_page_may_name_its_method(crawler):
    visit = asyncio.run(CleanStep(crawler, "pab", {}).clean(fetched("default")))
    assert visit.page.cleaned.method == "default"


def test_an_option_of_the_step_counts(crawler):
    visit = asyncio.run(CleanStep(crawler, "pab", {"no_such_option": 1}).clean(fetched()))
    assert (visit.outcome, visit.page) == (Outcome.CLEANING_FAILED, None)


def test_kept_blocks_get_keys_and_repeats(crawler):
    visit = fetched()
    cleaned = replace(visit, page=CleanedPage(visit.page, clean(visit.page.tree, method="pab")))
    processed = FingerprintStep.from_crawler(crawler).fingerprint(cleaned).page
    assert isinstance(processed, ProcessedPage)
    assert processed.blocks[0].repeats is None
    assert all(block.digest for block in processed.blocks)


def test_fingerprints_of_other_decisions_are_not_used(crawler):
    step = FingerprintStep.from_crawler(crawler)
    visit = fetched()
    page = CleanedPage(visit.page, clean(visit.page.tree, method="pab"))
    first = step.fingerprint(replace(visit, page=page)).page
    fewer = replace(page, cleaned=without(page.cleaned, [page.cleaned.decisions[0].block.text]))
    assert step.fingerprint(replace(visit, page=fewer)).page.blocks != first.blocks


def test_a_visit_without_a_page_passes_unchanged(crawler):
    section = Visit(URL, datetime.now(UTC), Outcome.SECTION)
    assert asyncio.run(CleanStep(crawler, "pab", {}).clean(section)) is section
    assert FingerprintStep.from_crawler(crawler).fingerprint(section) is section


def test_without_a_database_no_site_has_a_template(crawler):
    templates = SiteTemplates(crawler)
    assert asyncio.run(templates.of("a.example", "ce")) == frozenset()
    assert templates.used == {("a.example", "ce"): None}
