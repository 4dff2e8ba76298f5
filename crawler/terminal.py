"""What commands print: results on stdout, one sentence for an error on stderr, nothing hostile on either."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from scrapy.exceptions import UsageError

from crawler.errors import CrawlerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Controls, which could move the cursor or restyle the terminal, and marks that reverse the reading direction.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PIPED_WIDTH = 160
_EXIT_INTERRUPTED = 130
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


def printable(text: object) -> str:
    """Return the text without what a terminal would obey instead of show."""
    return _UNPRINTABLE.sub("\ufffd", str(text))


def isolate_direction(text: object) -> str:
    """Return the text as `printable` does, so that its reading direction ends with it: for a line with other texts."""
    shown = printable(text)
    return f"\u2068{shown}\u2069" if any(unicodedata.bidirectional(one) in _RIGHT_TO_LEFT for one in shown) else shown


def make_console() -> Console:
    """Return a console on stdout; wide where that is no terminal, so that lines stay whole."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)


def make_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table of plain text; numbers stand to the right, a Text as it is made."""
    made = Table(title=Text(title), title_justify="left", title_style="bold")
    for column in columns:
        made.add_column(Text(column))
    for row in rows:
        made.add_row(*(_cell(value) for value in row))
    return made


def format_counters(counts: dict[str, int]) -> str:
    """Return counters on one line, "-" for none."""
    return ", ".join(f"{name} {number:,}" for name, number in counts.items()) or "-"


def print_line(sentence: str) -> None:
    """Print a line on stdout."""
    sys.stdout.write(f"{printable(sentence)}\n")


def print_error(sentence: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(f"{printable(sentence)}\n")


def print_progress(line: str) -> None:
    """Show how far it is on stderr: in place on a terminal, where an empty line clears it, a line each elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{printable(line)}")
    elif line:
        sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()


def print_json(value: Any) -> None:
    """Print a value, dataclasses in it as objects and times in ISO form, as JSON that any terminal can show."""
    sys.stdout.write(json.dumps(value, default=_json_value, indent=2) + "\n")


def run_command(action: Callable[[], None]) -> int:
    """Run a command's work and return its exit code; an expected error becomes one sentence on stderr and 1."""
    try:
        action()
    except CrawlerError as error:
        print_error(str(error))
        return 1
    return 0


def run_printing_command(action: Callable[[], None]) -> int:
    """Run as `attempt` does what prints at length, and return its exit code, 130 after Ctrl-C.

    A reader that leaves early (`| head`) is no failure; an output that takes no more is one sentence.
    """
    try:
        code = run_command(action)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich makes the latter of the former
        _discard_output()
        return 0
    except KeyboardInterrupt:
        print_error("interrupted")
        return _EXIT_INTERRUPTED
    except OSError as error:
        if error.filename is not None:
            raise  # a file's, not the output's
        _discard_output()
        print_error(f"the output cannot be written: {error.strerror or error}")
        return 1
    return code


def _discard_output() -> None:
    # The interpreter flushes again at its end; what is left goes nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def expect_no_arguments(arguments: Sequence[str]) -> None:
    """Refuse arguments of a command that takes options only; raises UsageError."""
    if arguments:
        raise UsageError(f"unexpected argument: {' '.join(arguments)}", print_help=False)


def expect_one_argument(arguments: Sequence[str], wanted: str) -> None:
    """Refuse anything but one argument, which may be `-`; raises UsageError, which says what is wanted."""
    unknown = [argument for argument in arguments if argument.startswith("-") and argument != "-"]
    if unknown:
        raise UsageError(f"unknown option: {unknown[0]}", print_help=False)
    if len(arguments) != 1 or not arguments[0]:
        raise UsageError(wanted, print_help=False)


def confirm(question: str) -> bool:
    """Ask on the terminal and tell whether the answer was yes; without a terminal it is no."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, int):
        return Text(f"{value:,}", justify="right")
    return Text("-" if value is None else printable(value))


def _json_value(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
