"""`scrapy search`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.cmdline import execute

from crawler.commands import search as command
from crawler.reading.search import Excerpt, FoundPage, Hit
from crawler.terminal import make_console

HOSTILE = "[/b]\x1b[2J"


def a_page(text, *hits, title="A title"):
    hit = Hit(7, 0.225, "paragraph", 1_234, text, Excerpt(text, hits))
    return FoundPage(1, "https://a.example/1", title, "a.example", "News", "en", None, (hit,))


def printed(capsys, *pages):
    command._print(make_console(), pages, "priority")
    return capsys.readouterr().out


def test_pages_are_shown_with_their_blocks(scrapy, database):
    searched = scrapy("search", "text -nothing", "--site", "a.example", "--since", "2024-05-01")
    assert searched.returncode == 0, searched.stderr
    for part in ("priority", "https://a.example/1", "0.2000", "a [text] of a.example"):
        assert part in searched.stdout
    assert "b.example" not in searched.stdout


def test_json_on_a_server(scrapy, on_server):
    searched = scrapy("search", "a.example", "--rank", "bm25", "--format", "json", "-s", f"DATABASE_URL={on_server}")
    (page,) = json.loads(searched.stdout)
    (hit,) = page["hits"]
    assert (page["url"], hit["text"], hit["pages"]) == ("https://a.example/1", "a text of a.example", 1)
    assert hit["excerpt"] == {"text": "a text of a.example", "hits": [[10, 19]]}


def test_blocks_like_one_are_found_without_a_query(scrapy, database):
    liked = scrapy("search", "--like", "1", "--format", "json")
    assert (liked.returncode, liked.stderr) == (0, "")
    assert [hit["block_id"] for page in json.loads(liked.stdout) for hit in page["hits"] if hit["block_id"] == 1] == []
    unknown = scrapy("search", "text", "--like", "99")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "there is no block 99" in unknown.stderr


def test_nothing_found_is_not_an_error(capsys):
    assert printed(capsys) == "Nothing found\n"


def test_no_control_characters_reach_the_terminal(capsys):
    out = printed(capsys, a_page(f"{HOSTILE} and \u202emore", (0, 4), title=HOSTILE))
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[[/b]]\ufffd[2J and \ufffdmore" in out


def test_a_right_to_left_text_is_isolated(capsys):
    out = printed(capsys, a_page("جسر قديم", (0, 3), title="جسر"))
    assert "\u2068[جسر] قديم\u2069" in out
    assert "\u2068جسر\u2069" in out


def test_wide_characters_keep_the_table_aligned(capsys):
    out = printed(capsys, a_page("计算机科学" * 30, (0, 3)))
    assert "[计算机]科学" in out
    assert all(line.endswith(("│", "┓", "┩", "┤", "┘", "┃")) for line in out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (['one "two'], 1, "without its partner"),
        (["site:a.example"], 1, "use the option --site"),
    ],
)
def test_a_malformed_query_is_one_sentence_on_stderr(scrapy, database, arguments, code, message):
    failed = scrapy("search", *arguments)
    assert (failed.returncode, failed.stdout) == (code, "")
    assert message in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no query; a query is one argument"),
        (["one", "two"], "2 arguments; a query is one argument"),
        (["one", "--colour"], "unknown option: --colour"),
        (["one", "--rank", "date"], "invalid choice: 'date'"),
        (["--like", "1", "--rank", "density"], "--rank is 'density', but blocks like others are ranked by bm25"),
        (["one", "--limit", "0"], "--limit is 0; it takes a number from 1 to 1,000"),
        (["one", "--since", "May"], "--since is 'May': it takes a date like 2024-05-31"),
    ],
)
def test_wrong_usage_is_named(arguments, message, capsys, monkeypatch):
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "crawler.settings")
    monkeypatch.setattr(sys, "argv", ["scrapy", "search", *arguments])
    with pytest.raises(SystemExit) as ended:
        execute(["scrapy", "search", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_database_without_tables_must_be_initialised(scrapy, database):
    database.write_bytes(b"")
    failed = scrapy("search", "text")
    assert failed.returncode == 1
    assert "is empty; `scrapy initdb` creates its tables" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


@pytest.mark.parametrize(("target", "code"), [("/dev/full", 1), (None, 0)])
def test_a_full_disk_is_an_error_and_a_closed_pipe_is_not(environment, tmp_path, database, target, code):
    line = [sys.executable, "-m", "scrapy", "search", "text", "--format", "json"]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") if target is None else Path(target).open("wb") as out:
        ended = subprocess.run(line, cwd=tmp_path, env=environment, stdout=out, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == code
    assert b"Traceback" not in ended.stderr
    assert (b"cannot be written" in ended.stderr) == bool(code)


def test_an_unknown_site_is_a_sentence(scrapy, database):
    failed = scrapy("search", "text", "--site", "a.exampel")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("no page of the site a.exampel is in the database; ")
    assert scrapy("search", "nowhere", "--site", "a.example").returncode == 0


def test_a_question_in_words_is_told_the_nearest_query(scrapy, database):
    done = scrapy("search", "what is the text of the zeppelin")
    assert done.stdout == "Nothing found: all words must occur in one text; the nearest query is text (2 pages)\n"
    assert done.returncode == 0


def test_what_no_column_holds_is_a_sentence(scrapy, database):
    """A number of more than 64 bits, and bytes of the shell that are no text."""
    for arguments in (["--like", "9" * 30], [os.fsdecode(b"caf\xe9")], ["boat", "--section", os.fsdecode(b"\xff")]):
        done = scrapy("search", *arguments)
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or "no database holds" in done.stderr
