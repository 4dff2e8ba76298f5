"""Gold texts in the forms of published collections."""

import gzip
import json

import pytest

from crawler.errors import CompareError
from crawler.reports.gold import GoldForm, read_gold
from crawler.reports.sources import UnreadPage


def page(name, url=None):
    return UnreadPage(name, url, "a.example", lambda: None)


@pytest.mark.parametrize("packed", [False, True])
def test_json_lines_name_a_page_by_address_file_or_id(tmp_path, packed):
    rows = [
        {"url": "https://a.example/1?utm_source=x", "text": "one"},
        {"file": "sub/two.html", "text": "two"},
        {"html_path": "html/0003.html.gz", "id": "third", "text": "three"},
    ]
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    path = tmp_path / ("gold.jsonl.gz" if packed else "gold.jsonl")
    path.write_bytes(gzip.compress(content) if packed else content)
    gold = read_gold(path)
    assert gold.form is GoldForm.JSONL
    assert gold.find(page("any", "https://a.example/1")) == "one"
    assert gold.find(page("sub/two.html")) == gold.find(page("sub/two.htm.gz")) == "two"
    assert gold.find(page("html/0003.html")) == gold.find(page("third.html")) == "three"
    assert gold.find(page("other/two.html")) is None
    assert gold.find(page("any", "https://a.example/2")) is None


def test_a_cleaneval_text_loses_its_address_and_tags(tmp_path):
    (tmp_path / "12-cleaned.txt").write_text("URL: http://a.example/\n\n<h>Head\n\n<p>First <p> line\n<l>Item\n")
    gold = read_gold(tmp_path)
    assert gold.form is GoldForm.CLEANEVAL
    assert gold.find(page("input/12.html")).split("\n") == ["", "Head", "", "First <p> line", "Item", ""]


def test_a_dragnet_text_ends_before_the_comments(tmp_path):
    (tmp_path / "R12.html.corrected.txt").write_bytes("Ünder the bridge\n!@#$%^&*()\nA comment\n".encode("cp1252"))
    gold = read_gold(tmp_path)
    assert gold.form is GoldForm.DRAGNET
    assert gold.find(page("R12.html")) == "Ünder the bridge\n"


def test_an_l3s_text_is_what_is_marked_as_main_text(tmp_path):
    marked = """<html><head><title>no</title></head><body><span class="x-nc-sel0">Menu</span>
    <h1><span class="x-nc-sel1">Head</span></h1><div class="x x-nc-sel2">Text <b>bold</b>
    <i class="x-nc-sel4">Related</i> tail</div><p>unmarked</p><span class="x-nc-sel3">More</span>
    <span class="x-nc-sel5">Comment</span></body></html>"""
    (tmp_path / "0a-1b.html").write_text(marked)
    gold = read_gold(tmp_path)
    assert gold.form is GoldForm.L3S
    assert gold.find(page("original/0a-1b.html.gz")).split() == ["Head", "Text", "bold", "tail", "More"]


@pytest.mark.parametrize(
    "row", [{"ground_truth": {"main_content": "the text"}}, {"main_content": "the text"}, {"text": "the text"}]
)
def test_a_wcxb_text_is_the_main_content(tmp_path, row):
    (tmp_path / "0001.json").write_text(json.dumps(row))
    gold = read_gold(tmp_path)
    assert gold.form is GoldForm.WCXB
    assert gold.find(page("0001.html.gz")) == "the text"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gold.txt", "text", "it takes a file .jsonl or .jsonl.gz, or a folder"),
        ("gold.jsonl", "", "has no gold text"),
        ("gold.jsonl", "no JSON\n", "cannot be read"),
        ("gold.jsonl", '{"text": "one"}\n', "line 1 does not have a `text` and one of"),
        ("gold.jsonl", '{"url": "https://a.example/"}\n', "line 1 does not have"),
        ("gold.jsonl.gz", "no gzip", "cannot be read"),
        ("folder/a.csv", "", "has no file that ends in"),
        ("folder/1.json", "[]", "cannot be read"),
        ("folder/1.json", "{}", "has no `ground_truth.main_content`"),
        ("nowhere/", None, "has no file that ends in"),
    ],
)
def test_what_holds_no_gold_texts_is_named(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    with pytest.raises(CompareError, match=message):
        read_gold(tmp_path / name.partition("/")[0])
