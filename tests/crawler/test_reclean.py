"""Stored pages are cleaned again in workers, from the database and from an archive."""

import asyncio
import json
from dataclasses import replace

import pytest
from cleaned_pages import address, fill, html, marks, state, visit
from scrapy import Request
from scrapy.http import Response
from sqlalchemy import text as sql

from cleaning import clean
from cleaning.page_fingerprint import Fingerprinter
from crawler.config import Config, hash_options
from crawler.fetching.archive import ArchiveRecords
from crawler.fetching.replay import open_replay
from crawler.reclean import (
    ArchivedBodies,
    RecleanPlan,
    RecleanResult,
    RecleanRun,
    StoredBodies,
    run_reclean,
    start_reclean,
)
from crawler.storage import schema
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import open_engine, read_transaction
from crawler.storage.reclean import RecleanJob, read_reclean_progress
from crawler.storage.store import Store
from crawler.storage.tables import signed
from crawler.workers.pool import WorkerPool
from crawler.workers.tasks import FingerprintTask

pytestmark = pytest.mark.slow

PAGES = 23


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request, tmp_path):
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    new_engine = open_engine(url if request.param == "sqlite" else request.getfixturevalue("new_database")())
    schema.prepare_schema(new_engine)
    yield new_engine
    new_engine.dispose()


@pytest.fixture
def sqlite(tmp_path):
    new_engine = open_engine(f"sqlite:///{tmp_path / 'blocks.db'}")
    schema.prepare_schema(new_engine)
    yield new_engine
    new_engine.dispose()


@pytest.fixture(scope="module")
def running():
    """Start one pool for all runs, because most of the time of a run is its start."""
    started = {}
    with asyncio.Runner() as runner:

        def work(store, plan_to_run, bodies, report):
            earlier = start_reclean(store, plan_to_run, restart=False)
            if not started:
                started["pool"] = WorkerPool.start(1, FingerprintTask((), Fingerprinter(), 60.0), RecleanResult())
            result = RecleanResult()
            work = RecleanRun(store, bodies, plan_to_run, started["pool"], result)
            runner.run(work.run(earlier.after_page if earlier else 0, report))
            return result

        yield work
        for pool in started.values():
            pool.close()


@pytest.fixture
def reclean(running):
    """Do what the command does, and return the result."""

    def work(store, plan_to_run, bodies=None, report=lambda *_: None):
        result = running(store, plan_to_run, bodies or StoredBodies(), report)
        if result.complete:
            store.end_reclean(plan_to_run.job)
        return result

    return work


def plan(method=None, limit=None, **more):
    settings = {} if method is None else {"CLEANING_METHOD": method, "CLEANING_OPTIONS": {}}
    job = RecleanJob(json.dumps(method), settings=settings)
    return RecleanPlan(job, Fingerprinter(), limit, processes=1, seconds=60.0, **more)


def progress(store, plan_to_read):
    with read_transaction(store.engine) as connection:
        return read_reclean_progress(connection, plan_to_read.job)


def test_another_method_and_back_gives_the_same_blocks(engine, reclean):
    store = Store(engine)
    fill(store, PAGES)
    before = state(engine)
    first = reclean(store, plan("pab", limit=9))
    assert (first.pages, first.complete) == (9, False)
    assert progress(store, plan("pab")).pages == 9
    reported = []
    rest = reclean(store, plan("pab"), report=lambda *now: reported.append(now))
    assert (rest.pages, progress(store, plan("pab"))) == (PAGES - 9, None)
    assert reported[-1] == (PAGES - 9, PAGES - 9)
    assert first.changed + rest.changed == PAGES
    other = state(engine)
    assert {page[8] for page in other["pages"]} == {"pab"}
    assert other["blocks"] != before["blocks"]
    undone = reclean(store, plan("default"))
    assert undone.changed == PAGES
    assert undone.blocks["gone"] > 0
    assert state(engine) == before


