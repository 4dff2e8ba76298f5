"""`python -m cleaning.training`: the model, the folds, the card, and one sentence for what is amiss."""

import json
import os
import sys

import processes
import pytest
import small_data
import training_data

from cleaning.classifier.model import Model
from cleaning.training.__main__ import main
from cleaning.training.folds import FOLDS, fold_of

SETS = ("--sets", "fundus-dev,wcxb-dev")  # those of the small data
# One of the texts that only a hand can write.
LOOKED_AT = "1. A page of boats: its captions stayed."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return training_data.write(tmp_path_factory.mktemp("data"))


def run(*arguments, **environment):
    command = [sys.executable, "-m", "cleaning.training", *map(str, arguments)]
    return processes.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    """Return a model that the command wrote."""
    out = tmp_path_factory.mktemp("model") / "model.npz"
    finished = run(folder, *SETS, "--out", out, PYTHONHASHSEED="1")
    assert finished.returncode == 0, finished.stderr
    assert "60/60 pages read\ntraining on 60 pages\n" in finished.stderr
    return out


@pytest.fixture(scope="module")
def judged(folder, trained, tmp_path_factory):
    """Return a folder of folds, with the card and the ablation."""
    place = tmp_path_factory.mktemp("folds")
    assert (
        main([str(folder), *SETS, "--out", str(trained), "--folds", str(place), "--card", str(place / "card.md")]) == 0
    )
    return place


@pytest.mark.parametrize("environment", [{"PYTHONHASHSEED": "2"}, {"PYTHONHASHSEED": "3", "BLOCKSIEVE_PURE": "1"}])
def test_same_data_gives_the_same_bytes(environment, folder, trained, tmp_path):
    assert run(folder, *SETS, "--out", tmp_path / "again.npz", **environment).returncode == 0
    assert (tmp_path / "again.npz").read_bytes() == trained.read_bytes()
    assert len(Model.load(trained).first.feature) > 200


def test_every_fold_is_a_model_and_every_host_is_in_one(folder, judged):
    hosts = json.loads((judged / "folds.json").read_text("utf-8"))["hosts"]
    truths = [path.read_text("utf-8").splitlines() for path in sorted(folder.glob("extraction/*/truth.jsonl"))]
    assert hosts.keys() == {json.loads(line)["url"].split("/")[2] for lines in truths for line in lines}
    assert hosts == {host: fold_of(host) for host in hosts}
    assert set(hosts.values()) == set(range(FOLDS))
    models = [Model.load(judged / f"fold-{fold}.npz") for fold in range(FOLDS)]
    assert len({model.first.value.tobytes() for model in models}) == FOLDS


