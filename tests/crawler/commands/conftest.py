"""The commands as users run them: `scrapy NAME` in an empty folder.

A command that starts no crawl and no workers runs within the test's process; the others, and one smoke test of each
command, run in a process of their own.
"""

import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import processes
import pytest
from scrapy.cmdline import execute
from sqlalchemy import insert

from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.near_duplicates import FINGERPRINT_INDEXES, IndexEntry
from crawler.storage.search_index import SearchableBlock, add_tokens
from crawler.storage.store import Store
from crawler.storage.tables import block, page

ROOT = Path(__file__).parents[3]
TOTALS = {"visit/page": 2, "visit/captcha": 1, "blocks/kept": 3, "blocks/short": 4}


@pytest.fixture
def environment():
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return kept | {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}


IN_PROCESS = frozenset(
    "batch compare dedup duplicates export history import initdb "
    "portals prune retry search serve status upgrade".split()
)


def starts_a_crawl(arguments):
    """Return True for a command that asks for pages, which takes Twisted's reactor, of which a process has one."""
    return any(
        "://" in argument or argument == "--live"
        for argument in arguments[1:]
        if arguments[0] in {"compare", "portals"}
    )


@pytest.fixture
def scrapy(tmp_path, environment, monkeypatch):
    """Run a command and return the finished process, or what it would be."""

    def run(*arguments, **more):
        if arguments and arguments[0] in IN_PROCESS and not starts_a_crawl(arguments):
            with monkeypatch.context() as patch:
                patch.chdir(tmp_path)
                for name, value in (environment | more).items():
                    patch.setenv(name, value)
                return run_within(patch, arguments)
        return processes.run(
            [sys.executable, "-m", "scrapy", *arguments],
            cwd=tmp_path,
            env=environment | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    return run


def run_within(patch, arguments):
    """Call Scrapy's command line as its program does."""
    out = StringIO()
    err = StringIO()
    patch.setattr(sys, "argv", ["__main__.py", *arguments])
    terminate = signal.getsignal(signal.SIGTERM)
    with Path(os.devnull).open() as nothing, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", nothing)
        try:
            execute()
        except SystemExit as end:
            code = end.code or 0
        finally:
            signal.signal(signal.SIGTERM, terminate)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.fixture
def database(tmp_path):
    """A database with one crawl of two pages on two sites, a block each."""
    path = tmp_path / "blocks.db"
    fill(f"sqlite:///{path}")
    return path


@pytest.fixture
def on_server(new_database):
    """The URL of such a database on a PostgreSQL server."""
    url = new_database()
    fill(url)
    return url


def fill(url):
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
        store = Store(engine)
        crawl = store.begin_crawl("[/b]\x1b[2Jezine", {"token": "1234"})
        store.end_crawl(crawl, "finished", TOTALS)
        with engine.begin() as connection:
            for number, site in enumerate(("a.example", "b.example"), start=1):
                connection.execute(insert(page), a_page(number, site, crawl))
                connection.execute(insert(block), a_block(number, site))
                add_tokens(connection, [SearchableBlock(number, f"a text of {site}", 1.0)])
                FINGERPRINT_INDEXES[engine.dialect.name](3).add(connection, [IndexEntry(number, number)])


def a_page(number, site, crawl):
    texts = {
        "url": f"https://{site}/1",
        "url_key": f"https://{site}/1",
        "site": site,
        "method": "default",
        "scheme": "x",
    }
    return (
        texts
        | moments("first_seen", "last_seen", "last_changed")
        | {"id": number, "visits": 1, "changes": 0, "crawl_id": crawl, "body_hash": 1}
    )


def a_block(number, site):
    texts = {"site": site, "text": f"a text of {site}", "kind": "paragraph", "path": "/p"}
    numbers = {"position": 0, "words": 4, "score": 1.0, "priority": 1.0, "digest": number, "fingerprint": number}
    return texts | numbers | moments("first_seen", "last_seen") | {"id": number, "page_id": number}


def moments(*names):
    return dict.fromkeys(names, datetime(2024, 5, 1, 12, tzinfo=UTC))
