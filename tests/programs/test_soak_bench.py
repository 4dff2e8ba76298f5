"""The benchmarks of long crawls and of full buckets, at sizes of no meaning."""

import os
import sys
from pathlib import Path

import processes
import pytest

BENCH = Path(__file__).parents[1] / "bench"
SQLITE = ("--databases", "sqlite")


def bench(program, *arguments, environment=None):
    command = [sys.executable, str(BENCH / program), *arguments]
    finished = processes.run(command, capture_output=True, text=True, check=False, env=os.environ | (environment or {}))
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


def test_a_soak_crawls_the_farm_and_visits_all_of_it_again():
    lines = bench("soak.py", *SQLITE, "--hosts", "2", "--pages", "3", "--every", "60")
    crawled, due, *_, visited = [line for line in lines if "ended after" in line or "due" in line]
    assert (crawled.partition(":")[0], visited.partition(":")[0]) == ("sqlite, crawl", "sqlite, re-crawl")
    assert due == "sqlite: 6 pages stored and due"


def test_workers_lease_what_is_queued():
    lines = bench(
        "soak.py", *SQLITE, "--queued", "400", "--queued-hosts", "9", "--workers", "1", "2", "--seconds", "300"
    )
    queued, *leased = lines
    assert queued == "sqlite: 400 requests queued"
    assert ["(400 in " in line for line in leased] == [True, True]
    assert [line.split()[1] for line in leased] == ["1", "2"]
    assert "all hosts after 9," in leased[0]


def test_the_start_of_a_recrawl_is_measured():
    lines = bench("due_pages.py", *SQLITE, "--pages", "3", "8", "--responses", "2")
    assert [line.partition(": first response after ")[0] for line in lines] == [
        "sqlite, 3 pages due",
        "sqlite, 8 pages due",
    ]
    assert [line.rpartition(", ")[2] for line in lines] == ["3 requests queued", "8 requests queued"]


@pytest.mark.parametrize("bucket", ["upper half", "each band"])
def test_full_buckets_are_measured(bucket):
    lines = bench("full_buckets.py", *SQLITE, "--pages", "1", "2", "--stored", "600", "--buckets", bucket)
    assert len(lines) == 4
    assert all(line.startswith(f"sqlite, {bucket}: ") for line in lines)


def test_look_ups_and_joins_are_measured_alone():
    lines = bench("full_buckets.py", *SQLITE, "--lookups", "--stored", "600", "--buckets", "upper half")
    of_page = "sqlite, upper half: a page"
    shares = [line.partition("(")[2] for line in lines if line.startswith(of_page)]
    assert shares == ["100% not compared)", "0% not compared)", "0% not compared)"]
    assert [line.partition(":")[0] for line in lines[3:]] == ["random", "random", "upper half", "upper half"]


def test_candidates_of_a_template_are_counted(tmp_path):
    environment = {"BLOCKSIEVE_DATA": str(tmp_path / "missing")}
    lines = bench("candidates.py", "--template", "50", environment=environment)
    assert lines[0].startswith("template, originals stored: 50 texts, ")
    assert lines[1].startswith("template, all stored: 50 texts, 50 stored, ")
