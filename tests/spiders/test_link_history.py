"""The history of URL patterns: how often their pages were articles."""

import pytest

from spiders.link_history import LinkHistory

SITE = "https://www.portal.example"


def test_a_pattern_has_no_likelihood_before_three_pages():
    history = LinkHistory()
    for number in range(3):
        assert history.likelihood(f"{SITE}/read/1234") is None
        history.learn(f"{SITE}/read/{number}1234", is_article=True)
    assert history.likelihood(f"{SITE}/read/91234") == pytest.approx(0.8)


def test_patterns_of_the_same_kind_are_distinguished_by_their_words():
    history = LinkHistory()
    for number in range(10, 20):
        history.learn(f"{SITE}/read/{number}1234", is_article=True)
        history.learn(f"{SITE}/watch/{number}1234", is_article=False)
    assert history.likelihood(f"{SITE}/read/991234") == pytest.approx(11 / 12)
    assert history.likelihood(f"{SITE}/watch/991234") == pytest.approx(1 / 12)
    assert history.likelihood(f"{SITE}/hear/991234") == pytest.approx(0.5)  # by its kind


def test_sites_are_separate():
    history = LinkHistory()
    for number in range(5):
        history.learn(f"{SITE}/read/{number}1234", is_article=True)
    assert history.likelihood("https://portal.other/read/1234") is None


def test_a_rebuilt_site_is_history_again():
    history = LinkHistory()
    for number in range(1_000):
        history.learn(f"{SITE}/read/{number}1234", is_article=True)
    for number in range(100):
        history.learn(f"{SITE}/read/{number}1234", is_article=False)
    assert history.likelihood(f"{SITE}/read/991234") < 0.4


def test_memory_is_limited_and_the_oldest_are_forgotten():
    history = LinkHistory(most_sites=3, most_patterns=4)
    for number in range(10):
        for _ in range(3):
            history.learn(f"https://s{number}.example/read/1234", is_article=True)
    for name in ("one", "two", "three", "four"):
        for _ in range(3):
            history.learn(f"https://s9.example/{name}/1234", is_article=True)
    assert len(history._sites) == 3
    assert all(len(known) <= 4 for known in history._sites.values())
    assert history.likelihood("https://s0.example/read/1234") is None
    assert history.likelihood("https://s9.example/four/1234") is not None