def test_cleaning_again_with_the_same_method_changes_nothing_and_exports_nothing_new(sqlite, reclean):
    store = Store(sqlite)
    fill(store, PAGES)
    before = state(sqlite)
    marked = marks(sqlite)
    same = reclean(store, plan("default"))
    assert (same.pages, same.unchanged, same.failed, same.skipped) == (PAGES, PAGES, 0, {})
    assert (state(sqlite), marks(sqlite)) == (before, marked)


def test_a_page_cleaned_again_equals_one_whose_last_visit_used_that_method(sqlite, tmp_path, reclean):
    store = Store(sqlite)
    fill(store, 5)
    reclean(store, plan("pab"))
    other = open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    schema.prepare_schema(other)
    fill(Store(other), 5, method="pab")
    result = state(sqlite)
    expected = state(other)
    other.dispose()
    assert result["pages"] == expected["pages"]
    assert result["views"] == expected["views"]
    assert result["document_frequency"] == expected["document_frequency"]


def structures(engine):
    with read_transaction(engine) as connection:
        rows = connection.execute(sql("SELECT page_id, markdown FROM page_structure ORDER BY page_id"))
        return [tuple(row) for row in rows]


def test_the_structure_of_stored_pages_is_filled_and_then_renewed(sqlite, tmp_path, reclean):
    store = Store(sqlite)
    fill(store, 3)
    before = state(sqlite)
    assert reclean(store, plan("default", structure=True, dry_run=True)).structures == 3
    assert structures(sqlite) == []
    filled = reclean(store, plan("default", structure=True))
    assert (filled.unchanged, filled.structures) == (3, 3)
    assert state(sqlite) == before
    assert structures(sqlite) == [(n + 1, clean(html(n), address(n)).markdown) for n in range(3)]
    store.save(1, [visit(3)])
    renewed = reclean(store, plan("pab"))
    assert (renewed.pages, renewed.structures) == (4, 3)
    assert structures(sqlite) == [(n + 1, clean(html(n), address(n), method="pab").markdown) for n in range(3)]


def test_an_archive_serves_pages_if_it_has_their_last_visit(sqlite, tmp_path, reclean):
    store = Store(sqlite, keep_html=False)
    crawl = fill(store, 4)
    store.save(crawl, [visit(1, html(1).replace("late", "early"), day=1)])
    with sqlite.begin() as connection:
        connection.execute(sql("UPDATE page SET retired_at = last_seen WHERE url = :url"), {"url": address(2)})
    before = state(sqlite)
    records, path = ArchiveRecords("a.warc.gz", {}), tmp_path / "a.warc.gz"
    kept = [records.pack(Request(address(n)), Response(address(n), body=html(n).encode())) for n in (0, 1, 2, 7)]
    path.write_bytes(b"".join(kept))
    bodies = ArchivedBodies(open_replay(path, 1_000_000), 1_000_000)
    result = reclean(store, plan("default"), bodies)
    assert (result.unchanged, result.skipped) == (1, {"other_body": 1, "retired": 1, "not_archived": 1})
    assert {(named_page.url, named_page.reason) for named_page in result.named} == {
        (address(1), "other_body"),
        (address(2), "retired"),
        (address(3), "not_archived"),
    }
    assert state(sqlite) == before


def test_a_page_without_stored_html_and_one_that_times_out_are_named_and_stay(sqlite):
    store = Store(sqlite)
    fill(store, 1)
    Store(sqlite, keep_html=False).save(1, [visit(1)])
    before = state(sqlite)
    short_plan = replace(plan("default"), seconds=1e-6)
    result = asyncio.run(run_reclean(store, StoredBodies(), short_plan, 0, lambda *_: None))
    assert (result.failed, result.skipped, result.complete) == (1, {"no_html": 1}, True)
    assert "CLEANING_SECONDS" in result.named[0].reason
    assert result.processes == {}
    assert state(sqlite) == before


