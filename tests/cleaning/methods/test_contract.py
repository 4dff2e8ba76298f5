"""What every method in METHODS owes: all text once, the same each time, an untouched tree, bounded time, no crash."""

from collections import Counter
from dataclasses import replace
from math import isfinite
from pathlib import Path

import hostile_pages
import pytest
from calls import count_calls
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from cleaning import METHODS, OptionError, PageError, Reason, clean, parse
from cleaning.clean import text_page
from cleaning.layout import Box, Layout
from cleaning.leaves import walk
from cleaning.methods import NEEDS
from cleaning.methods.informative_sections import learn_template
from cleaning.terms import normalise, visible

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*/page.html"))
URL = "https://www.example.com/news/one.html"
SIBLING = parse(
    "<title>one</title><div>two words</div><p>One, two. <a href='/in'>three</a></p><li>中文，好。</li>", URL
)
# Their blocks begin with the page's title, which no walk reads.
TITLED = {"pab", "eniw"}
SMALL_BYTES = 5_000
TIMES_LARGER = 4
# Four times the page may take this many times the calls; twice as many as a page in proportion.
MOST_TIMES_THE_CALLS = 8

every_method = pytest.mark.parametrize("method", METHODS)


def ready(page, method):
    """Return the page with what the method needs: a made-up but fixed layout, a template of two pages."""
    needs = METHODS[method].needs
    if needs == "layout":
        elements = list(page.root.iter(etree.Element))
        boxes = tuple(box(place) for place in range(len(elements)))
        return replace(page, layout=Layout(tuple(element.tag for element in elements), boxes))
    return replace(page, template=learn_template([page, SIBLING])) if needs == "template" else page


def box(place):
    """Return any box: some elements are the browser's own business, some not shown, most near their neighbours."""
    if place % 11 == 10:
        return None
    size = 100 * (place % 7), 20 * (place % 13)
    background = ("", "rgb(1, 2, 3)")[place % 5 == 4]
    return Box(10 * (place % 4), 30 * place, *size, 12.0 + place % 3, background, visible=place % 17 != 16)


def letters(texts):
    return Counter("".join("".join(text.split()) for text in texts))


def text_of(page, method):
    """Return the letters that have to come out, of embedded prose if the page shows none."""
    texts = [leaf.block.text for leaf in walk(text_page(page).root)]
    title = page.root.find(".//head//title") if method in TITLED else None
    return letters(texts if title is None else [normalise(visible("".join(title.itertext()))), *texts])


def check(page, method):
    """Assert what holds for every page, and return the decisions."""
    page = ready(page, method)
    decisions = clean(page, method=method).decisions
    assert letters(decision.block.text for decision in decisions) == text_of(page, method)
    assert [decision.block.position for decision in decisions] == list(range(len(decisions)))
    for decision in decisions:
        assert isfinite(decision.score)
        assert decision.block.text or decision.reason is Reason.EMPTY
        assert decision.kept == (decision.reason is Reason.KEPT)
        assert 0 <= decision.block.link_words <= decision.block.words
    return decisions


ODD_TEXTS = [
    "one",
    "two words",
    "One, two. Three!",
    "中文，好。",
    " ",
    "\n",
    "...",
    "12.5 %",
    "ß&lt;İ",
    "x" * 50,
    "\x01\x7f",
]
TEXTS = st.sampled_from(ODD_TEXTS) | st.text(max_size=8).map(lambda text: text.replace("<", ""))
ATTRIBUTES = st.sampled_from(
    [
        "",
        ' href="/in"',
        ' href="http://other.org/"',
        ' href="http://[bad"',
        ' href="//:99999"',
        ' href="HTTP://例え.jp/共有"',
        ' href="mailto:x@y"',
        ' href=""',
        ' href="/share/terms-of-use"',
        ' src="http://ads.example.net/banner.gif" width="468" height="60" alt="cat"',
        ' src="data:," alt=" " width="9e9" height="-1%"',
        ' class="adsbygoogle" id="Ads"',
        ' class="share comment footer"',
        ' background="x.png" style="background: url(y) ; color"',
        ' ROLE="main" hidden',
        ' rel="canonical" href="https://other.org/"',
    ]
)
TAGS = st.sampled_from(
    "a abbr article aside b base blockquote body br div em embed font footer form frameset h1 h2 h6 head header hr "
    "html i iframe img input li link main marquee meta nav noscript o:p object ol option p pre script section select "
    "small span strong style svg table tbody td textarea th title tr ul video x-y xé _ a:b:c".split()
)
ENDS = st.sampled_from([True] * 5 + [False])


