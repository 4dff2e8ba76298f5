"""The pages in a real browser: nothing runs, nothing is fetched, pointer and switches work."""

import os
import re

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import sync_playwright

from cleaning import parse
from cleaning.leaves import walk
from cleaning.structure.marks import TextMarks
from cleaning.structure.reader import read_structure
from cleaning.structure.writers.fragment import to_html
from cleaning.structure.writers.markdown import to_markdown
from crawler.reports.comparison import compared_page
from crawler.reports.explain import explain
from crawler.reports.explanation import explanation_page

ATTACK = """<!doctype html><html><head><title>"><script>document.title='run'</script></title>
<base href="{site}/"><meta http-equiv="refresh" content="0;url={site}/refresh">
<link rel="stylesheet" href="{site}/style.css"><link rel="icon" href="{site}/icon">
<link rel="preload" as="script" href="{site}/p"><link rel="dns-prefetch" href="{site}"><script src="{site}/script.js">
</script><script>fetch('{site}/fetch')</script>
<style>@import url({site}/import.css);body{{background:url({site}/bg.png)}}aside{{display:none!important}}</style>
</head>
<body onload="fetch('{site}/onload')" background="{site}/body.png">
<nav class="menu"><a href="{site}/home" ping="{site}/ping">Home</a> <a href="javascript:fetch('{site}/js')">News</a>
</nav>
<h1 style="position:fixed;inset:0;background:url({site}/h1.png);z-index:9">The river <b
onmouseover="alert(1)">rose</b></h1>
<p>The river rose in the night, and the bridge at the mill was closed until the morning, said the mayor of the town.</p>
<img src="{site}/img.png" srcset="{site}/set.png 2x" alt="&quot;><img src='{site}/alt.png' onerror=alert(1)>">
<iframe src="{site}/frame.html" srcdoc="<script>parent.document.title='run'</script>"></iframe>
<object data="{site}/object"></object>
<video src="{site}/video" poster="{site}/poster" autoplay>
</video><audio src="{site}/audio" autoplay></audio><svg><image href="{site}/svg.png"/><script>alert(1)</script></svg>
<form action="{site}/form"><input type="image" src="{site}/input.png"><button formaction="{site}/go">Send</button>
</form></main></div></div></span></body></html>--></style></script></textarea></title>
<p title="x" data-why="y" class="k" onclick=alert(1)>&lt;img src={site}/text.png onerror=alert(1)&gt; is what the market
of the town did not sell, as <a href="{site}/link" target=_top>the mayor</a> told everybody who would listen to him.</p>
<template><img src="{site}/template.png"></template><noscript><img src="{site}/noscript.png"></noscript>
<math><mtext><table><mglyph><style><img src={site}/mxss onerror=alert(1)></style></mglyph></table></mtext></math>
<div class="footer">Copyright 2024 by the town</div><embed src="{site}/embed"><plaintext>"""


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=chromium, args=sandbox)


@pytest.fixture
def opened(browser, tmp_path):
    """Write and open a page; return it, and what the browser asked for, ran or complained about."""
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    seen = []
    page.on("request", lambda request: seen.append(request.url))
    page.on("dialog", lambda dialog: (seen.append("dialog"), dialog.dismiss()))
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))

    def run(parts):
        path = tmp_path / "out.html"
        path.write_text("".join(parts), "utf-8")
        page.goto(path.as_uri())
        return page, seen, path.as_uri()

    yield run
    page.close()


def why(page, selector):
    """Return what the page shows while the pointer is over an element."""
    page.locator(selector).first.hover()
    return page.locator(selector).first.evaluate("e => getComputedStyle(e, '::after').content")


def explained(html):
    return explanation_page(explain(html))


@pytest.mark.parametrize("kind", ["explanation", "comparison"])
def test_nothing_of_an_attack_runs_or_is_fetched(opened, serve, compare, tmp_path, kind):
    site, requests = serve({})
    attack = ATTACK.format(site=site)
    page, seen, address = opened(explained(attack) if kind == "explanation" else compared_page(compare(attack), 1_000))
    for span in page.locator(".t").all():
        span.hover()
        span.click()
    for label in page.locator("label:visible").all():
        label.click()  # hides texts
        label.click()  # shows them again
    page.wait_for_timeout(100)
    page.screenshot(path=tmp_path / "attack.png", full_page=True)
    assert (seen, requests, page.url) == ([address], [], address)
    assert page.title() != "run"
    assert "onerror=alert(1)> is what the market" in page.locator("main").inner_text()
    assert len(page.frames) == 1
    assert page.locator("a, script, img, iframe, object, embed, form, link, base, svg").count() == 0


