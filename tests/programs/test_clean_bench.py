"""The programs on the cost of cleaning, run on little."""

import json

import pytest
import small_data
import timing
from hostile_pages import KINDS, STRUCTURE_KINDS
from peers import PEERS


@pytest.fixture
def small(tmp_path):
    return small_data.write(tmp_path)


def test_the_cost_of_each_step_and_extractor_is_measured_in_one_run(small):
    finished = small_data.run("bench/clean.py", small, "--pages", "3", "--rounds", "2", "--json")
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stdout)
    assert report["pages"] == 3
    assert next(iter(report["steps"])) == "lxml parse"
    assert list(report["steps"])[-len(PEERS) :] == list(PEERS)
    assert report["steps"]["lxml parse"]["times_lxml_parse"] == 1.0
    for row in report["steps"].values():
        assert 0 < row["p50_ms"] <= row["p95_ms"]
    assert report["versions"].keys() == PEERS.keys()


def test_the_cost_is_shown_as_a_table(small):
    finished = small_data.run("bench/clean.py", small, "--pages", "2", "--rounds", "1", "--without-peers")
    assert finished.returncode == 0, finished.stderr
    assert "clean, text and metadata" in finished.stdout
    assert "trafilatura" not in finished.stdout


@pytest.mark.parametrize(("bound", "code"), [("200", 0), ("-1000", 1)])
def test_growth_of_memory_beyond_the_bound_fails(tmp_path, bound, code):
    arguments = ["--pages", "40", "--cycle", "5", f"--most-mb={bound}", "--json"]
    finished = small_data.run("bench/memory.py", tmp_path / "no data", *arguments)
    assert finished.returncode == code, finished.stderr
    report = json.loads(finished.stdout)
    assert (report["pages"], report["flat"]) == (40, code == 0)
    assert report["objects_in_cycles_at_worst"] == 0


@pytest.mark.parametrize(
    ("bound", "code", "more", "kinds"),
    [
        ("50", 0, [], 8),
        ("0", 1, [], 8),
        ("0", 1, ["--hostile"], len(KINDS)),
        ("0", 1, ["--structure"], len(STRUCTURE_KINDS)),
        ("50", 0, ["--structure", "--only", "backticks"], 1),
    ],
)
def test_time_that_grows_faster_than_the_page_fails(tmp_path, bound, code, more, kinds):
    arguments = ["--sizes", "2000", "20000", "--most", bound, "--json", *more]
    finished = small_data.run("bench/linearity.py", tmp_path, *arguments)
    assert finished.returncode == code, finished.stderr
    rows = json.loads(finished.stdout)["rows"]
    assert len(rows) == kinds
    assert all(len(row["ns_a_byte"]) == 2 and not row["refused"] for row in rows)


def test_garbage_is_collected_before_the_clock_starts():
    class Node:
        """An object in a cycle."""

        freed = 0

        def __init__(self):
            self.itself = self

        def __del__(self):
            Node.freed += 1

    Node()
    assert timing.timed(lambda: Node.freed)[1] == 1
