"""An export and the increments after it are what a whole export would be, whatever happened in between."""

import shutil
import sys
from pathlib import Path

import processes
import pytest
from followed import Follower
from hypothesis import given, settings
from hypothesis import strategies as st

from cleaning.blocks import Metadata
from cleaning.page_fingerprint import Fingerprinter
from crawler.reading.exports.rows import EXPORT_COLUMNS, ExportContent, RowFilter, read_rows
from crawler.storage import database, schema
from crawler.storage.boilerplate import BoilerplateBounds
from crawler.storage.database import opened_engine, read_transaction, write_transaction
from crawler.storage.dedup import deduplicate, refingerprint
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.pages import PageAbsence
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.store import Store
from crawler.urls import url_key

WRITER = Path(__file__).parents[2] / "support" / "late_writer.py"
CONTENTS = (ExportContent.BLOCKS, ExportContent.PAGES)
FILTERS = (RowFilter(), RowFilter(site="a.example"), RowFilter(language="en"))
PAGES = tuple(f"https://{site}.example/{number}" for site in "ab" for number in (1, 2, 3))
TEXTS = {"alpha the first": 0b000, "beta the second": 0b011, "gamma": 0b111100, "Gamma!": 0b111100, "zeta": None}
VISITS = st.tuples(st.sampled_from(PAGES), st.lists(st.sampled_from(list(TEXTS)), max_size=4), st.sampled_from("ed"))
DEEDS = st.one_of(
    st.tuples(st.just("visit"), st.lists(VISITS, min_size=1, max_size=3)),
    st.tuples(st.sampled_from(["retire", "prune"]), st.sampled_from(PAGES)),
    st.tuples(st.just("dedup"), st.sampled_from(["all", "site"])),
    st.tuples(st.just("refingerprint"), st.sampled_from(["plain", "modified"])),
)


def do(engine, deed, what, make, day):
    """Do one of the deeds that change a database."""
    if deed == "prune":
        prune_pages(engine, PruneSelection.of(url=what))
    elif deed == "dedup":
        deduplicate(engine, DuplicateRules(what), lambda _: None)
    elif deed == "refingerprint":
        refingerprint(engine, Fingerprinter(what), lambda _: None)
    else:
        # Sites find no duplicates but their own, so that there are some for `dedup`.
        store = Store(engine, rules=DuplicateRules("site"), boilerplate=BoilerplateBounds(2, 0.1))
        if deed == "retire":
            store.record_absences(
                [PageAbsence(url_key(what), what, make("https://a.example/", day=day).at, for_good=True)]
            )
        else:
            store.save(store.begin_crawl("test", {}), [make(*page_arguments, day=day) for page_arguments in what])


@pytest.fixture(scope="module")
def make(visit, candidate):
    def make_visit(url, texts=(), language="e", day=0):
        blocks = [candidate(position, text, fingerprint=TEXTS[text]) for position, text in enumerate(texts)]
        stated = Metadata(language={"e": "en", "d": "de"}[language])
        return visit(url, *blocks, day=day, stated=stated)

    return make_visit


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    path = tmp_path_factory.mktemp("changes") / "prepared.db"
    with opened_engine(f"sqlite:///{path}") as engine:
        schema.prepare_schema(engine)
    return path


@settings(max_examples=min(15, settings.default.max_examples))
@given(deeds=st.lists(DEEDS, min_size=1, max_size=8))
def test_increments_add_up_to_a_whole_export(prepared, make, deeds):
    for stale in prepared.parent.glob("blocks.db*"):
        stale.unlink()
    with opened_engine(f"sqlite:///{shutil.copy(prepared, prepared.with_name('blocks.db'))}") as engine:
        followers = [Follower(engine, content, rows) for content in CONTENTS for rows in FILTERS]
        for day, (deed, what) in enumerate(deeds):
            do(engine, deed, what, make, day)
            for follower in followers:
                follower.catch_up()
                assert follower.rows == follower.expected()
            assert [follower.catch_up() for follower in followers] == [[]] * len(followers)


