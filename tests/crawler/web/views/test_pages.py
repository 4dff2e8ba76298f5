"""A stored page: its visits, word by word."""

from lxml import html as lxml_html
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
    document = ask(f"/pages/{number}/changes").text
    assert "<ins>early</ins>" in document
    assert "<del>late</del>" in document


def test_a_page_has_tabs_with_addresses_of_their_own(ask):
    for name in ("", "/original", "/changes", "/duplicates", "/metadata"):
        document = ask(f"/pages/2{name}").text
        assert document.count('href="/pages/2') >= 5
        assert f'href="/pages/2{name}" aria-current="page"' in document
    assert {ask(f"/api/pages/999/{name}").status for name in ("original", "changes", "duplicates", "metadata")} == {404}


def test_the_numbers_of_blocks_are_not_in_the_tab_order(ask):
    root = lxml_html.document_fromstring(ask("/pages/2").body)
    numbers = root.xpath("//article//p[@class='mark']/a[starts-with(@href, '/blocks/')]")
    assert {link.get("tabindex") for link in numbers} == {"-1"}
    assert root.xpath("//article/div/@id") == [
        f"block-{text['position']}" for text in ask("/api/pages/2").json["texts"]
    ]


def test_duplicates_have_both_directions(ask):
    near = page_id(ask, "https://lake.example.org/1001")
    repeats = ask(f"/api/pages/{near}/duplicates").json
    assert {text["of"]["url"] for text in repeats["repeats"]} >= {"https://lake.example.org/2"}
    assert ask("/api/pages/3/duplicates").json["copies"][0]["page"]["url"] == "https://lake.example.org/1001"
