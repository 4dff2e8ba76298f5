"""Classes are told apart by their terms, and never by chance."""

import random
from dataclasses import replace

import pytest
from mined_documents import documents

from crawler.errors import MiningError
from crawler.mining import classify, count_terms


@pytest.fixture(scope="module")
def counts():
    return count_terms(documents())


def test_topics_are_told_apart(counts):
    result = classify(counts, folds=5)
    assert [model.name for model in result.models] == ["naive Bayes", "linear"]
    assert min(model.accuracy for model in result.models) > 0.95
    assert result.baseline == 0.25
    assert sum(map(sum, result.confusion)) == len(result.predictions) == 120
    assert "ferry" in result.terms["news/harbour"]
    assert result.left_out == {"no_label": 0, "rare_label": 0}


def test_labels_by_chance_are_not_learned(counts):
    rng = random.Random(3)
    labels = ["a", "b"] * 60
    rng.shuffle(labels)
    shuffled = [replace(row, columns={"section": label}) for row, label in zip(counts.documents, labels, strict=True)]
    result = classify(replace(counts, documents=shuffled), folds=5)
    assert all(0.3 < model.accuracy < 0.7 for model in result.models)


def test_a_level_joins_labels_and_rare_ones_are_left_out(counts):
    result = classify(counts, level=1, folds=5)
    assert result.labels == ["news", "sport", "科技"]
    partial = [replace(row, columns={"section": None}) for row in counts.documents[:8]] + counts.documents[8:]
    result = classify(replace(counts, documents=partial), folds=5, min_documents=25)
    assert result.left_out == {"no_label": 8, "rare_label": 22}


def test_groups_are_never_divided(counts):
    """A word that only tells the site is worth nothing if whole sites are held out."""
    result = classify(counts, by="site", folds=5)
    assert len(result.labels) == 5
    grouped = classify(counts, by="section", folds=5, group="site")
    assert grouped.best.accuracy > 0.95
    with pytest.raises(MiningError, match="5 groups for 10 folds"):
        classify(counts, group="site")


def test_the_result_is_the_same_each_time(counts):
    assert classify(counts, folds=5) == classify(counts, folds=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "colour"}, "no column 'colour'; they have section, language, site"),
        ({"by": "language", "min_documents": 50}, "has 1 values with at least 50 documents"),
        ({"folds": 1}, "folds is 1"),
    ],
)
def test_what_cannot_be_classified(counts, options, message):
    with pytest.raises(MiningError, match=message):
        classify(counts, **options)
