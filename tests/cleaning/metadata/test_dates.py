"""The date of publication: evidence from several sources, and no answer where there is none."""

import pytest

from cleaning import clean

URL = "https://example.org/local/story"
TEXT = "<p>The harbour of Lindholm was closed for three weeks, and nobody could say when the ice would break.</p>"


def published(head="", body="", *, language="en", url=URL):
    page = f"<html lang='{language}'><head><title>Ice closes the harbour</title>{head}</head>"
    return clean(
        f"{page}<body><article><h1>Ice closes the harbour</h1>{body}{TEXT}</article></body></html>", url
    ).published


def json_ld(**fields):
    pairs = ", ".join(f'"{name}": "{value}"' for name, value in fields.items())
    return f'<script type="application/ld+json">{{"@type": "NewsArticle", {pairs}}}</script>'


@pytest.mark.parametrize(
    ("head", "body", "language", "day"),
    [
        (json_ld(datePublished="2024-03-05T08:00:00+01:00"), "", "en", "2024-03-05"),
        (json_ld(datePublished="2024-05-01T23:30:00-05:00"), "", "en", "2024-05-01"),
        ('<meta property="article:published_time" content="2024-03-05">', "", "en", "2024-03-05"),
        ('<meta name="citation_publication_date" content="2024/03/05">', "", "en", "2024-03-05"),
        ("", '<abbr class="published" title="2011-04-25T00:23:00-04:00">Monday</abbr>', "en", "2011-04-25"),
        ("", "<abbr itemprop='datePublished' title='2011-04-25T00:23:00-04:00'>12:23 AM</abbr>", "en", "2011-04-25"),
        ("", '<time datetime="2024-03-05">5 days ago</time>', "en", "2024-03-05"),
        ("", '<span class="post-date" data-date="2024-03-05">5 days ago</span>', "en", "2024-03-05"),
        ("", "<p class='meta'>1er février 2024</p>", "fr", "2024-02-01"),
        ("", "<p class='byline'>Por Ana Reis, 22 de janeiro de 2016</p>", "pt", "2016-01-22"),
        ("", "<div class='date'>03/04/2021</div>", "en-US", "2021-03-04"),
        ("", "<div class='date'>03/04/2021</div>", "en-GB", "2021-04-03"),
        ("", "<span class='datum'>8.5.12</span>", "de", "2012-05-08"),
        ("", "<span class='date'>6 มิถุนายน 2554</span>", "th", "2011-06-06"),
        ("", "<span class='date'>๖ มิถุนายน ๒๕๕๔</span>", "th", "2011-06-06"),
        ("", "<div class='meta'>平成10年1月9日</div>", "ja", "1998-01-09"),
        ("", "<div class='meta'>民國110年3月5日</div>", "zh-TW", "2021-03-05"),
        ("", "<span class='date'>15 خرداد 1402</span>", "fa", "2023-06-05"),
        ("", "<span class='date'>1 ביוני 2014</span>", "he", "2014-06-01"),
        ("", "<i>Fri May  3 10:12:44 CEST 2024</i>", "en", "2024-05-03"),
        ("", "<abbr data-utime='1298934000'>yesterday</abbr>", "en", "2011-02-28"),
        ("", "<time pubdate='2014-06-01'>last Sunday</time>", "en", "2014-06-01"),
        ("<meta name='DC.Issued' content='2014-06-01'>", "", "en", "2014-06-01"),
        ("<meta property='dc:created' content='2014-06-01'>", "", "en", "2014-06-01"),
        ("<meta name='DC.date' content='2014-06-01'>", "", "en", "2014-06-01"),
        ("<meta property='og:regDate' content='20140601'>", "", "ko", "2014-06-01"),
        ("<meta itemprop='datecreated' content='2014-06-01'>", "", "en", "2014-06-01"),
    ],
)
def test_a_date_is_found_wherever_it_stands(head, body, language, day):
    assert published(head, body, language=language) == day


