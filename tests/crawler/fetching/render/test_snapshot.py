"""The snapshot of a stored page in a real browser: its tree and the boxes of its elements."""

import asyncio
import gzip

import pytest

from cleaning import PageError, clean
from cleaning.blocks import ParseWarning

PLACED = "<!doctype html><style>body{margin:0}div,span{position:absolute;margin:0}</style>"


def boxes(page, tag):
    return [box for element, box in page.layout.match(page.root).items() if element.tag == tag]


def text(page):
    return " ".join(page.root.find("body").text_content().split())


def test_a_box_is_where_and_how_the_element_is_shown(still):
    style = "left:10px;top:2000px;width:300px;height:40px;font-size:20px;background:rgb(1,2,3)"
    (box,) = boxes(still.render(f"{PLACED}<div style='{style}'>A river.</div>"), "div")
    assert (box.left, box.top, box.width, box.height) == (10, 2000, 300, 40)
    assert (box.font_size, box.background, box.visible) == (20.0, "rgb(1, 2, 3)", True)


def test_positions_are_whole_pixels_and_half_transparent_is_a_colour(still):
    style = "left:10.4px;top:20.6px;width:30.5px;height:40px;background:rgba(0,0,255,.5)"
    (box,) = boxes(still.render(f"{PLACED}<div style='{style}'>A river.</div>"), "div")
    assert (box.left, box.top, box.width, box.background) == (10, 21, 31, "rgba(0, 0, 255, 0.5)")


def test_a_transparent_background_is_none(still):
    backgrounds = ["transparent", "rgba(9,9,9,0)", "rgb(1 2 3 / 0%)", "color(srgb 1 0 0 / 0)", "none"]
    page = still.render(
        PLACED + "".join(f"<div style='background:{background}'>A river.</div>" for background in backgrounds)
    )
    assert [box.background for box in boxes(page, "div")] == [""] * len(backgrounds)


def test_what_is_not_seen_is_not_shown(still):
    unseen = ["display:none", "visibility:hidden", "width:0", "height:0", "position:static;display:contents"]
    divs = "".join(f"<div style='width:9px;height:9px;{style}'>A</div>" for style in [*unseen, ""])
    assert [box.visible for box in boxes(still.render(PLACED + divs), "div")] == [False] * len(unseen) + [True]


def test_what_stands_in_something_hidden_is_not_shown(still):
    page = still.render("<section style='display:none'><p>A river.</p></section><p>A lake.</p>")
    assert [box.visible for box in boxes(page, "p")] == [False, True]


def test_a_page_that_scrolled_is_measured_from_its_top(scripted):
    html = f"{PLACED}<div style='top:3000px;left:0;width:9px;height:9px'></div><script>scrollTo(0, 1500)</script>"
    (box,) = boxes(scripted.render(html), "div")
    assert box.top == 3000


@pytest.mark.parametrize(
    "html",
    [
        "<p>One<div>Two<p>Three<table><td>Four<td>Five</table><b><i>Six</b>Seven</i>",
        "<form><input name=setAttribute><input name=getBoundingClientRect><p>A river.</form>",
        "<img name=documentElement><img name=body><p>A river.",
        "<template><p>Not here</template><noscript><p>A river.</noscript><svg><title>x</title><g/></svg><math><mi>x",
        "<iframe srcdoc='<p>Inside'></iframe><p>A river.</p><textarea><p>no element</textarea>",
        "<frameset cols='*,*'><frame src=/a><frame src=/b></frameset>",
        "<select><option>One<optgroup><option>Two</select><dl><dt>Three<dd>Four</dl><ruby>Five<rt>Six</ruby>",
        "A river, and nothing else",
        "<p odd=1 data-0=2 @click=3>A river.</p><custom-tag>A lake.</custom-tag><a:b>A sea.</a:b>",
    ],
)
def test_the_layout_is_that_of_the_tree_and_no_stamp_stays(still, html):
    page = still.render(html)
    matched = page.layout.match(page.root)
    assert len(matched) >= 3
    assert all(not name.startswith("data-") or name == "data-0" for element in matched for name in element.attrib)


