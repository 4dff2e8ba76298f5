"""Keys and sites of URLs, also of hostile ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from cleaning.tracking import without_tracking
from crawler.urls import (
    _MAX_KEY_CHARS,
    known_url,
    placeholder_url,
    site_of,
    url_key,
    without_credentials,
)

EZINE = "https://ezinearticles.com"
PAGE = "https://www.example.co.uk/news/1?b=2&a=1#top"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.bbc.co.uk/news", "bbc.co.uk"),
        ("http://127.0.0.1:8000/x", "127.0.0.1:8000"),
        ("mailto:a@example.com", ""),
        ("", ""),
        ("http://[broken", ""),
    ],
)
def test_site(url, expected):
    assert site_of(url) == expected


def test_the_placeholder_of_an_unknown_address_is_no_known_url():
    assert placeholder_url("sina", "a b.html") == "https://sina.invalid/a%20b.html"
    assert known_url(placeholder_url("", "a.html")) is known_url("HTTPS://Sina.INVALID") is None
    for url in ("http://ezinearticles.invalid/1", "https://sina.invalid.example/", "https://a.example/x.invalid/"):
        assert known_url(url) == url


def test_fragments_and_the_order_of_parameters_make_no_other_key():
    assert url_key(PAGE) == url_key("https://www.example.co.uk/news/1?a=1&b=2") == url_key(f"  {PAGE}")


def test_articles_with_odd_slugs_have_keys_of_their_own():
    articles = [
        f"{EZINE}/?CSV-vs-XML-vs-JSON---Which-is-the-Best-Response-Data-Format?&id=4073117",
        f"{EZINE}/?CSV-vs-XML-vs-JSON---Which-is-the-Best-Response-Data-Format?&id=4073118",
        f"{EZINE}/?Remote-Desktop-Protocol-(RDP)-Port-Forwarding&id=115181",
        f"{EZINE}/?Spider-Solitaire---History-and-Rules&id=6806794",
        f"{EZINE}/10553192",
    ]
    assert len({url_key(article) for article in articles}) == len(articles)
    assert url_key(f"{articles[0]}#comments") == url_key(articles[0]) == url_key(url_key(articles[0]))


def test_a_canonical_url_of_the_same_site_is_believed():
    assert url_key("https://m.example.com/1?from=mail", "https://www.example.com/1") == "https://www.example.com/1"


@pytest.mark.parametrize(
    "canonical",
    [
        "https://evil.example.org/1",
        "https://www.example.co.uk.evil.com/1",
        "https://www.example.co.uk@evil.com/1",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://www.example.co.uk/1",
        "file:///etc/passwd",
        "/news/1",
        "//www.example.co.uk/1",
        "",
        " ",
        "http://",
        "http://[",
        "https://www.example.co.uk:bad/",
        f"https://www.example.co.uk/{'x' * 3000}",
        "\x00",
        "\ud800",
    ],
)
def test_a_hostile_canonical_url_is_ignored(canonical):
    assert url_key(PAGE, canonical) == url_key(PAGE)


def test_a_neighbour_below_a_public_suffix_cannot_claim_a_page():
    assert url_key("https://me.github.io/1", "https://you.github.io/1") == "https://me.github.io/1"


@pytest.mark.parametrize("root", [EZINE, f"{EZINE}/", f"{EZINE}/#main", "http://www.ezinearticles.com"])
def test_the_home_page_is_no_article_s_canonical_url(root):
    assert url_key(f"{EZINE}/?Title&id=1", root) == url_key(f"{EZINE}/?Title&id=1")


def test_the_home_page_may_call_itself_canonical():
    assert url_key("http://www.example.com/", "https://example.com/") == "https://example.com/"


def test_a_very_long_url_has_a_short_key_of_its_own():
    first, second = (url_key(f"https://example.com/{'x' * 5000}{end}") for end in "ab")
    assert len(first) == len(second) == _MAX_KEY_CHARS
    assert first != second


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://me:pw@example.com/x", "https://example.com/x"),
        ("https://me:p@w@example.com/x", "https://example.com/x"),
        ("https://example.com/@me", "https://example.com/@me"),
        ("https://example.com/?mail=a@b.c", "https://example.com/?mail=a@b.c"),
        (" https://example.com/\x00\ud800 ", "https://example.com/\ufffd\ufffd"),
    ],
)
def test_credentials_are_removed(url, plain):
    assert without_credentials(url) == plain


@given(url=st.text(max_size=60), canonical=st.none() | st.text(max_size=60))
def test_any_text_has_a_key_that_can_be_stored(url, canonical):
    url_key(url, canonical).encode()
    site_of(url)


@given(st.text(alphabet="http:/@.[]?#%&=ax0", max_size=40))
def test_any_url_like_text_has_a_key_that_stays(tail):
    key = url_key(f"https://example.com/{tail}", f"https://example.com/{tail}")
    assert key == url_key(f"https://example.com/{tail}", f"https://example.com/{tail}")
    key.encode()


@given(
    host=st.text(alphabet="aZ0-.:", min_size=1, max_size=12)
    | st.sampled_from(["a.example", "127.0.0.1:080", "a" * 64]),
    path=st.text(alphabet="aZ0/.~_-%;(?=+ ", max_size=12),
)
def test_the_key_of_a_plain_address_is_its_canonical_form(host, path):
    url = f"http://{host}/{path}"
    try:
        canonical = canonicalize_url(without_tracking(url))
    except ValueError:
        return
    assert url_key(url) == canonical


def test_line_ends_in_an_address_make_no_other_key():
    assert url_key("https://a.example/news/\n\t1") == url_key("https://a.example/news/1")


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/1;jsessionid=0A1B2C?x=1",
        "https://a.example/1?x=1&PHPSESSID=8f2a",
        "https://a.example/1?x=1&sid=0123456789abcdef0123",
        "https://a.example/(S(abcdefghij0123456789klmn))/1?x=1",
        "https://a.example/1?utm_source=a&utm_medium=b&x=1&fbclid=c#top",
        "https://a.example/1?gclid=1&x=1",
    ],
)
def test_sessions_and_tracking_make_no_other_key(url):
    assert url_key(url) == "https://a.example/1?x=1"
    assert without_tracking(url).partition("#")[0] == "https://a.example/1?x=1"


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/article.pl?sid=06/03/08/0247257",
        "https://a.example/?sid=12345678901234567890",
        "https://a.example/?sid=the-river-rose-in-the-night",
        "https://a.example/?utmost=1&ref=home&source=x&campaign=2&s=abc",
        "https://a.example/?",
        "https://a.example/?a&&b=",
        f"{EZINE}/?CSV-vs-XML-vs-JSON---Which-is-the-Best-Response-Data-Format?&id=4073117",
    ],
)
def test_parameters_that_may_identify_a_page_are_unchanged(url):
    assert without_tracking(url) == url


@given(st.text(max_size=100))
def test_removing_tracking_twice_changes_nothing_more(url):
    assert without_tracking(without_tracking(url)) == without_tracking(url)


def test_a_hashbang_fragment_is_part_of_the_key():
    assert url_key("https://a.example/#!/news/1") != url_key("https://a.example/#!/news/2")
    assert url_key("https://a.example/?b=1&a=2#!/news/1") == url_key("https://a.example/?a=2&b=1#!/news/1")
    assert url_key("https://a.example/x#!") == url_key("https://a.example/x#top") == "https://a.example/x"


def test_a_hashbang_page_does_not_believe_that_it_is_the_home_page():
    own = url_key("https://a.example/#!/news/1")
    assert url_key("https://a.example/#!/news/1", "https://a.example/") == own
