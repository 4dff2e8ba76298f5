"""Dates in URLs, and calendars."""

from datetime import date

import pytest

from spiders.dates import is_calendar, iso_day, url_date


@pytest.mark.parametrize(
    ("url", "day"),
    [
        ("https://x.example/2017/03/28/a", date(2017, 3, 28)),
        ("https://x.example/news/2016-05-25/doc-1.shtml", date(2016, 5, 25)),
        ("https://x.example/omn/20200704/A04.html", date(2020, 7, 4)),
        ("https://x.example/20/0703/13/FGK.html", date(2020, 7, 3)),
        ("https://x.example/2017/13/45/a", None),
        ("https://x.example/story-1234567890.html", None),
        ("https://x.example/a", None),
    ],
)
def test_dates_in_urls(url, day):
    assert url_date(url) == day


@pytest.mark.parametrize(
    "path",
    [
        "2024",
        "2024/01/",
        "events/2024/05/28/",
        "events/2024-05-28",
        "events/202405",
        "archive/20240528/",
        "events/week/22/",
        "events/day/28-05-2024",
        "events/?month=2024-06",
        "events?year=2024&month=5&view=list&page=3",
        "events/?tribe-bar-date=2024-05-01",
    ],
)
def test_calendars(path):
    assert is_calendar(f"https://x.example/{path}")


@pytest.mark.parametrize(
    "path",
    ["", "news/", "2024/05/28/the-river-rose", "story?id=5&date=2024-05-28", "read/12345", "news/?page=2", "on-2024/"],
)
def test_other_urls_are_not_calendars(path):
    assert not is_calendar(f"https://x.example/{path}")


@pytest.mark.parametrize(("text", "day"), [(" 2024-05-31T10:00Z", date(2024, 5, 31)), ("yesterday", None), ("", None)])
def test_iso_days(text, day):
    assert iso_day(text) == day
