"""The model: its trees as arrays, and its file, which must match its hash."""

import hashlib
import io
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cleaning import parse
from cleaning.blocks import PageType
from cleaning.classifier import shipped
from cleaning.classifier.calibration import SIGN_NAMES
from cleaning.classifier.lexicon import Lexicon
from cleaning.classifier.model import Model, Trees, probabilities
from cleaning.classifier.shipped import SHIPPED_MODEL, load_shipped_model, pin_shipped_model
from cleaning.classifier.signals import PageSignals
from cleaning.errors import ModelError
from cleaning.leaf_table import read_leaf_table

LEAF = np.zeros(1, np.int32)


def leaves(*values):
    """Return one tree for each output, which is a leaf of this value."""
    numbers = np.arange(len(values), dtype=np.int32)
    zeros = np.zeros(len(values), np.float32)
    return Trees(numbers * 0, zeros, numbers, numbers, np.array(values, np.float32), numbers, len(values), depth=0)


MODEL = Model(
    Lexicon({"<p>": 0.5, "本文": -1.0}),
    {"u:blog": np.arange(7, dtype=np.float32)},
    leaves(0, 0, 3, 0, 0, 0, 0),
    leaves(1),
    leaves(np.log(3)),
    np.full(len(SIGN_NAMES), -np.log(3) / 2),
)


