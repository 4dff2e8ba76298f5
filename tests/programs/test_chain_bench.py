"""The program on the cost of whole crawls, run on little."""

import json
from xml.etree import ElementTree as ET

import pytest
import small_data

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    hosts = [f"{name}.example" for name in ("one", "two", "three")]
    return small_data.write(tmp_path_factory.mktemp("data"), hosts, pages=5)


def run(small, *arguments):
    return small_data.run("bench/chain.py", small, "--data", str(small), "--pages", "30", "--rounds", "1", *arguments)


@pytest.fixture(scope="module")
def rows(small):
    finished = run(small, "--rows", "fetch,trafilatura,sqlite-1,sqlite-0-structure", "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_each_row_crawls_all_pages_and_stores_them(rows):
    assert list(rows) == ["fetch", "trafilatura", "sqlite-1", "sqlite-0-structure"]
    assert {name: row["pages"] for name, row in rows.items()} == dict.fromkeys(rows, 30)
    assert all(len(row["runs"]) == 1 and row["runs"][0][1]["own"] > 0 for row in rows.values())


def test_pages_cost_and_start_are_told_apart(rows):
    for row in rows.values():
        ((small, large),) = row["runs"]
        cpu = [run["own"] + run["children"] + run["server"] for run in (small, large)]
        assert row["cpu_ms"] == pytest.approx(1000 * (cpu[1] - cpu[0]) / 27, abs=0.01)
        assert row["start_cpu_s"] == pytest.approx(cpu[0] - 3 * row["cpu_ms"] / 1000, abs=0.01)


def test_a_row_with_structure_stores_more(rows):
    assert rows["sqlite-0-structure"]["stored_kb"] > rows["sqlite-1"]["stored_kb"] > 0


def test_the_cpu_of_cleaning_processes_counts_apart_from_the_crawls_own(rows):
    assert rows["sqlite-0-structure"]["runs"][0][1]["children"] < rows["sqlite-1"]["runs"][0][1]["children"]


@pytest.mark.usefixtures("server")
def test_the_servers_cpu_counts_too(small):
    finished = run(small, "--rows", "postgresql-0", "--json")
    assert finished.returncode == 0, finished.stderr
    ((_, large),) = json.loads(finished.stdout)["postgresql-0"]["runs"]
    assert large["server"] > 0
    assert large["pages"] == 30


def test_a_flame_graph_of_a_row_is_written(small, tmp_path):
    finished = run(small, "--rows", "sqlite-0", "--profile", str(tmp_path / "flames.svg"))
    assert finished.returncode == 0, finished.stderr
    titles = [
        element.text or "" for element in ET.parse(tmp_path / "flames.svg").iter("{http://www.w3.org/2000/svg}title")
    ]
    assert any("crawler/storage/store.py" in title for title in titles)


def test_a_folder_without_pages_is_named(tmp_path):
    finished = run(tmp_path, "--rows", "fetch")
    assert finished.returncode == 1
    assert f"{tmp_path} has no pages of wcxb-dev and fundus-dev; name the folder that has them with --data" in (
        finished.stderr
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "fetch,mysql-0"], "--rows has mysql-0; the rows are fetch"),
        (["--rows", "fetch", "--profile", "flames.png"], "its name must end in .svg, .json or .txt"),
        (["--profile", "flames.svg"], "--profile takes one row; --rows has 8"),
        (["--rows", "fetch", "--pages", "31"], "has 30 pages of at most 400000 bytes; --pages is 31"),
    ],
)
def test_bad_arguments_are_explained(small, arguments, message):
    finished = run(small, *arguments)
    assert finished.returncode != 0
    assert message in " ".join(finished.stderr.split())