RENDERED = """<p>The mayor of the town said that the bridge would open again: &lt;img src={site}/p.png
onerror=alert(1)&gt; &lt;script&gt;fetch('{site}/text')&lt;/script&gt; ![i]({site}/markdown.png)
[j](javascript:fetch('{site}/link.js')) and more.</p>
<pre class="language-&quot;><img src={site}/class.png>">&lt;img src={site}/pre.png onerror=alert(1)>
```
&lt;script>alert(1)&lt;/script></pre>
<table><tr><th>a|&lt;img src={site}/cell.png><th>b<tr><td>``&lt;script>alert(1)&lt;/script>``<td>&lt;style>@import
"{site}/css"&lt;/style><tr><td><a href="{site}/x&quot; onclick=&quot;alert(1)">the link</a><td><img
src="{site}/cell2.png"></table><p>He said <b>&lt;svg onload=alert(1)></b> <code>&lt;img src={site}/code.png></code>
<sub>&lt;iframe src={site}/frame></sub> to all.</p>
<p>x<a href="#fn1">1</a></p><div id="fn1">&lt;img src={site}/note.png></div>
<ul><li>&lt;div style="background:url({site}/item.png)"></li><li id="&lt;img>">two</li></ul>
<blockquote>&lt;base href={site}> &lt;link rel=stylesheet href={site}/link.css></blockquote>
<p>$$\\text{{&lt;img src={site}/tex.png>}}$$ <math><mtext>&lt;img src={site}/math.png></mtext></math> ends.</p>
<script src=/mathjax.js></script>"""


@pytest.mark.parametrize("shape", ["html", "markdown"])
def test_nothing_of_an_attack_runs_or_is_fetched_from_its_structure(opened, serve, shape):
    """A renderer that passes HTML on shows our Markdown: nothing that a page writes becomes an element."""
    site, requests = serve({})
    body = ATTACK.format(site=site).replace("</p>\n<template>", f"</p>{RENDERED.format(site=site)}\n<template>")
    page = parse(body, f"{site}/page")
    blocks = [leaf.block for leaf in walk(page.root)]
    document = read_structure(page, TextMarks(blocks, b"\1" * len(blocks)))
    renderer = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    markup = to_html(document) if shape == "html" else renderer.render(to_markdown(document))
    browser_page, seen, address = opened([f"<!doctype html><meta charset=utf-8><main>{markup}</main>"])
    browser_page.wait_for_timeout(100)
    assert (seen, requests, browser_page.url) == ([address], [], address)
    assert "onerror=alert(1)" in browser_page.locator("main").inner_text()
    assert browser_page.locator("main").locator(FORBIDDEN).count() == 0
    for link in browser_page.locator("a").all():
        assert link.get_attribute("href").startswith(("http://", "https://", "#note-"))
        assert link.get_attribute("onclick") is None


FORBIDDEN = (
    "script, img, style, iframe, object, embed, form, link, base, svg, video, audio, meta, math, input, template"
)


def test_no_text_of_the_page_lies_over_ours(opened, serve):
    page, _, _ = opened(explained(ATTACK.format(site=serve({})[0])))
    box = page.locator(".x-h1").bounding_box()
    assert box["x"] > 300
    assert box["height"] < 100
    assert page.locator("aside").is_visible()


def test_the_reason_is_shown_under_the_pointer(opened, article):
    page, _, _ = opened(explained(article))
    assert "dropped: footer, in the page's footer" in why(page, ".d:has-text('Copyright')")
    assert why(page, ".k:has-text('river rose in the night')").startswith('"kept\\a block 2')
    page.mouse.move(0, 0)
    assert page.locator(".k").first.evaluate("e => getComputedStyle(e, '::after').content") == "none"


