"""The program on the cost of starting, run once."""

import json

import pytest
import small_data


@pytest.mark.slow
@pytest.mark.parametrize(("bounds", "code"), [(["--most-cpu", "60", "--most-mb", "1000"], 0), (["--most-mb", "1"], 1)])
def test_the_start_of_a_crawl_is_measured_beside_that_of_plain_scrapy(tmp_path, bounds, code):
    finished = small_data.run("bench/startup.py", tmp_path, "--rounds", "1", "--json", *bounds)
    assert finished.returncode == code, finished.stderr
    found = json.loads(finished.stdout)
    assert list(found["rows"])[:2] == ["plain Scrapy", "scrapy crawl"]
    assert all(row["cpu_seconds"] > 0 and row["mb"] > 10 for row in found["rows"].values())
