"""Registered domains of URLs, kind and hostile."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import domains
from cleaning.domains import PageLinks, registered_domain


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.bbc.co.uk/news", "bbc.co.uk"),
        ("HTTP://WWW.Example.COM:8080/", "example.com"),
        ("https://bücher.example.de/", "example.de"),
        ("https://www.bücher.de/", "xn--bcher-kva.de"),
        ("https://www.xn--bcher-kva.de/", "xn--bcher-kva.de"),
        ("https://www.example.com./", "example.com"),
        ("https://me.github.io/", "me.github.io"),
        ("https://co.uk/", "co.uk"),
        ("https://163.invalid/a.html", "163.invalid"),
        ("https://a.b.intranet.invalid/", "intranet.invalid"),
        ("http://127.0.0.1:8000/x", "127.0.0.1:8000"),
        ("http://127.0.0.1/x", "127.0.0.1:80"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("https://localhost/", "localhost:443"),
        ("mailto:a@example.com", None),
        ("/relative", None),
        ("", None),
        ("http://[broken", None),
        (f"https://{'a.' * 130}com/", None),
        ("https://./", None),
        ("http://example.com:port/", None),
    ],
)
def test_registered_domain(url, expected):
    assert registered_domain(url) == expected


def test_sites_are_known_without_the_network(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    domains.public_suffixes.cache_clear()
    domains._domain_of.cache_clear()
    assert registered_domain("https://www.example.com.au/") == "example.com.au"


@given(st.text() | st.text().map("https://".__add__))
def test_any_text_has_a_domain_or_none(url):
    assert registered_domain(url) != ""


OWN = PageLinks("https://www.example.com/a/page.html")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://other.org/", True),
        (" //cdn.other.org/a.png", True),
        ("https://cdn.example.com/", False),
        ("/other.org?to=https://other.org", False),
        ("mailto:a@other.org", False),
        ("data:text/html,https://other.org/", False),
        ("https://[broken/", False),
        ("", False),
    ],
)
def test_foreign_addresses(url, expected):
    assert OWN.is_foreign(url) is expected
    assert not PageLinks(None).is_foreign(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://other.org/", True),
        ("//WWW.Other.org./", True),
        ("https://notother.org/", False),
        ("https://other.org.example.net/", False),
        ("/other.org", False),
        ("https://sub.example.com/", False),
    ],
)
def test_addresses_of_known_hosts(url, expected):
    assert OWN.leads_to(url, frozenset({"other.org", "example.com"})) is expected


def test_without_its_url_no_address_is_the_pages_own():
    assert PageLinks(None).leads_to("https://sub.example.com/", frozenset({"example.com"}))


def test_a_protocol_relative_address_has_the_pages_port():
    assert not PageLinks("http://127.0.0.1/").is_foreign("//127.0.0.1/a.png")