def test_the_toggle_hides_what_was_dropped_and_nothing_else(opened, article):
    page, _, _ = opened(explained(article))
    footer, kept = page.locator(".d:has-text('Copyright')"), page.locator(".k").first
    bare = page.locator(".d:has-text('Weather')").locator("xpath=..")
    around = kept.locator("xpath=..")
    assert footer.is_visible()
    assert bare.is_visible()
    page.locator("label.hide").click()
    assert not footer.is_visible()
    assert not bare.is_visible()
    assert kept.is_visible()
    assert around.is_visible()
    page.keyboard.press("Space")
    assert footer.is_visible()


def test_kept_and_dropped_have_colours_and_dropped_ones_a_number(opened, article):
    page, _, _ = opened(explained(article))
    colour = "e => getComputedStyle(e).backgroundColor"
    assert page.locator(".k").first.evaluate(colour) == "rgb(201, 236, 223)"
    assert page.locator(".d").first.evaluate(colour) not in {"rgb(201, 236, 223)", "rgba(0, 0, 0, 0)"}
    assert page.locator(".d.f").first.evaluate("e => getComputedStyle(e, '::before').content") == '"2"'


def test_on_a_phone_and_on_paper_the_reason_stands_at_its_texts_in_colour(opened, article):
    page, _, _ = opened(explained(article))
    sign_of = "e => getComputedStyle(e, '::before').content"
    footer = page.locator(".d.f", has_text="Copyright")
    assert footer.evaluate(sign_of) != '"footer"'
    page.set_viewport_size({"width": 390, "height": 844})
    assert footer.evaluate(sign_of) == '"footer"'
    assert not page.locator(".metadata").is_visible()
    page.locator("label[for=more]").click()
    assert page.locator(".metadata").is_visible()
    page.set_viewport_size({"width": 1_100, "height": 800})
    page.emulate_media(media="print")
    assert footer.evaluate(sign_of) == '"footer"'
    assert footer.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"


def test_on_a_phone_the_names_of_methods_stay_in_view_and_no_table_is_cut(opened, compare, article, raw_methods):
    page, _, _ = opened(compared_page(compare(article, raw_methods), 1_000))
    assert not page.locator(".strip").is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    names = [label.inner_text() for label in page.locator(".strip label").all()]
    assert names == [*(f"{number} {name}" for number, name in enumerate(raw_methods, 1)), "all"]
    page.locator(".strip label").first.click()
    assert page.locator("#m0").is_checked()
    page.locator("summary").click()
    table = page.locator(".square").bounding_box()
    assert table["x"] + table["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_chosen_method_shows_its_texts_and_reasons(opened, compare, article):
    page, _, _ = opened(compared_page(compare(article, ["default", "pab"]), 1_000))
    footer = page.locator(".row:has-text('Copyright')")
    kept = page.locator(".row.r0:has-text('rose in the night') .text")
    sign_of = "e => getComputedStyle(e, '::after').content"
    assert footer.evaluate(sign_of) == "none"
    page.locator(".entry[for=m0]").click()
    assert footer.evaluate(sign_of) == '"footer"'
    tint = re.findall(r"[\d.]+", kept.evaluate("e => getComputedStyle(e).backgroundColor"))
    assert [round(255 * float(share)) for share in tint] == [209, 230, 241]
    page.locator(".entry[for=all]").click()
    assert footer.evaluate(sign_of) == "none"


def test_the_legend_of_a_comparison_shows_each_share_as_a_bar(opened, compare, article):
    page, _, _ = opened(compared_page(compare(article, ["default"]), 1_000))
    track = page.locator(".track").bounding_box()
    bar = page.locator(".track i").bounding_box()
    share = int(page.locator(".share").inner_text().removesuffix("%"))
    assert bar["width"] / track["width"] == pytest.approx(share / 100, abs=0.01)


def test_rows_without_differences_can_be_hidden(opened, compare, article):
    page, _, _ = opened(compared_page(compare(article, ["default", "pab"]), 1_000))
    same, differing = page.locator(".row.same").first, page.locator(".row:not(.same)").first
    page.locator("label[for=differ]").click()
    assert not same.is_visible()
    assert differing.is_visible()
