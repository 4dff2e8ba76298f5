"""The end of `make demo SERVE=1`: the database as a web page, until Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

from shown_pages import fill

from crawler.demo.run import _crawl_facts
from crawler.storage.database import opened_engine
from crawler.storage.queries import CrawlReport

ROOT = Path(__file__).parents[3]
SHOW = "import sys; from pathlib import Path; from crawler.demo.run import show_database; "
SHOW += "sys.exit(show_database(Path(sys.argv[1])))"


def test_the_database_of_the_demo_is_opened_in_the_browser_until_ctrl_c(tmp_path):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n', "utf-8")
    browser.chmod(0o755)
    path = tmp_path / "blocks.db"
    with opened_engine(f"sqlite:///{path}") as engine:
        fill(engine)
    command = [sys.executable, "-c", SHOW, str(path)]
    options = {
        "cwd": ROOT,
        "env": os.environ | {"no_proxy": "*", "BROWSER": f"{browser} %s"},
        "start_new_session": True,
    }
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        address = re.search(r"shown at (http://127\.0\.0\.1:\d+/) until", process.stdout.readline())[1]
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{address}api/overview") as answer:
            assert b'"pages":62' in answer.read()
        while not opened.exists():
            assert process.poll() is None
            time.sleep(0.05)
        assert opened.read_text("utf-8").strip() == address
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait() == 0


DAY = datetime(2024, 5, 1, tzinfo=UTC)


def facts_of(**counters):
    counters = {name.replace("__", "/"): number for name, number in counters.items()}
    return {
        name: fact for name, fact, _ in _crawl_facts(CrawlReport(1, "ezine", {}, "open", DAY, None, None, counters))
    }


def test_the_summary_says_what_the_first_crawl_did():
    assert facts_of(
        store__pages_new=171, blocks__kept=1_485, blocks__footer=737, blocks__form=566, visit__not_html=2
    ) == {
        "pages": "171 new",
        "blocks kept": "1,485",
        "blocks dropped": "1,303: 737 footer, 566 form",
        "visits without a page": "2 not html",
    }


def test_the_summary_of_a_second_crawl_says_that_nothing_has_changed():
    assert facts_of(store__pages_unchanged=171, visit__quota=4) == {
        "pages": "171 unchanged since the last crawl: nothing had to be cleaned or stored",
        "visits refused": "4 quota",
    }
    assert facts_of() == {"pages": "none"}
