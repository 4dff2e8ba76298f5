"""The benchmarks of `scrapy batch`, at sizes of no meaning; and its join, which is exact at any size."""

import importlib
import json
from pathlib import Path

import pytest
import small_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return small_data.write(tmp_path_factory.mktemp("data"), ["one.example", "two.example"], pages=3)


def test_all_rows_read_the_pages_of_both_writers(small, tmp_path):
    pytest.importorskip("magic", reason="libmagic, which datatrove needs, is not installed", exc_type=ImportError)
    rows = "ours-1,datatrove-1,ray-resiliparse-1"
    arguments = ["--records", "30", "--files", "2", "--folder", str(tmp_path), "--rows", rows, "--json"]
    finished = small_data.run("bench/batch.py", small, *arguments)
    assert finished.returncode == 0, finished.stderr
    figures_by_row = json.loads(finished.stdout)["rows"]
    assert {row: figures_by_row[row]["pages"] for row in ("ours-1", "ray-resiliparse-1")} == {
        "ours-1": 30,
        "ray-resiliparse-1": 30,
    }
    assert all(figures["cpu_seconds"] > 0 and figures["largest_mb"] > 50 for figures in figures_by_row.values())
    assert figures_by_row["ours-1"]["rejected"] == 0
    assert len(list(tmp_path.glob("*.warc.gz"))) == 2


@pytest.mark.parametrize("prefix", ["", "page-"])
@pytest.mark.parametrize("rows_of_a_task", [500, 100_000], ids=["a band is divided", "one partition"])
def test_the_join_gives_what_comparing_all_blocks_gives(rows_of_a_task, prefix, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "bench")
    join = importlib.import_module("join")
    keys = join.make_keys(20_000, rows_of_a_task)
    sightings, figures = join.join(keys, tmp_path, 1, rows_of_a_task, prefix=prefix)
    assert figures["heavy_bands"] == (1 if rows_of_a_task == 500 else 0)
    assert figures["sightings"] > 3_000
    assert figures["near_pairs"] > 1_000
    assert join.differences(keys, sightings) == 0
    sightings["original"][0] += 1
    assert join.differences(keys, sightings) == 1


def test_the_work_of_larger_joins_is_that_of_one_value_of_a_band(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "bench")
    work = importlib.import_module("join").project(10**8)
    assert work["candidates"] == pytest.approx(10**16 / 2**17, rel=0.01)
    assert 10**8 < work["compared"] < work["candidates"] / 100
