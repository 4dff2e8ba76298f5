"""What stored pages turned out to be."""

from dataclasses import replace

from sqlalchemy import update

from crawler.discovery.article_detection import RunningText
from crawler.storage import queries
from crawler.storage.tables import page

LONG = "the river rose in the night and carried the old bridge down to the mill where it lies until this very day"


def test_words_are_those_that_the_page_shows_now(engine, store, save, visit):
    save(
        visit("https://a.example/1", LONG, "short"),
        visit("https://a.example/2", LONG),
        visit("https://b.example/1", "x"),
    )
    save(visit("https://a.example/1", LONG, day=1))
    outcomes = store.page_outcomes(["a.example"])
    words = len(LONG.split())
    assert [(outcome.url, outcome.prose) for outcome in outcomes] == [
        ("https://a.example/1", RunningText(words, words)),
        ("https://a.example/2", RunningText(words, words)),  # a sighting of the first page's block
    ]


def test_a_page_without_blocks_has_no_prose_and_a_retired_one_is_left_out(engine, store, save, visit):
    save(visit("https://a.example/1"), visit("https://a.example/2", LONG))
    with engine.begin() as connection:
        connection.execute(update(page).where(page.c.url == "https://a.example/2").values(retired_at=visit("x").at))
    assert [(outcome.url, outcome.prose) for outcome in store.page_outcomes(["a.example", "b.example"])] == [
        ("https://a.example/1", RunningText(0, 0))
    ]


def test_pages_of_other_methods_are_left_out(store, save, visit):
    other = visit("https://a.example/1", LONG)
    weighted = replace(other.page, cleaned=replace(other.page.cleaned, method="weighted"))
    save(replace(other, page=weighted), visit("https://a.example/2", LONG))
    assert [outcome.url for outcome in store.page_outcomes(["a.example"])] == ["https://a.example/2"]


def test_only_the_newest_pages_are_read_the_oldest_of_them_first(store, save, visit):
    total = queries._JUDGED_PAGES_MAX + 5
    for start in range(0, total, 50):
        save(*(visit(f"https://a.example/{n}", "x") for n in range(start, min(start + 50, total))))
    numbers = [int(outcome.url.rpartition("/")[2]) for outcome in store.page_outcomes(["a.example"])]
    assert numbers == list(range(5, total))
