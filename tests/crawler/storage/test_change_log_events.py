"""The events of pages: what a publisher did, as visits found it."""

from dataclasses import replace

import pytest

from crawler.storage.pages import PageAbsence
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.urls import url_key

A, B = "https://a.example/1", "https://b.example/1"
TEXT = "The bridge is closed to everybody but the ferryman of the northern lake."


@pytest.fixture
def events(rows):
    """All events by page and time: the day of the visit and what it found."""
    query = "SELECT visited, kind, headline, moved_from FROM page_event ORDER BY page_id, visited"
    return lambda: [
        (str(row["visited"])[8:10], row["kind"], bool(row["headline"]), row["moved_from"]) for row in rows(query)
    ]


def test_a_new_page_another_text_and_another_headline_are_events(save, visit, events):
    save(visit(A, TEXT, title="One"))
    save(visit(A, TEXT, title="One", day=1, body=b"1"))
    save(visit(A, TEXT, "A second text.", title="One", day=2, body=b"2"))
    save(visit(A, TEXT, "A second text.", title="Two", day=3, body=b"3"))
    assert events() == [("01", "new", False, None), ("03", "changed", False, None), ("04", "changed", True, None)]


def cleaned_by(visit, method):
    cleaned = replace(visit.page.cleaned, method=method)
    return replace(visit, page=replace(visit.page, cleaned=cleaned))


def test_another_method_is_not_a_change_by_the_publisher(save, visit, events):
    save(visit(A, TEXT))
    saved = save(cleaned_by(visit(A, "Something else.", day=1, body=b"1"), "tags"))
    assert (saved[0].other_method, len(events())) == ("default", 1)


def test_a_page_retires_and_returns(store, save, visit, events):
    save(visit(A, TEXT))
    store.record_absences([PageAbsence(url_key(A), A, visit(A, day=1).at, for_good=True)])
    save(visit(A, TEXT, day=2, body=b"2"))
    assert [kind for _, kind, *_ in events()] == ["new", "retired", "returned"]


def test_a_page_that_moves_says_from_where(store, save, visit, events):
    save(visit(A, TEXT))
    save(replace(visit(B, TEXT, day=1), moved_from=(url_key(A),)))
    assert events() == [("01", "new", False, None), ("02", "moved", False, A)]


def test_a_page_that_is_absorbed_leaves_its_events(store, save, visit, events):
    save(visit(A, TEXT))
    save(visit(B, TEXT, day=1))
    absence = PageAbsence(url_key(A), A, visit(A, day=2).at, for_good=False, moved_to=B)
    assert store.record_absences([absence])[0].moved == 1
    assert events() == [("01", "new", False, None), ("02", "new", False, None), ("03", "moved", False, A)]


def test_a_pruned_page_has_no_events(engine, save, visit, events):
    save(visit(A, TEXT), visit(B, "Another text of the other site."))
    prune_pages(engine, PruneSelection.of(url=A))
    assert len(events()) == 1
