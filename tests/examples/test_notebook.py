"""The notebook of docs/examples runs from its first cell to its last, and shows pages as harmless HTML."""

import json
import re

import pytest
from notebook import NOTEBOOK, run_notebook

from cleaning import METHODS, CleanPage

BOOK = json.loads(NOTEBOOK.read_text("utf-8"))


@pytest.fixture(scope="module")
def cells():
    """The cells of code as a run stores them, each with the value that it shows, or None."""
    return run_notebook(BOOK)


def test_the_notebook_is_valid_and_running_it_leaves_no_method_behind(cells):
    assert (BOOK["nbformat"], len({cell["id"] for cell in BOOK["cells"]})) == (4, len(BOOK["cells"]))
    assert "prose" not in METHODS


def test_every_cell_runs_and_pages_are_shown_in_colour(cells):
    pages = [value for _, value in cells if isinstance(value, CleanPage)]
    assert [page.method for page in pages] == ["default", "pab", "prose"]
    for page in pages:
        assert "river rose in the night" in page._repr_html_()


def test_the_first_page_keeps_the_article_alone(cells):
    _, page = cells[0]
    assert page.title == "The old bridge is closed"
    assert [block.kind for block in page.kept] == ["paragraph", "paragraph"]  # its headline is the title


def without_scores(cell):
    """Return the text of a cell without scores, which another model changes a little."""
    return re.sub(r"\d\.\d\d ", "", json.dumps(cell, sort_keys=True))


def test_the_stored_outputs_are_those_of_a_run(cells):
    stored = [cell for cell in BOOK["cells"] if cell["cell_type"] == "code"]
    assert [without_scores(cell) for cell in stored] == [without_scores(cell) for cell, _ in cells], (
        "run python tests/support/notebook.py"
    )
