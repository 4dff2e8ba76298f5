"""Full disks, killed processes, writers side by side."""

import signal
import subprocess
import sys
from contextlib import closing
from sqlite3 import connect
from threading import Barrier, Thread

import pytest

from crawler.errors import StoreError

SAVE_AND_WAIT = """
import sys
from datetime import UTC, datetime
from sqlalchemy import event
from cleaning.blocks import Block, Decision, Kind, Metadata, Reason
from cleaning.structure.clean_page import CleanPage
from crawler.storage.database import open_engine
from crawler.storage.store import Store
from cleaning.page_fingerprint import FingerprintedBlock
from crawler.visit import FetchedPage, Outcome, ProcessedPage, Visit

def visit(number):
    url = f"https://a.example/{number}"
    blocks = [Block(n, "/p", Kind.PARAGRAPH, f"text {n} of page {number} " * 200, 5, 0, 1.0) for n in range(50)]
    return Visit(
        url, datetime.now(UTC), Outcome.PAGE,
        page=ProcessedPage(
            FetchedPage(url, b"<p>", None, Metadata()),
            CleanPage(url, "default", None, Metadata(), ()),
            tuple(
                FingerprintedBlock(Decision(b, 1.0, Reason.KEPT), number << 32 | b.position, 30, None) for b in blocks
            ),
        ),
    )

def wait(_connection):
    print("in the middle", flush=True)
    sys.stdin.read()

store = Store(open_engine(sys.argv[1]))
crawl = store.begin_crawl("test", {})
store.save(crawl, [visit(1), visit(2)])
event.listen(store.engine, "commit", wait)
store.save(crawl, [visit(number) for number in range(100, 140)])
"""


def test_kill_9_in_mid_transaction_leaves_whole_batches_only(engine, url, rows, save, visit):
    command = [sys.executable, "-c", SAVE_AND_WAIT, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "in the middle\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    if engine.dialect.name == "sqlite":
        assert rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    assert rows("SELECT url FROM page ORDER BY id") == [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]
    assert rows("SELECT count(*) AS n FROM block") == [{"n": 100}]
    save(visit("https://a.example/3", "the next crawl waits for nobody"))


@pytest.mark.sqlite
def test_a_full_disk_stores_nothing_of_the_batch_and_says_so(engine, save, visit, rows):
    save(visit("https://a.example/0", "stored before"))
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 4}")
    large = [visit(f"https://a.example/{n}", f"text {n} " * 5000) for n in range(1, 10)]
    with pytest.raises(StoreError, match=r"blocks\.db is full; free space on its disk"):
        save(*large)
    assert rows("SELECT url FROM page") == [{"url": "https://a.example/0"}]
    assert rows("SELECT text FROM block") == [{"text": "stored before"}]
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1073741823")
    assert [saved.stored for saved in save(*large)] == [1] * 9
    assert rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]


@pytest.mark.sqlite
def test_a_lock_that_lasts_is_a_store_error(engine, save, visit, tmp_path):
    with closing(connect(tmp_path / "blocks.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="stayed locked by another process"):
            save(visit("https://a.example/"))


def test_writers_side_by_side_store_every_text_once(engine, closing_store, visit, rows):
    writers, pages = 4, 12
    texts = [" ".join(f"word{n}{k}" for k in range(30)) for n in range(pages)]
    start, failures = Barrier(writers), []

    def crawl(writer):
        try:
            with closing_store() as store:
                crawl_id = store.begin_crawl("test", {})
                start.wait()
                for number, text in enumerate(texts):
                    store.save(crawl_id, [visit(f"https://site{writer}.example/{number}", text)])
        except Exception as error:  # noqa: BLE001 — handed to the test
            failures.append(error)

    threads = [Thread(target=crawl, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rows("SELECT count(*) AS n FROM block") == [{"n": pages}]
    assert rows("SELECT count(*) AS n FROM sighting") == [{"n": pages * (writers - 1)}]
