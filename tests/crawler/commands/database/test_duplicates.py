"""`scrapy duplicates`."""

import csv
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress

import processes
import pytest
from sqlalchemy import insert, update

from crawler.storage.database import opened_engine
from crawler.storage.tables import block, near_duplicate_page, page, sighting

HOSTILE = "[/b]\x1b[2J a text of nobody"


@pytest.fixture
def repeated(database):
    """The second page is a near-duplicate of the first: its block is a sighting there, with another text."""
    with opened_engine(f"sqlite:///{database}") as engine, engine.begin() as connection:
        row = dict(connection.execute(block.select().where(block.c.id == 2)).mappings().one())
        connection.execute(block.delete().where(block.c.id == 2))
        content = {name: value for name, value in row.items() if name in sighting.c and name not in {"id", "text"}}
        connection.execute(insert(sighting), content | {"block_id": 1, "distance": 3, "text": HOSTILE})
        values = {"page_id": 2, "original_id": 1, "distance": 2, "first_seen": row["first_seen"]}
        connection.execute(insert(near_duplicate_page), values)
    return database


def test_the_largest_families_are_listed(scrapy, repeated):
    listed = scrapy("duplicates")
    assert (listed.returncode, listed.stderr) == (0, "")
    for part in ("Most repeated blocks", "a text of a.example", "Most repeated pages", "https://a.example/1"):
        assert part in listed.stdout


def test_the_beginning_of_a_long_text_ends_at_a_word(scrapy, repeated):
    with opened_engine(f"sqlite:///{repeated}") as engine, engine.begin() as connection:
        connection.execute(update(block).where(block.c.id == 1).values(text="The river rose in the night. " * 9))
    lines = scrapy("duplicates").stdout.splitlines()
    (row,) = [line for line in lines if "The river" in line]
    assert "The river rose in the night. The river rose in the night…" in row


def test_a_block_is_shown_with_the_words_that_differ_and_no_control_characters(scrapy, repeated):
    listed = scrapy("duplicates", "--block", "1")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout == (
        "block 1, repeated 1 time  https://a.example/1  a.example\n"
        "a text of a.example\n"
        "3 bits  https://b.example/1  b.example\n"
        "{+[/b]\ufffd[2J+} a text of [-a.example-] {+nobody+} \n"
    )


def test_a_page_is_shown_with_the_blocks_that_differ(scrapy, repeated):
    lines = scrapy("duplicates", "--page", "https://b.example/1").stdout.splitlines()
    assert lines[:2] == [
        "page with 1 near-duplicate  https://a.example/1  a.example",
        "2 bits  https://b.example/1  b.example",
    ]
    assert "[-a.example-] {+nobody+}" in lines[2]


def test_on_a_terminal_the_words_have_colours(tmp_path, environment, repeated):
    ours, theirs = pty.openpty()
    with processes.start(
        [sys.executable, "-m", "scrapy", "duplicates", "--block", "1"],
        cwd=tmp_path,
        env=environment | {"TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
    ) as process:
        os.close(theirs)
        output = b""
        with suppress(OSError):  # how Linux says that the other end is closed
            while part := os.read(ours, 4096):
                output += part
    os.close(ours)
    assert process.returncode == 0
    assert b"\x1b[32m" in output
    assert b"\x1b[2J" not in output


def test_json_contains_whole_families(scrapy, repeated):
    family = json.loads(scrapy("duplicates", "--block", "1", "--json").stdout)
    assert [sighting["text"] for sighting in family["sightings"]] == [HOSTILE]
    pages = json.loads(scrapy("duplicates", "--page", "https://a.example/1", "--json").stdout)
    assert [(member["url"], member["added"]) for member in pages["members"]] == [("https://b.example/1", [HOSTILE])]
    assert {name: len(rows) for name, rows in json.loads(scrapy("duplicates", "--json").stdout).items()} == {
        "blocks": 1,
        "pages": 1,
    }


def test_a_database_without_duplicates(scrapy, database):
    assert scrapy("duplicates").stdout == "No repeated blocks\nNo repeated pages\n"


def test_a_database_on_a_server(scrapy, on_server):
    listed = scrapy("duplicates", "--block", "1", "-s", f"DATABASE_URL={on_server}")
    assert "a text of a.example" in listed.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--block", "99"], 1, "there is no block 99"),
        (["--block", str(2**63 - 1)], 1, f"there is no block {2**63 - 1}"),
        (["--block", "9" * 20], 1, f"there is no block {'9' * 20}; `scrapy duplicates` lists the largest groups"),
        (["--block", "-" + "9" * 20], 1, f"there is no block -{'9' * 20}"),
        (["--page", "https://c.example/"], 1, "there is no page https://c.example/"),
        (["--page", "https://c.example/", "--block", "1"], 2, "--block, --page or --between, one of them"),
    ],
)
def test_unknown_ids_and_urls_are_an_error(scrapy, database, arguments, code, message):
    failed = scrapy("duplicates", *arguments)
    assert (failed.returncode, failed.stdout.count("Traceback")) == (code, 0)
    assert message in failed.stderr + failed.stdout


def test_the_pages_that_two_sites_repeat_are_printed_as_csv(scrapy, repeated):
    with opened_engine(f"sqlite:///{repeated}") as engine, engine.begin() as connection:
        connection.execute(block.update().where(block.c.id == 1).values(words=7))
        connection.execute(page.update().where(page.c.id == 2).values(title="=1+1"))
    listed = scrapy("duplicates", "--between", "b.example", "https://a.example/1")
    assert (listed.returncode, listed.stderr) == (0, "")
    (row,) = csv.DictReader(listed.stdout.splitlines())
    assert (row["original_url"], row["copy_url"]) == ("https://a.example/1", "https://b.example/1")
    assert (row["texts"], row["article"], row["distance"], row["copy_title"]) == ("1", "False", "2", "'=1+1")
    assert [json.loads(scrapy("duplicates", "--between", "a.example", "b.example", "--json").stdout)[0]["texts"]] == [1]


def test_between_needs_sites_that_are_stored(scrapy, repeated):
    refused = scrapy("duplicates", "--between", "a.example", "b.exmaple")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "b.exmaple" in refused.stderr
    assert scrapy("duplicates", "--between", "a.example", "b.example", "--block", "1").returncode == 2
