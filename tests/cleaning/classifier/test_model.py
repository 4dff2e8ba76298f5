"""The model's file: what is written is what is read, and nothing else is used."""

import hashlib
import io
import subprocess

import numpy as np
import pytest

from cleaning import parse
from cleaning.blocks import PageType
from cleaning.classifier.lexicon import Lexicon
from cleaning.classifier.model import SHIPPED_MODEL, Model, Trees, load_shipped_model
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
)


@pytest.fixture
def written(tmp_path):
    MODEL.write(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def test_model_judges_as_before_it_was_written(written):
    found = read_leaf_table(parse("<p>one</p><p>two</p>").root)
    again = Model.load(written)
    for model in (MODEL, again):
        judged = model.judge(found, PageSignals(path="/blog"))
        assert judged.scores.tolist() == pytest.approx([0.75, 0.75])
        assert judged.type is PageType.PRODUCT
        assert judged.confidence == pytest.approx(np.exp(3) / (np.exp(3) + 6))
    assert again.lexicon.scores == MODEL.lexicon.scores
    assert again.page_lexicon["u:blog"].tolist() == list(range(7))


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


def test_missing_model_is_told(tmp_path):
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
