"""Floors under the quality of every method, on a pinned sample of the development data, and the program's rules."""

import gzip
import json
import re
from pathlib import Path

import corpus
import evaluation
import floors
import methods_table
import pytest
import quality
import small_data

from cleaning import METHODS
from crawler.fetching.render.browser import Browser

FLOORS = floors.read(floors.PATH)
TREE = [name for name, method in METHODS.items() if method.needs != "layout"]
RENDERED = [name for name in METHODS if name not in TREE]


@pytest.fixture(scope="module")
def data():
    if not corpus.DATA.is_dir():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {corpus.DATA}")


@pytest.fixture(scope="module")
def means(data):
    return floors.measure(TREE)


@pytest.mark.parametrize("name", floors.PINNED)
def test_the_pinned_pages_are_those_that_the_floors_were_taken_from(name, data):
    expected = {"pages": floors.PINNED[name], "rendered": floors.RENDERED[name], "digest": floors.digest(name)}
    assert FLOORS["data"][name] == expected


def test_every_method_has_its_floors():
    assert list(FLOORS["floors"]) == list(METHODS)
    assert all(of_set.keys() == floors.PINNED.keys() for of_set in FLOORS["floors"].values())


@pytest.mark.parametrize("name", floors.PINNED)
@pytest.mark.parametrize("method", TREE)
def test_a_method_stays_above_its_floor(method, name, means):
    assert means[method][name] >= FLOORS["floors"][method][name]


def test_a_method_that_needs_a_browser_stays_above_its_floor(data, chromium):
    with Browser(executable=chromium, seconds=120, max_bytes=evaluation.LARGEST_PAGE) as browser:
        scores = floors.measure_rendered(RENDERED, browser)
    for method in RENDERED:
        assert all(scores[method][name] >= floor for name, floor in FLOORS["floors"][method].items()), scores


OLD = {"default": {"fundus-dev": 0.5, "wcxb-dev": 0.6}, "pab": {"fundus-dev": 0.3, "wcxb-dev": 0.3}}


def test_a_floor_rises_freely_and_others_stay():
    new = floors.raised(OLD, {"default": {"fundus-dev": 0.7049, "wcxb-dev": 0.6}})
    assert new == OLD | {"default": {"fundus-dev": 0.7, "wcxb-dev": 0.6}}


def test_a_floor_sinks_only_where_that_is_asked_for():
    sunk = {"default": {"fundus-dev": 0.9, "wcxb-dev": 0.5999}}
    with pytest.raises(ValueError, match=re.escape("default: the floor on wcxb-dev is 0.6 and would sink to 0.595")):
        floors.raised(OLD, sunk, lower=["pab"])
    assert floors.raised(OLD, sunk, lower=["default"])["default"] == {"fundus-dev": 0.9, "wcxb-dev": 0.595}


def test_a_floor_is_the_mean_rounded_down():
    means = {"default": {"fundus-dev": 0.935, "wcxb-dev": 0.9349}, "vce": {"fundus-dev": 0.5, "wcxb-dev": 0.0}}
    assert floors.raised({}, means) == {
        "default": {"fundus-dev": 0.935, "wcxb-dev": 0.93},
        "vce": {"fundus-dev": 0.4, "wcxb-dev": 0.0},  # browsers differ
    }


def test_floors_of_a_method_that_is_gone_go():
    assert floors.raised({"gone": {"fundus-dev": 0.5}}, {}) == {}


@pytest.fixture
def small(tmp_path):
    """Return a folder of data: two sets of three pages of one host."""
    return small_data.write(tmp_path)


def run(folder, *arguments):
    return small_data.run("research/quality.py", folder, *arguments)


def test_the_program_refuses_to_lower_a_floor_unasked(small):
    path = small / "floors.json"
    written = {"data": {}, "floors": {"default": {"fundus-dev": 0.9, "wcxb-dev": 1.01}}}
    path.write_text(json.dumps(written), "utf-8")
    refused = run(small, "--floors", path, "--method", "default", "--lower", "pab")
    assert refused.returncode == 1
    assert "default: the floor on wcxb-dev is 1.01 and would sink to 1.0" in refused.stderr
    assert json.loads(path.read_text("utf-8")) == written
    assert run(small, "--floors", path, "--method", "default", "--lower", "default").returncode == 0
    written = json.loads(path.read_text("utf-8"))
    assert written["floors"] == {"default": {"fundus-dev": 1.0, "wcxb-dev": 1.0}}
    assert written["data"].keys() == floors.PINNED.keys()


