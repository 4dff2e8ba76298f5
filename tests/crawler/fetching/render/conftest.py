"""Browsers that the tests of a module share."""

import pytest

from crawler.fetching.render.browser import Browser


@pytest.fixture(scope="module")
def still(chromium):
    """Return a browser without JavaScript."""
    with Browser(executable=chromium, seconds=120) as browser:
        yield browser


@pytest.fixture(scope="module")
def scripted(chromium):
    """Return a browser with JavaScript."""
    with Browser(executable=chromium, javascript=True, seconds=120, max_bytes=3_000_000) as browser:
        yield browser
