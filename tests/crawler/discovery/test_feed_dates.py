"""Feeds with weekdays and months in the language of the site have dates."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import Response

from crawler.discovery.feed_dates import read_feed_date
from crawler.discovery.feeds import read_listing

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
STATED = [
    "Mi, 05 Nov 2025 10:00:00 +0100",
    "Mi, 5. November 2025",
    "mié., 05 nov. 2025 10:00:00 +0100",
    "5 de noviembre de 2025",
    "noviembre 5, 2025",
    "mer., 05 nov. 2025 10:00:00 +0100",
    "qua, 05 nov 2025 10:00:00 -0300",
    "mer, 5 novembre 2025",
    "wo, 05 nov 2025 10:00:00 +0100",
    "ke, 05 marras 2025 10:00:00 +0200",
    "śr, 05 lis 2025 10:00:00 +0100",
    "st, 05 lis 2025 10:00:00 +0100",
    "szerda, 2025 november 5",
    "Τετ, 05 Νοε 2025 10:00:00 +0200",
    "Çar, 05 Kas 2025 10:00:00 +0300",
    "ср, 05 ноя 2025 10:00:00 +0300",
    "5 ноября 2025 г., 10:00",
    "ср, 05 лис 2025 10:00:00 +0200",
    "الأربعاء, 05 نوفمبر 2025 10:00:00 +0300",
    "الأربعاء ٥ تشرين الثاني ٢٠٢٥",
    "چهارشنبه, 05 نوامبر 2025 10:00:00 +0330",
    "יום רביעי, 05 נוב 2025 10:00:00 +0200",
    "बुध, 05 नवंबर 2025 10:00:00 +0530",
    "星期三, 05 11月 2025 10:00:00 +0800",
    "2025年11月5日 星期三 10:00",
    "水, 05 11月 2025 10:00:00 +0900",
    "2025년 11월 5일 수요일",
    "พ., 05 พ.ย. 2568 10:00:00 +0700",
    "T4, 05 Th11 2025 10:00:00 +0700",
    "Thứ Tư, 5 tháng 11 năm 2025",
    "Rab, 05 Nov 2025 10:00:00 +0700",
    "05.11.2025 10:00",
]


@pytest.mark.parametrize("stated", STATED)
def test_a_feed_has_the_day_that_it_states_in_its_language(stated):
    feed = f"<rss version='2.0'><channel><item><link>https://e.org/a</link><pubDate>{stated}</pubDate></item></channel></rss>"
    entry = read_listing(Response("https://e.org/feed", body=feed.encode()), NOW, 10, 30.0).entries[0]
    assert entry.newest == date(2025, 11, 5)


def test_a_time_is_read_in_its_zone():
    assert read_feed_date("mié, 05 nov 2025 23:30:00 -0500") == datetime(2025, 11, 6, 4, 30, tzinfo=UTC)
    assert read_feed_date("mar, 04 mar 2025 10:00:00 +0100") == datetime(2025, 3, 4, 9, tzinfo=UTC)


def test_the_language_of_the_feed_decides_between_equal_names():
    assert read_feed_date("5 listopada 2025", "hr-HR") == datetime(2025, 10, 5, tzinfo=UTC)
    assert read_feed_date("5 listopada 2025", "pl") == datetime(2025, 11, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "stated", ["", "tomorrow", "05/11/2025", "05-11-2025", "32 nov 2025", "31 février 2025", "nov"]
)
def test_nothing_is_made_of_a_text_that_is_no_date_or_an_ambiguous_one(stated):
    assert read_feed_date(stated) is None


@given(st.text(max_size=200), st.text(max_size=5))
def test_any_text_is_read(text, language):
    moment = read_feed_date(text, language)
    assert moment is None or moment.tzinfo is UTC


def test_entries_with_an_address_that_is_too_long_are_counted():
    urls = ["https://e.org/a", f"https://e.org/{'b' * 2_100}"]
    feed = "".join(f"<item><link>{url}</link></item>" for url in urls)
    body = f"<rss version='2.0'><channel>{feed}</channel></rss>".encode()
    listing = read_listing(Response("https://e.org/feed", body=body), NOW, 10, 30.0)
    assert ([entry.url for entry in listing.entries], listing.too_long) == (urls[:1], 1)
