"""`scrapy export`."""

import json
import signal
import subprocess
import sys
from time import monotonic, sleep

import processes
import psycopg
import pytest
from scrapy.exceptions import UsageError

from crawler.commands.export import ExportCommand


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
    }


def test_pages_of_a_server_s_database_are_written(scrapy, on_server, tmp_path):
    exported = scrapy(
        "export", "out.jsonl", "--pages", "--site", "https://a.example/x", "--json", DATABASE_URL=on_server
    )
    assert json.loads(exported.stdout)["rows"] == 1
    assert json.loads((tmp_path / "out.jsonl").read_text())["text"] == "a text of a.example"


@pytest.mark.parametrize("out", [[], ["out.xlsx"], ["out"], ["a.csv", "b.csv"], ["-"], ["/dev/stdout"]])
def test_out_must_be_one_file_of_a_known_format(out):
    with pytest.raises(UsageError, match=r"it takes one file whose name ends in .parquet, .jsonl, .jsonl.gz, .csv"):
        ExportCommand().run(out, None)


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
            end = monotonic() + 60
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
