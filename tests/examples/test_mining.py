"""The example of docs/export.md runs from the archive to its table."""

import os
import sys
from pathlib import Path

import pandas as pd
import processes
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "mining"


@pytest.fixture
def run(tmp_path):
    """Run a program in an empty folder and return what it prints."""

    def execute(*command):
        environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings", "PYTHONPATH": str(ROOT)}
        environment |= {"DATABASE_URL": "sqlite:///webkb.db"}
        finished = processes.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return execute


def test_classes_of_pages_are_found_from_raw_and_from_cleaned_text(run, data, tmp_path):
    run(EXAMPLE / "webkb.py", (data / "categories" / "webkb.tar.gz").resolve(), "saved", "--most", "6")
    run("-m", "scrapy", "crawl", "archive", "-s", "REPLAY=saved", "-s", "PROGRESS=off")
    run("-m", "scrapy", "export", "pages.parquet", "--pages")
    pages = pd.read_parquet(tmp_path / "pages.parquet")
    first, _, *rows = run(EXAMPLE / "topics.py", "pages.parquet", "saved").splitlines()
    count = int(first.split()[0])
    assert first == f"{count} pages of 4 classes"
    assert 100 < count <= len(pages) <= 4 * 5 * 6
    assert [row.split()[0] for row in rows] == ["raw", "raw", "cleaned", "cleaned"]
    for row in rows:
        accuracy, macro = map(float, row.split()[-2:])
        assert 0.4 < accuracy <= 1  # by chance it would be 0.25
        assert 0.3 < macro <= 1
