"""Embedded prose: read from where it stands if the tree shows none, and only then."""

import json

import pytest
from cpu_time import bounded_cpu_time

from cleaning import clean, parse
from cleaning.blocks import TextSource
from cleaning.clean import text_page

TITLE = "Ferry leaves without passengers"
PARAGRAPHS = [
    "The ferry left the harbour at noon, and forty people waved from the quay until it was out of sight behind it.",
    "Nobody had told the crew that the bridge was closed. The captain said on the radio that he would not turn back.",
    "A second boat takes the passengers over in the evening, if the wind allows it, and the company pays for dinner.",
]
ARTICLE = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)
OTHERS = [
    {"title": f"Other story {n}", "url": f"/{n}", "text": f"{n} words lead to another story of the day"}
    for n in range(5)
]


def shell(inside="", head=""):
    menu = "<nav><ul><li><a href=/>Home</a></li><li><a href=/sport>Sport</a></li></ul></nav>"
    return (
        f"<html><head><title>{TITLE} | Courier</title>{head}</head><body><header>{menu}</header>"
        f"<div id=app></div>{inside}"
        "<footer><p>© 2024 Courier. All rights reserved.</p></footer></body></html>"
    )


def script(value, attributes="type=application/json id=__NEXT_DATA__"):
    return f"<script {attributes}>{json.dumps(value)}</script>"


STATE = {"props": {"pageProps": {"article": {"title": TITLE, "slug": "ferry", "body": ARTICLE}, "more": OTHERS}}}
LINKED = script(
    {"@type": "NewsArticle", "headline": TITLE, "articleBody": "\n".join(PARAGRAPHS)}, "type=application/ld+json"
)
SHELLS = {
    TextSource.NOSCRIPT: shell(f"<noscript><article>{ARTICLE}</article></noscript>"),
    TextSource.TEMPLATE: shell(f"<template><article>{ARTICLE}</article></template>"),
    TextSource.SCRIPT_TEMPLATE: shell(f"<div class=post-body><script type='text/template'>{ARTICLE}</script></div>"),
    TextSource.JSON_LD: shell(head=LINKED),
    TextSource.STATE: shell(script(STATE)),
}


@pytest.mark.parametrize("source", SHELLS)
def test_prose_of_a_shell_is_read_from_its_source(source):
    page = clean(SHELLS[source], "https://e.org/news/ferry")
    assert [block.text for block in page.kept] == PARAGRAPHS
    assert page.text_source is source
    assert "\n\n".join(PARAGRAPHS) in page.markdown


@pytest.mark.parametrize("source", SHELLS)
@pytest.mark.parametrize("method", ["pab", "coreex", "econ", "weighted", "subtree"])
def test_every_method_reads_the_same_copy(source, method):
    page = clean(SHELLS[source], method=method)
    assert page.text_source is source
    text = " ".join(decision.block.text for decision in page.decisions)
    assert all(paragraph in text for paragraph in PARAGRAPHS)
    assert text_page(parse(SHELLS[source])).text_source is source


@pytest.mark.parametrize("source", [*list(SHELLS)[1:], None])
def test_no_source_is_read_beside_prose(source):
    own = [paragraph.replace("ferry", "train") for paragraph in PARAGRAPHS]
    inside = f"<article>{''.join(f'<p>{paragraph}</p>' for paragraph in own)}</article>"
    page = clean((SHELLS[source] if source else shell()).replace("<div id=app></div>", f"<div id=app>{inside}</div>"))
    assert [block.text for block in page.kept] == own
    assert page.text_source is TextSource.TREE


def test_a_declarative_shadow_root_is_part_of_the_page():
    root = f"<news-page><template shadowrootmode=open><style>p {{}}</style>{ARTICLE}</template></news-page>"
    page = clean(shell(f"{root}<template><p>{PARAGRAPHS[0][::-1]}</p></template>"))
    assert [block.text for block in page.kept] == PARAGRAPHS
    assert page.text_source is TextSource.TREE


def test_the_source_with_paragraphs_takes_the_place_of_one_long_text():
    linked = LINKED.replace("\\n", " ")
    assert clean(shell(script(STATE), linked)).text_source is TextSource.STATE
    other = {"props": {"notice": " ".join(PARAGRAPHS)[::-1], "terms": " ".join(PARAGRAPHS)[::-1]}}
    assert clean(shell(script(other), linked)).text_source is TextSource.JSON_LD


def test_a_shell_without_embedded_prose_stays_as_it_is():
    page = clean(shell("<noscript>Please turn JavaScript on to read this page.</noscript>" + script({"a": OTHERS[:1]})))
    assert (page.kept, page.text_source) == ((), TextSource.TREE)


def test_the_data_of_a_list_is_not_its_text():
    rows = "".join(f"<div><a href=/{n}>Film {n}</a> <span>{n} h</span> <span>{n} votes</span></div>" for n in range(80))
    assert clean(shell(rows + script(STATE))).text_source is TextSource.TREE


def test_scripts_and_handlers_in_a_state_run_nowhere_and_show_nothing():
    body = f"{ARTICLE}<script>alert('x')</script><p onclick=alert(1)>{PARAGRAPHS[0][:-1]}!</p>"
    page = clean(shell(script({"title": TITLE, "body": body}).replace("</script>", "<\\/script>", 1)))
    assert "alert" not in page.text + page.html


HOSTILE = {
    "deep lists": "[" * 100_000,
    "deep objects": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "many objects": json.dumps([{"text": "eight words stand in this text of mine"}] * 20_000),
    "one long text": json.dumps({"body": "word " * 300_000}),
    "deep HTML": json.dumps({"body": "<div>" * 100_000 + "eight words stand in this text of mine"}),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "form", ["<script type=application/json>{}</script>", "<script>window.__STATE__ = {};</script>"]
)
def test_a_hostile_state_takes_bounded_time(name, form):
    with bounded_cpu_time():
        clean(shell(form.replace("{}", HOSTILE[name])))


@pytest.mark.parametrize(
    "start", ["window.__A__ = {a: 'b", "\n" * 200_000, "window.__A__=" * 20_000, "var __x=" + "(" * 100_000]
)
def test_a_hostile_script_takes_bounded_time(start):
    with bounded_cpu_time():
        clean(shell(f"<script>{start}</script>"))
