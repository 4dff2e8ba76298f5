"""Pages made by the tests, explained without a command."""

from pathlib import Path

import pytest

from cleaning.methods import METHODS

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*/page.html"))
SOME = {"bare-text-br", "forum-thread", "news-chinese-gb2312", "table-layout-2005"}
RAW = [name for name, method in METHODS.items() if method.needs is None]
LONG = (
    "The old ferry left the harbour before sunrise with forty passengers, nine bicycles and a crate of oranges, while "
    "fishermen mended their nets along the quiet pier and gulls argued about breakfast above the customs house roof."
)


def pytest_generate_tests(metafunc):
    """Run a test that takes a golden page, or a method, on each; `some_golden` are those of odd markup."""
    if "golden" in metafunc.fixturenames:
        metafunc.parametrize("golden", GOLDEN, ids=lambda path: path.parent.name)
    if "some_golden" in metafunc.fixturenames:
        some = [path for path in GOLDEN if path.parent.name in SOME]
        metafunc.parametrize("some_golden", some, ids=lambda path: path.parent.name)
    if "raw_method" in metafunc.fixturenames:
        metafunc.parametrize("raw_method", RAW)


@pytest.fixture
def long():
    """A text of more than 20 unique terms."""
    return LONG


@pytest.fixture
def golden_page():
    """Return the bytes of a golden page by its name."""
    pages = {path.parent.name: path for path in GOLDEN}
    return lambda name: pages[name].read_bytes()
