"""Visits in the dedup pipeline."""

from dataclasses import replace
from datetime import UTC, datetime

from cleaned_pages import without
from scrapy.utils.test import get_crawler

from cleaning import Metadata, clean, parse
from crawler.visit import CleanedPage, FetchedPage, Outcome, PageStructure, Visit
from pipelines.dedup import DedupPipeline

URL = "https://a.example/1"
SENTENCE = "The old ferry left the harbour before sunrise with forty passengers, nine bicycles and a crate of oranges. "
PAGE = f"<html><body><article><p>{SENTENCE * 2}</p><p>{SENTENCE * 2}</p></article></body></html>"


def process(item, **settings):
    return DedupPipeline.from_crawler(get_crawler(settings_dict=settings)).process_item(item)


def visit():
    tree = parse(PAGE, URL)
    cleaned = CleanedPage(FetchedPage(URL, PAGE.encode(), tree, Metadata()), clean(tree, method="pab"))
    return Visit(URL, datetime.now(UTC), Outcome.PAGE, page=cleaned)


def test_a_cleaned_page_is_processed_as_the_settings_ask():
    page, uncompared = process(visit()).page, process(visit(), DEDUP_SCOPE="off").page
    assert page.fetched.url == URL
    assert [block.decision for block in page.blocks] == [
        decision for decision in page.cleaned.decisions if decision.kept
    ]
    assert [block.repeats for block in uncompared.blocks] == [None] * len(uncompared.blocks)


def test_the_structure_follows_decisions_that_another_component_has_changed():
    first = visit()
    cleaned = clean(first.page.fetched.tree)
    structure = PageStructure.of(cleaned)
    kept = process(replace(first, page=replace(first.page, cleaned=cleaned, structure=structure))).page
    assert kept.structure is structure
    changed = without(cleaned, [cleaned.decisions[0].block.text])
    for source in (cleaned.source, structure):  # cleaned here, and in a cleaning process
        page = replace(first.page, cleaned=replace(changed, source=source), structure=structure)
        assert process(replace(first, page=page)).page.structure == PageStructure.of(changed) != structure


def test_other_items_and_visits_without_a_page_pass_unchanged():
    listing = Visit("https://a.example/", datetime.now(UTC), Outcome.SECTION)
    assert process({"a": 1}) == {"a": 1}
    assert process(listing) is listing
