"""Printed text never controls the terminal, and markup in it is not interpreted."""

import io
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console
from scrapy.exceptions import UsageError

from crawler.errors import StoreError
from crawler.terminal import (
    confirm,
    cut_text,
    expect_no_arguments,
    make_console,
    make_table,
    print_line,
    printable,
    run_command,
)


def test_control_characters_and_direction_marks_are_replaced():
    assert printable("a\x1b[31mb\x07\x9bc\u202ed\ud800") == "a\ufffd[31mb\ufffd\ufffdc\ufffdd\ufffd"


def test_markup_in_a_table_is_text():
    out = io.StringIO()
    Console(file=out, width=80).print(make_table("[/b]", ["[red]site"], [["[/b]\x1b[2J"], [1234567], [None]]))
    output = out.getvalue()
    assert "\x1b" not in output
    for part in ("[/b]", "[red]site", "1,234,567", "-"):
        assert part in output


WIDE_ROWS = [[n, f"method {n}", *[".93"] * 8, f"https://a.example/{'long-' * 9}{n}"] for n in range(2)]
WIDE_COLUMNS = ("", "method", *map(str, range(8)), "page")


@pytest.mark.parametrize(("width", "first"), [(120, "┏━"), (70, "  method"), (50, "method  method 0")])
def test_a_table_loses_nothing_on_a_narrow_terminal(width, first):
    out = io.StringIO()
    Console(file=out, width=width).print(make_table("Figures", WIDE_COLUMNS, WIDE_ROWS))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines[0] == "Figures"
    assert any(line.startswith(first) for line in lines[1:3])
    assert max(map(len, lines)) <= width
    assert sum(line.count(".93") for line in lines) == 16
    assert "…" not in out.getvalue()
    assert sum(line.count("long-") for line in lines) >= 10


def test_a_record_leaves_out_what_is_missing():
    out = io.StringIO()
    Console(file=out, width=20).print(make_table("Pages", ("page", "when"), [["x" * 30, None]]))
    assert "when" not in out.getvalue()
    assert out.getvalue().count("x") == 30


@pytest.mark.parametrize(
    ("text", "cells", "cut"),
    [
        ("the river\n rose", 14, "the river rose"),
        ("the river rose", 13, "the river…"),
        ("the river rose", 10, "the river…"),
        ("the river rose", 9, "the…"),
        ("the", 2, "t…"),
        ("\u5317\u4eac" * 4, 8, "\u5317\u4eac\u5317…"),
        (f"see {'x' * 60}", 50, f"see {'x' * 45}…"),
        ("", 5, ""),
        ("a\x1b[2J\tb", 9, "a\ufffd[2J b"),
    ],
)
def test_a_text_is_cut_between_words(text, cells, cut):
    assert cut_text(text, cells) == cut
    assert cell_len(cut_text(text, cells)) <= cells


def test_what_the_encoding_of_stdout_lacks_is_escaped(monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    print_line("caf\xe9 · 北京")
    make_console().print("…")
    sys.stdout.flush()
    assert written.getvalue().split() == [b"caf\xe9", b"\xb7", rb"\u5317\u4eac", rb"\u2026"]


def test_an_expected_error_is_one_line_on_stderr(capsys):
    def fail():
        raise StoreError("the database\nis full\x1b[2J")

    assert run_command(fail) == 1
    assert capsys.readouterr().err == "the database\ufffdis full\ufffd[2J\n"


def test_an_unexpected_error_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run_command(lambda: 1 / 0)


def test_unexpected_arguments_are_rejected():
    with pytest.raises(UsageError, match="unexpected argument: one two"):
        expect_no_arguments(["one", "two"])


def test_without_a_terminal_the_answer_is_no():
    assert confirm("Go on?") is False
