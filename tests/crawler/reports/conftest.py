"""Pages made by the tests, explained and compared without a command or a browser."""

from functools import partial
from pathlib import Path

import pytest

from cleaning.methods import METHODS
from cleaning.options import Options
from crawler.reports.compare import MethodComparer, SiteBoilerplate
from crawler.reports.sources import LoadedPage, UnreadPage

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*/page.html"))
SOME = {"bare-text-br", "forum-thread", "news-chinese-gb2312", "table-layout-2005"}
RAW = [name for name, method in METHODS.items() if method.needs is None]
LONG = (
    "The old ferry left the harbour before sunrise with forty passengers, nine bicycles and a crate of oranges, while "
    "fishermen mended their nets along the quiet pier and gulls argued about breakfast above the customs house roof."
)


HOSTILE = """<!doctype html>
<meta charset="utf-8"><title></title><script>alert(1)</script>\u202egnp.exe</title>
<body onload="alert(1)" style="background:url(https://evil.example/a.png)" class="t k k0 row">
<base href="https://evil.example/"><link rel="stylesheet" href="https://evil.example/a.css">
<p onclick="alert(1)" style="position:fixed" class="k k0" dir="rtl" data-why="x">A paragraph with
<a href="javascript:alert(1)">a link</a> and <a href="https://evil.example/">another</a> in it, which is long enough to
be kept by a method that looks for prose, and <img src=x onerror=alert(1) alt='"><img src=y onerror=alert(1)>'>.</p>
</main></div></span>--><p>&lt;/style&gt;&lt;script&gt;alert(1)&lt;/script&gt;
 and "quotes' and &amp;lt; and --&gt; and ]]&gt; in one sentence.</p>
<p>" onmouseover="alert(1)" x=' and ' onfocus='alert(1)
 and \u202e reversed \u2066 isolated \u0000 \u001b[2J \u0085 text.</p>
<p>{{ title }}{% raw %}
 and [/b][red]rich markup[/red] and &#xD800; and \ufffe nothing in this sentence of many words.</p>
<svg><script>alert(1)</script></svg><iframe src="https://evil.example/" srcdoc="<p>x"></iframe>
<form action="https://evil.example"><input name=q><button formaction="javascript:alert(1)">Go</button></form>
<meta http-equiv="refresh" content="0;url=/x"><object data="x.swf"></object><video src=x autoplay></video>
<style>.t{display:none}</style><math><mtext><img src=x onerror=alert(1)></mtext></math><marquee>moves</marquee>
<x-y onfocus=alert(1) tabindex=0 autofocus>custom</x-y><details open ontoggle=alert(1)><summary>more</summary></details>
<pre>code &lt;b&gt;   indented
	tab \u0085 <b>\u0085\u001c</b></pre><table background=x><tr><td>cell<td></table><blockquote>quoted</blockquote>
<ul><li>item</li></ul><plaintext>
"""


def pytest_generate_tests(metafunc):
    """Run a test that takes a golden page, or a method, on each; `some_golden` are those of odd markup."""
    if "golden" in metafunc.fixturenames:
        metafunc.parametrize("golden", GOLDEN, ids=lambda path: path.parent.name)
    if "some_golden" in metafunc.fixturenames:
        paths = [path for path in GOLDEN if path.parent.name in SOME]
        metafunc.parametrize("some_golden", paths, ids=lambda path: path.parent.name)
    if "raw_method" in metafunc.fixturenames:
        metafunc.parametrize("raw_method", RAW)


@pytest.fixture
def long():
    """A text of more than 20 unique terms."""
    return LONG


@pytest.fixture
def hostile_html():
    """A page that tries to act, load and restyle."""
    return HOSTILE.encode()


@pytest.fixture
def golden_page():
    """Return the bytes of a golden page by its name."""
    pages = {path.parent.name: path for path in GOLDEN}
    return lambda name: pages[name].read_bytes()


def as_source(html, name="page.html", url=None, site=""):
    body = html.encode() if isinstance(html, str) else html
    return UnreadPage(name, url, site, partial(LoadedPage, body))


@pytest.fixture
def source():
    return as_source


@pytest.fixture
def raw_methods():
    """The methods that need nothing but the page."""
    return RAW


@pytest.fixture
def compare():
    """Compare a page; by default with all methods that need nothing but the page."""

    def run(html, methods=RAW, *, sources=(), **options):
        page_source = as_source(html) if isinstance(html, str | bytes) else html
        cleaning_options = Options.read(options)
        return MethodComparer(
            methods, cleaning_options, SiteBoilerplate([page_source, *sources], cleaning_options.max_bytes), 30.0
        ).compare(page_source)

    return run
