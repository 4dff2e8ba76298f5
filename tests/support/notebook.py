"""Run the notebook of docs/examples and store what its cells show.

    python tests/support/notebook.py

tests/examples/test_notebook.py compares the stored outputs with those of a run.
"""

from __future__ import annotations

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from cleaning import METHODS

NOTEBOOK = Path(__file__).parents[2] / "docs" / "examples" / "notebook" / "blocks.ipynb"


def run_notebook(book: dict[str, Any]) -> list[tuple[dict[str, Any], Any]]:
    """Run the cells of code as Jupyter does; return each as it is stored, with its outputs, and the value it shows."""
    names: dict[str, Any] = {"__name__": "notebook"}
    methods = set(METHODS)
    try:
        cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        return [_run_cell(cell, number, names) for number, cell in enumerate(cells, 1)]
    finally:
        for name in METHODS.keys() - methods:
            del METHODS[name]


def _run_cell(cell: dict[str, Any], number: int, names: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
        )
    if value is not None:
        data = {"text/html": [value._repr_html_()], "text/plain": [repr(value)]}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return cell | {"execution_count": number, "outputs": outputs}, value


def main() -> None:
    book = json.loads(NOTEBOOK.read_text("utf-8"))
    cells = iter([cell for cell, _ in run_notebook(book)])
    book["cells"] = [next(cells) if cell["cell_type"] == "code" else cell for cell in book["cells"]]
    NOTEBOOK.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