WAYS = (
    ("default", {}),
    ("default", {"favour": "recall"}),
    ("pab", {"pab_outer_share": 0.0}),
    ("pab", {}),
    ("eniw", {"max_blocks": 100}),
    ("subtree", {"subtree_alpha": 5, "subtree_beta": 10}),
)
LINKS = '<p>See <a href="https://other.example/">this other site</a> and more words.</p>'


def visit_in_way(number, body, method, options):
    """The visit of a page that was cleaned by a method with these options."""
    plain = visit(number, body)
    cleaned = clean(body, address(number), method=method, **options)
    keys = Fingerprinter().fingerprint(cleaned.decisions)
    page = replace(plain.page, cleaned=cleaned, blocks=keys.blocks, fingerprint=keys.fingerprint)
    return replace(plain, page=page)


def fill_in_ways(engine):
    """Store a page for each way, as a crawl by this method and these options does."""
    store = Store(engine)
    for number, (method, options) in enumerate(WAYS):
        config = Config(cleaning_method=method, cleaning_options=options)
        policy = CrawlPolicy(options_hash=config.options_hash, settings=config.page_settings)
        crawl_id = store.begin_crawl("test", {"number": str(number)}, policy)
        body = html(number).replace("</body>", f"{LINKS}</body>")
        store.save(crawl_id, [visit_in_way(number, body, method, options)])
    return store


def cleaned_pages(engine):
    with read_transaction(engine) as connection:
        rows = connection.execute(sql("SELECT method, options_hash, settings FROM page ORDER BY id")).mappings()
        return [dict(row) for row in rows]


def test_pages_of_several_methods_and_options_stay_as_they_were_cleaned(engine, reclean):
    store = fill_in_ways(engine)
    before = state(engine)
    marked = marks(engine)
    stored = cleaned_pages(engine)
    result = reclean(store, plan())
    assert (result.pages, result.unchanged, result.failed, result.skipped) == (len(WAYS), len(WAYS), 0, {})
    assert result.cleaned_by == {
        "default": 1,
        "default favour=recall": 1,
        "pab pab_outer_share=0.0": 1,
        "pab": 1,
        "eniw max_blocks=100": 1,
        "subtree subtree_alpha=5 subtree_beta=10": 1,
    }
    assert (state(engine), marks(engine), cleaned_pages(engine)) == (before, marked, stored)
    # What the command line names counts for all pages, and nothing else changes.
    job = RecleanJob("options", settings={"CLEANING_OPTIONS": {"pab_outer_share": 0.5}})
    result = reclean(store, replace(plan(), job=job))
    assert [page["method"] for page in cleaned_pages(engine)] == [method for method, _ in WAYS]
    assert {page["options_hash"] for page in cleaned_pages(engine)} == {signed(hash_options({"pab_outer_share": 0.5}))}
    assert result.changed >= 1  # with `pab_outer_share` at 0, the block with a link was noise


def test_a_page_that_cannot_be_cleaned_as_before_is_counted_with_the_reason(sqlite, reclean):
    store = fill_in_ways(sqlite)
    with sqlite.begin() as connection:
        connection.execute(sql("UPDATE page SET method = 'mine' WHERE id = 1"))
        connection.execute(sql("UPDATE page SET method = 'vce' WHERE id = 2"))
        # As an earlier version stored the pages of a replay.
        connection.execute(sql("UPDATE page SET settings = NULL WHERE id IN (3, 4)"))
    before = state(sqlite)
    result = reclean(store, plan())
    assert (result.unchanged, result.failed, result.skipped) == (3, 1, {"no_layout": 1, "options_unknown": 1})
    assert state(sqlite) == before
    reasons = {named.url: named.reason for named in result.named}
    assert reasons[address(0)].startswith("it was cleaned by mine: unknown method 'mine'")
    assert reasons[address(0)].endswith("; --method NAME chooses another")
    assert reasons[address(2)] == "options_unknown"
    assert reclean(store, plan("pab")).failed == 0
    assert {page["method"] for page in cleaned_pages(sqlite)} == {"pab"}
