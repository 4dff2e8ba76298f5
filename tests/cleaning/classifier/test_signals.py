"""The signals of a page: its URL, its stated types and texts, the words that tell its type."""

import numpy as np
import pytest

from cleaning import parse
from cleaning.classifier.signals import (
    PAGE_TYPES,
    PAGE_WORD_NAMES,
    TYPE_FAMILIES,
    PageSignals,
    page_type_words,
    read_signals,
    sum_word_scores,
    word_runs,
)
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements

BODY = " ".join(f"word{number}" for number in range(40))


def signals(source, url=None):
    page = parse(source, url)
    return read_signals(page, read_statements(page.root))


def test_page_without_statements_has_no_signals():
    assert signals("<p>x") == PageSignals()


def test_url_is_split():
    of_page = signals("<p>x", "https://www.example.org/blog/a-b?page=2")
    assert (of_page.path, of_page.query, of_page.host) == ("/blog/a-b", True, "www.example.org")


@pytest.mark.parametrize("more", ["?utm_source=rss&utm_medium=feed", "?fbclid=1#top", ";jsessionid=0A1B"])
def test_tracking_and_sessions_in_an_address_are_no_signals(more):
    plain = "https://www.example.org/blog/a-b"
    assert signals("<p>x", plain + more) == signals("<p>x", plain)


@pytest.mark.parametrize("url", ["http://[", "http://[::1/a?b", "", "http://exa mple/\udc80"])
def test_malformed_urls_are_accepted(url):
    assert signals("<p>x", url).host in {"", "exa mple"}


def test_stated_body_has_its_words_counted():
    source = f'<script type="application/ld+json">{{"@type": "NewsArticle", "articleBody": "{BODY}"}}</script><p>x'
    of_page = signals(source)
    assert (of_page.body, of_page.body_words) == (BODY, 40)
    assert of_page.families == [name == "news" for name in TYPE_FAMILIES]


def test_short_body_is_a_summary_and_none():
    source = '<script type="application/ld+json">{"@type": "NewsArticle", "articleBody": "A teaser."}</script><p>x'
    assert (signals(source).body, signals(source).body_words) == ("", 0)


def test_summaries_are_sets_of_words_each_once():
    text = "The quick brown fox jumps over the lazy dog."
    source = f'<meta name="description" content="{text}"><meta property="og:description" content="{text}">'
    (summary,) = signals(f"{source}<p>x").summaries
    assert {"quick", "fox", "the"} <= summary


def test_runs_of_three_words():
    assert list(word_runs("a b c d".split())) == [("a", "b", "c"), ("b", "c", "d")]
    assert list(word_runs(["a", "b"])) == []


def test_words_are_of_the_address_the_types_and_the_outermost_elements():
    source = (
        '<meta property="og:type" content="product"><body class="single-product">'
        '<div id="page"><section class="inner"><p>x</p></section></div>'
    )
    page = parse(source, "https://shop.example.org/items/blue-vase-12")
    words = page_type_words(read_leaf_table(page.root), read_signals(page, read_statements(page.root)))
    assert {"u:items", "u:blue", "u:vase", "h:shop", "h:example", "b:single", "b:single_product", "b:page"} <= words
    assert any(word.startswith("y:") and "product" in word for word in words)
    assert "b:inner" not in words


def test_scores_of_known_words_add_up():
    scores = {"u:blog": np.arange(7.0), "u:news": np.ones(7)}
    assert sum_word_scores(frozenset({"u:blog", "u:news", "u:x"}), scores).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert sum_word_scores(frozenset({"u:x"}), scores).tolist() == [0] * 7


def test_every_type_has_its_feature():
    assert len(PAGE_WORD_NAMES) == len(PAGE_TYPES) == 7
