"""The table of views: each list goes on, and a fault is a sentence."""

from urllib.parse import urlencode

import pytest
from shown_pages import PAGES
from web_answers import check_inert


@pytest.mark.parametrize(
    ("path", "entries", "expected"),
    [("/api/sites/example.org", "newest", PAGES + 2), ("/api/failures", "requests", 55)],
)
def test_a_list_is_complete_by_its_cursor(ask, path, entries, expected):
    ids = []
    cursor = ""
    while cursor is not None:
        answer = ask(f"{path}?{urlencode({'cursor': cursor})}" if cursor else path).json
        ids += [entry["id"] for entry in answer[entries]]
        cursor = answer["next"]
    assert len(ids) == len(set(ids)) == expected


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/pages/999999", 404, "there is no page 999999"),
        ("/pages/x", 400, "Expected `int`"),
        ("/pages/99999999999999999999", 400, "Expected `int`"),
        ("/sites/nowhere.example", 404, "there is no page of the site"),
        ("/sites?wrong=1", 400, "unknown field `wrong`"),
        ("/failures?cursor=x", 400, "is not one of this list"),
        ("/crawls?cursor=%F0%9F%98%80", 400, "is not one of this list"),
    ],
)
def test_what_is_not_there_or_malformed_is_a_sentence_on_the_page_and_in_the_json(ask, path, status, words):
    answer = ask(path)
    json_answer = ask(f"/api{path}")
    assert (answer.status, json_answer.status) == (status, status)
    assert words in json_answer.json["problem"]
    check_inert(answer)
