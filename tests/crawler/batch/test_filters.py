"""Records are chosen by host, URL, date, status and type."""

from datetime import UTC, datetime

import pytest

from crawler.batch.filters import Filtered, RecordFilter
from crawler.errors import ConfigError

URL = "https://news.example.org/2026/03/storm.html"
MARCH = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_no_filter_lets_everything_pass():
    assert RecordFilter().reject_address(URL, None) is None
    assert RecordFilter().reject_answer(503, "") is None


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("example.org", None),
        ("news.example.org", None),
        ("ample.org", Filtered.HOST),
        ("a.news.example.org", Filtered.HOST),
    ],
)
def test_a_host_stands_for_the_hosts_below_it(host, reason):
    assert RecordFilter.of(hosts=["other.example", host]).reject_address(URL, MARCH) is reason


@pytest.mark.parametrize(("pattern", "reason"), [(r"/2026/\d\d/", None), (r"^/2026", Filtered.URL)])
def test_one_regular_expression_must_match_in_the_url(pattern, reason):
    assert RecordFilter.of(urls=["nothing", pattern]).reject_address(URL, MARCH) is reason


@pytest.mark.parametrize(
    ("dates", "reason"),
    [
        (("2026-03-01", "2026-03-02"), None),
        (("2026-03-01T12:00:00Z", None), None),
        ((None, "2026-03-01T12:00:00Z"), Filtered.DATE),
        (("2026-03-02", None), Filtered.DATE),
    ],
)
def test_dates_are_from_the_first_and_before_the_last(dates, reason):
    assert RecordFilter.of(dates=dates).reject_address(URL, MARCH) is reason


def test_a_record_without_a_date_is_in_no_range():
    assert RecordFilter.of(dates=("2026-03-01", None)).reject_address(URL, None) is Filtered.DATE


@pytest.mark.parametrize(
    ("allowed", "status", "reason"), [("200", 200, None), ("2xx", 204, None), ("2xx", 301, Filtered.STATUS)]
)
def test_statuses_are_numbers_or_classes(allowed, status, reason):
    assert RecordFilter.of(statuses=["404", allowed]).reject_answer(status, "text/html") is reason


@pytest.mark.parametrize(
    ("allowed", "declared", "reason"),
    [
        ("text/html", "Text/HTML; charset=utf-8", None),
        ("text/", "text/plain", None),
        ("text/html", "", Filtered.TYPE),
        ("text/html", "text/htmlx", Filtered.TYPE),
    ],
)
def test_types_are_compared_without_parameters(allowed, declared, reason):
    assert RecordFilter.of(types=[allowed]).reject_answer(200, declared) is reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"urls": ["("]}, "--url: '(' is not a regular expression"),
        ({"dates": ("soon", None)}, "--since is 'soon', which is not a date"),
        ({"dates": ("0001-01-01T00:00:00+05:00", None)}, "which is not a date"),
        ({"dates": ("2026-02-01", "2026-01-01")}, "--until is '2026-01-01', which is not after --since '2026-02-01'"),
        ({"statuses": ["20"]}, "--status is '20'; it takes a status"),
        ({"hosts": ["https://a.example/"]}, "--host is 'https://a.example/'; it takes the name of a host"),
        ({"hosts": ["*.example"]}, "--host is '*.example'"),
        ({"hosts": [""]}, "--host is ''"),
        ({"types": ["html"]}, "--type is 'html'; it takes a type such as text/html"),
        ({"types": ["text/*"]}, "--type is 'text/*'"),
    ],
)
def test_a_wrong_value_is_named(arguments, message):
    with pytest.raises(ConfigError) as raised:
        RecordFilter.of(**arguments)
    assert message in str(raised.value)
