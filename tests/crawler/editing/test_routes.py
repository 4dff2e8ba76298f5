"""Editing: who may change something, and what is stored then."""

import http.client
import time
from urllib.parse import quote

import pytest
import taught_site
from sqlalchemy import select

from crawler.errors import ConfigError
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.tables import correction, site_model
from crawler.teaching import records
from crawler.web.guard import Access

SITE = "courier.example"
KEPT = {"keep": ["2", "3", "5", "6"], "finished": "all", "reader": "Anna"}


def stored(url):
    """Return the addresses of the corrections, and the sites with a model."""
    with opened_engine(url) as engine, read_transaction(engine) as connection:
        return (
            sorted(connection.scalars(select(correction.c.url))),
            sorted(connection.scalars(select(site_model.c.site))),
        )


def test_a_page_is_corrected_and_the_site_accepted(browser, edited_url):
    status, _, page = browser.ask("/edit/pages/2")
    assert status == 200
    assert taught_site.offer(1) in page
    fields = browser.hidden("/edit/pages/2") | KEPT
    status, headers, _ = browser.send("/edit/pages/2", fields)
    assert (status, headers["Location"]) == (303, f"/edit/sites/{SITE}")
    assert stored(edited_url) == ([taught_site.address(1)], [])
    with opened_engine(edited_url) as engine, read_transaction(engine) as connection:
        (corrected,) = records.read_corrections(connection, SITE)
        assert (corrected.reader, corrected.marks, corrected.finished) == ("Anna", 1, True)
    _, _, preview = browser.ask(f"/edit/sites/{SITE}")
    assert "On 8 stored pages" in preview
    assert "<strong>8</strong> would change: 8 blocks dropped" in preview
    assert "Not accepted yet" in preview
    key = browser.hidden(f"/edit/sites/{SITE}")
    assert browser.send(f"/edit/sites/{SITE}", key | {"action": "accept", "reader": "Anna"})[0] == 303
    assert stored(edited_url)[1] == [SITE]
    assert "<strong>0</strong> would change" in browser.ask(f"/edit/sites/{SITE}")[2]
    assert "corrected before" in browser.ask("/edit/pages/2")[2]
    assert browser.send(f"/edit/sites/{SITE}", key | {"action": "withdraw", "reader": "Anna"})[0] == 303
    assert stored(edited_url)[1] == []
    forget = key | {"action": "forget", "url": taught_site.address(1)}
    status, headers, _ = browser.send(f"/edit/sites/{SITE}", forget)
    assert (status, headers["Location"], stored(edited_url)) == (303, f"/sites/{SITE}", ([], []))


def test_every_page_leads_to_its_form_only_where_pages_are_edited(browser):
    assert 'href="/edit/pages/2"' in browser.ask("/pages/2")[2]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "http://127.0.0.1"},
    ],
)
def test_a_form_of_another_page_changes_nothing(browser, edited_url, headers):
    fields = browser.hidden("/edit/pages/2") | KEPT
    assert browser.send("/edit/pages/2", fields, **headers)[0] == 403
    assert stored(edited_url) == ([], [])


@pytest.mark.parametrize("key", ["", "0" * 64, "\u00e9"])
def test_a_form_without_the_server_s_key_changes_nothing(browser, edited_url, key):
    fields = browser.hidden("/edit/pages/2") | KEPT | {"key": key}
    status, _, page = browser.send("/edit/pages/2", fields)
    assert (status, "the form is of another session" in page) == (400, True)
    assert stored(edited_url) == ([], [])


def test_nobody_without_the_token_sees_or_changes_anything(browser, browser_at, edited_url):
    fields = browser.hidden("/edit/pages/2") | KEPT
    stranger = browser_at(browser.port)
    for cookie in ("", "blocksieve=0", "blocksieve=" + "0" * 64):
        stranger.cookie = cookie
        assert stranger.ask("/edit/pages/2")[0] == 401
        assert stranger.send("/edit/pages/2", fields)[0] == 401
    assert stranger.ask("/?token=another+token+of+letters")[0] == 401
    assert stored(edited_url) == ([], [])


def test_other_addresses_are_only_read(browser):
    for path in ("/", "/pages/2", "/api/overview", "/editor", "/sites/courier.example"):
        assert browser.send(path, {})[0] in {404, 405}
    for method in ("PUT", "DELETE", "PATCH"):
        assert browser.ask("/edit/pages/2", method)[0] == 405


