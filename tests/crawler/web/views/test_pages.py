"""A stored page: its visits, word by word."""

from shown_pages import EDITED
from web_answers import page_id


def test_a_page_shows_its_visits_word_by_word(ask):
    number = page_id(ask, "https://lake.example.org/1")
    page = ask(f"/api/pages/{number}").json
    assert (page["visits"], page["changes"]) == (3, 2)
    last, edit, first = page["revisions"]
    assert first["first"]
    (edited,) = [change for change in edit["changes"] if change["change"] == "edited"]
    assert edited["text"] == EDITED
    assert [part["text"] for part in edited["words"] if part["change"] == "added"] == ["early"]
    assert [change["change"] for change in last["changes"]] == ["gone"]
    document = ask(f"/pages/{number}").text
    assert "<ins>early</ins>" in document
    assert "<del>late</del>" in document