@pytest.mark.parametrize(
    ("head", "body", "day"),
    [
        (
            '<meta property="article:published_time" content="03-09-2026">',
            "<p>Published March 9, 2026</p>",
            "2026-03-09",
        ),
        (json_ld(datePublished="2024-09-10"), "<p class='date'>09.10.2024</p>", "2024-09-10"),
        ("", "<p class='date'>03/04/2021</p><p>Last edited 03/25/2021</p>", "2021-03-04"),
        ("", "<p class='date'>03/04/2021</p><p>Last edited 25/04/2021</p>", "2021-04-03"),
        ("", "<p class='date'>03/04/2021</p>", "2021-04-03"),
    ],
)
def test_the_other_dates_of_a_page_tell_the_order_of_numbers(head, body, day):
    assert published(head, body) == day


def test_a_date_below_a_headline_in_h2_is_near_it():
    menu = "<ul>" + "<li><a href='/a'>News</a></li>" * 300 + "</ul>"
    page = (
        f"<title>Ice closes the harbour | Courier</title>{menu}<h2>Ice closes the harbour</h2><p>3 May 2024</p>{TEXT}"
    )
    assert clean(page, URL).published == "2024-05-03"
    page = f"<title>Ice closes the harbour | Courier</title>{menu}<h2>Most read</h2><p>3 May 2024</p>{TEXT}"
    assert clean(page, URL).published is None


def test_a_month_stays_a_month():
    assert published('<meta property="article:published_time" content="2024-05">') == "2024-05"


@pytest.mark.parametrize(
    "body",
    [
        "<p>Two days ago</p>",
        "<div class='comment'><time datetime='2024-03-05'>March 5</time></div>",
        "<ul class='related'><li><span class='date'>March 5, 2024</span></li></ul>",
        "<p>Founded in 1998, rebuilt in 2012.</p>",
    ],
)
def test_a_page_without_a_date_of_its_own_has_none(body):
    assert published("", body) is None


def test_the_day_of_publication_wins_over_that_of_a_change():
    head = json_ld(datePublished="2024-03-05", dateModified="2024-04-01")
    assert published(head, "<p>Updated April 1, 2024</p>") == "2024-03-05"


def test_a_visible_day_agrees_with_the_better_of_two_statements():
    head = json_ld(datePublished="2019-01-01") + '<meta property="article:published_time" content="2024-03-05">'
    assert published(head, "<p class='date'>March 5, 2024</p>") == "2024-03-05"


def test_the_answer_does_not_depend_on_the_day_of_the_run(monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    body = "<p class='date'>May 2024</p>"
    assert published("", body) == published("", body)


@pytest.mark.parametrize(
    ("stated", "moment"),
    [
        ("2024-05-01T23:30:00-05:00", "2024-05-01T23:30:00-05:00"),
        ("2024-05-01T23:30:00.123Z", "2024-05-01T23:30:00Z"),
        ("2024-05-01 23:30", "2024-05-01T23:30"),
        ("2024-05-01T23:30:00+0530", "2024-05-01T23:30:00+05:30"),
        ("2024-05-01", None),
        ("2024-05-01T25:30", None),
    ],
)
def test_the_stated_time_and_its_zone_are_kept(stated, moment):
    metadata = clean(f"<html><head>{json_ld(datePublished=stated)}</head><body>{TEXT}</body></html>", URL).metadata
    assert (metadata.published, metadata.published_at) == ("2024-05-01", moment)


def test_a_time_with_a_zone_is_kept_rather_than_one_without():
    head = json_ld(datePublished="2024-05-01T23:30:00") + (
        '<meta property="article:published_time" content="2024-05-01T23:30:00-05:00">'
    )
    metadata = clean(f"<html><head>{head}</head><body>{TEXT}</body></html>", URL).metadata
    assert metadata.published_at == "2024-05-01T23:30:00-05:00"
    assert metadata.sources["published"] == "meta article:published_time"


def test_the_time_of_a_change_is_kept():
    metadata = clean(
        f"<html><head>{json_ld(dateModified='2024-06-01T10:00:00Z')}</head><body>{TEXT}</body></html>", URL
    )
    assert (metadata.metadata.modified, metadata.metadata.modified_at) == ("2024-06-01", "2024-06-01T10:00:00Z")
