"""Secrets are replaced in arguments and texts."""

import pytest

from crawler.redact import looks_secret, redact_arguments, redact_text


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "PASSWD",
        "api_key",
        "apiKey",
        "X-API-KEY",
        "key",
        "accessToken",
        "token",
        "auth",
        "http_auth",
        "secret",
    ],
)
def test_names_of_secrets_are_recognised(name):
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["author", "keyword", "monkey", "pages", "url", "category", "passage", "since"])
def test_other_names_are_not_secrets(name):
    assert not looks_secret(name)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://me:pw@example.com/", "https://***@example.com/"),
        ("see http://a:b@c.d/x and ftp://e@f/", "see http://***@c.d/x and ftp://***@f/"),
        ("https://example.com/?page=2&api_key=x&q=1", "https://example.com/?page=2&api_key=***&q=1"),
        ("mail me@example.com", "mail me@example.com"),
    ],
)
def test_secrets_in_urls_are_redacted(text, masked):
    assert redact_text(text) == masked


def test_arguments_are_redacted_at_any_depth():
    arguments = {"a": [{"token": 1, "b": ("http://x:y@z/", 2.5, None)}], "n": 3, "o": object, "password": ["p"]}
    masked = redact_arguments(arguments)
    assert masked["a"] == [{"token": "***", "b": ["http://***@z/", 2.5, None]}]
    assert (masked["n"], masked["password"]) == (3, "***")
    assert isinstance(masked["o"], str)
