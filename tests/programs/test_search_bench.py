"""The benchmark of search, at sizes of no meaning."""

import json
import sys
from pathlib import Path

import processes
import pytest

PROGRAM = Path(__file__).parents[1] / "bench" / "search.py"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_it_measures_and_leaves_nothing_behind(tmp_path, database, request):
    if database == "postgresql":
        request.getfixturevalue("server")
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- made by tests/bench/search.py -->\n<!-- end of what is made -->\nAfter.\n", "utf-8")
    small = ["--blocks", "500", "--queries", "1", "--scanned", "1", "--stored", "2", "--databases", database]
    command = [sys.executable, str(PROGRAM), *small, "--folder", str(tmp_path), "--json", "--write", str(page)]
    finished = processes.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert {row["rank"] for row in result["searches"]} == {"priority", "bm25", "density"}
    assert [row["blocks"] for row in result["scans"]] == ["raw", "ENIW", "PAB"]
    (size,) = result["sizes"]
    assert size["after"] > size["before"]
    written = page.read_text("utf-8")
    assert written.startswith("Before.")
    assert written.endswith("After.\n")
    assert f"| {database} | a stop word | bm25 |" in written
    assert list(tmp_path.iterdir()) == [page]
