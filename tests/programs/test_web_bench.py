"""The benchmark of the web page, at sizes of no meaning."""

import json
import sys
from pathlib import Path

import processes
import pytest

PROGRAM = Path(__file__).parents[1] / "bench" / "web.py"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_it_measures_and_leaves_nothing_behind(tmp_path, database, request):
    if database == "postgresql":
        request.getfixturevalue("server")
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- made by tests/bench/web.py -->\n<!-- end of what is made -->\nAfter.\n", "utf-8")
    small = ["--blocks", "500", "--asked", "1", "--databases", database, "--folder", str(tmp_path)]
    command = [sys.executable, str(PROGRAM), *small, "--json", "--write", str(page)]
    finished = processes.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert {"overview", "page", "search", "schedule"} <= {row["page"] for row in result["pages"]}
    (server,) = result["servers"]
    assert server["batches"] >= 1
    assert server["after"] >= server["before"] / 2
    written = page.read_text("utf-8")
    assert written.startswith("Before.")
    assert written.endswith("After.\n")
    assert f"| {database} | overview |" in written
    assert list(tmp_path.iterdir()) == [page]
