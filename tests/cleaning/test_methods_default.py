"""Our own method: what it keeps, and the reason for each block that it drops."""

import time

import pytest

from cleaning import Reason, clean, parse
from cleaning.features import walk
from cleaning.methods.default import _is_label

FOX = "The quick brown fox jumps over the lazy dog, and the cat on the warm stove looks at it."
PROSE = f"<p>{FOX}</p>"
ARTICLE = f"<article><h1>Of foxes</h1>{PROSE * 3}</article>"
LINKS = "".join(f'<li><a href="/{n}">Another page of this site, number {n}</a></li>' for n in range(6))


def reasons(page, **options):
    """Return reason by text."""
    return {decision.block.text: decision.reason for decision in clean(page, **options).decisions}


def kept(page, **options):
    return [block.text for block in clean(page, **options).kept]


def test_text_and_its_headings_are_kept():
    page = f"<div><h2>One</h2>{PROSE}<h2>Two</h2>{PROSE}</div>"
    assert kept(page) == ["One", FOX, "Two", FOX]


@pytest.mark.parametrize(
    "part",
    [
        "<ul><li>Wax</li><li>Wick</li></ul>",
        "<table><tr><th>Weight</th><td>214 g</td></tr></table>",
        "<blockquote>So it goes</blockquote>",
        "<pre>x = 1</pre>",
        "<dl><dt>fox</dt><dd>a beast</dd></dl>",
    ],
)
def test_lists_tables_quotes_and_code_in_the_text_are_kept(part):
    texts = set(reasons(part))
    assert texts <= set(kept(f"<div>{PROSE}{part}{PROSE}</div>"))


def test_several_containers_keep_their_sections():
    page = "".join(f'<div class="row"><div class="col"><h2>Part {n}</h2>{PROSE * 2}</div></div>' for n in range(4))
    assert len(kept(page)) == 12


def test_list_of_links_is_navigation():
    assert reasons(f"{ARTICLE}<ul>{LINKS}</ul>")["Another page of this site, number 3"] is Reason.LINKS


def test_list_of_links_is_the_content_of_a_listing():
    assert len(kept(f"<h1>All pages</h1><ul>{LINKS}</ul>")) == 7


def test_links_in_running_text_are_kept():
    linked = '<p>The <a href="/a">vixen of the north</a> came <a href="/b">over the hills</a> at dawn.</p>'
    assert kept(f"<div>{PROSE}{linked}</div>") == [FOX, "The vixen of the north came over the hills at dawn."]


def test_short_link_beside_text_is_dropped():
    assert reasons(f'<div>{PROSE}<a href="/more">Read more</a>{PROSE}</div>')["Read more"] is Reason.LINKS


def test_label_is_short():
    found = reasons(f"<div>{PROSE}<p>Ms Vulpes | 4 May 2021</p>{PROSE}</div>")
    assert found == {FOX: Reason.KEPT, "Ms Vulpes | 4 May 2021": Reason.SHORT}


def test_lines_of_verse_are_kept():
    page = f"<div>{PROSE}<p>Foxes bark<br>Owls hoot<br>Snow falls</p>{PROSE}</div>"
    assert kept(page) == [FOX, "Foxes bark", "Owls hoot", "Snow falls", FOX]


def test_one_paragraph_is_not_the_main_element():
    assert kept(f"<div>{PROSE}<p>The cat purrs.</p></div>") == [FOX, "The cat purrs."]


def test_text_far_from_the_main_element_is_outside():
    text = "This site is run by volunteers who love foxes and cats alike."
    page = f"<div><div>{PROSE * 8}</div></div><div><p>{text}</p></div>"
    assert reasons(page)[text] is Reason.OUTSIDE


def test_headline_and_standfirst_before_the_main_element_are_kept():
    head = "<div><h1>Of foxes</h1><p>What they do all day, and why the dog does not mind it at all.</p></div>"
    assert kept(f"<div>{head}<div>{PROSE * 3}</div></div>")[:2] == [
        "Of foxes",
        "What they do all day, and why the dog does not mind it at all.",
    ]


