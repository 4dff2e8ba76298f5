"""`python -m cleaning` as the shell sees it."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import processes
import pytest

from cleaning import clean

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "cleaning"]
# A process that is started, not forked: Python reads such options and PYTHONIOENCODING at its start.
STARTED = [sys.executable, "-W", "error", "-m", "cleaning"]
PROSE = "The town library opens again on Monday after two years of repairs, and its reading room has kept its tables. "
PAGE = (
    "<html lang=en><head><title>Library</title></head><body><nav><a href=/>[bold]Home[/bold]</a></nav>"
    f"<article><h1>Library opens</h1><p>Müller 图书馆 {PROSE * 3}</p><p>{PROSE * 2}</p></article></body></html>"
).encode()


def run(*arguments, stdin=b"", command=COMMAND, **environment):
    return processes.run(
        [*command, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "100"} | environment,
        input=stdin,
        capture_output=True,
        check=False,
    )


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(PAGE)
    return path


def test_text_is_the_kept_texts(page):
    finished = run(page, command=STARTED)
    assert finished.returncode == 0
    assert finished.stdout.decode() == clean(PAGE).text + "\n"
    assert finished.stderr == b""


def test_page_comes_from_standard_input():
    assert run("-", stdin=PAGE).stdout == run("-", "--format", "text", stdin=gzip.compress(PAGE)).stdout != b""


def test_packed_file_is_unpacked(tmp_path):
    path = tmp_path / "page.html.gz"
    path.write_bytes(gzip.compress(PAGE))
    assert run(path).stdout.decode() == clean(PAGE).text + "\n"


def test_json_holds_everything(page):
    printed = json.loads(run(page, "--format", "json", "--url", "https://example.org/news/7").stdout)
    expected = clean(PAGE, "https://example.org/news/7")
    assert printed["metadata"]["title"] == "Library opens"
    assert (printed["url"], printed["method"], printed["encoding"], printed["parse_warnings"]) == (
        "https://example.org/news/7",
        "default",
        "utf-8",
        [],
    )
    assert printed["counts"] == expected.counts()
    assert len(printed["decisions"]) == len(expected.decisions)
    for record, decision in zip(printed["decisions"], expected.decisions, strict=True):
        assert record == {
            "kept": decision.kept,
            "reason": decision.reason,
            "score": decision.score,
            "position": decision.block.position,
            "path": decision.block.path,
            "kind": decision.block.kind,
            "text": decision.block.text,
            "words": decision.block.words,
            "link_words": decision.block.link_words,
            "priority": decision.block.priority,
        }


def test_markdown_and_html_have_the_structure(page):
    linked = page.with_name("linked.html")
    linked.write_bytes(PAGE.replace(b"reading room", b'<a href="/room">reading room</a> <img src="/1.png" alt="R">'))
    cleaned = clean(linked.read_bytes(), "https://a.example/1")
    for arguments, expected in (
        (["markdown"], cleaned.markdown),
        (["layout"], cleaned.to_text(style="layout") + "\n"),
        (["markdown", "--links", "references", "--images"], cleaned.to_markdown(links="references", images=True)),
        (["html"], cleaned.html),
        (["html", "--links", "none"], cleaned.to_html(links=False)),
    ):
        printed = run(linked, "--url", "https://a.example/1", "--format", *arguments)
        assert printed.stdout.decode() == expected != "", printed.stderr


def test_table_shows_every_block_and_reads_no_markup(page):
    printed = run(page, "--format", "blocks").stdout.decode()
    assert "[bold]Home[/bold]" in printed
    assert "图书馆" in printed
    assert str(len(clean(PAGE).decisions) - 1) in printed


def test_encoding_option_is_the_declared_encoding():
    body = "<p>Ђорђе</p>".encode("cp1251")
    printed = json.loads(run("-", "--encoding", "windows-1251", "--format", "json", stdin=body).stdout)
    assert printed["encoding"] == "cp1251"
    assert printed["decisions"][0]["text"] == "Ђорђе"


def test_empty_page_prints_nothing():
    finished = run("-")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, b"", b"")


def test_option_reaches_the_cleaning():
    printed = json.loads(run("-", "--option", "max_blocks=100", "--format", "json", stdin=b"<p>x" * 101).stdout)
    assert printed["counts"]["truncated"] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--method", "defalt"], "did you mean 'default'?"),
        (["--option", "max_block=1000"], "did you mean 'max_blocks'?"),
        (["--option", "max_blocks=1"], "it takes a whole number from 100 to"),
        (["--option", "max_blocks=many"], "'max_blocks' is 'many'; it takes a whole number from 100"),
        (["--option", "max_blocks"], "not NAME=VALUE"),
        (["--format", "html", "--links", "references"], "it takes 'inline' or 'none'"),
        (["--format", "xml"], "invalid choice: 'xml'"),
        (["--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["--metod", "default"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_gives_one_line_and_code_2(page, arguments, says):
    finished = run(page, *arguments)
    assert (finished.returncode, finished.stdout) == (2, b"")
    assert says in finished.stderr.decode()
    assert finished.stderr.count(b"\n") == 1


def test_missing_file_argument_is_wrong_usage():
    assert run().returncode == 2


def broken_files(folder):
    (folder / "binary.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500))
    (folder / "large.html").write_bytes(b"<p>x" * 3_000_000)
    (folder / "bomb.html.gz").write_bytes(gzip.compress(bytes(100_000_000)))
    (folder / "cut.html.gz").write_bytes(gzip.compress(PAGE)[:-30])
    (folder / "bad.html.gz").write_bytes(b"\x1f\x8b" + bytes(50))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent.html", "No such file"),
        (".", "Is a directory"),
        ("binary.html", "not a text format"),
        ("large.html", "max_bytes=10000000"),
        ("bomb.html.gz", "max_bytes=10000000"),
        ("cut.html.gz", "cannot read"),
        ("bad.html.gz", "cannot read"),
    ],
)
def test_unreadable_file_gives_one_line_and_code_1(tmp_path, name, says):
    broken_files(tmp_path)
    finished = run(tmp_path / name)
    assert (finished.returncode, finished.stdout) == (1, b"")
    assert says in finished.stderr.decode()
    assert finished.stderr.count(b"\n") == 1


@pytest.mark.parametrize("shape", ["text", "json", "blocks"])
def test_reader_may_leave_early(tmp_path, shape):
    path = tmp_path / "long.html"
    path.write_bytes(b"<p>" + f"{PROSE}</p><p>".encode() * 1_000)
    with processes.start(
        [*STARTED, path, "--format", shape], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stdout.read(10)
        running.stdout.close()
        errors = running.stderr.read()
    assert (running.returncode, errors) == (0, b"")


@pytest.mark.parametrize("shape", ["text", "json", "blocks"])
def test_terminal_without_unicode_gets_escapes(page, shape):
    finished = run(page, "--format", shape, command=STARTED, PYTHONIOENCODING="ascii")
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert b"\\u56fe" in finished.stdout


def test_json_for_a_terminal_without_unicode_is_still_json(page):
    printed = json.loads(run(page, "--format", "json", command=STARTED, PYTHONIOENCODING="latin-1").stdout)
    assert any("Müller 图书馆" in decision["text"] for decision in printed["decisions"])


@pytest.mark.parametrize("shape", ["text", "json", "blocks"])
def test_lone_surrogates_and_escape_codes_do_not_reach_the_terminal(shape):
    body = f"<p>\ud800\x1b[2J{PROSE * 3}</p>".encode("utf-8", "surrogatepass")
    finished = run(
        "-", "--url", b"https://example.org/\xff".decode("utf-8", "surrogateescape"), "--format", shape, stdin=body
    )
    assert finished.returncode == 0
    assert b"\x1b" not in finished.stdout


def test_help_names_every_choice():
    printed = run("--help").stdout.decode()
    for word in ("--url", "--method", "--encoding", "--format", "max_bytes=10000000", "max_blocks", "exit code"):
        assert word in printed