def test_pages_are_scored_each(judged):
    rows = [json.loads(line) for line in (judged / "pages.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 60
    assert all(row["score"] == {"f1": 1.0, "precision": 1.0, "recall": 1.0} for row in rows)
    assert {row["set"] for row in rows} == set(training_data.SETS)


def test_fold_is_trained_again_only_when_data_or_code_changed(folder, judged, trained, capsys):
    made_of = judged / "fold-2.json"
    before = made_of.read_text("utf-8")
    made_of.write_text(before.replace('"code": "', '"code": "other'), "utf-8")
    written = {path.name: path.stat().st_mtime_ns for path in judged.glob("*.npz")}
    assert main([str(folder), *SETS, "--out", str(trained), "--folds", str(judged)]) == 0
    now = {path.name: path.stat().st_mtime_ns for path in judged.glob("*.npz")}
    assert [name for name in written if now[name] != written[name]] == ["fold-2.npz"]
    assert made_of.read_text("utf-8") == before
    assert "fold 2: training on" in capsys.readouterr().err


def test_card_shows_the_measured_figures_and_keeps_the_handwritten_section(folder, judged, trained):
    card = judged / "card.md"
    first = card.read_text("utf-8")
    assert "| fundus-dev | 30 | 1.000 | 1.000 | 1.000 | 0.0% |" in first
    assert f"{trained.stat().st_size:,} bytes" in first
    assert trained.with_name("model.npz.sha256").read_text("utf-8").split()[0] in first
    assert "Not measured (`--ablation`)." in first
    assert "Not measured (`--learning-curve`)." in first
    assert "$" not in first
    card.write_text(first.replace("Nothing yet.", LOOKED_AT).replace("1.000", "0.123"), "utf-8")
    arguments = [str(folder), *SETS, "--out", str(trained), "--folds", str(judged), "--card", str(card)]
    assert main([*arguments, "--ablation"]) == 0
    second = card.read_text("utf-8")
    assert LOOKED_AT in second
    assert "0.123" not in second
    assert "| all features | 1.000 | 1.000 |" in second
    assert "\n| lexicon | " in second
    assert main(arguments) == 0  # the ablation is kept
    assert card.read_text("utf-8") == second


def test_card_needs_a_model(folder, judged, tmp_path, capsys):
    arguments = [str(folder), *SETS, "--out", str(tmp_path / "gone.npz"), "--folds", str(judged)]
    assert main([*arguments, "--card", str(tmp_path / "card.md")]) == 1
    assert "gone.npz, or the hash beside it, cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "card.md").exists()


def test_missing_data_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), *SETS])
    assert f"there is no {tmp_path / 'extraction' / 'fundus-dev' / 'truth.jsonl'}" in capsys.readouterr().err


def test_broken_data_gives_an_error_message(tmp_path, capsys):
    training_data.write(tmp_path, pages=2)
    (tmp_path / "extraction" / "wcxb-dev" / "truth.jsonl").write_text("{", "utf-8")
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), *SETS])
    assert f"the data in {tmp_path} cannot be read: JSONDecodeError" in capsys.readouterr().err


def test_data_of_too_few_hosts_is_refused(tmp_path, capsys):
    training_data.write(tmp_path, pages=6, hosts=2)
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), *SETS])
    assert "has too few hosts" in capsys.readouterr().err


def test_all_sets_are_read_by_default(folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([str(folder)])
    assert f"there is no {folder}/extraction/magic-dev/truth.jsonl" in capsys.readouterr().err


def test_other_sets_are_read_if_asked_for(tmp_path):
    folder = training_data.write(tmp_path / "data", pages=12)
    small_data.write_snippets(small_data.write_magic(folder))
    finished = run(folder, "--sets", "fundus-dev,wcxb-dev,magic-dev,snippets-dev", "--out", tmp_path / "model.npz")
    assert finished.returncode == 0, finished.stderr
    assert "training on 26 pages\n" in finished.stderr


def test_unknown_set_is_named(folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([str(folder), "--sets", "wcxb-dev,other"])
    assert "'wcxb-dev,other' names no sets; there are fundus-dev," in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--card", "x.md"], ["--ablation"], ["--learning-curve"]])
def test_card_needs_folds(option, folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([str(folder), *SETS, *option])
    assert "--card, --ablation and --learning-curve need --folds" in capsys.readouterr().err


def test_extra_that_is_missing_is_named(folder, tmp_path):
    (tmp_path / "lightgbm.py").write_text("raise ModuleNotFoundError(\"No module named 'lightgbm'\")")
    finished = run(folder, *SETS, PYTHONPATH=str(tmp_path))
    assert finished.returncode == 2
    assert "training needs LightGBM (No module named 'lightgbm'): pip install 'blocksieve[train]'" in finished.stderr


def test_help_needs_no_extra(tmp_path):
    (tmp_path / "lightgbm.py").write_text("raise ModuleNotFoundError")
    finished = run("--help", PYTHONPATH=str(tmp_path))
    assert finished.returncode == 0
    assert "--folds FOLDER" in finished.stdout


def test_model_too_large_to_ship_fails(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("cleaning.training.__main__._MAX_MODEL_BYTES", 100)
    assert main([str(folder), *SETS, "--out", str(tmp_path / "model.npz")]) == 1
    assert "the package takes at most 100" in capsys.readouterr().err
