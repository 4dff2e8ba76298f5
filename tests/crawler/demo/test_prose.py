"""The prose of the site: the lengths of its paragraphs, and its slugs."""

import re

from cleaning.terms import terms


def has_fingerprint(text):
    return len(set(terms(text))) >= 20


def test_slugs_have_the_odd_characters_of_the_real_ones(facts):
    paths = [article["path"] for article in facts["articles"]]

    assert any("?&id=" in path for path in paths)
    assert any("(" in path for path in paths)
    assert any("---" in path for path in paths)
    assert any(re.fullmatch(r"/\d{8}", path) for path in paths)


def test_paragraphs_have_40_to_120_words(facts):
    planted = {tuple(place) for group in facts["numbered"] for place in group}
    short = [
        block["text"]
        for article in facts["articles"]
        if article["encoding"] == "utf-8"
        for n, block in enumerate(article["blocks"])
        if block["kind"] == "paragraph" and (article["path"], n) not in planted
        if not 38 <= len(block["text"].split()) <= 120
    ]

    assert len(short) == 6  # three paragraphs too short for a fingerprint, each planted twice


def test_numbered_paragraphs_are_short_and_differ_only_in_the_number(facts, blocks):
    assert len(facts["numbered"]) >= 5
    for group in facts["numbered"]:
        texts = [blocks[tuple(place)] for place in group]
        assert not any(has_fingerprint(text) for text in texts)
        assert len(set(texts)) == 3
        assert len({re.sub(r"\d+", "N", text) for text in texts}) == 1
