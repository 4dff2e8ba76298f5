"""The comparison page: inert whatever the page holds, and true to what the methods decided."""

import re
import time
from base64 import b64encode
from hashlib import sha256

import pytest
from lxml import html as lxml_html

from crawler.compare.page import page_html

HOSTILE = """<!doctype html>
<meta charset="utf-8"><title></title><script>alert(1)</script>\u202egnp.exe</title>
<body onload="alert(1)" style="background:url(https://evil.example/a.png)" class="k0 row">
<base href="https://evil.example/"><link rel="stylesheet" href="https://evil.example/a.css">
<p onclick="alert(1)" style="position:fixed" class="k0">A paragraph with <a href="javascript:alert(1)">a link</a> in
 it, which is long enough to be kept by a method that looks for prose, and <img src=x onerror=alert(1) alt="i">.</p>
<p>&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;
 and "quotes' and &amp;lt; and --&gt; and ]]&gt; in one sentence.</p>
<p>" onmouseover="alert(1)" x=' and ' onfocus='alert(1)
 and \u202e reversed \u2066 isolated \u0000 \u001b[2J \u0085 text.</p>
<p>[/b][red]rich markup[/red] and &#xD800; and \ufffe nothing in this sentence of many words.</p>
<svg><script>alert(1)</script></svg><iframe src="https://evil.example/"></iframe><form action="https://evil.example">
<input name=q><button formaction="javascript:alert(1)">Go</button></form><meta http-equiv="refresh" content="0;url=/x">
<pre>code &lt;b&gt;   indented
	tab</pre><table><tr><td>cell</td></tr></table><blockquote>quoted words</blockquote><ul><li>item</li></ul>
"""
ALLOWED_TAGS = set(
    "html head meta title style body input div aside main header p label b i small span a details summary".split()
)
ALLOWED_TAGS |= set("table tbody tr th td".split())
ALLOWED_ATTRIBUTES = set(
    "lang charset http-equiv content name type id checked aria-label class for dir title href rel scope".split()
)


def written(compared, **more):
    return "".join(page_html(compared, 20_000, **more))


def root(text):
    return lxml_html.document_fromstring(text.encode("utf-8"))


@pytest.fixture
def hostile(compare, source):
    page = source(HOSTILE.encode(), name='"><script>\x1b\u202e.html', url="https://a.example/?<&'\"")
    return written(compare(page))


def test_nothing_of_the_page_acts(hostile):
    tree = root(hostile)
    assert {element.tag for element in tree.iter()} <= ALLOWED_TAGS
    for element in tree.iter():
        names = {name for name in element.attrib if not re.fullmatch(r"data-\d+", name)}
        assert names <= ALLOWED_ATTRIBUTES, (element.tag, names)
    assert "<script" not in hostile.lower()


def test_the_policy_allows_one_style_sheet_and_nothing_else(hostile):
    tree = root(hostile)
    (style,) = tree.iter("style")
    digest = b64encode(sha256(style.text.encode()).digest()).decode()
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    # What stands before the policy is not bound by it.
    assert hostile.index("Content-Security-Policy") < hostile.index("<title")
    assert not re.search(r"url\(|@import|expression|behavior", style.text)


def test_the_only_link_leads_to_the_page_itself(hostile):
    (link,) = root(hostile).iter("a")
    assert link.get("href").startswith("https://a.example/")
    assert link.get("rel") == "noreferrer noopener nofollow"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://[", "//x"])
def test_an_address_of_another_kind_is_no_link(compare, source, article, url):
    tree = root(written(compare(source(article, url=url))))
    assert list(tree.iter("a")) == []
    assert url in tree.text_content()


def test_classes_are_ours(hostile):
    found = {name for element in root(hostile).iter() for name in (element.get("class") or "").split()}
    ours = r"[ckrwh]\d+|t|row|bars|text|part|link|same|prose|bit|[a-z_]+"
    assert all(re.fullmatch(ours, name) for name in found)


def test_controls_and_direction_marks_are_gone(hostile):
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", hostile)
    hostile.encode("utf-8")


def test_the_text_of_the_page_is_all_there(compare, article):
    compared = compare(article)
    tree = root(written(compared))
    shown = [" ".join(row.text_content().split()) for row in tree.xpath("//div[contains(@class, 'text')]")]
    assert shown == [leaf.block.text for leaf in compared.leaves]


def test_a_kept_text_has_the_class_and_the_bar_of_its_method(compare, article):
    compared = compare(article, ["default", "subtree"])
    tree = root(written(compared))
    for place, result in enumerate(compared.results.values()):
        rows = tree.xpath(f"//div[contains(concat(' ', @class, ' '), ' r{place} ')]")
        texts = [" ".join(row.text_content().split()) for row in rows]
        assert texts == [block.text for block in result.kept]
        assert all(row.xpath(f".//span[@class='bars']/i[@class='c{place}']") for row in rows)
        assert all(f"data-{place}" not in row.attrib for row in rows)


def test_a_dropped_text_says_why(compare, article):
    tree = root(written(compare(article, ["default"])))
    (row,) = [row for row in tree.xpath("//div[@data-0]") if "Copyright" in row.text_content()]
    assert row.get("data-0") == "footer"
    assert "dropped by default (footer)" in row.xpath(".//span/@title")[0]


def test_the_legend_has_each_methods_figures(compare, article):
    compared = compare(article, ["default"])
    (entry,) = root(written(compared)).xpath("//label[@for='m0']")
    result = compared.results["default"]
    assert f"{len(result.kept)}/{len(result.judged)} blocks · {result.words} words" in entry.text_content()


def test_a_method_that_failed_is_named_with_its_reason(compare, article):
    text = written(compare(article, ["default", "ce"]))
    assert "this is the only page of its site" in root(text).xpath("//p[@class='failed']")[0].text_content()


def test_arabic_is_read_from_right_to_left(compare):
    text = written(
        compare("<p>\u200fارتفع النهر في الليل وأغلق الجسر عند الطاحونة حتى الصباح كما قال العمدة.</p>", ["default"])
    )
    assert 'dir="auto"' in text


def test_a_page_of_20_000_blocks_is_written_in_seconds(compare):
    compared = compare("<p>word <a href=/>link</a></p>" * 25_000, ["default", "subtree", "pab"])
    started = time.process_time()
    text = written(compared)
    assert time.process_time() - started < 20
    assert "5,000 more blocks are not shown" in text
    assert text.count('<div class="row') == 20_000


def test_a_page_without_text_is_a_page(compare):
    compared = compare("<img src=x>", ["default"])
    assert "0 words" in written(compared)
