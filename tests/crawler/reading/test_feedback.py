"""Blocks like others: by Rocchio's weights, alike on both kinds of databases."""

import pytest
from cleaned_pages import visit_at
from sqlalchemy import select

from crawler.errors import QueryError
from crawler.reading import open_database
from crawler.reading.feedback import expand_query, search_like
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store
from crawler.storage.tables import block

TEXTS = {
    "storm": "The storm closed the harbour, and the captain of the ferry waited for the pilot until the evening.",
    "calm": "In calm weather the ferry sails from the harbour without a pilot, the captain said on the pier in summer.",
    "roses": "The gardener cuts her roses in March, puts compost around them and waters the hedge every evening.",
    "hedge": "A hedge needs compost in spring, and the roses beside it need much water, said the old gardener.",
    "bread": "The baker kneads his dough for an hour before he leaves it to rise under a cloth until the morning.",
}


def page_html(name):
    other = f"Everybody who reads number {len(name)}{name[0]} will soon have noticed that there is not more of it."
    return f"<!doctype html><title>Nr</title><article><p>{TEXTS[name]}</p><p>{other}</p></article>"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, fresh_url):
    url = fresh_url(request.param)
    with opened_engine(url) as engine:
        prepare_schema(engine)
        store = Store(engine)
        store.save(store.begin_crawl("test", {}), [visit_at(f"https://a.example/{n}", page_html(n)) for n in TEXTS])
    return url


@pytest.fixture
def connection(url):
    with opened_engine(url) as engine, read_transaction(engine) as connection:
        yield connection


def number_of(connection, name):
    return connection.scalar(select(block.c.id).where(block.c.text == TEXTS[name]))


def names(pages):
    return [page.url.rpartition("/")[2] for page in pages]


@pytest.mark.parametrize(("name", "other"), [("storm", "calm"), ("roses", "hedge"), ("hedge", "roses")])
def test_the_most_similar_block_comes_first_and_the_liked_one_not_at_all(connection, name, other):
    pages = search_like(connection, [number_of(connection, name)])
    assert names(pages)[0] == other
    assert TEXTS[name] not in [hit.text for page in pages for hit in page.hits]


def test_a_query_matters_too(connection):
    liked = [number_of(connection, "storm"), number_of(connection, "roses")]
    assert names(search_like(connection, liked, "hedge", limit=1)) == ["hedge"]
    assert "hedge" not in names(search_like(connection, liked, "harbour -hedge"))


def test_rare_terms_weigh_more(connection):
    (phrases,) = expand_query(connection, [number_of(connection, "storm")]).wanted
    words = [phrase.words[0] for phrase in phrases]
    assert set(words) == {"harbour", "captain", "ferry", "pilot", "evening"}
    assert "the" not in words


def test_a_block_unlike_all_others_finds_nothing(connection):
    assert search_like(connection, [number_of(connection, "bread")]) == []


@pytest.mark.parametrize(
    ("ids", "message"), [([], "0 blocks are liked"), ([1] * 21, "21 blocks"), ([99_999], "no block 99999")]
)
def test_mistakes_are_named(connection, ids, message):
    with pytest.raises(QueryError, match=message):
        search_like(connection, ids)


def test_from_python(url, connection):
    with open_database(url) as corpus:
        rows = corpus.related([number_of(connection, "storm")])
        assert names(rows)[0] == "calm"
        assert rows.to_pandas()["url"].iloc[0].endswith("/calm")
