"""Crawls from begin to end, and databases that a store refuses."""

import json
from contextlib import nullcontext

import pytest
from sqlalchemy import select

from crawler.config import Config
from crawler.errors import StoreError
from crawler.storage.store import Store
from crawler.storage.tables import crawl


def in_json(value):
    """PostgreSQL's driver reads JSON by itself."""
    return json.loads(value) if isinstance(value, str) else value


def test_a_crawl_is_open_until_it_ends(store, rows):
    number = store.begin_crawl("ezine", {"pages": "3"})
    assert rows("SELECT id, spider, state, finished, reason FROM crawl") == [
        {"id": number, "spider": "ezine", "state": "open", "finished": None, "reason": None}
    ]
    store.end_crawl(number, "finished", {"visit/page": 5, "seconds": 1.5})
    (row,) = rows("SELECT state, reason, totals, started <= finished AS in_order FROM crawl")
    assert (row["state"], row["reason"], row["in_order"]) == ("finished", "finished", 1)
    assert in_json(row["totals"]) == {"visit/page": 5, "seconds": 1.5}


def test_an_error_is_forgotten_once_the_crawl_has_finished(store, rows):
    def totals():
        return in_json(rows("SELECT totals FROM crawl")[0]["totals"])

    failed = {"visit/page": 2, "store/error": "the database is full"}
    number = store.begin_crawl("ezine", {})
    store.end_crawl(number, "store_failed", failed, finished=False)
    store.end_crawl(number, "shutdown", {"visit/page": 1}, finished=False)
    assert totals() == failed | {"visit/page": 3}
    store.end_crawl(number, "finished", {"visit/page": 4})
    assert totals() == {"visit/page": 7}
    store.end_crawl(number, "finished", failed)
    assert totals() == failed | {"visit/page": 9}


def test_secrets_among_the_arguments_are_masked(store, rows):
    store.begin_crawl("ezine", {"api_key": "1234", "url": "https://me:pw@a.example/?token=5678&page=2", "author": "x"})
    arguments = rows("SELECT arguments FROM crawl")[0]["arguments"]
    assert in_json(arguments) == {
        "api_key": "***",
        "url": "https://***@a.example/?token=***&page=2",
        "author": "x",
    }


def test_opening_creates_the_tables_and_opens_them_again(url, visit):
    config = Config(database_url=url)
    for _ in range(2):
        store = Store.open(config)
        (saved,) = store.save(store.begin_crawl("test", {}), [visit("https://a.example/")])
        store.close()
    assert saved.state == "unchanged"


def test_arguments_of_any_characters_are_kept(store, engine):
    arguments = {"url": "https://a.example/\x00\udcff\ud800é漢"}
    store.begin_crawl("test", arguments)
    with engine.connect() as connection:
        assert connection.scalar(select(crawl.c.arguments)) == arguments


def test_fingerprints_of_another_scheme_are_refused(url, engine, save, visit):
    save(visit("https://a.example/1"), visit("https://a.example/2"))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE page SET scheme = 'other;1' WHERE id = 2")
    with pytest.raises(StoreError, match=r"holds fingerprints of scheme 'other;1', this version.*modified-simhash"):
        Store.open(Config(database_url=url))


def test_fingerprints_of_another_weighting_are_refused_and_those_of_the_same_are_not(url, visit):
    for weighting, error in (("plain", None), ("plain", None), ("modified", "'plain-simhash.*makes 'modified-simhash")):
        config = Config(database_url=url, fingerprint_weighting=weighting)
        with pytest.raises(StoreError, match=error) if error else nullcontext():
            store = Store.open(config)
            store.save(store.begin_crawl("test", {}), [visit("https://a.example/")])
            store.close()
