"""Digests and fingerprints of a new scheme."""

import pytest

from cleaning.blocks import Kind
from cleaning.fingerprint import SCHEMES, digest, distance, fingerprint
from cleaning.page_fingerprint import Fingerprinter
from crawler.storage import dedup
from crawler.storage.dedup import refingerprint
from crawler.storage.store import Store

A, B, C = (f"https://{letter}.example/1" for letter in "abc")
LONG = (
    "The old ferry left the harbour before sunrise with forty passengers, nine bicycles and a crate of oranges, while "
    "fishermen mended their nets along the quiet pier and gulls argued about breakfast above the customs house roof."
)
EDITED = LONG.replace("house roof", "house gate")
PLAIN = Fingerprinter("plain")


@pytest.fixture
def stored(save, visit):
    pages = {A: (LONG, "short"), B: (EDITED,), C: ("short", LONG.upper())}
    save(*(visit(url, *texts, fingerprint=of_page(texts, Fingerprinter())) for url, texts in pages.items()))


def of_page(texts, fingerprinter):
    return fingerprinter.page_fingerprint([fingerprinter.block_keys(text, Kind.PARAGRAPH) for text in texts])


def quietly(_):
    """Report to nobody."""


def test_blocks_sightings_index_and_pages_are_of_the_new_scheme(stored, engine, rows):
    assert refingerprint(engine, PLAIN, quietly) == 3
    new, edited = (fingerprint(text, weighting="plain") for text in (LONG, EDITED))
    assert {row["scheme"] for row in rows("SELECT scheme FROM page")} == {SCHEMES["plain"]}
    (block,) = rows("SELECT id, digest, fingerprint FROM block WHERE fingerprint IS NOT NULL")
    assert (block["digest"] % 2**64, block["fingerprint"] % 2**64) == (digest(LONG), new)
    assert rows("SELECT fingerprint, block_id FROM fingerprint") == [
        {"fingerprint": block["fingerprint"], "block_id": block["id"]}
    ]
    sightings = rows("SELECT fingerprint, distance FROM sighting WHERE fingerprint IS NOT NULL ORDER BY page_id")
    assert [(row["fingerprint"] % 2**64, row["distance"]) for row in sightings] == [
        (edited, distance(new, edited)),
        (new, 0),
    ]


def test_pages_get_fingerprints_of_the_new_scheme_too(stored, engine, rows):
    refingerprint(engine, PLAIN, quietly)
    expected = [of_page(texts, PLAIN) for texts in ((LONG, "short"), (EDITED,), ("short", LONG.upper()))]
    page_rows = rows("SELECT id, page_fingerprint AS f FROM page ORDER BY id")
    assert [row["f"] % 2**64 for row in page_rows] == expected
    originals = [
        row["id"]
        for row in page_rows
        if row["id"] not in {duplicate["page_id"] for duplicate in rows("SELECT page_id FROM near_duplicate_page")}
    ]
    indexed = rows("SELECT page_id AS id, fingerprint AS f FROM page_fingerprint ORDER BY page_id")
    assert indexed == [row for row in page_rows if row["id"] in originals]


def test_what_stands_on_many_pages_is_counted_by_the_new_digests(stored, engine, rows):
    refingerprint(engine, PLAIN, quietly)
    text_rows = rows("SELECT DISTINCT site, digest FROM block WHERE gone_at IS NULL")
    counted = [
        (row["site"], row["digest"]) for row in rows("SELECT site, digest FROM document_frequency WHERE pages > 0")
    ]
    assert {(row["site"], row["digest"]) for row in text_rows} <= set(counted)
    assert len(counted) == 5


def test_texts_of_few_terms_get_none_and_lose_theirs(stored, engine, rows):
    refingerprint(engine, Fingerprinter("plain", min_terms=1000), quietly)
    assert rows("SELECT * FROM fingerprint") == []
    assert rows("SELECT id FROM block WHERE fingerprint IS NOT NULL") == []


def test_there_and_back_again_changes_nothing(stored, engine, rows):
    def everything():
        tables = {"page": "id", "block": "id", "sighting": "id", "fingerprint": "fingerprint, block_id"}
        all_rows = [row for table, order in tables.items() for row in rows(f"SELECT * FROM {table} ORDER BY {order}")]
        return [row | {"changed": None} for row in all_rows]

    before = everything()
    refingerprint(engine, PLAIN, quietly)
    assert everything() != before
    refingerprint(engine, Fingerprinter(), quietly)
    assert everything() == before


def test_pages_of_the_scheme_are_left_alone(stored, engine):
    assert refingerprint(engine, Fingerprinter(), quietly) == 0


def test_a_run_that_broke_off_is_finished_by_the_next(stored, engine, rows, monkeypatch):
    monkeypatch.setattr(dedup, "_PAGES_PER_TRANSACTION", 1)

    def broken(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refingerprint(engine, PLAIN, broken)
    assert len(rows("SELECT DISTINCT scheme FROM page")) == 2
    assert refingerprint(engine, PLAIN, quietly) == 2
    assert len(rows("SELECT DISTINCT scheme FROM page")) == 1


def test_later_crawls_find_the_new_fingerprints(stored, engine, visit, candidate):
    refingerprint(engine, PLAIN, quietly)
    store = Store(engine, weighting="plain")
    new = candidate(0, LONG, fingerprint=fingerprint(LONG, weighting="plain"))
    (saved,) = store.save(store.begin_crawl("test", {}), [visit("https://d.example/", new)])
    assert (saved.exact, saved.stored) == (1, 0)
