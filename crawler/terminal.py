"""How commands print: results on stdout, errors as one sentence on stderr, and no control characters on either."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from dataclasses import asdict, is_dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from scrapy.exceptions import UsageError

from crawler.errors import CrawlerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

# Control characters could move the cursor or restyle the terminal; other marks reverse the reading direction.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PIPED_WIDTH = 160
_EXIT_INTERRUPTED = 130
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


def printable(text: object) -> str:
    """Return the text with U+FFFD for each character that would control the terminal."""
    return _UNPRINTABLE.sub("\ufffd", str(text))


def isolate_direction(text: object) -> str:
    """Return a printable text whose reading direction does not affect the rest of the line."""
    printable_text = printable(text)
    return (
        f"\u2068{printable_text}\u2069"
        if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in printable_text)
        else printable_text
    )


def make_console() -> Console:
    """Return a console on stdout; when stdout is not a terminal, it is wide so that lines are not wrapped."""
    _escape_unencodable()
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)


def _escape_unencodable() -> None:
    """Let stdout print an escape for a character that its encoding lacks; it would raise an error."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def make_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table of plain text: numbers are right-aligned, and a rich Text keeps its style."""
    table = Table(title=Text(title), title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(Text(column))
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    return table


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    *before, last = noun.split(" ")
    return f"{number:,} {noun if number == 1 else ' '.join([*before, _plural(last)])}"


def format_time(moment: datetime | None) -> str | None:
    """Return a time of the database, to the second; it is in UTC, which the text says."""
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def format_counters(counts: dict[str, int]) -> str:
    """Return counters as one line; "-" for no counters."""
    return ", ".join(f"{name} {number:,}" for name, number in counts.items()) or "-"


def print_line(sentence: str) -> None:
    """Print a line on stdout."""
    _escape_unencodable()
    sys.stdout.write(f"{printable(sentence)}\n")


def print_error(sentence: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(f"{printable(sentence)}\n")


def print_progress(line: str) -> None:
    """Show progress on stderr: on a terminal in place (an empty line clears it), elsewhere as a line of its own."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{printable(line)}")
    elif line:
        sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()


def print_json(value: Any) -> None:
    """Print a value as ASCII JSON; dataclasses become objects and times their text."""
    sys.stdout.write(json.dumps(value, default=_json_value, indent=2) + "\n")


def fields_of(value: object, names: str) -> dict[str, Any]:
    """Return the fields of a value with these names, which spaces separate, in their order."""
    return {name: getattr(value, name) for name in names.split()}


def run_command(action: Callable[[], None]) -> int:
    """Run an action and return the exit code; a CrawlerError becomes one sentence on stderr and exit code 1."""
    try:
        action()
    except CrawlerError as error:
        print_error(str(error))
        return 1
    return 0


def run_printing_command(action: Callable[[], None], on_interrupt: str = "interrupted") -> int:
    """Run a command that prints a lot, as `run_command` does; the exit code after Ctrl-C is 130.

    `on_interrupt` is the sentence that is printed then. A reader that stops early (`| head`) is not a failure. An
    output that cannot be written becomes one sentence.
    """
    try:
        code = run_command(action)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich turns the former into the latter
        _discard_output()
        return 0
    except KeyboardInterrupt:
        print_error(on_interrupt)
        return _EXIT_INTERRUPTED
    except OSError as error:
        if error.filename is not None:
            raise  # an error of a file, not of stdout
        _discard_output()
        print_error(f"the output cannot be written: {error.strerror or error}")
        return 1
    return code


def _discard_output() -> None:
    # The interpreter flushes stdout once more at exit; the rest is discarded.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def expect_no_arguments(arguments: Sequence[str]) -> None:
    """Raise UsageError if a command that takes only options is given arguments."""
    if arguments:
        raise UsageError(f"unexpected argument: {' '.join(arguments)}", print_help=False)


def expect_one_argument(arguments: Sequence[str], usage: str) -> None:
    """Raise UsageError with the message `usage` unless there is exactly one argument, which may be `-`."""
    unknown = [argument for argument in arguments if argument.startswith("-") and argument != "-"]
    if unknown:
        raise UsageError(f"unknown option: {unknown[0]}", print_help=False)
    if len(arguments) != 1 or not arguments[0]:
        raise UsageError(usage, print_help=False)


def confirm(question: str) -> bool:
    """Ask on the terminal and return True if the answer was yes; without a terminal the answer is no."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, int):
        return Text(f"{value:,}", justify="right")
    return Text("-" if value is None else printable(value))


def _json_value(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