def test_table_beside_the_main_element_is_kept():
    table = "<div><h3>Data</h3><table><tr><th>Weight</th><td>214 g</td></tr></table></div>"
    assert kept(f"<section><div>{PROSE * 3}</div>{table}</section>")[-3:] == ["Data", "Weight", "214 g"]


def test_share_of_prose_is_the_score():
    scores = [decision.score for decision in clean(f"<div>{PROSE}<h2>Of the fox</h2></div>").decisions]
    assert scores == [1.0, pytest.approx(19 / 22)]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (
            "狐狸每天晚上都从树林里出来，在村口的小路上等着那只老猫，然后一起去河边看月亮。",
            "作者：林晓舟 二〇一五年四月",
        ),
        ("キツネは毎晩森から出てきて、村の入り口の道で年老いた猫を待ち、いっしょに川辺へ行く。", "文・高槻みのり"),
        ("여우는 매일 밤 숲에서 나와 마을 입구의 길에서 늙은 고양이를 기다렸다가 함께 강가로 간다.", "김여우 기자"),
        ("لومڑی ہر رات جنگل سے نکلتی ہے اور گاؤں کے راستے پر بوڑھی بلی کا انتظار کرتی ہے۔", "سلمى الحاج"),
        ("लोमड़ी हर रात जंगल से निकलती है और गाँव के रास्ते पर बूढ़ी बिल्ली की राह देखती है।", "कविता रावत"),
        ("Лиса каждую ночь выходит из леса и ждёт на дороге у деревни старую кошку.", "Ольга Ветрова"),
    ],
)
def test_no_rule_needs_a_language(text, label):
    page = f"<body><div><p>{text}</p><p>{label}</p><p>{text}</p></div><ul>{LINKS}</ul>"
    assert kept(page) == [text, text]


def test_empty_shell_keeps_nothing():
    assert kept('<div id="root"><p>Loading…</p></div><noscript>Please enable JavaScript.</noscript>') == []


def test_higher_prose_share_keeps_fewer_blocks():
    page = f"<div>{PROSE}<ul>{'<li>one two three four five</li>' * 4}</ul></div>"
    assert len(kept(page, min_prose_share=0.0)) > len(kept(page, min_prose_share=0.9))


def test_lower_link_share_drops_more_blocks():
    item = '<li>fox <a href="/">and hound and cat</a></li>'
    page = f"<div>{PROSE * 2}<ul>{item * 3}</ul></div>"
    assert reasons(page)["fox and hound and cat"] is Reason.KEPT
    assert reasons(page, max_link_share=0.7)["fox and hound and cat"] is Reason.LINKS


@pytest.mark.parametrize(
    "page",
    [
        '<div class="comment">' * 1_500 + PROSE * 20_000,
        f'<div class="c{{}}">{PROSE}</div>' * 20_000,
        "<h1>x y</h1>" * 20_000 + f"<div>{PROSE}</div>",
        "<table><tr>" + "<td>1 2</td>" * 30_000,
    ],
    ids=["deep", "classes", "headlines", "cells"],
)
def test_odd_pages_take_bounded_time(page):
    began = time.perf_counter()
    clean(page)
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    ("page", "label"),
    [
        ("<p>Jutta Ebersbach | 28. Mai 2019, 16:02</p>", True),
        ("<p>Print</p>", True),
        ("<p>It rains.</p>", False),
        ("<p>下雨了。</p>", False),
        ("<p>what is it to you</p>", False),
        ("<p>Print<br>Mail</p>", False),
        ('<p class="box-title">Note</p>', False),
        ("<h2>Note</h2>", False),
        ("<ul><li>Wick</ul>", False),
    ],
)
def test_label_is_a_short_line_that_stands_alone_and_says_nothing(page, label):
    assert _is_label(walk(parse(page).root)[0]) is label
