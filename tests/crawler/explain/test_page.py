"""The page of an explanation: inert whatever the page holds, and true to what was decided."""

import re
import time
from base64 import b64encode
from collections import Counter
from hashlib import sha256

import pytest
from lxml import html as lxml_html

from cleaning.terms import normalise
from crawler.explain.explained import explain
from crawler.explain.page import page_html

HOSTILE = """<!doctype html>
<meta charset="utf-8"><title></title><script>alert(1)</script>\u202egnp.exe</title>
<body onload="alert(1)" style="background:url(https://evil.example/a.png)" class="t k">
<base href="https://evil.example/"><link rel="stylesheet" href="https://evil.example/a.css">
<p onclick="alert(1)" style="position:fixed" class="k" dir="rtl" data-why="x">A paragraph with
<a href="javascript:alert(1)">a link</a> and <a href="https://evil.example/">another</a> in it, which is long enough to
be kept by a method that looks for prose, and <img src=x onerror=alert(1) alt='"><img src=y onerror=alert(1)>'>.</p>
</main></div></span>--><p>&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;
 and "quotes' and &amp;lt; and --&gt; and ]]&gt; in one sentence.</p>
<p>" onmouseover="alert(1)" x=' and \u202e reversed \u2066 isolated \u0000 \u001b[2J \u0085 text.</p>
<svg><script>alert(1)</script></svg><iframe src="https://evil.example/" srcdoc="<p>x"></iframe>
<form action="https://evil.example"><input name=q><button formaction="javascript:alert(1)">Go</button></form>
<meta http-equiv="refresh" content="0;url=/x"><object data="x.swf"></object><video src=x autoplay></video>
<style>.t{display:none}</style><math><mtext><img src=x onerror=alert(1)></mtext></math><marquee>moves</marquee>
<x-y onfocus=alert(1) tabindex=0 autofocus>custom</x-y><details open ontoggle=alert(1)><summary>more</summary></details>
<pre>code &lt;b&gt;   indented
	tab</pre><table background=x><tr><td>cell<td></table><blockquote>quoted</blockquote><ul><li>item</li></ul>
<plaintext>
"""
ALLOWED_TAGS = set("html head meta title style body input div aside main header p label b i small span br".split())
ALLOWED_ATTRIBUTES = set(
    "lang charset http-equiv content name type id aria-label class for dir href rel data-why".split()
)


def written(page, **more):
    return "".join(page_html(explain(page, **more)))


def root(text):
    return lxml_html.document_fromstring(text.encode("utf-8"))


def letters(text):
    return "".join(normalise(text).split())


@pytest.fixture
def hostile(raw_method):
    return written(HOSTILE.encode(), url="https://a.example/?<&'\"", method=raw_method)


def test_nothing_of_the_page_acts(hostile):
    tree = root(hostile)
    assert {element.tag for element in tree.iter()} <= ALLOWED_TAGS | {"a"}
    for element in tree.iter():
        assert set(element.attrib) <= ALLOWED_ATTRIBUTES, (element.tag, element.attrib)
    (link,) = tree.iter("a")
    assert link.get("href").startswith("https://a.example/")
    assert "<script" not in hostile.lower()


def test_the_policy_allows_one_style_sheet_and_nothing_else(article):
    text = written(article)
    tree = root(text)
    (style,) = tree.iter("style")
    digest = b64encode(sha256(style.text.encode()).digest()).decode()
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert text.index("Content-Security-Policy") < text.index("<title")
    assert not re.search(r"url\(|@import|expression|behavior", style.text)


def test_classes_are_ours(hostile):
    tree = root(hostile)
    (page,) = tree.xpath("//div[@class='page']")
    found = {name for element in page.iterdescendants() for name in (element.get("class") or "").split()}
    assert all(re.fullmatch(r"x-[a-z0-9]+|bare|gone|[tkdf]|r\d+", name) for name in found), found


def test_controls_and_direction_marks_are_gone(hostile):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", hostile)
    hostile.encode("utf-8")


