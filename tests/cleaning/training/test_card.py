"""The model card's tables."""

from cleaning.blocks import PageType
from cleaning.training.card import _accuracy, _by_hand, _confusion, _curve, _scores
from cleaning.training.folds import PageScore
from cleaning.training.gold import TextScore


def outcome(kind, guess, confidence=0.5, f1=1.0):
    return PageScore("1", "wcxb-dev", "a.example", "en", kind, guess, confidence, TextScore(f1, 0.5, 0.25))


OUTCOMES = [
    outcome(PageType.ARTICLE, PageType.ARTICLE, 0.95),
    outcome(PageType.ARTICLE, PageType.FORUM, 0.9, f1=0.25),
    outcome(PageType.ARTICLE, None, 0.0),
    outcome(PageType.LISTING, PageType.LISTING, f1=0.499),
]


def test_scores_are_means_with_the_largest_group_first():
    assert _scores("type", OUTCOMES, lambda outcome: outcome.type).splitlines()[2:] == [
        "| article | 3 | 0.750 | 0.500 | 0.250 | 33.3% |",
        "| listing | 1 | 0.499 | 0.500 | 0.250 | 100.0% |",
    ]


def test_accuracy_is_given_for_all_and_for_confident_predictions():
    assert _accuracy(OUTCOMES) == (
        "The type of 50.0% of the 4 pages of `wcxb-dev` is predicted right; of the 2 with a confidence "
        "of 0.9 or more, 50.0%."
    )
    assert _accuracy([]) == "No page has a labelled type."


def test_confusion_counts_every_page_once():
    rows = [line.strip("| ").split(" | ") for line in _confusion(OUTCOMES).splitlines()[2:]]
    counts = {row[0]: list(map(int, row[1:])) for row in rows}
    assert counts["article"] == [1, 1, 0, 0, 0, 0, 0, 1]
    assert counts["listing"] == [0, 0, 0, 0, 1, 0, 0, 0]
    assert sum(map(sum, counts.values())) == 4


def test_curve_ends_with_the_folds_themselves():
    assert _curve({}, OUTCOMES) == "Not measured (`--learning-curve`)."
    assert _curve({"25%": {"wcxb-dev": 0.5}}, OUTCOMES).splitlines() == [
        "| hosts | F1, wcxb-dev |",
        "| --- | --- |",
        "| 25% | 0.500 |",
        "| 100% | 0.687 |",
    ]


def test_card_without_markers_has_nothing_by_hand(tmp_path):
    card = tmp_path / "card.md"
    assert _by_hand(card) == "Nothing yet."
    card.write_text("# A card of another hand", "utf-8")
    assert _by_hand(card) == "Nothing yet."
    card.write_text("x\n<!-- written by hand: begin -->\n\n1. One\n<!-- written by hand: end -->\ny", "utf-8")
    assert _by_hand(card) == "1. One"
