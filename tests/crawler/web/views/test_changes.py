"""The view of changes: HTML, JSON and an Atom feed."""

import feedparser
import pytest
from lxml import etree
from shown_pages import HOSTILE, LEFT
from web_answers import check_inert

ATOM = "{http://www.w3.org/2005/Atom}"


def test_changes_are_shown_by_day_and_site_with_the_words_that_differ(ask):
    answer = ask("/changes?kind=changed")
    check_inert(answer)
    assert "<ins>early</ins>" in answer.text
    assert f"<del>{LEFT}</del>" in answer.text
    assert "Friday, 3 May 2024" in answer.text


def test_the_json_has_the_headline_the_counts_and_a_cursor(ask):
    changes = ask("/api/changes?kind=headline").json
    assert [(row["kind"], row["title"]) for row in changes["changes"]] == [("changed", "Ferry 1 is early")]
    assert changes["changes"][0]["metadata"][0]["name"] == "headline"
    first = ask("/api/changes").json
    assert {row["site"] for row in first["days"]} == {"example.org"}
    following = ask(f"/api/changes?cursor={first['next']}").json
    assert following["days"] == []
    assert not {row["id"] for row in following["changes"]} & {row["id"] for row in first["changes"]}


@pytest.mark.parametrize(
    ("query", "problem"),
    [("kind=odd", "kind is 'odd'"), ("since=May", "since is 'May'"), ("site=..", "unknown"), ("cursor=7", "cursor")],
)
def test_a_filter_that_means_nothing_is_refused_in_a_sentence(ask, query, problem):
    answer = ask(f"/api/changes?{query}")
    assert answer.status == 400
    assert problem in answer.json["problem"]


def test_the_feed_is_valid_atom_with_ids_that_stay(ask):
    """RFC 4287, 4.1: an id, a title and `updated` for the feed and each entry; an author; a link without content."""
    answer = ask("/changes.atom")
    assert answer.headers["Content-Type"].startswith("application/atom+xml")
    root = etree.fromstring(answer.body)
    assert root.tag == f"{ATOM}feed"
    entries = root.findall(f"{ATOM}entry")
    for element in (root, *entries):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(set(ids)) == len(ids) > 20
    assert [
        entry.findtext(f"{ATOM}id") for entry in etree.fromstring(ask("/changes.atom").body).iter(f"{ATOM}entry")
    ] == ids
    feed = feedparser.parse(answer.body)
    assert not feed.bozo
    assert feed.feed.updated == feed.entries[0].updated == "2024-05-03T12:00:00+00:00"
    assert all(entry.updated_parsed and entry.link for entry in feed.entries)


def test_the_feed_follows_the_filters_and_says_where_it_goes_on(ask):
    feed = feedparser.parse(ask("/changes.atom?kind=new&site=example.org").body)
    links = {link.rel: link.href for link in feed.feed.links}
    assert links["self"].endswith("/changes.atom?site=example.org&kind=new")
    following = feedparser.parse(ask(links["next"].partition("127.0.0.1")[2].partition("/")[2].join(["/", ""])).body)
    assert {entry.id for entry in following.entries}.isdisjoint(entry.id for entry in feed.entries)


def test_a_hostile_title_stays_text_in_the_feed(ask):
    body = ask("/changes.atom?kind=new").body
    titles = [entry.findtext(f"{ATOM}title") for entry in etree.fromstring(body).iter(f"{ATOM}entry")]
    assert any(title.startswith(f"New: {HOSTILE[:30]}") for title in titles)
    assert not {element.tag.rpartition("}")[2] for element in etree.fromstring(body).iter()} & {"script", "img"}
