"""Candidates for the day of publication, and their features."""

import pytest

from cleaning import parse
from cleaning.metadata.date_candidates import DateCandidate, DateSource, collect_dates
from cleaning.metadata.dates import describe_days
from cleaning.metadata.ranking import read_evidence
from cleaning.metadata.statements import read_statements

URL = "https://example.org/local/story"
TEXT = "<p>The harbour of Lindholm was closed for three weeks, and nobody could say when the ice would break.</p>"


def evidence(head="", body=""):
    root = parse(f"<html><head>{head}</head><body><h1>Ice closes the harbour</h1>{body}{TEXT}</body></html>", URL).root
    return read_evidence(root, read_statements(root), URL)


def candidate(day, source=DateSource.TEXT, *signs):
    return DateCandidate(day, source, day, "somewhere", frozenset(signs))


def test_a_script_below_the_headline_may_write_the_date():
    days = [date.day for date in collect_dates(evidence("", '<script>show("2020/04/17")</script>'), None)]
    assert days == ["2020-04-17"]
    long = f'<script>var texts = "{"a" * 200}", day = "2020/04/17"</script>'
    assert collect_dates(evidence("", long), None) == []


def test_the_address_of_the_picture_may_have_the_day():
    (date,) = collect_dates(evidence('<meta property="og:image" content="/files/2016/05/04/ice.png">'), None)
    assert (date.day, date.source) == ("2016-05-04", DateSource.IMAGE)


def test_features_say_how_days_stand_to_each_other():
    options = describe_days(
        [
            candidate("2024-03-05", DateSource.JSON_LD, "later"),
            candidate("2024-03-05", DateSource.TEXT, "below-0"),
            candidate("2024-04-01", DateSource.CHANGE),
            candidate("2024-03-06", DateSource.URL),
        ],
        evidence('<meta property="og:type" content="newsarticle">'),
    )
    assert {"json-ld:later", "text:below-0", "agrees-text", "agrees-stated", "url-near", "before-change"} <= options[
        "2024-03-05"
    ]
    assert "2024-04-01" not in options  # the day of a change, beside a stated day of publication
    assert {"none", "none:has-stated", "none:no-time", "none:type-newsarticle", "none:days-2"} <= options[None]


def test_a_page_without_candidates_has_the_option_of_no_answer():
    assert set(describe_days([], evidence())) == {None}


def signs_of(text):
    (date,) = collect_dates(evidence("", f"<p>{text}</p>"), "en")
    return date.signs


def test_a_text_that_is_only_a_date_is_short():
    assert {"short", "short-below"} <= signs_of("5 March 2024")
    assert "short" not in signs_of("The ice broke at last on 5 March 2024.")


def test_the_day_on_which_something_ends_is_a_limit():
    assert "limit" in signs_of("Sale ends 5 March 2024")
    assert "limit" not in signs_of("Posted 5 March 2024")


@pytest.mark.parametrize(
    "body",
    [
        "<p>Published on 12 March 2024</p>",
        "<p>Veröffentlicht: 12.03.2024, 15:30</p>",
        "<p>Yayın tarihi 12.03.2024</p>",
        "<p>Sale ends 12 March 2024</p>",
        "<p>Обновлено 12.03.2024</p>",
        '<div class="entry-date published"><span id="footer">12 March 2024</span></div>',
        '<div class="related">12 March 2024</div>',
    ],
)
def test_capitals_make_no_difference(body):
    written, capitals = (
        [(date.day, date.source, date.signs) for date in collect_dates(evidence("", text), "en")]
        for text in (body, body.upper())
    )
    assert written == capitals