def test_the_program_writes_the_page_and_its_plot_in_one_run(small):
    without = [word for method in RENDERED for word in ("--without", method)]
    finished = run(small, "--write", small / "page.md", *without)
    assert finished.returncode == 0, finished.stderr
    page = (small / "page.md").read_text("utf-8")
    for method in TREE:
        judged = r" \(in-sample\)" if method == "default" else ""
        assert re.search(
            rf"^\| `{method}`{judged} \| [.\d]+ \| \d+% \| [.\d]+ \| \d+% \| [.\d]+ \|$", page, re.MULTILINE
        )
    for method in RENDERED:
        assert f"| `{method}` | not measured: left out |" in page
    assert "0 of 3 and 0 of 3 pages are alone" in page
    assert f"python tests/research/quality.py --write {small / 'page.md'} --without vce\n" in page
    assert (small / "page.svg").read_text("utf-8").startswith("<?xml")
    assert re.search(r"\n- Measured with model `\w{12}`; decisions `\w{12}` of default, .+; data \S+ `\w{12}`, ", page)


def test_the_page_shows_the_command_without_the_place_of_the_folds():
    command = quality.shown_command(["--write", "page.md", "--cross-validate", "/some/folds"], Path("/some/folds"))
    assert command == "python tests/research/quality.py --write page.md --cross-validate FOLDER"


def test_the_program_names_a_method_that_it_does_not_know(small):
    finished = run(small, "--methods", "default,defualt")
    assert finished.returncode == 2
    assert "unknown methods: defualt" in finished.stderr


def test_the_program_says_where_it_looked_for_data(tmp_path):
    finished = run(tmp_path / "nowhere")
    assert finished.returncode == 2
    assert f"there is no data at {tmp_path / 'nowhere'}; set BLOCKSIEVE_DATA" in finished.stderr


def test_a_changed_page_changes_the_digest(small):
    samples = [
        corpus._sample({"id": "0", "html_path": "html/0.html.gz", "text": "x"}, small / "extraction" / "wcxb-dev")
    ]
    before = corpus.digest(samples)
    samples[0].path.write_bytes(gzip.compress(b"<p>another"))
    assert corpus.digest(samples) != before


def test_a_smaller_sample_is_part_of_a_larger_one(small):
    samples = [corpus._sample({"id": str(number), "html_path": "0", "text": ""}, small) for number in range(20)]
    assert corpus.pin(samples, 5) == corpus.pin(samples[::-1], 20)[:5]


def measured(f1, cost, rendered=None):
    row = {"pages": 9, "f1": f1, "precision": f1, "recall": f1, "under_half": 0.125}
    return evaluation.Measured({"all": row}, cost, 2.0, rendered, failed=2)


RESULTS = {name: {"default": measured(0.93, 8.0), "vce": measured(0.2, 9.0, 800.0)} for name in evaluation.SETS}


def test_the_same_results_give_the_same_plot(tmp_path):
    for name in ("one.svg", "two.svg"):
        methods_table.draw(tmp_path / name, RESULTS)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert ">default</text>" in (tmp_path / "one.svg").read_text("utf-8")


def test_the_page_tells_rendering_apart_and_says_what_was_not_measured():
    page = methods_table.page(RESULTS, {"pab": "needs Chromium"}, "methods.svg", ("python x.py", "Measured with data."))
    assert "\n    python x.py\n" in page
    assert page.endswith("\n- Measured with data.\n")
    assert "](methods.svg)" in page
    assert "| `default` | .930 | 12% | .930 | 12% | 8.0 |" in page
    assert "| `vce` | .200 | 12% | .200 | 12% | 9.0; 800 with rendering |" in page
    assert "given 9 and 9 of the pages" in page
    assert "Of these 2 and 2 could not be rendered" in page
    assert "| `pab` | not measured: needs Chromium | | | | |" in page


def test_the_published_page_has_every_method():
    page = (corpus.ROOT / "docs" / "methods.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)`(?: \([\w-]+\))? \|", page, re.MULTILINE) == list(METHODS)
    assert methods_table.ABOUT.keys() == METHODS.keys()
    assert re.search(r"^\| `default` \((?:in-sample|cross-validated)\) \|", page, re.MULTILINE)
