"""Pages whose publisher asks that they be left alone are: header, robots meta elements, TDM reservation."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cleaning.parse import parse
from crawler.fetching.directives import _may_state_directives, _meta_elements, _read_reservation, _read_robots_rules

NAMES = frozenset({"*", "blocksieve", "ours"})
NOW = datetime(2026, 3, 1, tzinfo=UTC)
HTML = {"Content-Type": "text/html; charset=utf-8"}
PROSE = "The river rose in the night and carried the old bridge down to the mill, where it lies until today. " * 4
STORE = {
    "ITEM_PIPELINES": json.dumps(
        {
            "pipelines.clean.CleanPipeline": 300,
            "pipelines.dedup.DedupPipeline": 400,
            "pipelines.store.StorePipeline": 500,
        }
        | {"collect.Collect": 600}
    )
}
LISTING = """
    import scrapy
    from crawler.page import page

    class Listing(scrapy.Spider):
        name = "listing"

        async def start(self):
            yield scrapy.Request(self.site + "/list")

        def parse(self, response):
            yield {"item": response.url}
            for href in response.css("a::attr(href)").getall():
                yield response.follow(href, self.parse_article)
            if not response.meta.get("again"):
                yield response.request.replace(meta={"again": True}, dont_filter=True)

        def parse_article(self, response):
            yield page(response)
"""


def html(head="", body=PROSE, **headers):
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"body": f"<html><head>{head}</head><body><p>{body}</p></body></html>", "headers": HTML | sent}


def meta(content, name="robots", attribute="name"):
    return f'<meta {attribute}="{name}" content="{content}">'


TAG_PARTS = """
<meta |<META\t|<meta/|<metadata |<p |name=|content = |http-equiv=|robots|ROBOTS |ours|x-robots-tag|noindex|None|1|
unavailable_after: 2010-01-01|tdm-reservation|&#110;oindex|r&#x6f;bots|"|'|>|/>| |=|<!--|-->|<script>|</script>|
it's|a>b|<|<body>|\u017f""".split("|")
STARTS = ["", '<meta name="robots" ', "<meta content='noindex' "]


@given(st.lists(st.sampled_from(TAG_PARTS), max_size=14).map("".join), st.sampled_from(STARTS))
@example("<meta it's content='a>b' name=robots content=noindex>", "")
@example('<meta name="robots" content="noindex">', "")
@settings(max_examples=5 * settings.default.max_examples)
def test_a_page_whose_bytes_show_no_directive_has_none(text, start):
    body = f"<title>x</title>{start}{text}><p>x".encode()
    meta = list(_meta_elements(parse(body).root))
    stated = any(
        set(_read_robots_rules(content, NAMES, NOW))
        for kind, name, content in meta
        if (kind == "name" and name in {"robots", *NAMES}) or (kind, name) == ("http-equiv", "x-robots-tag")
    )
    reserved = _read_reservation(content for kind, name, content in meta if (kind, name) == ("name", "tdm-reservation"))
    assert _may_state_directives(body, NAMES) or not (stated or reserved is not None)


