"""Whatever the order of visits: no text lost, none stored twice, counts that add up."""

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql

from cleaning.blocks import Kind
from crawler.storage import schema
from crawler.storage.engine import open_engine
from crawler.storage.store import PageState, Store

PAGES = ("https://a.example/1", "https://a.example/2", "https://b.example/1", "https://b.example/2")
# Texts with chosen fingerprints: groups of near-duplicates, pairs of the same terms, blocks without any.
TEXTS = {
    "Alpha one of the first kind": 0b000,
    "alpha one first kind": 0b000,
    "beta another of the first kind": 0b011,
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
SCOPES = st.sampled_from(["all", "site", "page", "off"])


def with_repeats(make, texts):
    """What the dedup pipeline makes of a page: later blocks of the same terms repeat the first."""
    made, first = [], {}
    for position, text in enumerate(texts):
        one = make(position, text, kind=Kind.PARAGRAPH, fingerprint=TEXTS[text])
        repeats = first.get(one.digest) if one.terms else None
        first.setdefault(one.digest, position)
        made.append(make(position, text, fingerprint=TEXTS[text], repeats=repeats))
    return made


def query(connection, statement):
    return [tuple(row) for row in connection.execute(sql(statement))]


def check_database(engine, current):
    with engine.connect() as connection:
        texts = query(connection, "SELECT url, text FROM page_text JOIN page ON page.id = page_id ORDER BY position")
        for url, expected in current.items():
            assert [text for page, text in texts if page == url] == expected
        assert (
            query(connection, "SELECT * FROM sighting JOIN block ON block.id = block_id AND block.text = sighting.text")
            == []
        )
        assert query(connection, "SELECT position FROM page_text GROUP BY page_id, position HAVING count(*) > 1") == []
        fingerprints = "SELECT fingerprint, id FROM block WHERE fingerprint IS NOT NULL ORDER BY 1, 2"
        assert query(connection, fingerprints) == query(
            connection, "SELECT fingerprint, block_id FROM fingerprint ORDER BY 1, 2"
        )
        assert query(connection, "PRAGMA foreign_key_check") == []


@settings(max_examples=60, deadline=None)
@given(history=HISTORIES, scope=SCOPES, batched=st.booleans())
def test_every_page_reads_as_last_visited_and_nothing_is_deleted(
    tmp_path_factory, candidate, visit, history, scope, batched
):
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('property') / 'blocks.db'}")
    schema.prepare(engine)
    store = Store(engine, dedup_scope=scope)
    crawl = store.begin_crawl("test", {})
    visits = [visit(url, *with_repeats(candidate, texts), day=day) for day, (url, texts) in enumerate(history)]
    saved = store.save(crawl, visits) if batched else [store.save(crawl, [one])[0] for one in visits]
    for one, result in zip(visits, saved, strict=True):
        assert result.stored + result.refreshed + result.exact + result.near == len(one.candidates)
    current = dict(history)
    check_database(engine, current)
    again = store.save(crawl, [visit(url, *with_repeats(candidate, texts), day=99) for url, texts in current.items()])
    assert {one.state for one in again} == {PageState.UNCHANGED}
    assert all(one.refreshed == len(current[one.url]) and not one.gone for one in again)
    check_database(engine, current)
    with engine.connect() as connection:
        blocks = query(connection, "SELECT count(*), max(id) FROM block")[0]
        assert blocks[0] == (blocks[1] or 0) == sum(one.stored for one in saved)
    store.close()
