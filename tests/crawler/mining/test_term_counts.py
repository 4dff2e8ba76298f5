"""Terms: stems without stop words and numbers, in every language, and how many documents have each."""

import pytest
from mined_documents import documents

from crawler.errors import MiningError
from crawler.mining import Document, count_terms


def document(number, text, language="en"):
    return Document(number, f"https://a.example/{number}", None, text, {"language": language})


def counted(*texts, language="en", **options):
    counts = count_terms([document(number, text, language) for number, text in enumerate(texts)], **options)
    return dict(zip(counts.words, counts.matrix.sum(axis=0).tolist(), strict=True))


def test_forms_of_a_word_are_one_term_with_its_most_frequent_form():
    assert counted("ferries ferries ferry", "the ferry and 1999 x", max_share=1) == {"ferries": 4}


def test_terms_of_one_document_or_of_most_are_left_out():
    texts = ["harbour storm", "harbour storm", "harbour quay", "harbour"]
    assert counted(*texts, max_share=0.5) == {"storm": 2}


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("de", "Spieler spielte", {"spieler"}),
        ("zh", "数据数据", {"数据", "据数"}),
        ("xx", "ferries ferry", {"ferries", "ferry"}),
    ],
)
def test_languages(language, text, words):
    assert counted(text, text, language=language, max_share=1).keys() >= words


def test_documents_without_a_term_are_counted():
    counts = count_terms([document(1, "storm quay"), document(2, "storm quay"), document(3, "42")], max_share=1)
    assert (len(counts.documents), counts.without_terms) == (2, 1)
    assert counts.matrix.shape == (2, 2)
    assert [sequence.tolist() for sequence in counts.sequences] == [[1, 0], [1, 0]]


def test_the_order_of_documents_changes_no_term():
    forward = count_terms(documents())
    backward = count_terms(documents()[::-1])
    assert (forward.terms, forward.words) == (backward.terms, backward.words)


@pytest.mark.parametrize(("texts", "message"), [([], "no document to mine"), (["a", "b"], "no term in common")])
def test_too_little_is_said(texts, message):
    with pytest.raises(MiningError, match=message):
        counted(*texts)