@pytest.mark.parametrize(
    "head",
    [
        "<meta charset=utf-8><meta name=viewport content='width=device-width'>",
        '<meta name="robots" content="index, follow, max-image-preview:large">',
        '<meta property="og:description" content="noindex &amp; nofollow: it&#39;s none of your business">',
        "<script>var none = 'noindex', robots = 1</script><style>p { display: none }</style>",
    ],
)
def test_a_page_without_directives_need_not_be_parsed(head):
    assert not _may_state_directives(f"<html><head>{head}</head><body><a rel=nofollow>x</a>".encode(), NAMES)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("noindex", {"noindex"}),
        ("NoIndex,NOFOLLOW", {"noindex", "nofollow"}),
        ("none", {"noindex", "nofollow"}),
        ("noarchive; noai", {"noarchive", "noai"}),
        ("noindex nofollow", {"noindex", "nofollow"}),
        ("index, noindex", {"noindex"}),
        ("all, max-snippet: 20, max-image-preview:large, noimageai", set()),
        ("otherbot: noindex, nofollow", set()),
        ("noindex, otherbot: nofollow", {"noindex"}),
        ("otherbot: noindex, BlockSieve: nofollow, noarchive", {"nofollow", "noarchive"}),
        ("ours: none", {"noindex", "nofollow"}),
        ("otherbot: max-snippet: 3, noindex", set()),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", {"noindex"}),
        ("unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noarchive", {"noindex", "noarchive"}),
        ("blocksieve: unavailable_after: 2026-02-28T23:59:59Z", {"noindex"}),
        ("unavailable_after: 2026-02-28", {"noindex"}),
        ("unavailable_after: 2026-03-02", set()),
        ("unavailable_after: soon", set()),
        ("unavailable_after: 99999999999999999999", set()),
        (":,:;,", set()),
        ("", set()),
    ],
)
def test_the_rules_of_a_header(text, rules):
    assert set(_read_robots_rules(text, NAMES, NOW)) == rules


@pytest.mark.parametrize(
    ("values", "reserved"),
    [
        ((), None),
        (("1",), True),
        (("0",), False),
        ((" 1 ",), True),
        (("0", "1"), True),
        (("0, 1",), True),
        (("2",), None),
    ],
)
def test_the_values_of_a_reservation(values, reserved):
    assert _read_reservation(values) is reserved


PAGES = {
    "/plain": (html(), "page"),
    "/meta": (html(meta("noindex")), "noindex"),
    "/none": (html(meta("NONE", "Robots")), "noindex"),
    "/ours": (html(meta("noindex", "BlockSieve")), "noindex"),
    "/other": (html(meta("noindex", "googlebot")), "page"),
    "/equiv": (html(meta("noindex", "X-Robots-Tag", "http-equiv")), "noindex"),
    "/in-body": (html(body=f"{meta('noindex')}{PROSE}"), "noindex"),
    "/several": (html(meta("follow") + meta("max-snippet:1") + meta("noindex")), "noindex"),
    "/header": (html(X_Robots_Tag="noindex"), "noindex"),
    "/for-us": (html(X_Robots_Tag="googlebot: nofollow, blocksieve: noindex"), "noindex"),
    "/for-others": (html(X_Robots_Tag="googlebot: noindex, nofollow"), "page"),
    "/over": (html(X_Robots_Tag="unavailable_after: 25 Jun 2010 15:00:00 PST"), "noindex"),
    "/noai": (html(meta("noai, noimageai")), "noai"),
    "/noimageai": (html(meta("noimageai")), "page"),
    "/all": (html(meta("noai") + meta("1", "tdm-reservation"), X_Robots_Tag="noindex"), "noindex"),
    "/nofollow": (html(meta("nofollow")), "page"),
    "/noarchive": (html(meta("noarchive")), "page"),
    "/tdm-header": (html(tdm_reservation="1"), "tdm_reserved"),
    "/tdm-meta": (html(meta("1", "TDM-Reservation")), "tdm_reserved"),
    "/tdm-meta-wins": (html(meta("0", "tdm-reservation"), tdm_reservation="1"), "page"),
    "/tdm-unknown": (html(meta("yes", "tdm-reservation"), tdm_reservation="2"), "page"),
    "/tdm-equiv": (html(meta("1", "tdm-reservation", "http-equiv")), "page"),
    "/amp": (html(meta("noindex")) | {"body": f"<html amp><head>{meta('noindex')}</head><p>{PROSE}</p>"}, "noindex"),
}  # fmt: skip


def test_a_page_is_left_alone_by_its_own_directive(visit):
    crawled = visit({path: sent for path, (sent, _) in PAGES.items()})
    expected = {path: outcome for path, (_, outcome) in PAGES.items()}
    assert crawled.outcomes() == expected
    errors = {record["url"].rpartition("/")[2]: record["error"] for record in crawled.visits}
    assert errors["header"] == "the header X-Robots-Tag (setting OBEY_NOINDEX)"
    assert errors["noai"] == "<meta name=robots> (setting OBEY_NOAI)"
    assert errors["tdm-meta"] == "<meta name=tdm-reservation> (setting OBEY_TDM_RESERVATION)"
    assert {crawled.stats[f"visit/{name}"] for name in ("noai", "tdm_reserved")} == {1, 2}
    assert crawled.stats["directives/noarchive_pages"] == 1


