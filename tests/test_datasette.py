"""Datasette with our metadata: the database opens, and each table, query and facet of the metadata is there."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from shown_pages import fill

from crawler.storage.database import opened_engine

METADATA = Path(__file__).parents[1] / "docs" / "datasette.json"
BLOCKS = json.loads(METADATA.read_text("utf-8"))["databases"]["blocks"]


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Ask Datasette for a path, as JSON."""
    path = tmp_path_factory.mktemp("datasette") / "blocks.db"
    with opened_engine(f"sqlite:///{path}") as engine:
        fill(engine)

    def get(address):
        command = [sys.executable, "-m", "datasette", str(path), "--metadata", str(METADATA), "--get", address]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    return get


def test_every_table_and_query_of_the_metadata_is_there(ask):
    database = ask("/blocks.json")
    tables = {entry["name"]: entry["hidden"] for entry in database["tables"]} | dict.fromkeys(
        named(database["views"]), False
    )
    assert {name: entry.get("hidden", False) for name, entry in BLOCKS["tables"].items()}.items() <= tables.items()
    assert {entry["name"] for entry in database["queries"]} == set(BLOCKS["queries"])


def named(views):
    return [view["name"] if isinstance(view, dict) else view for view in views]


def test_the_view_of_blocks_is_shown_with_its_facets(ask):
    rows = ask("/blocks/informative_block.json?_shape=array&_size=3&language=en")
    assert isinstance(rows, list)
    facets = ask("/blocks/informative_block.json?_size=1")["facet_results"]
    assert set(facets.get("results", facets)) == {"site", "language", "kind"}


def test_a_query_of_the_metadata_finds_a_text(ask):
    url = quote("https://lake.example.org/1", safe="")
    rows = ask(f"/blocks/text_of_a_page.json?_shape=array&url={url}")
    assert any("The harbour office asks all guests" in row["text"] for row in rows)
