"""Every view as a page: whole, and inert whatever the texts are."""

from urllib.parse import urlencode

import pytest
from lxml import html as lxml_html
from shown_pages import HOSTILE
from web_answers import check_inert, path_of

from crawler.web.render import axis_top, make_chart


def test_each_page_is_whole_and_inert(ask, view):
    answer = ask(path_of(view))
    assert answer.status == 200, answer.text
    check_inert(answer)


@pytest.mark.parametrize("path", ["/", "/failures", "/crawls", "/sites/example.org", "/search?q=attacker"])
def test_hostile_texts_are_shown_as_texts(ask, path):
    answer = ask(path)
    check_inert(answer)
    text = lxml_html.document_fromstring(answer.body).text_content()
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}" in text


def test_a_hostile_page_and_query_are_inert(ask):
    result = ask("/api/search?q=attacker").json["pages"][0]
    assert result["title"] == HOSTILE
    check_inert(ask(f"/pages/{result['id']}"))
    check_inert(ask(f"/search?{urlencode({'q': HOSTILE, 'site': HOSTILE})}"))
    check_inert(ask(f"/sites/{HOSTILE.replace('/', '').encode().hex()}%3Cscript%3E"))


def test_a_chart_has_an_axis_and_a_bar_for_each_value():
    chart = make_chart([0, 3, 30, None], ["Mon", "Tue", "Wed", "Thu"])
    assert (chart.top, chart.middle, chart.width) == (40, 20, 40)
    assert [bar.height for bar in chart.bars] == [0, 7.5, 75, 0]
    assert chart.bars[2].y == 25
    assert [bar.label for bar in chart.bars] == ["Mon: 0", "Tue: 3", "Wed: 30", "Thu: none"]
    assert chart.ends == ["Mon", "Wed", "Thu"]


@pytest.mark.parametrize(("most", "top"), [(0, 2), (1, 2), (3, 4), (7, 10), (11, 20), (100, 100), (101, 200)])
def test_the_top_of_an_axis_is_the_next_round_number(most, top):
    assert axis_top(most) == top
