"""Every view as a page: whole, and inert whatever the texts are."""

from urllib.parse import urlencode

import pytest
from lxml import html as lxml_html
from shown_pages import HOSTILE
from web_answers import check_inert, path_of


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
