"""The original of a page, in the colours of one method or beside another."""

from lxml import html as lxml_html
from web_answers import page_id


def test_the_original_is_shown_in_colours_by_its_crawls_method_or_another(ask):
    number = page_id(ask, "https://lake.example.org/1")
    answer = ask(f"/pages/{number}/original")
    assert answer.headers["Content-Security-Policy"].endswith("; sandbox")
    assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
    assert {"k", "d"} <= set(" ".join(lxml_html.document_fromstring(answer.body).xpath("//span/@class")).split())
    assert ask(f"/pages/{number}/original?method=tags").status == 200
    for method, words in {"none": "there is no method &#39;none&#39;", "vce": "needs a browser"}.items():
        refused = ask(f"/pages/{number}/original?method={method}")
        assert refused.status == 422
        assert words in refused.text


def test_two_methods_are_shown_side_by_side(ask):
    comparison = ask("/api/pages/2/methods?other=pab").json
    assert [version["method"] for version in comparison["cleaned"]] == ["default", "pab"]
    frames = lxml_html.document_fromstring(ask("/pages/2/methods?other=pab").body).xpath("//iframe/@src")
    assert frames == [version["original"] for version in comparison["cleaned"]]
    assert {ask(path).status for path in frames} == {200}
    assert ask("/api/pages/2/methods?other=none").status == 422
