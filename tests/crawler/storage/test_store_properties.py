"""Whatever the order of visits: no text lost, none stored twice, counts that add up."""

import shutil
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy import text as sql

from cleaning.fingerprint import distance
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.store import PageState, Store
from crawler.storage.tables import block

PAGES = ("https://a.example/1", "https://a.example/2", "https://b.example/1", "https://b.example/2")
# Texts with chosen fingerprints: groups of near-duplicates, pairs of the same terms, blocks without any.
TEXTS = {
    "Alpha one of the first kind": 0b000,
    "alpha one first kind": 0b000,
    "beta another of the first kind": 0b011,
    "eta between alpha and gamma": 0b001100,
    "gamma yet another": 0b111100,
    "delta far away": 2**64 - 1,
    "epsilon not so far": 2**63 - 1,
    "zeta short": None,
    "Zeta short!": None,
    "* * *": None,
    "...": None,
}
VERSIONS = st.lists(st.sampled_from(list(TEXTS)), max_size=6)
HISTORIES = st.lists(st.tuples(st.sampled_from(PAGES), VERSIONS), min_size=1, max_size=8)
# Few pages and texts, so that near-duplicates of a page come, go and come back.
NEAR_TEXTS = [text for text, fingerprint in TEXTS.items() if fingerprint is not None and fingerprint < 2**8]
NEAR_HISTORIES = st.lists(
    st.tuples(st.sampled_from(PAGES[:2]), st.lists(st.sampled_from(NEAR_TEXTS), max_size=4)), min_size=2, max_size=8
)
SCOPES = st.sampled_from(["all", "site", "page", "off"])


def with_repeats(make, texts):
    """Return a page as the dedup pipeline leaves it: later blocks repeat the first with the same or near terms."""
    candidates = []
    for position, text in enumerate(texts):
        candidate = make(position, text, fingerprint=TEXTS[text])
        repeats = next((other.position for other in candidates if repeat(candidate, other)), None)
        candidates.append(make(position, text, fingerprint=TEXTS[text], repeats=repeats))
    return candidates


def repeat(later, earlier):
    near = (
        None not in {later.fingerprint, earlier.fingerprint} and distance(later.fingerprint, earlier.fingerprint) <= 3
    )
    return bool(later.unique_terms) and earlier.repeats is None and (later.digest == earlier.digest or near)


def query(connection, statement):
    return [tuple(row) for row in connection.execute(sql(statement))]


def check_database(engine, current):
    with engine.connect() as connection:
        texts = query(connection, "SELECT url, text FROM page_text JOIN page ON page.id = page_id ORDER BY position")
        texts_by_url = {
            url: [text for page, text in texts if page == url] for url in {*current, *(page for page, _ in texts)}
        }
        assert texts_by_url == current
        assert (
            query(connection, "SELECT * FROM sighting JOIN block ON block.id = block_id AND block.text = sighting.text")
            == []
        )
        assert query(connection, "SELECT position FROM page_text GROUP BY page_id, position HAVING count(*) > 1") == []
        fingerprints = "SELECT fingerprint, id FROM block WHERE fingerprint IS NOT NULL ORDER BY 1, 2"
        assert query(connection, fingerprints) == query(
            connection, "SELECT fingerprint, block_id FROM fingerprint ORDER BY 1, 2"
        )
        assert query(connection, "SELECT 1 FROM sighting WHERE block_id NOT IN (SELECT id FROM block)") == []


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A database with its tables and nothing in them, to be copied: making it takes longer than an example."""
    path = tmp_path_factory.mktemp("properties") / "prepared.db"
    with opened_engine(f"sqlite:///{path}") as engine:
        schema.prepare_schema(engine)
    return path


@given(history=HISTORIES | NEAR_HISTORIES, scope=SCOPES, batched=st.booleans())
def test_every_page_reads_as_last_visited_and_nothing_is_lost(prepared, candidate, visit, history, scope, batched):
    visits = [visit(url, *with_repeats(candidate, texts), day=day) for day, (url, texts) in enumerate(history)]
    current = dict(history)
    again = [visit(url, *with_repeats(candidate, texts), day=99) for url, texts in current.items()]
    with opened_engine(copied(prepared)) as engine:
        store = Store(engine, rules=DuplicateRules(scope))
        crawl = store.begin_crawl("test", {})
        saved = store.save(crawl, visits) if batched else [store.save(crawl, [page_visit])[0] for page_visit in visits]
        check_results(visits, saved)
        check_database(engine, current)
        check_nothing_is_new(store.save(crawl, again), current)
        check_database(engine, current)
        with engine.connect() as connection:
            ((number, last),) = query(connection, "SELECT count(*), coalesce(max(id), 0) FROM block")
        assert number == last == sum(result.stored for result in saved)
        prune_pages(engine, PruneSelection.of(url=history[0][0]), DuplicateRules(scope))
        check_database(engine, {url: texts for url, texts in current.items() if url != history[0][0]})


@given(history=st.lists(st.tuples(st.sampled_from(PAGES), VERSIONS), unique_by=lambda page: page[0]))
def test_no_two_blocks_of_pages_visited_once_are_duplicates(prepared, candidate, visit, history):
    with opened_engine(copied(prepared)) as engine:
        store = Store(engine)
        visits = [visit(url, *with_repeats(candidate, texts)) for url, texts in history]
        store.save(store.begin_crawl("test", {}), visits)
        with engine.connect() as connection:
            stored = connection.scalars(select(block.c.fingerprint).where(block.c.fingerprint.is_not(None))).all()
    assert all(distance(first, second) > 3 for first, second in combinations(stored, 2))


@given(history=NEAR_HISTORIES)
def test_no_two_live_blocks_of_pages_visited_again_are_duplicates(prepared, candidate, visit, history):
    with opened_engine(copied(prepared)) as engine:
        store = Store(engine)
        crawl = store.begin_crawl("test", {})
        for day, (url, texts) in enumerate(history):
            saved = store.save(crawl, [visit(url, *with_repeats(candidate, texts), day=day)])
            check_results([visit(url, *with_repeats(candidate, texts))], saved)
        with engine.connect() as connection:
            columns = select(block.c.page_id, block.c.fingerprint, block.c.gone_at)
            stored = connection.execute(columns.where(block.c.fingerprint.is_not(None))).all()
    # A page does not repeat its former texts.
    compared = [
        (first, second)
        for first, second in combinations(stored, 2)
        if first.page_id != second.page_id or (first.gone_at is None and second.gone_at is None)
    ]
    assert all(distance(first.fingerprint, second.fingerprint) > 3 for first, second in compared)


def copied(prepared):
    for stale in prepared.parent.glob("blocks.db*"):
        stale.unlink()
    return f"sqlite:///{shutil.copy(prepared, prepared.with_name('blocks.db'))}"


def check_results(visits, saved):
    for visit, result in zip(visits, saved, strict=True):
        assert result.stored + result.refreshed + result.exact + result.near == len(visit.page.blocks)


def check_nothing_is_new(saved, current):
    for result in saved:
        assert result.state is PageState.UNCHANGED
        assert (result.refreshed, result.gone) == (len(current[result.url]), 0)
