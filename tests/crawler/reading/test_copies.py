"""Which site repeats which, page by page and text by text."""

import pytest
from copied_pages import COPYING, ORIGINAL, fill

from crawler.reading.copies import iterate_page_copies, read_beside, read_page_copies, read_site_copies
from crawler.storage.database import opened_engine, read_transaction


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request, fresh_url):
    with opened_engine(fresh_url(request.param)) as engine:
        fill(engine)
        yield engine


@pytest.fixture
def connection(engine):
    with read_transaction(engine) as connection:
        yield connection


def test_a_site_that_repeats_another_has_its_articles_and_texts_counted(connection):
    (pair,) = read_site_copies(connection, 10)
    assert (pair.original, pair.site) == (ORIGINAL, COPYING)
    assert (pair.articles, pair.pages) == (3, 4)
    assert pair.texts >= 13
    assert pair.first == pair.latest
    assert pair.first.day == 3


def test_the_pages_of_a_pair_come_in_the_order_of_their_storage(connection):
    copies, following = read_page_copies(connection, ORIGINAL, COPYING, 10)
    assert following is None
    assert [row.copy.url.rpartition("/")[2] for row in copies] == ["0", "1", "2", "3"]
    assert [row.original.url.rpartition("/")[2] for row in copies] == ["0", "1", "2", "3"]
    assert [row.is_article for row in copies] == [True, True, False, True]
    assert copies[0].distance == 0
    assert copies[2].distance is None
    assert read_page_copies(connection, COPYING, ORIGINAL, 10) == ([], None)


def test_a_list_of_pages_goes_on_behind_a_page(connection):
    first, after = read_page_copies(connection, ORIGINAL, COPYING, 3)
    rest, end = read_page_copies(connection, ORIGINAL, COPYING, 3, after)
    assert end is None
    assert [row.copy.id for row in (*first, *rest)] == [
        row.copy.id for row in iterate_page_copies(connection, ORIGINAL, COPYING)
    ]


def test_two_pages_stand_side_by_side_with_the_words_that_differ(connection):
    copies, _ = read_page_copies(connection, ORIGINAL, COPYING, 10)
    whole, edited, part, _ = [read_beside(connection, row.original.id, row.copy.id) for row in copies]
    assert all(pair.original == pair.copy for pair in whole)
    (heading,) = [pair for pair in edited if pair.parts]
    assert (heading.original, heading.copy) == ("Ferry 1 is late", "Ferry 1 comes late")
    assert [pair.copy is None for pair in part].count(True) >= 1
    assert [pair.original is None for pair in part].count(True) >= 1
    assert sum(pair.original is not None and pair.original == pair.copy for pair in part) == 1


def test_a_page_beside_itself_is_the_same(connection):
    assert all(pair.original == pair.copy and not pair.parts for pair in read_beside(connection, 1, 1))