@pytest.fixture
def follower(engine):
    return Follower(engine)


A, B = "https://a.example/1", "https://b.example/1"


def test_each_change_is_told_once_and_by_its_name(save, visit, follower):
    save(visit(A, "one", "two"), visit(B, "three"))
    assert follower.catch_up() == [("new", 1), ("new", 2), ("new", 3)]
    save(visit(A, "one", "four", day=1))
    assert follower.catch_up() == [("gone", 2), ("new", 4)]
    save(visit(A, "One!", "four", day=2))
    assert follower.catch_up() == [("changed", 1)]
    save(visit(A, "One!", "two", day=3))
    assert follower.catch_up() == [("changed", 2), ("gone", 4)]


def test_a_visit_that_changes_nothing_is_told_to_nobody(engine, save, visit):
    followers = [Follower(engine, content) for content in CONTENTS]
    save(visit(A, "one", "two"))
    for follower in followers:
        follower.catch_up()
    save(visit(A, "one", "two", day=1), visit(B, "short", day=1))
    assert [follower.catch_up() for follower in followers] == [[("new", 3)], [("new", 2)]]


def test_another_title_changes_all_blocks_of_the_page_and_no_others(save, visit, follower):
    save(visit(A, "one", "two", title="First"), visit(B, "three"))
    follower.catch_up()
    save(visit(A, "one", "two", title="Second", day=1), visit(B, "three", day=1))
    assert follower.catch_up() == [("changed", 1), ("changed", 2)]


def test_ids_stay_when_a_block_comes_back_and_when_it_is_reworded(save, visit, follower):
    for day, texts in enumerate((["one", "two"], ["two"], ["One.", "two"])):
        save(visit(A, *texts, day=day))
        follower.catch_up()
    assert sorted(follower.rows) == [1, 2]
    assert follower.rows == follower.expected()


def test_a_text_that_becomes_template_is_gone_and_comes_back(engine, visit):
    store = Store(engine, boilerplate=BoilerplateBounds(3, 0.1))
    crawl = store.begin_crawl("test", {})
    blocks = Follower(engine)
    pages = Follower(engine, ExportContent.PAGES)
    urls = [f"https://a.example/{number}" for number in (1, 2, 3)]
    store.save(crawl, [visit(url, f"own words {url}", "notice") for url in urls[:2]])
    blocks.catch_up()
    pages.catch_up()
    store.save(crawl, [visit(urls[2], f"own words {urls[2]}", "notice")])
    assert ("gone", 2) in blocks.catch_up()
    assert pages.catch_up() == [("changed", 1), ("changed", 2), ("new", 3)]
    store.save(crawl, [visit(urls[2], f"own words {urls[2]}", day=1)])
    assert blocks.catch_up() == [("changed", 2)]
    assert (blocks.rows, pages.catch_up() != [], pages.rows) == (blocks.expected(), True, pages.expected())


def test_a_language_that_a_page_has_no_more_is_gone_from_its_export(engine, save, visit):
    english, german = (Follower(engine, rows=RowFilter(language=code)) for code in ("en", "de"))
    for day, language in enumerate(("en", "de")):
        save(visit(A, "one", stated=Metadata(language=language), day=day))
        taken = english.catch_up(), german.catch_up()
    assert taken == ([("gone", 1)], [("changed", 1)])


def test_an_export_sees_one_state_while_others_write(engine, save, visit):
    save(visit(A, "one", "two"), visit(B, "three"))
    with read_transaction(engine) as connection:
        before = database.read_position(connection)
        expected = list(read_rows(connection, ExportContent.BLOCKS, RowFilter()))
        save(visit(A, "one", "four", day=1), visit("https://c.example/1", "five"))
        assert list(read_rows(connection, ExportContent.BLOCKS, RowFilter())) == expected
        assert database.read_position(connection) == before


