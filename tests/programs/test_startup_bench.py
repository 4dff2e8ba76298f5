"""The program on the cost of starting, run once."""

import json

import pytest
import small_data


@pytest.mark.slow
def test_the_start_of_a_crawl_is_measured_beside_that_of_plain_scrapy(tmp_path):
    """Exit code 1: no crawl fits into 1 MB."""
    finished = small_data.run("bench/startup.py", tmp_path, "--rounds", "1", "--json", "--most-mb", "1")
    assert finished.returncode == 1, finished.stderr
    report = json.loads(finished.stdout)
    assert list(report["rows"])[:2] == ["plain Scrapy", "scrapy crawl"]
    assert all(row["cpu_seconds"] > 0 and row["mb"] > 10 for row in report["rows"].values())
