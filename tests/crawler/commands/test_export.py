"""`scrapy export`."""

import json
import signal
import subprocess
import sys
from argparse import Namespace
from time import monotonic, sleep

import processes
import psycopg
import pytest
from cleaned_pages import STRUCTURED, address, visit
from scrapy.exceptions import UsageError

from cleaning import clean
from crawler.commands.export import ExportCommand
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store


def test_blocks_and_later_changes_are_written(scrapy, database, tmp_path):
    first = scrapy("export", "out.csv")
    assert (first.returncode, first.stderr) == (0, "")
    wrote, cursor = first.stdout.splitlines()
    assert wrote == f"wrote 2 blocks to {tmp_path / 'out.csv'}"
    assert cursor.startswith("cursor 1.blocks.")
    later = json.loads(scrapy("export", "later.parquet", "--since", cursor.removeprefix("cursor "), "--json").stdout)
    assert later.pop("cursor") == cursor.removeprefix("cursor ")
    assert later == {
        "path": f"{tmp_path}/later.parquet",
        "content": "blocks",
        "rows": 0,
        "new": 0,
        "changed": 0,
        "gone": 0,
        "left_out": 0,
    }


def test_pages_of_a_server_s_database_are_written(scrapy, on_server, tmp_path):
    exported = scrapy(
        "export", "out.jsonl", "--pages", "--site", "https://a.example/x", "--json", DATABASE_URL=on_server
    )
    assert json.loads(exported.stdout)["rows"] == 1
    assert json.loads((tmp_path / "out.jsonl").read_text())["text"] == "a text of a.example"


def test_an_export_of_a_site_that_is_not_stored_says_so(scrapy, database, tmp_path):
    exported = scrapy("export", "out.jsonl", "--site", "nowhere.example")
    assert exported.returncode == 0
    assert "no page of the site nowhere.example is in the database" in exported.stderr
    assert (tmp_path / "out.jsonl").read_text() == ""
    assert "the site 'http://' is unknown" in scrapy("export", "out.jsonl", "--site", "http://").stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--chunks", "0"], "--chunks is 0; it must be 1 or more"),
        (["--chunks", "20", "--overlap", "20"], "--overlap is 20; it takes a number from 0 to below --chunks=20"),
        (["--overlap", "5"], "--overlap and --unit need --chunks SIZE"),
        (["--links", "none"], "--links and --no-html are for Markdown; they need --pages or --chunks SIZE"),
        (["--pages", "--links", "all"], "argument --links: invalid choice: 'all'"),
        (["--chunks", "20", "--links", "references"], "it takes 'inline' or 'none' with --chunks"),
    ],
)
def test_the_options_of_chunks_and_markdown_are_checked(scrapy, tmp_path, arguments, says):
    refused = scrapy("export", "out.jsonl", *arguments)
    assert (refused.returncode, says in refused.stderr) == (2, True), refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_chunks_are_written(scrapy, tmp_path):
    with opened_engine(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        schema.prepare_schema(engine)
        store = Store(engine)
        store.save(store.begin_crawl("test", {}), [visit(1, STRUCTURED, structure=True)])
    arguments = ["--chunks", "300", "--overlap", "80", "--unit", "characters"]
    exported = scrapy("export", "out.jsonl", *arguments, "--json")
    expected = clean(STRUCTURED, address(1)).chunks(300, overlap=80, unit="characters")
    assert json.loads(exported.stdout)["rows"] == len(expected), exported.stderr
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert [row["text"] for row in rows] == [chunk.text for chunk in expected]


def test_markdown_of_pages_is_written_as_the_options_say(scrapy, tmp_path):
    with opened_engine(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        schema.prepare_schema(engine)
        store = Store(engine)
        store.save(store.begin_crawl("test", {}), [visit(1, STRUCTURED, structure=True)])
    cleaned = clean(STRUCTURED, address(1))
    for links, form in (("inline", True), ("references", "references"), ("none", False)):
        exported = scrapy("export", "out.jsonl", "--pages", "--links", links, "--no-html")
        assert exported.returncode == 0, exported.stderr
        (row,) = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
        assert row["markdown"] == cleaned.to_markdown(links=form, html=False)


def test_a_text_style_is_for_pages(scrapy):
    refused = scrapy("export", "out.jsonl", "--text-style", "layout")
    assert "it needs --pages" in refused.stderr
    assert refused.returncode


@pytest.mark.parametrize("out", [[], ["out.xls"], ["out"], ["a.csv", "b.csv"], ["-"], ["/dev/stdout"]])
def test_out_must_be_one_file_of_a_known_format(out):
    with pytest.raises(UsageError, match=r"it takes one file whose name ends in .parquet, .jsonl, .jsonl.gz, .csv"):
        ExportCommand().run(out, Namespace(form="programs"))


def test_an_error_is_one_sentence(scrapy, database):
    failed = scrapy("export", "nowhere/out.csv", "--pages", "--blocks")
    assert (failed.returncode, "not allowed with argument" in failed.stderr) == (2, True)
    failed = scrapy("export", "nowhere/out.csv")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("OUT is 'nowhere/out.csv', but there is no folder ")


WAITING = """
    SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE NOT granted AND datname = current_database()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_export_leaves_nothing(tmp_path, environment, on_server, number, code):
    with psycopg.connect(on_server) as holder, psycopg.connect(on_server, autocommit=True) as watcher:
        holder.execute("LOCK TABLE page IN ACCESS EXCLUSIVE MODE")  # so that it is at work when it is stopped
        with processes.start(
            [sys.executable, "-m", "scrapy", "export", "out.parquet"],
            cwd=tmp_path,
            env=environment | {"DATABASE_URL": on_server},
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            end = monotonic() + 300
            while not watcher.execute(WAITING).fetchone():
                assert monotonic() < end
                assert process.poll() is None
                sleep(0.02)
            assert list(tmp_path.glob(".blocksieve-export-*"))
            process.send_signal(number)
            _, said = process.communicate()
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert list(tmp_path.glob("*")) + list(tmp_path.glob(".blocksieve*")) == []