def test_two_editors_do_not_overwrite_each_other(browser, browser_at, edited_url):
    other = browser_at(browser.port).enter()
    first = browser.hidden("/edit/pages/2") | KEPT
    second = other.hidden("/edit/pages/2") | KEPT | {"reader": "Ben", "keep": ["2"]}
    assert browser.send("/edit/pages/2", first)[0] == 303
    status, _, page = other.send("/edit/pages/2", second)
    assert (status, "has changed since you opened the form" in page) == (409, True)
    with opened_engine(edited_url) as engine, read_transaction(engine) as connection:
        assert records.read_correction(connection, taught_site.address(1)).reader == "Anna"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"reader": ""}, "say who corrects"),
        ({"reader": "x" * 61}, "say who corrects"),
        ({"reader": "a\x00b"}, "say who corrects"),
        ({"keep": ["99"]}, "the page has no block 99"),
        ({"keep": ["first"]}, "a block is called by its number"),
        ({"title": "<b>No such title"}, "the page states no title &#39;&lt;b&gt;No such title&#39;"),
        ({"published": "1 May"}, "is not an ISO date"),
        ({"version": "another"}, "has changed since you opened the form"),
        ({"finished": "part", "keep": ["2", "3", "4", "5", "6"]}, "nothing is corrected"),
    ],
)
def test_a_form_with_something_else_is_told(browser, edited_url, fields, sentence):
    status, _, page = browser.send("/edit/pages/2", browser.hidden("/edit/pages/2") | KEPT | fields)
    assert (status // 100, sentence in page) == (4, True), page
    assert stored(edited_url) == ([], [])


def test_pages_and_sites_that_there_are_not(browser):
    assert browser.ask("/edit/pages/99")[0] == 404
    assert browser.ask("/edit/sites/nowhere.example")[0] == 404
    key = browser.hidden("/edit/pages/2")["key"]
    assert browser.send("/edit/sites/nowhere.example", {"key": key, "action": "accept", "reader": "A"})[0] == 404
    assert browser.send(f"/edit/sites/{SITE}", {"key": key, "action": "drop"})[0] == 400
    assert browser.send("/edit/pages/2", {"key": key}, Content_Type="application/json")[0] == 400


@pytest.mark.parametrize("odd", ["\0", "https://a.example/\0", "9" * 30, "9" * 5_000], ids=lambda odd: ascii(odd)[:30])
def test_no_value_breaks_an_answer(browser, odd, caplog):
    """Texts that no column and no command line holds, and numbers that are too large."""
    key = browser.hidden("/edit/pages/2")["key"]
    fields = {"key": key, "reader": "A", "url": odd}
    browser.send(f"/edit/sites/{SITE}", fields | {"action": "forget"})
    browser.send("/edit/jobs", fields | {"action": "visit"})
    for path in ("/edit/pages/", "/edit/sites/", "/edit/jobs/"):
        browser.ask(path + quote(odd, safe=""))
        browser.send(path + quote(odd, safe=""), fields | {"action": "accept"})
    assert "Traceback" not in caplog.text


def test_a_form_that_never_ends_is_cut_off(browser):
    connection = http.client.HTTPConnection("127.0.0.1", browser.port, timeout=300)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": browser.origin, "Cookie": browser.cookie}
    connection.request("POST", "/edit/pages/2", b"a=" + b"b" * 1_000_001, headers)
    assert connection.getresponse().status == 400
    connection.close()


def test_a_database_that_is_only_read(taught_url, serve_edits, browser_at):
    url = taught_url("postgresql")
    with serve_edits(url, f"{url}?options=-cdefault_transaction_read_only%3Don") as port:
        browser = browser_at(port).enter()
        status, _, page = browser.send("/edit/pages/2", browser.hidden("/edit/pages/2") | KEPT)
        assert status == 503
        assert "read-only" in page
    assert stored(url) == ([], [])


def test_editing_needs_a_token():
    with pytest.raises(ConfigError, match="--edit needs --token"):
        Access.of("127.0.0.1", None, edits=True)
    assert Access.of("127.0.0.1", "a token of many letters").form_key is None
    assert not Access.of("127.0.0.1", "a token of many letters").proves_form("")


@pytest.mark.slow
def test_a_job_is_started_and_shown_and_stopped(browser):
    page = browser.ask("/pages/2")[2]
    assert 'href="/edit/jobs?url=https%3A%2F%2Fcourier.example%2Fnews%2F1"' in page
    assert (
        'value="https://courier.example/news/1"'
        in browser.ask("/edit/jobs?url=https%3A%2F%2Fcourier.example%2Fnews%2F1")[2]
    )
    key = browser.hidden("/edit/jobs")
    status, headers, _ = browser.send(
        "/edit/jobs", key | {"action": "set_aside", "url": "https://courier.example/news/"}
    )
    assert (status, headers["Location"]) == (303, "/edit/jobs/1")
    deadline = time.monotonic() + 300
    while "failed with exit code 2" not in (page := browser.ask("/edit/jobs/1")[2]):
        assert ("data-reload" in page, time.monotonic() < deadline) == (True, True)
        time.sleep(0.1)
    assert "data-reload" not in page
    assert "no section is stored at https://courier.example/news/" in page
    assert "scrapy recrawl --set-aside=https://courier.example/news/" in browser.ask("/edit/jobs")[2]
    assert browser.send("/edit/jobs/1", key)[0] == 303


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/edit/jobs", {"action": "prune", "url": "https://a.example/"}, 400),
        ("/edit/jobs", {"action": "crawl", "url": "--help"}, 400),
        ("/edit/jobs", {"action": "crawl", "url": "https://a.example/", "key": "0"}, 400),
        ("/edit/jobs/7", {}, 404),
        ("/edit/jobs/7", {"key": "0"}, 400),
    ],
)
def test_jobs_that_are_not_started(browser, path, fields, status):
    assert browser.send(path, browser.hidden("/edit/jobs") | fields)[0] == status
    assert browser.send(path, browser.hidden("/edit/jobs") | fields, Origin="https://evil.example")[0] == 403
    assert browser.ask("/edit/jobs/7")[0] == 404
    assert "None was started" in browser.ask("/edit/jobs")[2]
