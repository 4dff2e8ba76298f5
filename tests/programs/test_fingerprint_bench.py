"""The benchmarks of fingerprints and of their index, at sizes of no meaning."""

import importlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import processes
import pytest

from cleaning._native import load_compiled
from cleaning.fingerprint import distance

PROGRAM = Path(__file__).parents[1] / "bench" / "fingerprints.py"
FIGURES = ("built_per_second", "bytes_each", "p50_ms", "p99_ms", "added_per_second")
ROW = dict.fromkeys(FIGURES, 2.0) | {"index": "sqlite", "size": 1_000, "sorted": False, "checked": 200, "wrong": 0}
RESULT = {
    "versions": {"SQLite": "3", "faiss-cpu": None},
    "rows": [ROW, ROW | {"size": 10_000, "p99_ms": 5.0}, {"index": "faiss", "size": 1_000, "note": "not installed"}],
}


@pytest.fixture
def part(monkeypatch):
    """Import a file of the program, which is run by path."""
    monkeypatch.syspath_prepend(PROGRAM.parent)
    return importlib.import_module


def bench(folder, *arguments):
    command = [sys.executable, str(PROGRAM), "--folder", str(folder), *arguments]
    return processes.run(command, capture_output=True, text=True, check=False)


def test_it_counts_the_blocks_that_the_core_and_pure_python_fingerprint_in_a_second():
    if load_compiled("words") is None:
        pytest.skip("COMPILER: Blocksieve was installed without its compiled core")
    command = [sys.executable, str(PROGRAM.with_name("block_keys.py")), "--blocks", "20", "--rounds", "1", "--json"]
    finished = processes.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    rates = json.loads(finished.stdout)
    assert list(rates) == ["compiled core", "pure Python"]
    assert min(rates.values()) > 0


@pytest.mark.parametrize("bulk_above", ["1000000", "1000"])
def test_it_measures_sqlite_and_leaves_nothing_behind(tmp_path, bulk_above):
    finished = bench(tmp_path, "--sizes", "2000", "--indexes", "sqlite", "--bulk-above", bulk_above, "--json")
    assert finished.returncode == 0, finished.stderr
    (row,) = json.loads(finished.stdout)["rows"]
    assert (row["index"], row["size"], row["sorted"]) == ("sqlite", 2000, bulk_above == "1000")
    assert (row["checked"], row["wrong"]) == (200, 0)
    assert all(row[name] > 0 for name in FIGURES)
    assert row["p50_ms"] <= row["p99_ms"]
    assert list(tmp_path.iterdir()) == []


def test_it_measures_postgresql_in_a_database_of_its_own(tmp_path, server):
    before = databases_of_ended_benches(server)
    finished = bench(tmp_path, "--sizes", "2000", "--indexes", "postgresql", "--bulk-above", "1000", "--json")
    assert finished.returncode == 0, finished.stderr
    (row,) = json.loads(finished.stdout)["rows"]
    assert (row["checked"], row["wrong"]) == (200, 0)
    assert databases_of_ended_benches(server) <= before


def databases_of_ended_benches(server):
    """Return the databases of benchmarks, but of those that still run, beside this test; the names end with a pid."""
    rows = server.execute("SELECT datname FROM pg_database WHERE datname LIKE 'blocksieve_bench_%'").fetchall()
    return {name for (name,) in rows if not is_running(int(name.rpartition("_")[2]))}


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_refuses_to_fill_the_disk(tmp_path):
    finished = bench(tmp_path, "--sizes", "10000000000000", "--indexes", "sqlite")
    assert finished.returncode == 1
    assert "GB are needed; free some" in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_brute_force_agrees_with_the_distance(part):
    sample = part("sample")
    stored = sample.stored_fingerprints(300)
    queries = sample.queries(stored, 2)
    expected = {
        (query, number)
        for query in queries.tolist()
        for number, bits in enumerate(stored.tolist())
        if distance(query, bits) <= 3
    }
    assert len(expected) >= 50  # the near half
    assert sample.neighbours(stored, queries) == expected


def test_the_stored_are_distinct_and_the_same_each_time(part):
    sample = part("sample")
    stored = sample.stored_fingerprints(5_000)
    assert len(np.unique(stored)) == len(stored) == 5_000
    assert np.array_equal(stored, sample.stored_fingerprints(5_000))


def test_bits_are_flipped_as_often_as_asked_for(part):
    counts = np.arange(13)
    before = np.full(13, 0x9234567890ABCDEF, np.uint64)
    after = part("sample").flipped(before, counts, np.random.default_rng(5))
    assert np.array_equal(np.bitwise_count(before ^ after), counts)


def test_a_lookup_that_misses_or_invents_is_counted(part):
    class Blind:
        """An index that finds one thing, a wrong one."""

        def lookup(self, queries):
            return {(queries[0], 10**9)}

    sample = part("sample")
    stored = sample.stored_fingerprints(300)
    near = stored[:50]
    assert part("fingerprints").count_wrong(Blind(), stored, near) == 50
    far = near ^ np.uint64(0xFFFFFFFFFFFFFFFF)
    assert part("fingerprints").count_wrong(Blind(), stored, far) == 1


def test_the_page_keeps_its_prose_and_the_plot_is_the_same_each_time(part, tmp_path):
    growth = part("growth")
    page, image = tmp_path / "index.md", tmp_path / "index.svg"
    page.write_text(f"Before.\n{growth.BEGIN}\nold\n{growth.END}\nAfter.\n", "utf-8")
    growth.write(RESULT, page)
    once = page.read_text("utf-8"), image.read_bytes()
    growth.write(RESULT, page)
    assert (page.read_text("utf-8"), image.read_bytes()) == once
    assert once[0].startswith("Before.\n")
    assert once[0].endswith("\nAfter.\n")
    assert "old" not in once[0]
    assert "not installed" in once[0]
