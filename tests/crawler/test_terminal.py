"""Printed text never controls the terminal, and markup in it is not interpreted."""

import io
import sys

import pytest
from rich.console import Console
from scrapy.exceptions import UsageError

from crawler.errors import StoreError
from crawler.terminal import (
    confirm,
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