def element(tag, attributes, parts, closed):
    return f"<{tag}{attributes}>{''.join(parts)}{f'</{tag}>' if closed else ''}"


def nested(inner):
    return st.builds(element, TAGS, ATTRIBUTES, st.lists(inner, max_size=4), ENDS)


TREES = st.recursive(TEXTS, nested, max_leaves=25)
PAGES = st.lists(TREES, max_size=6).map("".join)
URLS = st.sampled_from([None, URL, "", "http://[bad", "file:///x", "https://例え.jp/"])
FRAGMENTS = st.sampled_from(
    [b"<", b">", b"<p", b"</", b"='", b"a", b"&#", b"\x00", b"\xff\xfe", b"<!--", b"<a href=//["]
)
BYTES = st.binary() | st.lists(FRAGMENTS).map(b"".join)


@every_method
@settings(max_examples=min(30, settings.default.max_examples))
@given(page=PAGES, url=URLS)
def test_each_text_of_a_page_comes_out_once_with_a_score_and_a_reason(method, page, url):
    check(parse(page, url), method)


@every_method
def test_each_text_of_embedded_prose_comes_out_once(method):
    source = f"<p>Please turn on scripts.</p><noscript><p>{'Rain fell on the old bridge. ' * 20}</p></noscript>"
    assert len(check(parse(source), method)) > 1


@every_method
@settings(max_examples=min(40, settings.default.max_examples))
@given(page=BYTES, url=URLS)
def test_any_bytes_are_cleaned_or_refused(method, page, url):
    try:
        parsed = parse(page, url)
    except PageError:
        return
    check(parsed, method)


@every_method
@settings(max_examples=min(20, settings.default.max_examples))
@given(page=PAGES)
def test_a_page_gives_the_same_each_time_and_its_tree_is_untouched(method, page):
    once = ready(parse(page, URL), method)
    before = etree.tostring(once.root)
    first = clean(once, method=method)
    second = clean(once, method=method)
    assert etree.tostring(once.root) == before
    assert first == second == clean(ready(parse(page, URL), method), method=method)


@every_method
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_every_text_of_a_real_page_is_in_one_block(method, path):
    assert check(parse(path.read_bytes(), URL), method)


@every_method
def test_a_page_without_text_keeps_nothing(method):
    for page in ("", "<html></html>", "<div><p></p><table><tr><td></td></tr></table><img alt='x'></div>"):
        assert not [decision for decision in check(parse(page), method) if decision.kept]


@every_method
def test_blocks_beyond_the_bound_are_dropped_and_counted(method):
    page = ready(parse("".join(f"<div><p>Text {number}, and more.</p></div>" for number in range(150))), method)
    cut = clean(page, method=method, max_blocks=100)
    whole = clean(page, method=method)
    assert [decision.block.text for decision in cut.decisions] == [decision.block.text for decision in whole.decisions]
    assert {decision.reason for decision in cut.decisions[100:]} == {Reason.TRUNCATED}
    assert Reason.TRUNCATED not in {decision.reason for decision in cut.decisions[:100]}


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.needs])
def test_a_page_without_what_the_method_needs_is_refused(method):
    needs = METHODS[method].needs
    with pytest.raises(OptionError) as caught:
        clean("<p>x</p>", method=method)
    assert needs in str(caught.value)
    assert NEEDS[needs] in str(caught.value)


def test_every_need_is_one_that_the_page_can_have():
    page = parse("<p>x</p>")
    assert {method.needs for method in METHODS.values() if method.needs} <= NEEDS.keys()
    assert all(getattr(page, needs) is None for needs in NEEDS)


@every_method
def test_every_method_names_its_source_and_is_described(method):
    assert len(METHODS[method].citation) > 20
    described = (ROOT / "cleaning" / "README.md").read_text("utf-8").split("\n## ")
    sections = [section for section in described if f"`{method}`" in section.partition("\n")[0]]
    assert len(sections) == 1
    assert len(sections[0].split()) > 50


def count_cleaning(page, method):
    calls, _ = count_calls(lambda: clean(page, method=method))
    return calls


@pytest.mark.slow
@every_method
def test_the_work_grows_no_faster_than_a_hostile_page(method):
    clean(ready(SIBLING, method), method=method)  # what is loaded at first use
    growth = {}
    for kind, (before, _) in hostile_pages.KINDS.items():
        small, large = (
            count_cleaning(ready(parse(hostile_pages.hostile_page(kind, len(before) + size), URL), method), method)
            for size in (SMALL_BYTES, TIMES_LARGER * SMALL_BYTES)
        )
        growth[kind] = large / small
    assert {kind: times for kind, times in growth.items() if times > MOST_TIMES_THE_CALLS} == {}
