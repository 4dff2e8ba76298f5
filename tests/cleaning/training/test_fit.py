"""Training: parts by host, weights of blocks, and a model that has learned."""

from dataclasses import replace

import numpy as np
import pytest
import training_data

from cleaning import parse
from cleaning.blocks import PageType
from cleaning.classifier.signals import PageSignals
from cleaning.leaf_table import read_leaf_table
from cleaning.training.data import Example, hash_sets, read_examples
from cleaning.training.fit import _MAX_BLOCKS, PARTS, _sampling_odds, fit_model, part_of, weigh_blocks

SETS = ("fundus-dev", "wcxb-dev")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return training_data.write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def examples(folder):
    return read_examples(folder, SETS)


def shares(found, labels):
    """Return the labels as an example has them, and the words of its blocks."""
    return np.array(labels, np.float32), np.array([len(block.text.split()) for block in found.blocks], np.float64)


def made(blocks, labels, name="wcxb-dev"):
    found = read_leaf_table(parse("".join(f"<p>{text}</p>" for text in blocks)).root)
    return Example("1", name, "a.example", None, PageType.ARTICLE, "", found, PageSignals(), *shares(found, labels))


def test_part_of_a_host_is_always_the_same():
    assert [part_of(f"{number}.example") for number in range(5)] == [
        part_of(f"{number}.example") for number in range(5)
    ]
    assert {part_of(f"{number}.example") for number in range(200)} == set(range(PARTS))
    assert part_of("www.example.org") == part_of("news.example.co.uk") == part_of("example")


def test_examples_are_read_with_their_groups_and_labels(examples):
    assert [example.set for example in examples] == ["fundus-dev"] * 30 + ["wcxb-dev"] * 30
    assert examples[0].host == "fundus-dev-0.example"
    assert [example.type for example in examples[30:33]] == ["article", "forum", "product"]
    assert {example.type for example in examples[:30]} == {PageType.ARTICLE}
    for example in examples:
        main = np.array([block.path.startswith("/html/body/main") for block in example.table.blocks])
        assert ((example.labels > 0.5) == main).all()
        assert example.labels[main].tolist() == [1] * main.sum()


def test_digest_depends_on_every_page(folder, tmp_path):
    other = training_data.write(tmp_path)
    assert hash_sets(folder, SETS) == hash_sets(other, SETS)
    (other / "extraction" / "wcxb-dev" / "html" / "3.html.gz").write_bytes(b"")
    assert hash_sets(folder, SETS)["fundus-dev"] == hash_sets(other, SETS)["fundus-dev"]
    assert hash_sets(folder, SETS)["wcxb-dev"] != hash_sets(other, SETS)["wcxb-dev"]


def test_weight_of_a_block_is_that_of_its_words_in_its_page():
    weights = weigh_blocks(made(["one two three", "one"], [1, 0]))
    assert weights[0] / weights[1] == 2  # words + 1
    assert weights[0] == pytest.approx(4 / (50 + 4 + 0.15 * 6))
    assert weigh_blocks(made(["one two three", "one"], [1, 0], "fundus-dev"))[0] == pytest.approx(3 * weights[0])


def test_large_page_is_sampled_and_long_blocks_rather():
    assert _sampling_odds(made(["one"] * _MAX_BLOCKS, [0] * _MAX_BLOCKS)).tolist() == [1] * _MAX_BLOCKS
    odds = _sampling_odds(made(["one"] * 2_000 + ["word " * 200] * 10, [0] * 2_010))
    assert odds.max() <= 1
    assert odds[-1] > 5 * odds[0]
    assert odds.sum() == pytest.approx(_MAX_BLOCKS, rel=0.2)


def test_model_knows_pages_of_the_same_kind_again(examples):
    model = fit_model(examples[:25] + examples[30:55])
    for example in (*examples[25:30], *examples[55:]):
        judged = model.predict(example.table, example.signals)
        assert ((judged.scores > 0.5) == (example.labels > 0.5)).all()
    assert model.lexicon.scores["menu"] < -1 < 0 < model.lexicon.scores["content"]


def test_labels_that_are_not_known_are_not_learned(examples):
    """Half of the pages say nothing but untruths, which are marked as unknown."""
    liars = [
        replace(each, labels=1 - each.labels, known=np.zeros(each.size, bool), type=None) for each in examples[:30:2]
    ]
    model = fit_model([*liars, *examples[1:25:2], *examples[30:55]])
    for example in (*examples[25:30], *examples[55:]):
        assert ((model.predict(example.table, example.signals).scores > 0.5) == (example.labels > 0.5)).all()


def test_pages_without_text_are_passed_over(examples):
    empty = made([], [])
    with_empty, without = fit_model([empty, *examples]), fit_model(examples)
    for part in ("types", "first", "second"):
        ones, others = getattr(with_empty, part).pack(), getattr(without, part).pack()
        assert all(np.array_equal(array, others[name]) for name, array in ones.items())
