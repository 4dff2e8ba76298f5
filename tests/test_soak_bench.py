"""The benchmarks of long crawls and of full buckets, at sizes of no meaning."""

import sys
from pathlib import Path

import processes
import pytest

BENCH = Path(__file__).parent / "bench"


def bench(program, *arguments):
    command = [sys.executable, str(BENCH / program), "--databases", "sqlite", *arguments]
    finished = processes.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


def test_a_soak_crawls_the_farm_and_visits_all_of_it_again():
    lines = bench("soak.py", "--hosts", "2", "--pages", "3", "--every", "60")
    assert [line.partition(":")[0] for line in lines] == ["sqlite, crawl", "sqlite", "sqlite, re-crawl"]
    assert lines[1] == "sqlite: 6 pages stored and due"
    assert lines[2].endswith("ended")


def test_workers_lease_what_is_queued():
    lines = bench("soak.py", "--queued", "400", "--workers", "2", "--seconds", "1")
    assert lines[0].startswith("sqlite: 400 requests queued")
    assert "2 workers" in lines[1]


@pytest.mark.parametrize("bucket", ["upper half", "each band"])
def test_full_buckets_are_measured(bucket):
    lines = bench("full_buckets.py", "--pages", "1", "2", "--stored", "600", "--buckets", bucket)
    assert len(lines) == 4
    assert all(line.startswith(f"sqlite, {bucket}: ") for line in lines)
