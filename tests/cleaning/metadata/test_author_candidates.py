"""Candidates for the authors of a page: one for each place that names them."""

import pytest
from stated_pages import URL, article

from cleaning import parse
from cleaning.metadata.author_candidates import AuthorSource, collect_authors
from cleaning.metadata.ranking import read_evidence
from cleaning.metadata.statements import read_statements


def candidates(head="", body=""):
    page = f"<html><head>{head}</head><body><h1>Ice closes the harbour</h1>{body}<p>text</p></body></html>"
    root = parse(page, URL).root
    return list(collect_authors(read_evidence(root, read_statements(root), URL)))


@pytest.mark.parametrize(
    ("head", "body", "source"),
    [
        (article(author={"@type": "Person", "name": "Ann Lee"}), "", AuthorSource.JSON_LD),
        ('<meta name="author" content="Ann Lee">', "", AuthorSource.META),
        ("", "<b itemprop='author'>Ann Lee</b>", AuthorSource.ITEM),
        ("", "<a rel='author' href='/x'>Ann Lee</a>", AuthorSource.LINK),
        ("", "<p class='writer'>Ann Lee</p>", AuthorSource.CLASS),
        ("", "<p>By Ann Lee</p>", AuthorSource.BYLINE),
    ],
)
def test_each_place_that_names_an_author_has_its_source(head, body, source):
    named = {(candidate.names, candidate.source) for candidate in candidates(head, body)}
    assert (("Ann Lee",), source) in named


def test_two_places_that_name_the_same_author_have_one_key():
    keys = {candidate.key for candidate in candidates('<meta name="author" content="ANN LEE">', "<p>By Ann Lee</p>")}
    assert len(keys) == 1


def test_the_site_is_no_author_beside_another():
    site = '<meta property="og:site_name" content="Lindholm Courier">'
    head = f'{site}<meta name="author" content="Ann Lee, Lindholm Courier">'
    assert {candidate.names for candidate in candidates(head)} == {("Ann Lee",)}


def test_a_page_that_names_nobody_has_no_candidates():
    assert candidates() == []


def test_the_number_of_candidates_is_bounded():
    assert len(candidates("", "<p><b itemprop='author'>Ann Lee</b></p>" * 1_000)) < 50
