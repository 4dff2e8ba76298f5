"""What the database knows of one page."""

import pytest
from sqlalchemy import update

from crawler.storage.database import read_transaction
from crawler.storage.queries import NearDuplicateOf, StoredText, read_contents
from crawler.storage.tables import document_frequency, page

A, B = (f"https://{letter}.example/1" for letter in "ab")
A2 = "https://a.example/2"


@pytest.fixture
def contents(engine):
    def read(url):
        with read_transaction(engine) as connection:
            return read_contents(connection, url)

    return read


def test_an_unknown_page_is_none(contents):
    assert contents(A) is None


def test_blocks_and_sightings_stand_in_reading_order(contents, save, visit, candidate):
    save(visit(A, candidate(0, "it costs ten", fingerprint=0), "equal words"))
    save(visit(A2, "alone", candidate(1, "it costs twenty", fingerprint=3), "equal words"))
    assert contents(A2).texts == (
        StoredText(3, "alone", None, A2, boilerplate=False),
        StoredText(1, "it costs twenty", 2, A, boilerplate=False),
        StoredText(2, "equal words", 0, A, boilerplate=False),
    )


def test_a_page_is_found_by_each_of_its_addresses(contents, save, visit):
    save(visit(f"{A}?b=1&a=2", "words", body=b"<p>words"))
    page_contents = contents(f"{A}?a=2&b=1#there")
    assert (page_contents.url, page_contents.site, page_contents.method, page_contents.encoding) == (
        f"{A}?b=1&a=2",
        "a.example",
        "default",
        "utf-8",
    )
    assert page_contents.html == b"<p>words"
    assert contents(f"https://user:secret@{A[8:]}?a=2&b=1").url == page_contents.url


def test_what_is_gone_is_counted(contents, save, visit):
    save(visit(A, "first", "second"))
    save(visit(A, "second", day=1))
    page_contents = contents(A)
    assert [text.text for text in page_contents.texts] == ["second"]
    assert (page_contents.gone, page_contents.visits, page_contents.retired) == (1, 2, None)
    assert page_contents.first_seen < page_contents.last_seen


def test_a_mirror_names_its_original(contents, save, visit):
    save(visit(A, "one", fingerprint=0), visit(B, "two", fingerprint=3))
    assert contents(B).near_duplicate_of == NearDuplicateOf(A, 2)
    assert contents(A).near_duplicate_of is None


def test_template_is_that_of_the_page_s_own_site(contents, save, visit, engine):
    save(visit(A, "words of all"), visit(B, "words of all"))
    with engine.begin() as connection:
        connection.execute(
            update(document_frequency)
            .where(document_frequency.c.site == "b.example")
            .values(boilerplate_since=visit(A).at)
        )
    assert [text.boilerplate for text in contents(A).texts] == [False]
    assert [text.boilerplate for text in contents(B).texts] == [True]


def test_a_retired_page_without_html_says_so(contents, save, visit, engine):
    save(visit(A, "words"))
    with engine.begin() as connection:
        connection.execute(update(page).values(retired_at=visit(A, day=3).at, html=None))
    page_contents = contents(A)
    assert page_contents.retired == visit(A, day=3).at
    assert page_contents.html is None
