"""RowConditions on columns: what they say of a row, and what is refused."""

from datetime import UTC, datetime

import pytest

from crawler.errors import QueryError
from crawler.reading.conditions import RowConditions, read_conditions

KINDS = {
    "words": "int32",
    "score": "double",
    "language": "string",
    "url": "string",
    "exact": "bool",
    "first_seen": "timestamp[us, tz=UTC]",
    "headings": "list<element: string>",
}
ROW = {
    "words": 50,
    "score": 0.5,
    "language": None,
    "url": "https://a.example/news/1",
    "exact": True,
    "first_seen": datetime(2026, 3, 1, 12, tzinfo=UTC),
    "headings": ["one"],
}


@pytest.mark.parametrize(
    "text",
    [
        "words>=50",
        " words <= 50 ",
        "words=50",
        "words!=51",
        "score<.75",
        "score>-1e3",
        "url~/news/",
        "url!~/sport/",
        "url=https://a.example/news/1",
        "!language",
        "language!=en",
        "language!~e",
        "url",
        "headings",
        "exact=TRUE",
        "first_seen>2026-02-28",
        "first_seen<2026-03-01T13:00:00+01:00",
    ],
)
def test_a_row_meets_a_condition(text):
    held = not text.startswith("first_seen<")  # 13:00 in this zone is 12:00, which is not before
    assert (read_conditions([text], KINDS).first_broken(ROW) is None) == held


@pytest.mark.parametrize(
    "text", ["words>50", "language", "language=en", "language<z", "!url", "url~^/news/", "exact=false"]
)
def test_the_broken_condition_is_named(text):
    assert read_conditions(["words", text], KINDS).first_broken(ROW) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it takes a condition on a column"),
        ("words>", "'' is no number"),
        ("words>many", "'many' is no number"),
        ("!words>5", "it takes a condition on a column"),
        ("word>5", "no column word; the columns are words, score"),
        ("words~5", "words is no text"),
        ("url~(", "unterminated subpattern"),
        ("exact=maybe", "'maybe' is neither true nor false"),
        ("first_seen>soon", "Invalid isoformat string"),
        ("headings=one", "a column of the type list<element: string> is not compared"),
        ("words 5", "it takes a condition on a column"),
    ],
)
def test_another_condition_is_refused(text, message):
    with pytest.raises(QueryError, match=message):
        read_conditions([text], KINDS)


def test_no_conditions_are_met_by_every_row():
    assert RowConditions().first_broken({}) is None
