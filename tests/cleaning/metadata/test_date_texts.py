"""Dates in short texts: languages, calendars, precision, and what is no date."""

import tomllib
from datetime import date
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning.metadata.date_texts import fold, read_date, read_timestamp

LANGUAGE_DATES = [
    ("1er février 2024", "fr", "2024-02-01"),
    ("mardi 5 novembre 2019 à 10:30", "fr", "2019-11-05"),
    ("Published May 5th, 2024 at 5:30 p.m. EST", "en", "2024-05-05"),
    ("the 3rd of March 2021", "en", "2021-03-03"),
    ("Sept. 10, 2013", "en", "2013-09-10"),
    ("OCTOBER 9, 2019", "en", "2019-10-09"),
    ("22 de janeiro de 2016", "pt", "2016-01-22"),
    ("15 de septiembre de 2019", "es", "2019-09-15"),
    ("mayo 5 de 2024", "es", "2024-05-05"),
    ("2 maggio 2023", "it", "2023-05-02"),
    ("12. März 2020, 14:05 Uhr", "de", "2020-03-12"),
    ("3 mei 2022", "nl", "2022-05-03"),
    ("lørdag 5. mai 2024", "nb", "2024-05-05"),
    ("5. toukokuuta 2024", "fi", "2024-05-05"),
    ("2024. május 15., szerda", "hu", "2024-05-15"),
    ("2024 m. gegužės 15 d.", "lt", "2024-05-15"),
    ("2024. gada 5. maijs", "lv", "2024-05-05"),
    ("7 stycznia 2018", "pl", "2018-01-07"),
    ("5 mai 2024", "ro", "2024-05-05"),
    ("18 Kasım 2019", "tr", "2019-11-18"),
    ("18 KASIM 2019", "tr", "2019-11-18"),
    ("Ngày 5 tháng 11 năm 2025", "vi", "2025-11-05"),
    ("5 мая 2024 г.", "ru", "2024-05-05"),
    ("11 січня 2021", "uk", "2021-01-11"),
    ("Κυριακή 5 Μαΐου 2024", "el", "2024-05-05"),
    ("१५ मई २०२४", "hi", "2024-05-15"),
    ("٥ مايو ٢٠٢٤", "ar", "2024-05-05"),
    ("الجمعة 8 فيفري 2019", "ar", "2019-02-08"),
    ("2024년 5월 15일", "ko", "2024-05-15"),
    ("2024. 5. 15.", "ko", "2024-05-15"),
    ("2024年5月15日", "zh", "2024-05-15"),
    ("1 ביוני 2014", "he", "2014-06-01"),
    ("יום ראשון, 31 באוג׳ 2014", "he", "2014-08-31"),
    ("Fri May  3 10:12:44 CEST 2024", "en", "2024-05-03"),
    ("Fri May 3 10:12:44 2024", "en", "2024-05-03"),
    ("Wed Sep 18 09:05:00 GMT+02:00 2019", "en", "2019-09-18"),
    ("2024 年 5 月 15 日 09:30", "zh", "2024-05-15"),
]


@pytest.mark.parametrize(("text", "language", "day"), LANGUAGE_DATES)
def test_a_date_is_read_in_its_language(text, language, day):
    assert read_date(text, language) == day


@pytest.mark.parametrize(("text", "language", "day"), LANGUAGE_DATES)
def test_a_date_needs_no_stated_language(text, language, day):
    assert read_date(text) == day, language


@pytest.mark.parametrize(
    ("text", "language", "day"),
    [
        ("15 พฤษภาคม 2567", "th", "2024-05-15"),  # the Buddhist year
        ("24 خرداد 1399", "fa", "2020-06-13"),
        ("۱۳۹۹/۰۳/۲۴", "fa", "2020-06-13"),
        ("1 فروردین 1400", "fa", "2021-03-21"),
        ("30 اسفند 1399", "fa", "2021-03-20"),  # the last day of a leap year
        ("令和6年5月1日", "ja", "2024-05-01"),
        ("令和元年5月1日", "ja", "2019-05-01"),
        ("民國109年4月17日", "zh-TW", "2020-04-17"),
    ],
)
def test_years_of_other_calendars_are_converted(text, language, day):
    assert read_date(text, language) == day


