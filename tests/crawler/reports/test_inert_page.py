"""What all pages have in common: they run nothing, load nothing, and print every text as text."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from lxml import html as lxml_html
from markupsafe import Markup

from crawler.reports.compare import ComparisonPlan, ComparisonTotals
from crawler.reports.comparison import ComparisonPages, compared_page
from crawler.reports.explain import explain
from crawler.reports.explanation import explanation_page
from crawler.reports.inert_page import inert
from crawler.reports.sources import ReportTarget

URL = "https://a.example/?<&'\""
NAME = '"><script>\x1b\u202e.html'
UNSAFE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
ALLOWED_TAGS = set(
    "html head meta title style body input div aside main header p label b i small span br a details summary h1 h2 "
    "table tbody tr th td".split()
)
ALLOWED_ATTRIBUTES = set(
    "lang charset http-equiv content name type id checked aria-label class for dir href rel scope colspan "
    "data-why data-name tabindex".split()
)


@pytest.fixture(params=["explanation", "comparison", "index"])
def page(request, compare, source, hostile_html, tmp_path):
    """A page of each kind about the hostile page."""
    if request.param == "explanation":
        return "".join(explanation_page(explain(hostile_html, URL)))
    hostile = source(hostile_html, NAME, URL)
    if request.param == "comparison":
        return "".join(compared_page(compare(hostile), 20_000))
    target = ReportTarget(NAME, [hostile, source("", NAME)], several=True)
    totals = ComparisonTotals(["default", "pab"])
    plan = ComparisonPlan(["default", "pab"], {"vce": NAME})
    with ComparisonPages(tmp_path / "out", target, plan, 20_000) as pages:
        for page_source in target.sources:
            compared = compare(page_source, plan.methods)
            totals.add(page_source, compared)
            pages.add(page_source, compared)
        pages.finish(totals)
    return (tmp_path / "out" / "index.html").read_text("utf-8")


def root(text):
    return lxml_html.document_fromstring(text.encode("utf-8"))


def check_inert(page):
    for element in root(page).iter():
        names = {name for name in element.attrib if not re.fullmatch(r"data-\d+", name)}
        assert element.tag in ALLOWED_TAGS
        assert names <= ALLOWED_ATTRIBUTES, (element.tag, names)
    assert "<script" not in page.lower()
    assert not re.search(UNSAFE, page)
    page.encode("utf-8")


def test_nothing_of_the_page_acts_and_controls_are_gone(page):
    check_inert(page)


def test_nothing_acts_whatever_the_method_keeps(hostile_html, raw_method):
    page = "".join(explanation_page(explain(hostile_html, URL, method=raw_method)))
    check_inert(page)
    (rebuilt,) = root(page).xpath("//div[@class='page']")
    assert {element.tag for element in rebuilt.iter()} <= {"div", "span", "br"}
    assert {name for element in rebuilt.iter() for name in element.attrib} <= {"class", "dir", "id", "data-why"}


def test_the_rows_of_a_comparison_are_ours(compare, hostile_html):
    rows = root("".join(compared_page(compare(hostile_html), 20_000))).xpath("//main/div[@class='compared']//*")
    assert {element.tag for element in rows} <= {"div", "span", "i", "br"}
    names = {name for element in rows for name in element.attrib if not re.fullmatch(r"data-\d+", name)}
    assert names <= {"class", "dir", "data-why"}


def test_the_policy_allows_one_style_sheet_and_nothing_else(page):
    tree = root(page)
    (style,) = tree.iter("style")
    digest = b64encode(sha256(style.text.encode()).digest()).decode()
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    # What stands before the policy is not bound by it.
    assert page.index("Content-Security-Policy") < page.index("<title")
    assert not re.search(r"url\(|@import|expression|behavior", style.text)


def test_the_only_link_leads_to_the_page_itself(page):
    (link,) = root(page).iter("a")
    if link.get("href") != "page-00001.html":
        assert link.get("href").startswith("https://a.example/")
        assert link.get("rel") == "noreferrer noopener nofollow"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://[", "//x"])
def test_an_address_of_another_kind_is_no_link(compare, source, article, url):
    for page in (compared_page(compare(source(article, url=url)), 20_000), explanation_page(explain(article, url))):
        tree = root("".join(page))
        assert list(tree.iter("a")) == []
        assert url in tree.text_content()


def test_a_text_is_escaped_once_and_markup_never():
    assert inert("<b> & \"'\x00\u202e") == Markup("&lt;b&gt; &amp; &#34;&#39;")
    assert inert(inert("<b>")) == inert("<b>")
    assert inert(Markup("<b>")) == "<b>"
