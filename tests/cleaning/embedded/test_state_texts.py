"""The article in a state: which object it is, and how its texts become HTML."""

import pytest

from cleaning.embedded.state_texts import article_html, html_of_text

TITLE = "Ferry leaves without passengers"
TEXTS = [
    "The ferry left the harbour at noon, and forty people waved from the quay until it was out of sight.",
    "Nobody had told the crew that the bridge was closed, and the captain would not turn back.",
    "A second boat takes the passengers over in the evening, if the wind allows it.",
]
AS_PARAGRAPHS = "".join(f"<p>{text}</p>" for text in TEXTS)
NOISE = {"terms": {"first": TEXTS[0][::-1], "second": TEXTS[1][::-1]}, "cookieText": TEXTS[2]}


def editor(kind, key):
    return [{kind[0]: kind[1], key: text} for text in TEXTS]


FORMS = {
    "HTML": {"title": TITLE, "html": AS_PARAGRAPHS},
    "escaped HTML": {"title": TITLE, "html": AS_PARAGRAPHS.replace("<", "&lt;").replace(">", "&gt;")},
    "lines": {"headline": TITLE, "text": "\n".join(TEXTS)},
    "a list of texts": {"title": TITLE, "content": TEXTS},
    "blocks with text": {"title": TITLE, "blocks": editor(("type", "paragraph"), "text")},
    "blocks with spans": {
        "title": TITLE,
        "body": [
            {"_type": "block", "children": [{"text": text[:9]}, {"text": text[9:], "marks": ["em"]}]} for text in TEXTS
        ],
    },
    "nested content": {
        "title": TITLE,
        "content": {
            "nodeType": "document",
            "content": [
                {
                    "nodeType": "paragraph",
                    "content": [{"nodeType": "text", "value": text[:9]}, {"content": [{"value": text[9:]}]}],
                }
                for text in TEXTS
            ],
        },
    },
}


@pytest.mark.parametrize("name", FORMS)
def test_an_article_is_read_in_the_form_that_its_editor_stores(name):
    state = {"pages": [{"a": NOISE, "post": FORMS[name], "bio": {"text": TEXTS[0][::-1]}}]}
    html = article_html(state, f"{TITLE} | Courier")
    assert html.replace("\n", "") == AS_PARAGRAPHS


def test_objects_that_are_named_in_a_cache_are_read_in_their_place():
    paragraphs = {f"Paragraph:{number}": {"text": text} for number, text in enumerate(TEXTS)}
    article = {"title": TITLE, "paragraphs": [{"__ref": name} for name in paragraphs]}
    state = {
        **dict(reversed(paragraphs.items())),
        "Article:1": article,
        "ROOT_QUERY": {"article": {"__ref": "Article:1"}},
    }
    assert article_html(state, TITLE).replace("\n", "") == AS_PARAGRAPHS


def test_objects_that_name_each_other_end():
    state = {
        "A:1": {"title": TITLE, "text": TEXTS[0], "next": {"__ref": "A:2"}},
        "A:2": {"text": TEXTS[1], "b": {"__ref": "A:1"}},
    }
    assert TEXTS[1] in article_html(state, TITLE)


def test_without_a_title_the_largest_part_is_the_article():
    state = {"data": {"entry": {"body": AS_PARAGRAPHS * 3}, "side": [{"text": TEXTS[0][::-1]}]}}
    assert article_html(state, "").count("<p>") == 9


def test_headings_items_and_quotes_have_their_tags():
    blocks = [
        {"type": "heading", "text": "The way back"},
        {"type": "list-item", "text": "rope"},
        {"type": "quote", "text": "No."},
    ]
    html = article_html({"title": TITLE, "blocks": [*editor(("type", "paragraph"), "text"), *blocks]}, TITLE)
    assert html.endswith("<h2>The way back</h2><li>rope</li><blockquote>No.</blockquote>")


@pytest.mark.parametrize("state", [{}, [], {"a": "b"}, {"code": "function f() { return 1; } " * 20}, {"a": "x" * 500}])
def test_a_state_without_prose_has_no_article(state):
    assert article_html(state, TITLE) == ""


def test_signs_of_a_plain_text_are_escaped():
    assert html_of_text("a < b & c\n\nd") == "<p>a &lt; b &amp; c</p>\n<p>d</p>\n"
