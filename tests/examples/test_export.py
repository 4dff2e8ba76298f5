"""What docs/export.md shows runs as it stands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from documented import blocks
from exported import HOSTILE, OTHER, fill, make

from cleaning.blocks import Metadata
from crawler.reading.exports.export import ExportRequest, write_export
from crawler.reading.exports.forms import format_of
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store

BLOCKS = len(HOSTILE) + 2


def printed(language):
    """Return what the page shows in a language on exports."""
    return [block.text for block in blocks(language, "export.md", "Export")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Exports of all blocks in three formats, and one of what has changed since."""
    folder = tmp_path_factory.mktemp("exports")

    def write(name, since=None):
        return write_export(engine, ExportRequest(folder / name, format_of(name), since=since), lambda _: None)

    with opened_engine(f"sqlite:///{folder / 'blocks.db'}") as engine:
        schema.prepare_schema(engine)
        fill(engine)
        cursor = [write(name) for name in ("blocks.csv", "blocks.jsonl.gz", "blocks.parquet")][-1].cursor
        store = Store(engine)
        store.save(store.begin_crawl("test", {}), [make(OTHER, ("kurz und gut", "neu"), Metadata(language="de"))])
        write("later.parquet", cursor)
    return folder


@pytest.fixture
def run(folder, monkeypatch):
    """Run one of the pieces of Python and return its names."""

    def execute(word):
        (code,) = (code for code in printed("python") if word in code)
        monkeypatch.chdir(folder)
        names = {}
        exec(code, names)
        return names

    return execute


def test_pandas_reads_every_format(run):
    names = run("sort_values")
    assert [len(names[name]) for name in ("blocks", "lines", "sheet", "longest")] == [BLOCKS, BLOCKS, BLOCKS, 10]
    assert list(names["sheet"]["text"]) == list(names["lines"]["text"]) == list(names["blocks"]["text"])
    assert names["longest"]["words"].is_monotonic_decreasing


def test_polars_reads_parquet(run):
    names = run("scan_parquet")
    assert names["blocks"].height == names["prose"].height == BLOCKS
    assert names["prose"].columns == ["url", "text"]


def test_duckdb_reads_parquet_and_json(run):
    names = run("duckdb")
    assert names["blocks"].aggregate("count(*)").fetchall() == [(BLOCKS,)]
    assert [site for site, _ in names["sites"]] == ["a.example", "b.example"]


def test_an_export_and_an_increment_are_the_whole(run, folder):
    blocks = run("drop_duplicates")["blocks"]
    with opened_engine(f"sqlite:///{folder / 'blocks.db'}") as engine:
        whole = write_export(engine, ExportRequest(folder / "whole.parquet", ".parquet"), lambda _: None)
    assert (whole.rows, set(blocks["id"])) == (BLOCKS, set(pd.read_parquet(folder / "whole.parquet")["id"]))
    assert "neu" in set(blocks["text"])


def test_the_nightly_job_takes_everything_first_and_then_what_has_changed(folder):
    (job,) = printed("sh")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"DATABASE_URL": "sqlite:///blocks.db", "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    rows = []
    for _ in range(2):
        subprocess.run(["sh", "-c", job], cwd=folder, env=environment | {"PATH": path}, check=True)
        rows.append(json.loads((folder / "summary.json").read_text())["rows"])
    assert rows == [BLOCKS, 0]
    assert (folder / "cursor").read_text().startswith("1.blocks.")
