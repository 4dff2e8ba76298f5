"""Search by PAB: keyword density and rank (pab.txt, equation 4)."""

import pytest

from cleaning.methods.pab import keyword_density, search_rank


def test_rank_is_priority_times_density():
    assert search_rank(0.9, "fox two three four", "Fox") == pytest.approx(9 / 40)
    assert search_rank(1.1, "a fox b c d e f g h FOX", "fox") == pytest.approx(0.22)
    assert search_rank(1.0, "The fox runs", "fox") == pytest.approx(1 / 3)


def test_title_ranks_first():
    ranks = {
        "paragraph": search_rank(0.9, "fox two three four", "fox"),
        "links": search_rank(1.1, "a fox b c d e f g h fox", "fox"),
        "title": search_rank(1.0, "The fox runs", "fox"),
    }
    assert sorted(ranks, key=ranks.get, reverse=True) == ["title", "paragraph", "links"]


def test_density_counts_whole_words_only():
    assert keyword_density("Foxes and fox", "fox") == pytest.approx(1 / 3)


def test_density_of_a_phrase_counts_where_its_words_follow_one_another():
    assert keyword_density("the red fox and the fox", "red fox") == pytest.approx(1 / 6)


@pytest.mark.parametrize(("text", "keyword"), [("", "fox"), ("fox", ""), ("fox", "red fox"), ("fox", "!")])
def test_density_of_nothing_is_zero(text, keyword):
    assert keyword_density(text, keyword) == 0.0
