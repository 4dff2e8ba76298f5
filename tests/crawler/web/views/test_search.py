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
    assert "No kept text matches" in ask("/search?q=nowhere").text
    malformed = ask("/api/search?q=%22open")
    assert (malformed.status, "quotation mark" in malformed.json["problem"]) == (400, True)


def test_one_box_finds_an_address_and_a_site(ask):
    answer = ask("/api/search?q=https://lake.example.org/7").json
    assert (answer["page"]["title"], answer["problem"]) == ("Ferry 7 is late", None)
    assert "Ferry 7 is late" in ask("/search?q=https://lake.example.org/7").text
    assert [row["site"] for row in ask("/api/search?q=Exam").json["sites"]] == ["example.org"]
    unknown = ask("/api/search?q=https://lake.example.org/unknown").json
    assert (unknown["page"], unknown["sites"]) == (None, [])


def test_matches_are_counted_and_narrowed_down_by_links(ask_newspapers):
    counts = ask_newspapers("/api/search?q=mayor+quarry").json["counts"]
    facets = {facet["name"]: facet["values"] for facet in counts["facets"]}
    assert {"site", "section", "language", "since", "kind"} == set(facets)
    site = facets["site"][0]
    document = ask_newspapers("/search?q=mayor+quarry").text
    assert f'href="/search?q=mayor+quarry&amp;site={site["value"]}"' in document
    narrowed = ask_newspapers(f"/api/search?q=mayor+quarry&site={site['value']}").json["counts"]
    assert narrowed["pages"] == site["count"]
    assert 'aria-label="Remove the filter Site' in ask_newspapers(f"/search?q=mayor+quarry&site={site['value']}").text
    assert "there is no kind" in ask_newspapers("/search?q=mayor&kind=headlines").text


def test_dropped_text_is_found_with_its_reason(ask):
    assert ask("/api/search?q=copyright").json["dropped"] is None
    assert 'href="/search?q=copyright&amp;dropped=true"' in ask("/search?q=copyright").text
    dropped = ask("/api/search?q=copyright&dropped=true").json["dropped"]
    assert dropped["texts"][0]["reason"] == "footer"
    assert dropped["read"] >= dropped["texts"][0]["count"] > 0
    document = ask("/search?q=copyright&dropped=true").text
    assert "as footer on" in document
    assert ask(f"/api/search?q=copyright&dropped=true&before={dropped['texts'][0]['pages'][0]['id']}").status == 200


def test_hostile_facets_are_inert(ask):
    document = ask("/search?q=attacker&dropped=true").text
    assert "<script>alert" not in document
    assert "<img src=x" not in document


def test_texts_like_a_block_are_a_link_away(ask):
    block = ask("/api/search?q=ferryman").json["pages"][0]["hits"][0]["block"]
    assert f'href="/search?like={block}"' in ask(f"/blocks/{block}").text
    answer = ask(f"/api/search?like={block}").json
    hits = [hit["block"] for page in answer["pages"] for hit in page["hits"]]
    assert hits
    assert block not in hits
    document = ask(f"/search?like={block}").text
    assert 'aria-label="Remove the filter Like block' in document
    assert f"scrapy search --like {block}" in document
    assert ask(f"/api/search?like={block}&site=other.example").json["pages"] == []
    unknown = ask("/api/search?like=999999999")
    assert (unknown.status, "999999999" in unknown.json["problem"]) == (400, True)
    assert ask("/api/search?like=none").status == 400