def test_a_form_cannot_hide_the_functions_that_are_asked_for(still):
    page = still.render(
        f"{PLACED}<form style='position:absolute;left:7px;width:9px;height:9px'><input name=getBoundingClientRect>"
    )
    assert boxes(page, "form")[0].left == 7


def test_a_script_cannot_change_what_is_measured(scripted):
    lie = "Element.prototype.getBoundingClientRect = () => ({left: 1, top: 1, width: 1, height: 1});"
    lie += "Array.prototype.map = () => []; window.getComputedStyle = () => ({});"
    (box,) = boxes(
        scripted.render(f"{PLACED}<div style='left:70px;width:9px;height:9px'></div><script>{lie}</script>"), "div"
    )
    assert box.left == 70


def test_an_element_that_only_the_tree_has_is_without_box(scripted):
    page = scripted.render("<p>A river.</p><noscript><p>No scripts here.</p></noscript>")
    matched = page.layout.match(page.root)
    inner = page.root.xpath("//noscript/p")
    assert inner
    assert inner[0] not in matched


def test_rendering_twice_gives_the_same(still):
    html = "<table><tr><td>A river<td>A lake</table><p style='float:right'>The sea</p>"
    assert still.render(html).layout == still.render(html).layout


def test_scripts_run_only_if_they_are_switched_on(still, scripted):
    html = "<p id=p>Still</p><noscript><b>Without.</b></noscript><script>p.textContent = 'Scripted'</script>"
    assert "Still" in text(still.render(html))
    assert boxes(still.render(html), "b")[0].visible
    assert "Scripted" in text(scripted.render(html))


def test_what_a_script_adds_after_a_moment_is_there(scripted):
    page = scripted.render("<p>A river.<script>setTimeout(() => document.body.append('A lake.'), 100)</script>")
    assert "A lake." in text(page)


def test_the_page_has_the_source_s_url_encoding_and_warnings(still):
    page = still.render("<p>Fähre über den See</p>".encode("latin-1"), "https://lake.example/x?y#z", "iso-8859-1")
    assert (page.url, page.encoding) == ("https://lake.example/x?y#z", "cp1252")
    assert "Fähre über den See" in text(page)


def test_a_page_in_no_known_encoding_is_rendered(still):
    page = still.render(
        b"<meta charset=x-unknown><p>A r\xefver \x81\x8d and \xff a lake \xc3\x28.</p>", encoding="x-none"
    )
    assert "and" in text(page)
    assert page.layout.match(page.root)


def test_an_empty_page_is_an_empty_tree(still):
    page = still.render(b"", None)
    assert (text(page), page.parse_warnings) == ("", (ParseWarning.EMPTY,))
    assert page.layout.match(page.root)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://[", "http://a b/", "http://x.y:6000/"])
def test_any_url_will_do(still, url):
    page = still.render("<p>A river.</p>", url)
    assert (page.url, text(page)) == (url, "A river.")


def test_a_page_of_20_000_elements_is_rendered(still):
    page = still.render("<p>A river.</p>" * 20_000)
    assert len(boxes(page, "p")) == 20_000


def test_a_bad_page_is_rejected_as_without_a_browser(still):
    with pytest.raises(PageError, match="not a text format"):
        still.render(b"%PDF-1.7 and so on")


def test_a_page_that_scripts_make_too_large_is_rejected(scripted):
    with pytest.raises(PageError, match="more than"):
        scripted.render("<p>A river.<script>document.body.append('x'.repeat(4e6))</script>")
    assert text(scripted.render("<p>A lake.")) == "A lake."


def test_it_works_inside_a_running_event_loop(still):
    async def render():
        return text(still.render("<p>A river."))

    assert asyncio.run(render()) == "A river."


SAVED = ("bbc/00.html.gz", "sina/00.html.gz", "thehindu/00.html.gz")


@pytest.mark.parametrize("place", SAVED)
def test_saved_pages_are_rendered_and_cleaned_by_their_layout(still, data, place):
    html = gzip.decompress((data / "sites" / place).read_bytes())
    page = still.render(html)
    assert page.layout.match(page.root)
    visible_boxes = [box for box in page.layout.boxes if box and box.visible]
    assert len(visible_boxes) > 100
    assert all(box.width > 0 and box.height > 0 for box in visible_boxes)
    cleaned = clean(page, method="vce")
    assert len(cleaned.decisions) > 50
