"""Features of links."""

import pytest
from scrapy.http import HtmlResponse

from spiders.link_features import article_log_odds, features_by_url
from spiders.links import page_anchors

PAGE = """
<header><a href="/a-story-in-the-head-of-the-page">A story in the head of the page</a></header>
<ul class="cards">
<li class="card"><a href="/news/2024/05/31/the-river">The river rose in the night</a></li>
<li class="card"><a href="/news/2024/05/30/the-mill">Mill</a></li>
<li class="card"><a href="/news/2024/05/30/the-mill"><img></a></li>
<li class="card"><a href="/topics/rivers/and/lakes/of/the/whole/world">河流在夜里上涨</a></li>
</ul>
"""
URL = "https://www.portal.example/news/"


@pytest.fixture
def anchors():
    return page_anchors(HtmlResponse(URL, body=PAGE, encoding="utf-8"))


@pytest.fixture
def looks(anchors):
    return {
        url.removeprefix("https://www.portal.example"): features
        for url, features in features_by_url(anchors, URL).items()
    }


def test_a_url_has_one_set_of_features_with_its_longest_text(looks):
    assert list(looks) == [
        "/a-story-in-the-head-of-the-page",
        "/news/2024/05/31/the-river",
        "/news/2024/05/30/the-mill",
        "/topics/rivers/and/lakes/of/the/whole/world",
    ]
    river, mill = looks["/news/2024/05/31/the-river"], looks["/news/2024/05/30/the-mill"]
    assert river["pattern words"] == mill["pattern words"] == pytest.approx(1.504, abs=0.001)  # log1p of (6 + 1) / 2


def test_features_of_the_url(looks):
    river, head = looks["/news/2024/05/31/the-river"], looks["/a-story-in-the-head-of-the-page"]
    topic = looks["/topics/rivers/and/lakes/of/the/whole/world"]
    assert [river[name] for name in ("date", "slug", "depth", "deeper", "elsewhere")] == [True, False, 5, True, False]
    assert [head[name] for name in ("date", "slug", "depth", "deeper", "elsewhere")] == [False, True, 1, False, False]
    assert [topic[name] for name in ("depth", "elsewhere")] == [6, True]


def test_features_of_the_position(looks):
    assert looks["/a-story-in-the-head-of-the-page"]["framed"]
    assert not looks["/news/2024/05/31/the-river"]["framed"]
    assert [features["at"] for features in looks.values()] == [0.0, 0.2, 0.4, 0.8]


def test_words_of_scripts_without_spaces_are_counted(looks):
    topic, river = looks["/topics/rivers/and/lakes/of/the/whole/world"], looks["/news/2024/05/31/the-river"]
    assert topic["kind words"] == pytest.approx(1.609, abs=0.001)  # log1p of 4: eight characters
    assert topic["place words"] == river["place words"]


def test_an_article_is_likelier_than_a_topic(anchors):
    odds = {url.rpartition("/")[2]: value for url, value in article_log_odds(anchors, URL).items()}
    assert odds["the-river"] > 0 > odds["world"]
    assert article_log_odds([], URL) == {}
