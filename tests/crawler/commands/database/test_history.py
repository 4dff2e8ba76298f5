"""`scrapy history`: the printed history of a page."""

import json

import pytest
from cleaned_pages import address, html, visit

from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store

HOSTILE = "a paragraph \x1b[2J[/b] that went away soon enough, with words of its own in it: nobody missed it at all"


@pytest.fixture
def stored(tmp_path):
    """A page that was visited three times and changed twice."""
    with opened_engine(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        schema.prepare_schema(engine)
        store = Store(engine)
        crawl = store.begin_crawl("test", {})
        edited = html(1).replace("in winter as well", "in summer as well")
        more = edited.replace("</article>", f"<p>{HOSTILE}</p></article>")
        for day, body in enumerate((html(1), more, edited)):
            store.save(crawl, [visit(1, body, day=day)])
    return address(1)


def test_changes_are_printed_by_visit_with_brackets_without_colours(scrapy, stored):
    output = scrapy("history", stored)
    assert output.returncode == 0, output.stderr
    assert "3 visits, 2 with changes" in output.stdout
    assert "in [-winter-] {+summer+} as well" in " ".join(output.stdout.split())
    assert f"+ {HOSTILE[:11]}" in output.stdout
    assert f"- {HOSTILE[:11]}" in output.stdout
    assert "\x1b" not in output.stdout
    last = scrapy("history", stored, "--limit", "1").stdout
    assert "2 earlier visits are left out" in last
    assert "summer+}" not in last


def test_json_contains_all_revisions(scrapy, stored):
    history = json.loads(scrapy("history", stored, "--format", "json", "--limit", "1").stdout)
    assert (history["page"]["url"], history["page"]["visits"]) == (stored, 3)
    assert [revision["first"] for revision in history["revisions"]] == [True, False, False]
    parts = history["revisions"][1]["edited"][0]["parts"]
    assert [part["text"] for part in parts if part["change"] == "added"] == ["summer", "summer"]


def test_an_unknown_url_is_one_sentence(scrapy, stored):
    unknown = scrapy("history", "https://lake.example.org/2")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert (
        unknown.stderr == f"https://lake.example.org/2 is not in the database; the most similar address is {stored}\n"
    )
    assert scrapy("history").returncode == 2
