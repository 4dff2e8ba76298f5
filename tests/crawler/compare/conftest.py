"""Pages made by the tests, compared without a browser."""

from functools import partial

import pytest

from cleaning.methods import METHODS
from cleaning.options import Options
from crawler.compare.run import Comparison
from crawler.compare.targets import Loaded, Source
from crawler.compare.templates import Templates

RAW = [name for name, method in METHODS.items() if method.needs is None]


def as_source(html, name="page.html", url=None, site=""):
    body = html.encode() if isinstance(html, str) else html
    return Source(name, url, site, partial(Loaded, body))


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
        one = as_source(html) if isinstance(html, str | bytes) else html
        settled = Options.read(options)
        return Comparison(methods, settled, Templates([one, *sources], settled.max_bytes)).run(one)

    return run
