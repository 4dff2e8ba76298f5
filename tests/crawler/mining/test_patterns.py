"""Sets, rules and collocations against counts by hand."""

import pytest
from mined_documents import documents

from crawler.errors import MiningError
from crawler.mining import Document, count_terms, find_patterns


def patterns(*texts, **options):
    rows = [Document(number, "u", None, text, {}) for number, text in enumerate(texts)]
    return find_patterns(count_terms(rows, max_share=1), **options)


def test_a_set_counts_its_documents_and_hides_its_parts():
    result = patterns(*["storm quay pilot"] * 3, "storm quay", "storm", "anchor", "anchor", min_share=0.2)
    assert [(term_set.terms, term_set.documents) for term_set in result.sets] == [
        (("quay", "storm"), 4),
        (("pilot", "quay", "storm"), 3),
    ]
    assert result.sets[0].share == 4 / 7


def test_a_rule_has_its_confidence_and_lift():
    result = patterns(*["storm quay"] * 3, "storm", *["anchor deck"] * 4, min_share=0.2)
    rule = next(rule for rule in result.rules if rule.antecedent == ("storm",))
    assert (rule.consequent, rule.documents, rule.confidence) == (("quay",), 3, 0.75)
    assert rule.lift == pytest.approx(0.75 / (3 / 8))


def test_words_side_by_side_are_a_collocation_but_not_across_documents():
    result = find_patterns(count_terms(documents()))
    assert result.collocations[0].words == ("northern", "lighthouse")
    assert result.collocations[0].count == 10
    apart = patterns(*["quay northern", "lighthouse quay"] * 9)
    assert ("northern", "lighthouse") not in [pair.words for pair in apart.collocations]


def test_by_default_the_number_of_pairs_is_bounded():
    """Each of forty documents has all of two hundred terms: there would be 1.3 million sets of three."""
    words = " ".join(f"{first}{second}ola" for first in "bcdfghjklmnprst" for second in "bcdfghjklmnprs")
    with pytest.raises(MiningError, match="no term in common"):
        find_patterns(count_terms([Document(1, "u", None, words, {})]))
    texts = [" ".join(words.split()[start:]) for start in range(0, 200, 5)]
    assert len(patterns(*texts).sets) == 20


def test_too_small_a_share_is_refused():
    texts = [" ".join(f"{letter}{other}ola" for letter in "bcdfghjklmnprstvwz" for other in "bcdfghjklmnprstvwz")] * 4
    with pytest.raises(MiningError, match=r"min_share is 0\.5, which .* pairs of terms have"):
        patterns(*texts, min_share=0.5)


def test_without_a_pattern_the_lists_are_empty():
    result = patterns("storm", "storm", "quay", "quay")
    assert (result.sets, result.rules, result.collocations) == ([], [], [])


@pytest.mark.parametrize("options", [{"min_share": 0.0}, {"min_confidence": 1.5}, {"max_terms": 1}])
def test_values_out_of_bounds(options):
    with pytest.raises(MiningError, match=next(iter(options))):
        patterns("storm quay", "storm quay", **options)
