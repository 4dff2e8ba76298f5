"""The notebook of docs/examples runs from its first cell to its last, and shows pages as harmless HTML."""

import ast
import json
from pathlib import Path

import pytest

from cleaning import METHODS, CleanPage

NOTEBOOK = Path(__file__).parents[2] / "docs" / "examples" / "notebook" / "blocks.ipynb"


@pytest.fixture(scope="module")
def displayed():
    """What each cell of code shows: the value of its last line, or None."""
    book = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (book["nbformat"], len({cell["id"] for cell in book["cells"]})) == (4, len(book["cells"]))
    names, values = {"__name__": "notebook"}, []
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            values.append(run_cell("".join(cell["source"]), names))
    yield values
    del METHODS["prose"]


def run_cell(source, names):
    """Run a cell as Jupyter does."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_every_cell_runs_and_pages_are_shown_in_colour(displayed):
    pages = [value for value in displayed if isinstance(value, CleanPage)]
    assert [page.method for page in pages] == ["default", "pab", "prose"]
    for page in pages:
        assert "river rose in the night" in page._repr_html_()


def test_the_first_page_keeps_the_article_alone(displayed):
    assert displayed[0].title == "The old bridge is closed"
    assert [block.kind for block in displayed[0].kept] == ["paragraph", "paragraph"]  # its headline is the title