@pytest.fixture
def written(tmp_path):
    MODEL.write(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def test_model_predicts_the_same_after_writing_and_loading(written):
    table = read_leaf_table(parse("<p>one</p><p>two</p>").root)
    again = Model.load(written)
    for model in (MODEL, again):
        judged = model.predict(table, PageSignals(path="/blog"))
        assert judged.scores.tolist() == pytest.approx([0.75, 0.75])
        assert judged.type is PageType.PRODUCT
        assert judged.confidence == pytest.approx(np.exp(3) / (np.exp(3) + 6))
    assert again.lexicon.scores == MODEL.lexicon.scores
    assert again.shifts.tolist() == MODEL.shifts.tolist()
    assert again.page_lexicon["u:blog"].tolist() == list(range(7))


def test_settled_block_keeps_the_score_of_the_first_stage():
    table = read_leaf_table(parse("<p>one</p><p>two</p>").root)
    model = replace(MODEL, first=leaves(-4))  # 0.018
    scores = model.predict(table, PageSignals()).scores
    assert scores.tolist() == pytest.approx([1 / (1 + np.exp(4))] * 2)
    assert replace(MODEL, first=leaves(-3.8)).predict(table, PageSignals()).scores.tolist() == pytest.approx([0.75] * 2)


def test_hint_on_a_small_part_of_a_page_lowers_its_score():
    table = read_leaf_table(parse(f"{'<p>one two three</p>' * 9}<p class=byline>four</p>").root)
    scores = MODEL.predict(table, PageSignals()).scores.tolist()
    assert scores == pytest.approx([0.75] * 9 + [0.5])  # two signs: a third of the odds


def test_same_model_is_the_same_bytes(written, tmp_path):
    Model.load(written).write(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == written.read_bytes()


def test_hash_is_as_sha256sum_writes_it(written):
    hashed = written.with_name("model.npz.sha256")
    assert hashed.read_text("utf-8") == f"{hashlib.sha256(written.read_bytes()).hexdigest()}  model.npz\n"
    subprocess.run(["sha256sum", "--check", "--status", hashed.name], cwd=written.parent, check=True)


def test_damaged_model_is_refused(written):
    damaged = bytearray(written.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    written.write_bytes(damaged)
    with pytest.raises(ModelError, match=r"model\.npz is damaged: its SHA-256 is [0-9a-f]{64}, not [0-9a-f]{64}"):
        Model.load(written)


def test_missing_model_is_an_error(tmp_path):
    with pytest.raises(ModelError, match=r"gone\.npz, or the hash beside it, cannot be read"):
        Model.load(tmp_path / "gone.npz")


@pytest.mark.parametrize("content", [None, ""])
def test_model_without_its_hash_is_refused(written, content):
    hashed = written.with_name("model.npz.sha256")
    if content is None:
        hashed.unlink()
    else:
        hashed.write_text(content, "utf-8")
    with pytest.raises(ModelError, match="or the hash beside it, cannot be read"):
        Model.load(written)


@pytest.mark.parametrize("part", ["names", "format"])
def test_model_of_another_version_is_refused(written, part):
    other = {"names": np.frombuffer(b"words colour", np.uint8), "format": np.asarray(99)}
    with np.load(written) as arrays:
        changed = dict(arrays) | {part: other[part]}
    packed = io.BytesIO()
    np.savez_compressed(packed, **changed)
    written.write_bytes(packed.getvalue())
    hashed = hashlib.sha256(packed.getvalue()).hexdigest()
    written.with_name("model.npz.sha256").write_text(f"{hashed}  model.npz\n", "utf-8")
    with pytest.raises(ModelError, match="trained for another version of Blocksieve; train it again"):
        Model.load(written)


def test_shipped_model_is_small_and_read_once():
    assert SHIPPED_MODEL.stat().st_size <= 2_000_000
    assert load_shipped_model() is load_shipped_model()
    assert load_shipped_model().types.outputs == len(PageType)


def test_a_model_that_was_exchanged_together_with_its_hash_is_not_used(monkeypatch, written):
    Model.load(written)
    monkeypatch.setattr(shipped, "SHIPPED_MODEL", written)
    load_shipped_model.cache_clear()
    with pytest.raises(ModelError, match=f"not {shipped.SHIPPED_MODEL_SHA256}; install it again"):
        load_shipped_model()


def test_training_pins_the_hash_of_its_model(monkeypatch, written, tmp_path):
    source = tmp_path / "shipped.py"
    source.write_text(Path(shipped.__file__).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(shipped, "__file__", str(source))
    monkeypatch.setattr(shipped, "SHIPPED_MODEL", written)
    pin_shipped_model()
    assert f'SHIPPED_MODEL_SHA256 = "{hashlib.sha256(written.read_bytes()).hexdigest()}"\n' in source.read_text("utf-8")


def stump(threshold, below, above):
    """Return one tree of a root and two leaves, on feature 1."""
    return Trees(
        np.array([1, 0, 0], np.int16),
        np.array([threshold, np.inf, np.inf], np.float32),
        np.array([1, 1, 2], np.int32),
        np.array([2, 1, 2], np.int32),
        np.array([0, below, above], np.float32),
        np.array([0], np.int32),
        1,
        1,
    )


def two_outputs():
    """Return two trees of a leaf each, the one for the first output and the other for the second."""
    leaves = np.arange(2, dtype=np.int32)
    values = np.array([1.5, -0.5], np.float32)
    return Trees(np.zeros(2, np.int16), np.full(2, np.inf, np.float32), leaves, leaves, values, leaves, 2, 0)


@pytest.mark.parametrize("sums", [Trees.sums, Trees.pure_sums], ids=["any", "pure"])
def test_row_goes_left_if_its_feature_is_at_most_the_threshold(sums):
    rows = np.array([[9, 0.4], [9, 0.5], [9, 0.6]], np.float32)
    assert sums(stump(0.5, -1, 2), rows).tolist() == [[-1], [-1], [2]]


@pytest.mark.parametrize("sums", [Trees.sums, Trees.pure_sums], ids=["any", "pure"])
def test_trees_take_turns_in_adding_to_outputs(sums):
    assert sums(two_outputs(), np.zeros((3, 1), np.float32)).tolist() == [[1.5, -0.5]] * 3


def test_no_rows_have_no_sums():
    assert stump(0.5, -1, 2).pure_sums(np.zeros((0, 2), np.float32)).shape == (0, 1)


def test_many_rows_are_summed_in_parts():
    rows = np.zeros((5_000, 2), np.float32)
    rows[::2, 1] = 1
    assert stump(0.5, -1, 2).pure_sums(rows)[:, 0].tolist() == [2, -1] * 2_500


def test_trees_survive_their_arrays():
    packed = two_outputs().pack()
    again = Trees.unpack(packed)
    assert (again.outputs, again.depth) == (2, 0)
    assert all(np.array_equal(array, again.pack()[name]) for name, array in packed.items())


def test_probability_is_logistic_and_never_overflows():
    shares = probabilities(np.array([[0.0], [np.log(3)], [-1e9], [1e9]]))[:, 0]
    assert shares[:2] == pytest.approx([0.5, 0.75])
    assert (shares[2] < 1e-20, shares[3]) == (True, 1.0)


def test_shares_of_several_outputs_add_up_to_one():
    assert probabilities(np.array([[0.0, np.log(3)], [1e9, 1e9]])).tolist() == [pytest.approx([0.25, 0.75]), [0.5, 0.5]]
