"""What these tests need beside the packages: the development data and a browser. Without them, tests are skipped."""

import shutil

import corpus
import pytest


@pytest.fixture(scope="session")
def data():
    """Return the folder of the development data."""
    if not corpus.DATA.is_dir():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {corpus.DATA}")
    return corpus.DATA


@pytest.fixture(scope="session")
def chromium():
    """Return the path of a browser."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return browser or pytest.skip("CHROMIUM: no browser is installed")