def test_every_text_is_shown_in_the_colour_of_its_decision(some_golden, raw_method):
    explained = explain(some_golden.read_bytes(), method=raw_method)
    tree = root("".join(page_html(explained)))
    for looks, is_kept in (("k", True), ("d", False)):
        spans = tree.xpath(f"//main//span[contains(concat(' ', @class, ' '), ' {looks} ')]")
        texts = [row.block.text for row in explained.rows if row.decision.kept is is_kept]
        assert Counter(letters("".join(span.text_content() for span in spans))) == Counter(letters("".join(texts)))


def test_the_pointer_is_told_why(article):
    spans = root(written(article)).xpath("//span[@data-why]")
    (copyright_,) = [span for span in spans if "Copyright" in span.text]
    first, facts, *_ = copyright_.get("data-why").splitlines()
    assert first == "dropped: footer, in the page's foot"
    assert re.match(
        r"block \d+ · score 0\.\d\d · priority 0\.00 · paragraph · 5 words, 0 in links · /html/body/", facts
    )


def test_the_legend_has_a_number_and_the_counts_of_each_reason(article):
    explained = explain(article)
    entries = root("".join(page_html(explained))).xpath("//div[contains(@class, 'reason')]")
    shown = {each.find("b").text: int(each.find("span").text) for each in entries}
    assert shown.pop("all blocks") == len(explained.rows) == sum(shown.values())
    assert shown == {reason.replace("_", " "): count for reason, count in explained.counts().items()}
    chips = [each.find("i").text for each in entries[:-1]]
    assert chips == ["✓", *map(str, range(1, len(chips)))]


def test_an_element_without_anything_kept_can_be_hidden(article):
    tree = root(written(article))
    (link,) = [span for span in tree.xpath("//span[@data-why]") if span.text == "Weather"]
    assert any("bare" in (each.get("class") or "").split() for each in link.iterancestors())
    (kept,) = [span for span in tree.xpath("//span[@data-why]") if "the market" in span.text]
    assert not any("bare" in (each.get("class") or "").split() for each in kept.iterancestors())


def test_pictures_leave_a_word_but_no_address():
    text = written("<p>See it:</p><img src=http://evil.example/a.png alt='A boat'><img width=1 src=b><iframe src=c>")
    assert root(text).xpath("//span[@class='gone']/text()") == ["image: A boat", "frame"]
    assert "evil" not in text


def test_text_of_a_noscript_is_shown_where_it_was_read_and_only_there():
    words = " ".join(f"word{number}" for number in range(150))
    assert words in written(f"<div id=app></div><noscript><p>{words}</p><img src=x></noscript>")
    assert "JavaScript" not in written(f"<p>{words}</p><noscript>Switch JavaScript on.</noscript>")


def test_a_title_that_is_a_block_stands_above_the_page(article):
    tree = root(written(article, method="pab"))
    assert tree.xpath("//div[contains(@class, 'head')]")[0].text_content() == "The river"


def test_blocks_without_text_are_counted():
    text = written("<div>Some words, said he.</div><div></div>", method="weighted")
    assert "<b>empty</b><span>1</span>" in text
    assert "Blocks without text are counted" in text


def test_arabic_is_read_from_right_to_left():
    assert '<div class="x-p" dir="auto">' in written("<p>\u200fارتفع النهر في الليل</p>", method="eniw")


def test_a_page_of_any_depth_and_shape_is_written_in_seconds():
    started = time.process_time()
    for page in (
        "<div>" * 1_900 + "deep",
        "<b>" * 1_900 + "bold",
        "<table><tr><td>" * 600 + "x",
        "<p>a<i>b</i>" * 9_000,
    ):
        text = written(page)
        assert text.count("<div") == text.count("</div>")
        assert text.count("<span") == text.count("</span>")
    assert time.process_time() - started < 20


def test_a_page_beyond_all_measure_is_cut():
    text = written("<p>word <a href=/>link</a></p>" * 10_500)
    assert text.count('<span class="t ') == 20_000
    assert text.count("<div") == text.count("</div>")
    assert "what follows is not shown" in text


def test_one_endless_text_is_cut():
    text = written("<p>" + "w" * 3_000_000)
    assert 2_000_000 < len(text) < 2_100_000
    assert "what follows is not shown" in text
