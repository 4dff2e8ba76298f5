"""What a page states of itself, as the features ask for it."""

import pytest

from cleaning import parse
from cleaning.classifier.signals import TYPE_FAMILIES, PageSignals, read_signals, word_runs
from cleaning.metadata.statements import read_statements

BODY = " ".join(f"word{number}" for number in range(40))


def facts(source, url=None):
    page = parse(source, url)
    return read_signals(page, read_statements(page.root))


def test_silent_page_has_no_facts():
    assert facts("<p>x") == PageSignals()


def test_address_is_taken_apart():
    found = facts("<p>x", "https://www.example.org/blog/a-b?page=2")
    assert (found.path, found.query, found.host) == ("/blog/a-b", True, "www.example.org")


@pytest.mark.parametrize("url", ["http://[", "http://[::1/a?b", "", "http://exa mple/\udc80"])
def test_odd_addresses_do_no_harm(url):
    assert facts("<p>x", url).host in {"", "exa mple"}


def test_stated_body_is_its_runs_of_three_words():
    source = f'<script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{BODY}"}}</script><p>x'
    found = facts(source)
    assert (found.body_words, len(found.body)) == (40, 38)
    assert ("word0", "word1", "word2") in found.body
    assert found.families == [name == "news" for name in TYPE_FAMILIES]


def test_short_body_is_a_summary_and_none():
    source = '<script type="application/ld+json">{"@type": "NewsArticle", "articleBody": "A teaser."}</script><p>x'
    assert (facts(source).body_words, facts(source).body) == (0, frozenset())


def test_summaries_are_sets_of_words_each_once():
    text = "The quick brown fox jumps over the lazy dog."
    source = f'<meta name="description" content="{text}"><meta property="og:description" content="{text}">'
    (summary,) = facts(f"{source}<p>x").summaries
    assert {"quick", "fox", "the"} <= summary


def test_runs_of_three_words():
    assert list(word_runs("a b c d".split())) == [("a", "b", "c"), ("b", "c", "d")]
    assert list(word_runs(["a", "b"])) == []
