"""Headlines, titles, authors and dates of pages: their changes and former values."""

import pytest

from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.store import PageState

A = "https://a.example/1"
TEXT = "The bridge is closed."


@pytest.fixture
def former(rows):
    """The former values of all pages."""
    return lambda: [
        (row["name"], row["value"], row["visit"])
        for row in rows("SELECT name, value, visit FROM former_metadata ORDER BY page_id, name, visit")
    ]


@pytest.fixture
def states(save, visit):
    """Save the page on consecutive days, each with the metadata of that day, and return the states."""

    def save_days(*days):
        return [
            save(visit(A, TEXT, day=day, body=str(day).encode(), **metadata))[0].state
            for day, metadata in enumerate(days)
        ]

    return save_days


@pytest.mark.parametrize("name", ["title", "headline", "stated_title", "published"])
def test_a_page_with_another_headline_title_or_date_has_changed(states, former, name):
    assert states({name: "2024"}, {name: "2025"}) == [PageState.NEW, PageState.CHANGED]
    assert former() == [(name, "2024", 1)]


def test_another_author_is_a_change(states, former):
    assert states({"authors": ("Ada",)}, {"authors": ("Ada", "Ben")})[1] is PageState.CHANGED
    assert former() == [("author", "Ada", 1)]


def test_a_former_value_has_its_dates(states, rows):
    states({"headline": "One"}, {"headline": "One"}, {"headline": "Two"}, {"headline": None, "stated_title": "x"})
    dates = "SELECT value, first_seen, last_seen, gone_at FROM former_metadata WHERE name = 'headline' ORDER BY visit"
    assert [
        [row["value"], *(str(row[name])[8:10] for name in ("first_seen", "last_seen", "gone_at"))]
        for row in rows(dates)
    ] == [
        ["One", "01", "02", "03"],
        ["Two", "03", "03", "04"],
    ]


def test_the_schedule_counts_changes_of_the_text_only(states, rows):
    states({"title": "One"}, {"title": "Two"})
    (page,) = rows("SELECT title, visits, changes, first_seen = last_changed AS same FROM page")
    assert (page["title"], page["visits"], page["changes"], bool(page["same"])) == ("Two", 2, 0, True)


def test_a_title_that_changes_at_each_visit_is_no_news_and_its_history_is_bounded(states, former):
    page_states = states(*({"headline": f"Clock {number}"} for number in range(30)))
    assert page_states[:5] == [PageState.NEW, *[PageState.CHANGED] * 3, PageState.UNCHANGED]
    assert set(page_states[4:]) == {PageState.UNCHANGED}
    assert former() == [("headline", f"Clock {number - 1}", number) for number in range(10, 30)]


def test_a_restless_title_does_not_hide_another_change(states):
    days = [{"headline": f"Clock {number}", "stated_title": "One"} for number in range(6)]
    assert states(*days, {"headline": "Clock", "stated_title": "Two"})[-1] is PageState.CHANGED


def test_a_title_that_has_settled_may_change_again(states):
    days = [{"headline": f"Clock {number}"} for number in range(5)] + [{"headline": "Clock 4"}] * 6
    assert states(*days, {"headline": "Bridge"})[-2:] == [PageState.UNCHANGED, PageState.CHANGED]


def test_a_counter_before_the_title_is_no_change(states, former):
    days = [{"title": f"({number}) Inbox", "stated_title": f"({number}) Inbox"} for number in range(3)]
    assert states(*days)[1:] == [PageState.UNCHANGED] * 2
    assert former() == []


@pytest.mark.parametrize("sql", ["DELETE FROM headline", "UPDATE headline SET version = '0.0.1'"])
def test_a_title_that_other_rules_make_is_no_change(states, engine, former, sql, save, visit):
    states({"title": "One | Site", "stated_title": "One | Site", "published": "2024-05-01"})
    with engine.begin() as connection:
        connection.exec_driver_sql(sql)
    again = visit(A, TEXT, day=1, title="One", stated_title="One | Site", published="2024-05-02")
    assert save(again)[0].state is PageState.UNCHANGED
    assert former() == []
    later = visit(A, TEXT, day=2, title="One", stated_title="Two | Site", published="2024-05-02")
    assert save(later)[0].state is PageState.CHANGED
    assert former() == [("stated_title", "One | Site", 2)]


def test_visits_of_one_batch_are_compared_in_order(save, visit, former):
    titles = ["One", "Two", "Two", "Three"]
    saved = save(*(visit(A, TEXT, day=day, headline=title) for day, title in enumerate(titles)))
    assert [result.state for result in saved] == ["new", "changed", "unchanged", "changed"]
    assert former() == [("headline", "One", 1), ("headline", "Two", 3)]


def test_a_page_that_absorbs_another_keeps_the_former_headlines_of_both(save, visit, rows, former):
    """A page that was at its own address states, later, the address of a page with the same text."""
    print_version, article = "https://a.example/print", "https://a.example/article"
    save(visit(print_version, TEXT, headline="One"))
    save(visit(print_version, TEXT, day=1, headline="Two"))
    save(visit(article, TEXT, day=2, headline="Three"))
    save(visit(article, TEXT, day=3, headline="Two"))
    save(visit(print_version, TEXT, day=4, headline="Two", canonical=article))
    assert rows("SELECT url_key FROM page") == [{"url_key": article}]
    assert former() == [("headline", "One", -3), ("headline", "Three", 1)]
    assert rows("SELECT headline FROM headline") == [{"headline": "Two"}]
    assert rows("SELECT block_id, tokens FROM block_tokens WHERE block_id < 0") == [{"block_id": -2, "tokens": " two "}]


def test_a_deleted_page_leaves_no_headline(save, visit, engine, rows, states):
    states({"headline": "One"}, {"headline": "Two"})
    prune_pages(engine, PruneSelection.of(url=A))
    counted = "SELECT (SELECT count(*) FROM headline) + (SELECT count(*) FROM former_metadata) AS left_over"
    assert rows(counted) == [{"left_over": 0}]
    assert rows("SELECT * FROM block_tokens") == []
