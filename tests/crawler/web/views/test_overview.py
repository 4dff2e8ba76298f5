"""The first page: what the database has, and the crawls that run."""

from shown_pages import PAGES


def test_the_overview_counts_rows_and_shows_the_open_crawl(ask):
    overview = ask("/api/overview").json
    assert overview["totals"]["pages"] == PAGES + 2
    assert overview["totals"]["crawls"] == 2
    assert (overview["due_pages"], overview["due_sections"]) == (2, 1)
    (crawl,) = overview["open_crawls"]
    assert (crawl["queued"], crawl["failed"], crawl["ended"], crawl["leased"]) == (3, 55, 1, 0)
    assert len(overview["days"]) == 30
    assert overview["days"][-1]["pages"] == PAGES + 2
    assert overview["hosts"][0]["host"] == "lake.example.org"


def test_the_reader_chooses_the_days_of_the_charts(ask):
    assert len(ask("/api/overview?days=7").json["days"]) == 7
    assert ask("/api/overview?days=0").status == 400
    page = ask("/?days=7").text
    assert "The last 7 days" in page
    assert '<a href="/?days=90">90 days</a>' in page
