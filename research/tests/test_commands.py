"""Each command of this folder, once, on a handful of pages: it runs to its end and says what it should."""

import json
import re
import sys
from pathlib import Path

import processes
import pytest
import small_data
import training_data

from cleaning.classifier.model import Model

ROOT = Path(__file__).parents[2]
HOSTS = ("one.example", "two.example", "three.example")
TWO_SETS = ("--sets", "fundus-dev,wcxb-dev")
TEXT = "The harbour council met on Monday to speak about the new bridge, and many people came to hear its plans. " * 3


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a folder of data: two sets of five pages of each host."""
    return small_data.write(tmp_path_factory.mktemp("data"), HOSTS, pages=5)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("quality.py --peers resiliparse --method default", 0),
        ("bench/batch.py --records 30 --files 2 --folder {folder} --rows ours-1", 0),
        ("bench/block_keys.py --blocks 20 --rounds 1", 0),
        ("bench/chain.py --data {data} --pages 30 --rounds 1 --rows sqlite-0", 0),
        ("bench/clean.py --pages 2 --rounds 1 --without-peers", 0),
        ("bench/crawl.py --rounds 1", 0),
        ("bench/fingerprints.py --sizes 2000 --indexes sqlite --folder {folder}", 0),
        ("bench/frontier.py --articles 20 --kilobytes 5 --rounds 1", 0),
        ("bench/linearity.py --sizes 2000 20000 --most 0", 1),  # a page costs more than nothing
        ("bench/memory.py --pages 40 --cycle 5 --most-mb=1000", 0),
        (
            "bench/search.py --blocks 500 --queries 1 --scanned 1 --stored 2 --databases sqlite --folder {folder}",
            0,
        ),
        ("bench/startup.py --rounds 1 --most-mb 1", 1),  # no crawl fits into 1 MB
        ("bench/web.py --blocks 500 --asked 1 --databases sqlite --folder {folder}", 0),
    ],
)
def test_a_program_measures(command, code, small, tmp_path):
    program, *arguments = command.format(folder=tmp_path, data=small).split()
    finished = small_data.run(program, small, *arguments, "--json")
    assert finished.returncode == code, finished.stderr
    assert json.loads(finished.stdout)


def test_a_long_crawl_is_watched(tmp_path):
    finished = small_data.run(
        "bench/soak.py", tmp_path, "--databases", "sqlite", "--hosts", "2", "--pages", "3", "--every", "60"
    )
    assert finished.returncode == 0, finished.stderr
    assert "sqlite: 6 pages stored and due" in finished.stdout


def test_the_tables_of_methods_are_put_into_a_page_with_their_plot(small, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Methods\n\n<!-- made by research/quality.py -->\n<!-- end of quality.py -->\n", "utf-8")
    finished = small_data.run("quality.py", small, "--write", page, "--without", "vce", "--without", "kfe")
    assert finished.returncode == 0, finished.stderr
    assert re.search(r"^\| `default` \(in-sample\) \| [.\d]+ \|", page.read_text("utf-8"), re.MULTILINE)
    assert page.with_suffix(".svg").read_text("utf-8").startswith("<?xml")


def test_an_experiment_prints_the_table_of_its_paper(data):
    finished = small_data.run("experiments.py", data, "subtree", "--pages", "2", "--json")
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["subtree"]["verdicts"]


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("discovery.py", ["--wrong", "timesofindia/08"]),
        ("quality.py", ["--structure", "B", "--json"]),
    ],
)
def test_a_program_reads_the_development_data(program, arguments, data):
    finished = small_data.run(program, data, *arguments)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout


def train(*arguments):
    command = [sys.executable, "-m", "research.training", *map(str, arguments)]
    return processes.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_model_is_trained_judged_by_folds_and_described(tmp_path):
    folder = training_data.write(tmp_path / "data")
    model, card = tmp_path / "model.npz", tmp_path / "card.md"
    finished = train(folder, *TWO_SETS, "--out", model)
    assert finished.returncode == 0, finished.stderr
    assert len(Model.load(model).first.feature) > 200
    judged = train(folder, *TWO_SETS, "--out", model, "--folds", tmp_path / "folds", "--card", card)
    assert judged.returncode == 0, judged.stderr
    assert "| fundus-dev | 30 | 1.000 | 1.000 | 1.000 | 0.0% |" in card.read_text("utf-8")


def test_readers_mark_pages_by_sheets_and_are_compared(tmp_path):
    bodies = {name: f"<h1>Page {name}</h1><article><p>{name} {TEXT}</p></article>" for name in ("a_1", "b_1")}
    pool = small_data.write_pool(tmp_path / "pool", bodies)
    sheet, kept = tmp_path / "sheet.txt", ("--annotations", tmp_path / "kept")
    assert train("annotate", pool, *kept, "--out", sheet).returncode == 0
    for reader in ("reader-01", "reader-02"):
        stored = train("annotate", pool, *kept, "--in", sheet, "--reader", reader)
        assert stored.returncode == 0, stored.stderr
        assert "2 pages, 4 blocks decided, 0 undecided" in stored.stderr
    compared = train("agreement", pool, *kept)
    assert compared.returncode == 0, compared.stderr
    assert "reader-01" in compared.stdout


@pytest.fixture(scope="module")
def few(data, tmp_path_factory):
    """Return a folder with the first pages of each set of the development data."""
    folder = tmp_path_factory.mktemp("few")
    for truth in data.glob("extraction/*/truth.jsonl"):
        place = folder / "extraction" / truth.parent.name
        place.mkdir(parents=True)
        (place / "html").symlink_to(truth.parent / "html")
        chosen = {json.loads(line)["id"] for line in truth.read_text("utf-8").split("\n")[:12]}
        for table in truth.parent.glob("*.jsonl"):
            lines = filter(None, table.read_text("utf-8").split("\n"))
            kept = "".join(f"{line}\n" for line in lines if json.loads(line)["id"] in chosen)
            (place / table.name).write_text(kept, "utf-8")
    return folder


def test_the_weights_of_metadata_are_trained_and_judged(few, tmp_path):
    command = [sys.executable, "-m", "research.training.metadata", str(few), "--out", str(tmp_path / "weights.txt")]
    finished = processes.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "weights.txt").read_text("utf-8").count("\t") > 20
    judged = small_data.run("metadata_quality.py", few, "--json")
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)
