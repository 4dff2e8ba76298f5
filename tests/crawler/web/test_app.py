"""The application: static files, headers, and who may ask."""

import re


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