@pytest.mark.parametrize(
    ("text", "language", "day"),
    [
        ("03/04/2021", "en-US", "2021-03-04"),
        ("03/04/2021", "en_us", "2021-03-04"),
        ("03/04/2021", "en-GB", "2021-04-03"),
        ("03/04/2021", "de", "2021-04-03"),
        ("03/14/2021", "de", "2021-03-14"),  # there is no month 14
        ("14/03/2021", "en-US", "2021-03-14"),
        ("3.4.2021", "en-US", "2021-04-03"),  # a full stop separates the day first
        ("5 listopada 2020", "pl", "2020-11-05"),
        ("5. listopada 2020", "hr", "2020-10-05"),
    ],
)
def test_the_language_decides_what_is_ambiguous(text, language, day):
    assert read_date(text, language) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("May 2024", "2024-05"),
        ("2024-05", "2024-05"),
        ("2024年5月", "2024-05"),
        ("Dezember 2010", "2010-12"),
        ("2024-05-01T23:30:00-05:00", "2024-05-01"),  # the day where the page was written
        ("20240515", "2024-05-15"),
        ("01.05.21", "2021-05-01"),
        ("8.5.12", "2012-05-08"),
        ("12:05 02/11/2021", "2021-11-02"),
        ("Beitrag vom 14. Dezember 2015 um 14:48 von Max", "2015-12-14"),
        ("May 2019 review, 3 June 2020", "2020-06-03"),  # a day is finer than a month
    ],
)
def test_a_date_is_as_fine_as_its_text(text, day):
    assert read_date(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024",
        "two days ago",
        "July 4",
        "yesterday at 10:30",
        "31.02.2024",
        "30 February 2024",
        "call 555-01-2030",
        "version 10.2.3.4",
        "192.168.20.19",
        "may 20 people 2024",
        "1-2-99",
        "99.99.9999",
        "1970-01-01",
        "2024-13-45",
        "0000-00-00",
    ],
)
def test_other_texts_have_no_date(text):
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("text", "day"), [("1638532813000", "2021-12-03"), (" 1638532813 ", "2021-12-03"), ("163853281", None), ("x", None)]
)
def test_seconds_and_milliseconds_since_1970_are_timestamps(text, day):
    assert read_timestamp(text) == day


def test_spellings_of_a_month_fold_alike():
    assert fold("FÉVRIER") == fold("fevrier") == "fevrier"
    assert fold("Kasım") == fold("KASIM") == "kasim"
    assert fold("٢٠٢٤") == "2024"


def test_the_table_has_twelve_months_and_folded_names():
    tables = tomllib.loads(resources.files("cleaning").joinpath("data", "months.toml").read_text("utf-8"))
    assert set(tables["any"]) == {str(month) for month in range(1, 13)}
    names = [name for months in tables.values() for text in months.values() for name in text.split()]
    assert len(names) > 1_000
    assert [name for name in names if fold(name) != name] == []


@given(st.text(max_size=400), st.sampled_from([None, "en-US", "fa", "th", "hr", "x"]))
def test_any_text_is_read_without_an_error(text, language):
    day = read_date(text, language)
    assert day is None or len(day) in {len("YYYY-MM"), len("YYYY-MM-DD")}


@given(st.dates(min_value=date(1971, 1, 1), max_value=date(2099, 12, 31)))
def test_every_day_is_read_back_from_its_usual_forms(day):
    iso = day.isoformat()
    assert {
        read_date(iso),
        read_date(day.strftime("%d.%m.%Y")),
        read_date(day.strftime("%m/%d/%Y"), "en-US"),
        read_date(f"{day.year}年{day.month}月{day.day}日"),
        read_date(day.strftime("%Y%m%d")),
    } == {iso}


def test_a_word_that_begins_as_the_vietnamese_month_is_a_word():
    assert read_date("Thangka exhibition, 5 May 2021") == "2021-05-05"
    assert read_date("5 tháng 3 năm 2021", "vi") == "2021-03-05"
