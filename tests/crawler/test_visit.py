"""The vocabulary of a crawl: outcomes, pages that are parsed on demand, and the structure of a page."""

import pickle
from datetime import UTC, datetime

from cleaned_pages import without

from cleaning import Metadata, clean, parse
from cleaning.errors import PageFault
from crawler.visit import (
    EMPTY_OUTCOMES,
    LEFT_ALONE_OUTCOMES,
    MISSING_OUTCOMES,
    OUTCOME_BY_FAULT,
    PAUSE_OUTCOMES,
    REFUSAL_OUTCOMES,
    FetchedPage,
    Outcome,
    PageStructure,
    RequestRecord,
    UnparsedPage,
    Visit,
    kept_positions,
    read_nodes,
)

URL = "https://a.example/1"
TEXT = "The harbour was closed for three weeks, and the ferries stayed in port."
PAGE = f"<html><body><h1>Ice</h1><p>{TEXT}</p></body></html>"


def test_each_fault_of_a_page_has_an_outcome():
    assert set(OUTCOME_BY_FAULT) == set(PageFault)


def test_a_refusal_says_nothing_about_the_address():
    assert PAUSE_OUTCOMES < REFUSAL_OUTCOMES
    assert MISSING_OUTCOMES | LEFT_ALONE_OUTCOMES < EMPTY_OUTCOMES
    assert EMPTY_OUTCOMES.isdisjoint(REFUSAL_OUTCOMES | {Outcome.PAGE, Outcome.DOWNLOAD_FAILED})


def test_a_page_is_parsed_once_and_on_demand():
    page = UnparsedPage(PAGE.encode(), URL, None, "utf-8")
    moved = page.at("https://b.example/1")
    assert not page.is_parsed
    tree = page.tree
    assert page.tree is tree
    assert not moved.is_parsed
    assert page.at("https://b.example/1").tree.root is tree.root
    assert moved.tree.url == "https://b.example/1"


def test_the_structure_of_a_page_names_the_kept_blocks():
    cleaned = clean(parse(PAGE, URL))
    structure = PageStructure.of(cleaned)
    assert structure.kept == kept_positions(cleaned)
    assert structure.markdown == cleaned.markdown
    changed = without(cleaned, [TEXT])
    assert kept_positions(changed) != structure.kept


def test_a_structure_is_the_same_in_another_process():
    structure = PageStructure.of(clean(parse(PAGE, URL)))
    copy = pickle.loads(pickle.dumps(structure))
    assert copy == structure
    assert read_nodes(copy.nodes) == read_nodes(structure.nodes)


def test_no_secret_of_a_request_is_in_its_repr():
    record = RequestRecord("key", URL, "a.example", headers={"Cookie": ["hush"]}, body=b"hush", meta={"token": "hush"})
    assert repr(record) == "<RequestRecord GET https://a.example/1>"


def test_a_visit_is_short_in_a_log():
    visit = Visit(URL, datetime.now(UTC), Outcome.PAGE, page=FetchedPage(URL, PAGE.encode(), parse(PAGE), Metadata()))
    assert len(repr(visit)) < 200
    assert "FetchedPage" in repr(visit)
