"""Candidates for the title of a page: what it states and shows, and the parts of each."""

import pytest
from stated_pages import URL, article

from cleaning import parse
from cleaning.metadata.ranking import read_evidence
from cleaning.metadata.statements import read_statements
from cleaning.metadata.title_candidates import TitleSource, collect_titles, split_title, title_words


def candidates(head="", body=""):
    root = parse(f"<html><head>{head}</head><body>{body}<p>text</p></body></html>", URL).root
    return list(collect_titles(read_evidence(root, read_statements(root), URL)))


@pytest.mark.parametrize(
    ("head", "body", "source"),
    [
        (article(headline="Ice closes"), "", TitleSource.JSON_LD),
        ('<meta property="og:title" content="Ice closes">', "", TitleSource.OPEN_GRAPH),
        ('<meta name="citation_title" content="Ice closes">', "", TitleSource.LIBRARY),
        ("<title>Ice closes</title>", "", TitleSource.TITLE),
        ("", "<h1>Ice closes</h1>", TitleSource.HEADING),
        ("", "<h2>Ice closes</h2>", TitleSource.SUBHEADING),
    ],
)
def test_each_place_of_a_title_has_its_source(head, body, source):
    assert ("Ice closes", source) in {(candidate.text, candidate.source) for candidate in candidates(head, body)}


def test_the_parts_of_a_title_are_candidates_too():
    parts = {
        candidate.text: candidate.removed for candidate in candidates("<title>Ice closes | Town | Courier</title>")
    }
    assert parts == {
        "Ice closes | Town | Courier": (),
        "Ice closes | Town": ("Courier",),
        "Town | Courier": ("Ice closes",),
        "Ice closes": ("Town", "Courier"),
        "Courier": ("Ice closes", "Town"),
    }


def test_a_subheading_without_a_word_of_the_stated_title_is_no_candidate():
    texts = {
        candidate.text for candidate in candidates("<title>Ice closes</title>", "<h2>Most read</h2><h2>Thick ice</h2>")
    }
    assert texts == {"Ice closes"}
    texts = {candidate.text for candidate in candidates("<title>Ice closes</title>", "<h2>It closes again</h2>")}
    assert texts == {"Ice closes", "It closes again"}


def test_a_title_is_split_at_its_separators_only():
    assert split_title("Ice closes - Town") == ["Ice closes", " - ", "Town"]
    assert split_title("Ice-cold harbour") == ["Ice-cold harbour"]


def test_short_words_do_not_tell_titles_apart():
    assert title_words("The ice of a harbour") == ["harbour"]


def test_a_page_without_a_title_has_no_candidates():
    assert candidates() == []


def test_an_underline_between_small_letters_cuts_no_title():
    assert split_title("rustc_codegen_gcc at work") == ["rustc_codegen_gcc at work"]
    assert split_title("A day out_The Daily")[::2] == ["A day out", "The Daily"]
    assert split_title("\u6e2f\u53e3_\u65b0\u95fb")[::2] == ["\u6e2f\u53e3", "\u65b0\u95fb"]
