"""Searching in the browser."""


def test_a_search_marks_its_hits_and_goes_on(ask):
    first = ask("/api/search?q=ferryman&site=example.org").json
    assert len(first["pages"]) == 20
    assert {
        part["text"] for page in first["pages"] for hit in page["hits"] for part in hit["excerpt"] if part["hit"]
    } == {"ferryman"}
    later = ask(f"/api/search?q=ferryman&cursor={first['next']}").json
    assert not {page["id"] for page in first["pages"]} & {page["id"] for page in later["pages"]}
    assert "<mark>ferryman</mark>" in ask("/search?q=ferryman").text
    assert "quotation mark" in ask("/search?q=%22open").text
    assert ask("/api/search?q=ferryman&site=other.example").json["pages"] == []
    assert "No block matches" in ask("/search?q=nowhere").text
    malformed = ask("/api/search?q=%22open")
    assert (malformed.status, "quotation mark" in malformed.json["problem"]) == (400, True)


def test_one_box_finds_an_address_and_a_site(ask):
    answer = ask("/api/search?q=https://lake.example.org/7").json
    assert (answer["page"]["title"], answer["problem"]) == ("Ferry 7 is late", None)
    assert "Ferry 7 is late" in ask("/search?q=https://lake.example.org/7").text
    assert [row["site"] for row in ask("/api/search?q=Exam").json["sites"]] == ["example.org"]
    unknown = ask("/api/search?q=https://lake.example.org/unknown").json
    assert (unknown["page"], unknown["sites"]) == (None, [])
