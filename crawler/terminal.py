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

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text
from scrapy.exceptions import UsageError

from crawler.errors import CrawlerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from rich.console import ConsoleOptions, RenderResult

# Control characters could move the cursor or restyle the terminal; other marks reverse the reading direction.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PIPED_WIDTH = 160
_WRAPPED_CELLS = 24
"""Texts of a table are wrapped to columns of this width before it becomes a list of records."""
_BOX_OF_SPACES = box.SIMPLE_HEAD
_MISSING = "-"
_LONGEST_WORD = 30
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


def cut_text(text: str, cells: int) -> str:
    """Return a printable line of at most so many cells; it is cut between words if there are any near its end."""
    line = printable(" ".join(text.split()))
    if cell_len(line) <= cells:
        return line
    head = set_cell_size(line, cells - 1).rstrip()
    before, _, rest = head.rpartition(" ")
    is_word_cut = not line[len(head)].isspace()
    return f"{(before if is_word_cut and before and len(rest) <= _LONGEST_WORD else head).rstrip(' .,;:')}…"


def make_console() -> Console:
    """Return a console on stdout; when stdout is not a terminal, it is wide so that lines are not wrapped."""
    _escape_unencodable()
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)


def _escape_unencodable() -> None:
    """Let stdout print an escape for a character that its encoding lacks; it would raise an error."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def make_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> _FittedTable:
    """Return a table of plain text: numbers are right-aligned, and a rich Text keeps its style.

    Where its columns do not fit, it becomes a list of records.
    """
    return _FittedTable(title, columns, rows)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    *before, last = noun.split(" ")
    return f"{number:,} {noun if number == 1 else ' '.join([*before, _plural(last)])}"


def format_time(moment: datetime | None) -> str | None:
    """Return a time of the database, to the second; it is in UTC, which the text says."""
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def format_counters(counts: dict[str, int]) -> str:
    """Return counters as one line; "-" for no counters."""
    return ", ".join(f"{name} {number:,}" for name, number in counts.items()) or _MISSING


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


class _FittedTable:
    """A table that loses nothing on a narrow terminal.

    It has lines between its columns if they fit, a space if that fits, and otherwise becomes a list of records.
    """

    def __init__(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self._title = title
        self._columns = columns
        self._rows = [[_cell(value) for value in row] for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self._title, "bold")
        width = sum(min(cells, _WRAPPED_CELLS) for cells in map(self._cells_of, range(len(self._columns))))
        gaps = len(self._columns) - 1
        if width + 3 * gaps + 4 <= options.max_width:
            yield self._table(box.HEAVY_HEAD, gap=1)
        elif width + gaps <= options.max_width:
            yield self._table(_BOX_OF_SPACES, gap=0)
        else:
            yield from map(self._record, self._rows)

    def _cells_of(self, place: int) -> int:
        """Return the width of a column in cells of the terminal."""
        return max(cell_len(text) for text in (self._columns[place], *(row[place].plain for row in self._rows)))

    def _table(self, frame: box.Box, gap: int) -> Table:
        is_framed = gap > 0
        table = Table(box=frame)
        table.padding, table.show_edge, table.pad_edge = (0, gap, 0, gap), is_framed, is_framed
        for place, column in enumerate(self._columns):
            is_number = any(row[place].justify == "right" for row in self._rows)
            table.add_column(Text(column, justify="right" if is_number else "left"), overflow="fold")
        for row in self._rows:
            table.add_row(*row)
        return table

    def _record(self, row: Sequence[Text]) -> Table:
        """Return a row as lines of names and values, without the values that are missing."""
        record = Table.grid(padding=(0, 2, 0, 0))
        record.add_column(style="dim", no_wrap=True)
        record.add_column(overflow="fold")
        for name, cell in zip(self._columns, row, strict=True):
            if cell.plain != _MISSING:
                value = cell.copy()
                value.justify = "left"
                record.add_row(Text(name), value)
        record.add_row()
        return record


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def _cell(value: object) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, int):
        return Text(f"{value:,}", justify="right")
    return Text(_MISSING if value is None else printable(value))


def _json_value(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
