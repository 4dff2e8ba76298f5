"""The application: static files, headers, and who may ask."""

import re
from http import HTTPStatus
from urllib.parse import quote

import msgspec
from lxml import etree, html
from web_answers import path_of


def test_an_unknown_address_is_a_page_and_static_files_have_versions(ask):
    assert ask("/nowhere").status == 404
    address = re.search(r'href="(/static/style\.css\?v=[\w-]+)"', ask("/").text)[1]
    assert "immutable" in ask(address).headers["Cache-Control"]
    assert ask("/static/nothing").status == 404


def test_only_reading_is_allowed_and_only_under_its_own_name(ask):
    assert ask("/", method="POST").status == 405
    assert ask("/", {"Host": "evil.example"}).status == 421
    assert ask("/", {"Host": "evil.example:80", "X-Forwarded-Host": "localhost"}).status == 421
    assert ask("/", {"Host": "localhost:1"}).status == 200
    headers = ask("/").headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Server"] is None


def test_a_token_is_asked_for_everywhere_and_leaves_the_address(ask_with_token):
    assert {ask_with_token(path).status for path in ("/", "/api/overview", "/live", "/static/web.js", "/x")} == {401}
    assert ask_with_token("/?token=wrong").status == 401
    assert ask_with_token("/", {"Authorization": "Bearer wrong"}).status == 401
    assert ask_with_token("/api/overview", {"Authorization": "Bearer a token of many letters"}).status == 200
    entered = ask_with_token("//evil.example/?q=a&token=a+token+of+many+letters")
    assert (entered.status, entered.headers["Location"]) == (303, "/evil.example/?q=a")
    cookie = entered.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "letters" not in cookie
    assert ask_with_token("/", {"Cookie": cookie.partition(";")[0]}).status == 200
    assert ask_with_token("/", {"Cookie": "blocksieve=x"}).status == 401


def test_the_feed_opens_by_a_key_in_its_address_that_opens_nothing_else(ask_with_token):
    bearer = {"Authorization": "Bearer a token of many letters"}
    page = html.document_fromstring(ask_with_token("/changes?kind=new", bearer).text)
    feed = page.xpath("string(//link[@type='application/atom+xml']/@href)")
    assert feed.startswith("/changes.atom?kind=new&key=")
    answer = ask_with_token(feed)
    assert answer.status == 200
    key = feed.partition("key=")[2]
    links = etree.fromstring(answer.body).xpath("//*[@rel='self']/@href")
    assert links[0].endswith(f"/changes.atom?kind=new&key={key}")
    addresses = ("/changes.atom", "/changes.atom?key=", "/changes.atom?key=\u00e9", f"/changes?key={key}")
    addresses += (f"/api/changes?key={key}", f"/changes.atom?token={key}", f"/changes.atom/../?key={key}")
    assert {ask_with_token(quote(address, safe="/?=&.")).status for address in addresses} == {401}
    assert ask_with_token(f"/changes.atom?key={key}&kind=wrong").status == 400


def test_a_server_without_a_token_has_no_key_for_its_feed(ask):
    page = html.document_fromstring(ask("/changes").text)
    assert page.xpath("string(//link[@type='application/atom+xml']/@href)") == "/changes.atom"


ODD = ["%00", "a%00b", "%ED%A0%80", "%FF", "%zz", "9" * 30, "9" * 5_000, "1e999", "%D9%A3"]
"""Texts that no column holds, texts that are not UTF-8, and numbers that are none or too large."""


def test_no_value_in_an_address_breaks_an_answer(ask, view, caplog):
    """Wherever it stands: the answer is empty, or says what is wrong."""
    names = [field.name for field in msgspec.structs.fields(view.question)]
    paths = [path_of(view, **{name: odd}) for name in names if f"{{{name}}}" in view.path for odd in ODD]
    paths += [f"{path_of(view)}?{name}={odd}" for name in names if f"{{{name}}}" not in view.path for odd in ODD]
    check_answered(ask, [prefix + path for path in paths for prefix in ("", "/api")], caplog)


def test_no_value_in_another_address_breaks_an_answer(ask, caplog):
    paths = ("/changes.atom?site=", "/page?url=", "/page?url=https://a.example/", "/static/", "/pages/1/frame?method=")
    check_answered(ask, [path + odd for path in (*paths, "/pages/") for odd in ODD], caplog)


def check_answered(ask, addresses, caplog):
    statuses = {address: ask(address).status for address in addresses}
    assert {address: status for address, status in statuses.items() if status >= HTTPStatus.INTERNAL_SERVER_ERROR} == {}
    assert "Traceback" not in caplog.text
