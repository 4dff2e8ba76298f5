"""The choice among answers by the weights of their features."""

from math import log

import pytest

from cleaning import parse
from cleaning.metadata.ranking import _parse_weights, choose_answer, load_weights, read_evidence, score_options
from cleaning.metadata.statements import read_statements


def test_a_day_needs_a_minimum_of_likelihood():
    scores = {"2024-03-05": 1.0, "2024-04-01": 0.5, None: 1.0 + log(2)}
    assert choose_answer(scores, 0.3) == "2024-03-05"
    assert choose_answer(scores, 0.34) is None
    assert choose_answer({None: 0.0}, 0.3) is None


def test_scores_are_sums_of_known_weights():
    assert score_options({"2024-03-05": frozenset({"a", "b", "c"}), None: frozenset()}, {"a": 1.5, "b": -0.5}) == {
        "2024-03-05": 1.0,
        None: 0.0,
    }


def test_weights_are_read_by_field():
    assert _parse_weights("# head\ntitle\t+1.50\th1\nauthors\t-0.25\tmeta:author\n") == {
        "title": {"h1": 1.5},
        "authors": {"meta:author": -0.25},
    }


@pytest.mark.parametrize("field", ["published", "authors", "title"])
def test_each_field_has_weights(field):
    assert load_weights(field)["none"]


@pytest.mark.parametrize(
    ("address", "kinds"),
    [
        ("https://docs.example.org/install", {"documentation"}),
        ("https://example.org/news/", {"article", "index"}),
        ("https://example.org/news/ice", {"article"}),
        ("https://example.org/ice", set()),
        (None, set()),
    ],
)
def test_the_address_names_kinds_of_pages(address, kinds):
    root = parse("<p>text</p>").root
    assert read_evidence(root, read_statements(root), address).address_kinds == kinds
