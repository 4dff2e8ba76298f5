"""The original of a page, in the colours of one method or beside another."""

from lxml import html as lxml_html
from web_answers import page_id


def test_the_original_is_shown_in_colours_by_its_crawls_method_or_another(ask):
    number = page_id(ask, "https://lake.example.org/1")
    answer = ask(f"/pages/{number}/frame")
    assert answer.headers["Content-Security-Policy"].endswith("; sandbox")
    assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
    assert {"k", "d"} <= set(" ".join(lxml_html.document_fromstring(answer.body).xpath("//span/@class")).split())
    assert ask(f"/pages/{number}/frame?method=tags").status == 200
    for method, words in {"none": "there is no method &#39;none&#39;", "vce": "needs a browser"}.items():
        refused = ask(f"/pages/{number}/frame?method={method}")
        assert refused.status == 422
        assert words in refused.text


def test_the_frame_has_no_link_and_an_anchor_for_each_block(ask):
    number = page_id(ask, "https://lake.example.org/1")
    root = lxml_html.document_fromstring(ask(f"/pages/{number}/frame").body)
    assert root.xpath("//a") == []
    assert len(root.xpath("//span[starts-with(@id, 'block-')]")) == 7
    (first,) = root.xpath("//span[@id='first-kept']/following-sibling::span[1]")
    assert first.text.startswith("The harbour office asks all guests")
    assert {label.get("for") for label in root.xpath("//label")} >= {"hide", "off-0", "off-1", "off-2"}


def test_a_missing_sentence_leads_to_its_block_with_reason_and_score(ask):
    number = page_id(ask, "https://lake.example.org/1")
    tab = ask(f"/api/pages/{number}/original?find=COPYRIGHT+by+the+town").json
    (block,) = tab["blocks"]
    assert (block["kept"], block["reason"], block["whole"]) == (False, "footer", True)
    assert tab["original"] == f"/pages/{number}/frame#block-{block['position']}"
    document = ask(f"/pages/{number}/original?find=copyright+by+the+town").text
    assert "dropped as footer" in document
    assert "--find &#39;copyright by the town&#39;" in document


def test_a_sentence_that_no_block_has_is_told_so(ask):
    tab = ask("/api/pages/2/original?find=nobody+wrote+this+sentence").json
    assert tab["blocks"] == []
    assert tab["problem"].startswith("no block has this text, and it is not in the page's HTML")
    assert ask("/api/pages/2/original").json["original"] == "/pages/2/frame#first-kept"


def test_metadata_has_its_sources(ask):
    fields = {field["name"]: field for field in ask("/api/pages/3/metadata").json["fields"]}
    assert fields["title"] == {"name": "title", "stored": "Ferry 2 is late", "read": "Ferry 2 is late", "source": "h1"}
    assert "h1" in ask("/pages/3/metadata").text


def test_two_methods_are_shown_side_by_side(ask):
    comparison = ask("/api/pages/2/methods?other=pab").json
    assert [version["method"] for version in comparison["cleaned"]] == ["default", "pab"]
    frames = lxml_html.document_fromstring(ask("/pages/2/methods?other=pab").body).xpath("//iframe/@src")
    assert frames == [version["original"] for version in comparison["cleaned"]]
    assert {ask(path).status for path in frames} == {200}
    assert ask("/api/pages/2/methods?other=none").status == 422