def test_headers_that_are_sent_several_times_all_count(visit):
    pages = {
        "/ours": html(X_Robots_Tag=["googlebot: nofollow", "nosnippet", "Blocksieve: NoIndex"]),
        "/others": html(X_Robots_Tag=["googlebot: none", "nosnippet"]),
        "/tdm": html(tdm_reservation=["0", "1"]),
    }
    assert visit(pages).outcomes() == {"/ours": "noindex", "/others": "page", "/tdm": "tdm_reserved"}


def test_a_crawl_with_another_name_is_addressed_by_it(visit):
    pages = {"/own": html(meta("noindex", "riverbot")), "/ours": html(X_Robots_Tag="blocksieve: noindex")}
    crawled = visit(pages, ROBOTSTXT_USER_AGENT="RiverBot/2.1 (+https://river.example)")
    assert set(crawled.outcomes().values()) == {"noindex"}


@pytest.mark.parametrize(
    ("path", "setting"),
    [("/meta", "OBEY_NOINDEX"), ("/noai", "OBEY_NOAI"), ("/tdm-header", "OBEY_TDM_RESERVATION")],
)
def test_each_directive_has_a_setting(visit, path, setting):
    assert visit({path: PAGES[path][0]}, **{setting: "false"}).outcomes() == {path: "page"}


def links(head="", **headers):
    return html(head, "".join(f'<a href="/{n}">{n}</a> ' for n in range(3)), **headers)


@pytest.fixture
def follow(visit):
    def run(listing, **settings):
        pages = {f"/{n}": html(body=f"{n} {PROSE}") for n in range(3)}
        crawled = visit({"/list": listing} | pages, LISTING, **settings)
        return crawled, [path for path, _ in crawled.requests if path not in {"/list", "/robots.txt"}]

    return run


@pytest.mark.parametrize("listing", [links(meta("nofollow")), links(X_Robots_Tag="none")])
def test_links_of_a_page_that_says_nofollow_are_not_followed(follow, listing):
    crawled, followed = follow(listing)
    assert followed == []
    assert crawled.stats["directives/nofollow_links"] == 6  # three, each of the two times
    assert crawled.stats["visit/section"] == 2  # a request for the page itself is no link
    assert crawled.items == [{"item": crawled.visits[0]["url"]}] * 2
    assert {record["children"] for record in crawled.visits} == {1, 0}


def test_links_are_followed_if_nofollow_is_not_obeyed_or_only_noindex_is_said(follow):
    crawled, followed = follow(links(meta("nofollow")), OBEY_NOFOLLOW=0)
    assert sorted(followed) == ["/0", "/1", "/2"]
    assert "directives/nofollow_links" not in crawled.stats
    assert sorted(follow(links(meta("noindex, follow")))[1]) == ["/0", "/1", "/2"]


def test_the_html_of_a_page_that_says_noarchive_is_not_kept(visit, tmp_path):
    pages = {"/kept": html(), "/meta": html(meta("noarchive")), "/header": html(X_Robots_Tag="nocache")}
    pages = {path: sent | {"body": sent["body"].replace("river", path)} for path, sent in pages.items()}
    crawled = visit(pages, **STORE, DATABASE_URL=f"sqlite:///{tmp_path / 'blocks.db'}")
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        rows = database.execute("SELECT url, html IS NOT NULL FROM page").fetchall()
    stored = {url.rpartition("/")[2]: kept for url, kept in rows}
    assert stored == {"kept": 1, "meta": 0, "header": 0}
    assert crawled.stats["directives/noarchive_pages"] == 2
    assert crawled.stats["store/blocks_new"] == 3
    assert "counted      directives/noarchive_pages 2" in crawled.log