@pytest.mark.postgresql
def test_nothing_is_lost_to_a_transaction_that_is_committed_late(engine, closing_store, visit, follower):
    """It has the lower mark, and becomes visible after an export that has the higher one."""
    with closing_store() as store:
        crawl = store.begin_crawl("test", {})

        with write_transaction(engine) as connection:
            slow = Slow(engine, connection)
            slow.save(crawl, [visit(A, "late")])
            store.save(crawl, [visit(B, "early")])
            assert [change for change, _ in follower.catch_up()] == ["new"]
            assert texts(follower) == ["early"]
    assert [change for change, _ in follower.catch_up()] == ["new"]
    assert texts(follower) == ["early", "late"]
    assert follower.catch_up() == []


def texts(follower):
    place = [column.name for column in EXPORT_COLUMNS[ExportContent.BLOCKS]].index("text") - 3
    return sorted(row[place] for row in follower.rows.values())


class Slow(Store):
    """Writes in a transaction that somebody else commits."""

    def __init__(self, engine, connection):
        super().__init__(engine)
        self._open = connection

    def write(self, work):
        return work(self._open)


@pytest.mark.postgresql
def test_increments_taken_while_two_processes_write_and_commit_late_add_up(engine, url, tmp_path):
    enough = tmp_path / "enough"
    writers = [processes.start([sys.executable, WRITER, url, str(worker), "30", enough]) for worker in (1, 2)]
    filters = (RowFilter(), RowFilter(site="site1.example"))
    followers = [Follower(engine, content, rows) for content in CONTENTS for rows in filters]
    taken = 0
    while any(writer.poll() is None for writer in writers):
        for follower in followers:
            follower.catch_up()
            taken += 1
        if taken > 20:
            enough.touch()
    assert [writer.wait() for writer in writers] == [0, 0]
    assert taken > 20
    for follower in followers:
        follower.catch_up()
        assert follower.rows == follower.expected() != {}
        assert follower.catch_up() == []


FACTS = ("change", "id", "event", "headline", "duplicate_of", "access")


def test_a_monitor_learns_by_one_cursor_what_publishers_did(engine, save, visit, make):
    """Also of whom a page is a copy now that the original is gone; what a visit finds unchanged is no news."""
    follower = Follower(engine, ExportContent.PAGES)
    places = [[column.name for column in EXPORT_COLUMNS[ExportContent.PAGES]].index(name) for name in FACTS]

    def news():
        with read_transaction(engine) as connection:
            rows = [*read_rows(connection, ExportContent.PAGES, RowFilter(), follower._horizon)]
        follower.catch_up()
        assert follower.rows == follower.expected()
        return [tuple(row[place] for place in places) for row in rows]

    article = {"headline": "Bridge shut", "title": "Bridge shut"}
    save(visit(A, "one", fingerprint=0, access="paid", **article), visit(B, "two", fingerprint=1, **article))
    save(visit("https://b.example/2", "three", fingerprint=3, **article))
    assert news() == [
        ("new", 1, "new", "Bridge shut", None, "paid"),
        ("new", 2, "new", "Bridge shut", 1, None),
        ("new", 3, "new", "Bridge shut", 1, None),
    ]
    save(visit(A, "one", fingerprint=0, access="paid", day=1, **article))
    assert news() == []
    save(visit(A, "one", fingerprint=0, access="free", day=2, headline="Bridge open", title="Bridge open"))
    assert news() == [("changed", 1, "changed", "Bridge open", None, "free")]
    do(engine, "retire", A, make, 3)
    assert news() == [
        ("gone", 1, None, None, None, None),
        ("changed", 2, "new", "Bridge shut", None, None),
        ("changed", 3, "new", "Bridge shut", 2, None),
    ]
    with engine.connect() as connection:
        changes = connection.exec_driver_sql(
            "SELECT page_id, kind, renamed, access FROM page_change ORDER BY visited, page_id"
        )
        assert [(*row[:2], bool(row[2]), row[3]) for row in changes] == [
            (1, "new", False, "free"),
            (2, "new", False, None),
            (3, "new", False, None),
            (1, "changed", True, "free"),
            (1, "retired", False, "free"),
        ]
