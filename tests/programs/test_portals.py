"""The program tests/research/portals.py, on a saved site of two pages."""

import json
import os
import sys
from pathlib import Path

import portals
import processes
import pytest

PROGRAM = Path(__file__).parents[1] / "research" / "portals.py"
PROSE = "<p>The river rose in the night and carried the old bridge down to the mill, said the mayor of the town.</p>"


def test_each_site_s_saved_pages_are_counted_as_what_they_are(tmp_path):
    site = tmp_path / "sites" / "bbc"
    site.mkdir(parents=True)
    (site / "0.html").write_text('<main><a href="/news/river-12345678">The river rose</a></main>', "utf-8")
    (site / "1.html").write_text(f"<title>The river</title><article><h1>The river</h1>{PROSE * 4}</article>", "utf-8")
    (site / "2.html").write_text("", "utf-8")
    (site / "3.html").write_text("<p>Watch now.", "utf-8")
    rows = [
        "0.html\thttps://www.bbc.com/news",
        "1.html\thttps://www.bbc.com/news/river-12345678",
        "2.html\t",
        "3.html\t",
    ]
    lines = ["site\tfile\turl", *(f"bbc\t{row}" for row in rows)]
    (site.parent / "index.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    environment = os.environ | {"BLOCKSIEVE_DATA": str(tmp_path)}
    done = processes.run(
        [sys.executable, PROGRAM, "--json"], env=environment, capture_output=True, text=True, check=True
    )
    (counted,) = json.loads(done.stdout)
    assert counted.pop("blocks") > 0
    assert counted == {
        "site": "bbc",
        "saved": 4,
        "articles": 1,
        "listings": 1,
        "links": 1,
        "absent": 0,
        "refused": {"empty": 1, "no_article": 1},
        "boilerplate": 0,
    }


def test_the_table_is_written_between_the_marks_of_a_page(data, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("\n".join(["Before.", *portals.MARKS, "After."]), "utf-8")
    row = portals.Replayed("bbc", 4, 1, 1, 1_200, 0, {"empty": 1}, 9, 2).row()
    for _ in range(2):
        portals.write(page, portals.HEAD + row)
    written = page.read_text("utf-8")
    assert written.count("| bbc | 4 | 1 | 1 | 1,200 | 1 empty | 9 | 2 |\n\nMeasured with model `") == 1
    assert written.startswith("Before.\n")
    assert written.endswith("\nAfter.")


def test_a_log_without_stats_is_an_error():
    with pytest.raises(IndexError):
        portals.stats_of("INFO: closed")
