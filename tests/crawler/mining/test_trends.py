"""A term that becomes more frequent rises; one that does not, does not."""

from datetime import UTC, date, datetime, timedelta

import pytest

from crawler.errors import MiningError
from crawler.mining import Document, count_terms, find_trends

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def counts(*, risen="strike", weeks=12, per_week=20):
    rows = []
    for week in range(weeks):
        for number in range(per_week):
            word = risen if week == weeks - 1 or number % 20 == 0 else "pilot"
            text = f"harbour quay {'storm' if number % 4 == 0 else 'calm'} {word}"
            rows.append(Document(number, "u", None, text, {}, MONDAY - timedelta(weeks=weeks - 1 - week)))
    return count_terms(rows, max_share=1)


def test_what_rises_is_found():
    trends = find_trends(counts())
    (term,) = trends.rising
    assert term.word == "strike"
    assert term.documents == [1] * 11 + [20]
    assert term.times == pytest.approx((20.5 / 21) / (11.5 / 221))
    assert term.ratio == pytest.approx(97.357, abs=0.001)
    assert trends.weeks[-1] == date(2026, 3, 2)
    assert trends.documents == [20] * 12


def test_a_day_in_the_past_looks_at_earlier_weeks():
    trends = find_trends(counts(), until=date(2026, 2, 25), weeks=5)
    assert trends.weeks[-1] == date(2026, 2, 23)
    assert trends.rising == []
    assert trends.left_out == {"no_date": 0, "other_weeks": 140}


def test_documents_without_a_date_are_counted():
    rows = [Document(n, "u", None, "storm quay", {}, MONDAY - timedelta(weeks=n)) for n in range(4)]
    rows += [Document(9, "u", None, "storm quay", {})]
    assert find_trends(count_terms(rows, max_share=1)).left_out == {"no_date": 1, "other_weeks": 0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weeks": 3, "recent_weeks": 3}, "recent_weeks is 3 and weeks 3"),
        ({"until": date(2030, 1, 1)}, "0 documents are of the 11 weeks before"),
    ],
)
def test_weeks_without_documents(options, message):
    with pytest.raises(MiningError, match=message):
        find_trends(counts(), **options)


def test_no_dates_at_all():
    with pytest.raises(MiningError, match="no document has a date"):
        find_trends(count_terms([Document(n, "u", None, "storm quay", {}) for n in range(3)], max_share=1))
