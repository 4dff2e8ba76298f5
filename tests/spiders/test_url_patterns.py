"""Shapes of URLs, and what is learned of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spiders.link_history import LinkHistory
from spiders.url_patterns import url_pattern

SITE = "https://www.portal.example"


@pytest.mark.parametrize(
    ("path", "exact", "kind"),
    [
        ("/", "/", ""),
        ("/news/articles/c5yjegg892lo", "/news/articles/code", "word/word/code"),
        ("/2024/05/31/why-the-river-rose", "/year/day/day/slug", "year/day/day/slug"),
        ("/news/2024-05-31/doc-ihmhafir1023208.shtml", "/news/date/number.shtml", "word/date/number.shtml"),
        ("/tech/story-4711123.html", "/tech/number.html", "word/number.html"),
        ("/a-long-title-of-a-story/126041363.cms", "/slug/number.cms", "slug/number.cms"),
        ("/a-long-title-of-a-story-8661042/", "/slugnumber", "slugnumber"),
        ("/story.php?id=5&utm_source=x&PHPSESSID=1", "/word.php?id", "word.php?id"),
        ("/search?q=x&page=2", "/word?page&q", "word?page&q"),
    ],
)
def test_the_pattern_of_a_url(path, exact, kind):
    found = url_pattern(SITE + path)
    assert (found.exact, found.kind) == (f"www.portal.example{exact}", f"*/{kind}")


def test_a_pattern_has_no_likelihood_before_three_pages():
    learned = LinkHistory()
    for number in range(3):
        assert learned.likelihood(f"{SITE}/read/1234") is None
        learned.learn(f"{SITE}/read/{number}1234", is_article=True)
    assert learned.likelihood(f"{SITE}/read/91234") == pytest.approx(0.8)


def test_patterns_of_the_same_kind_are_distinguished_by_their_words():
    learned = LinkHistory()
    for number in range(10, 20):
        learned.learn(f"{SITE}/read/{number}1234", is_article=True)
        learned.learn(f"{SITE}/watch/{number}1234", is_article=False)
    assert learned.likelihood(f"{SITE}/read/991234") == pytest.approx(11 / 12)
    assert learned.likelihood(f"{SITE}/watch/991234") == pytest.approx(1 / 12)
    assert learned.likelihood(f"{SITE}/hear/991234") == pytest.approx(0.5)  # by its kind


def test_sites_are_separate():
    learned = LinkHistory()
    for number in range(5):
        learned.learn(f"{SITE}/read/{number}1234", is_article=True)
    assert learned.likelihood("https://portal.other/read/1234") is None


def test_a_rebuilt_site_is_learned_again():
    learned = LinkHistory()
    for number in range(1_000):
        learned.learn(f"{SITE}/read/{number}1234", is_article=True)
    for number in range(100):
        learned.learn(f"{SITE}/read/{number}1234", is_article=False)
    assert learned.likelihood(f"{SITE}/read/991234") < 0.4


def test_memory_is_limited_and_the_oldest_are_forgotten():
    learned = LinkHistory(most_sites=3, most_patterns=4)
    for number in range(10):
        for _ in range(3):
            learned.learn(f"https://s{number}.example/read/1234", is_article=True)
    for name in ("one", "two", "three", "four"):
        for _ in range(3):
            learned.learn(f"https://s9.example/{name}/1234", is_article=True)
    assert len(learned._sites) == 3
    assert all(len(known) <= 4 for known in learned._sites.values())
    assert learned.likelihood("https://s0.example/read/1234") is None
    assert learned.likelihood("https://s9.example/four/1234") is not None


@given(st.text(max_size=200))
def test_any_url_has_a_pattern(path):
    found = url_pattern(f"https://www.portal.example/{path.replace('[', '').replace(']', '')}")
    assert found == url_pattern(f"https://www.portal.example/{path.replace('[', '').replace(']', '')}")
    assert len(found.exact) <= 1_000
