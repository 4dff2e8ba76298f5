"""The application: static files, headers, and who may ask."""

import re
from concurrent.futures import ThreadPoolExecutor, as_completed
from http import HTTPStatus
from urllib.parse import quote

import msgspec
import pytest
from cleaned_pages import html as page_html
from cleaned_pages import visit
from lxml import etree, html
from web_answers import path_of

from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store


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


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_may_lead_here_and_load_nothing(ask, ask_with_token, site):
    bearer = {"Authorization": "Bearer a token of many letters"}
    for mode, destination in (
        *(("no-cors", name) for name in ("image", "script", "style", "iframe", "empty")),
        ("cors", "empty"),
        ("navigate", "iframe"),
        ("navigate", "object"),
    ):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination}
        for path in ("/pages/1/frame", "/api/overview", "/live", "/"):
            assert ask(path, headers).status == 403
        assert ask_with_token("/", headers | bearer).status == 403
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert ask("/pages/1", link).status == 200
    assert ask("/pages/1/frame", link | {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "iframe"}).status == 200


def test_originals_wait_in_a_queue_of_their_own(fresh_url, serving, ask_port):
    """Twenty readers ask for a page that takes seconds: some are told to wait, and other pages are shown meanwhile."""
    url = fresh_url("sqlite")
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
        store = Store(engine)
        large = "".join(f"<p>Sentence {n} of a page that is long, about <b>the harbour</b>.</p>" for n in range(4_000))
        store.save(store.begin_crawl("lake", {}), [visit(1, page_html(1).replace("</article>", f"{large}</article>"))])
    with serving(url) as port, ThreadPoolExecutor(20) as asked:
        originals = [asked.submit(ask_port, port, "/pages/1/frame") for _ in range(20)]
        refused = next(original for original in as_completed(originals) if original.result().status != HTTPStatus.OK)
        assert ask_port(port, "/sites").status == HTTPStatus.OK
        assert not all(original.done() for original in originals)
    statuses = [original.result().status for original in originals]
    assert refused.result().status == HTTPStatus.SERVICE_UNAVAILABLE
    assert HTTPStatus.OK in statuses
