"""An explanation on the terminal: a line a block, what else there is to say under it, and a legend with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from crawler.explain.meanings import MEANINGS
from crawler.explain.words import difference, notes, number, origin, verdict
from crawler.terminal import make_console, make_table, printable

if TYPE_CHECKING:
    from rich.console import Console

    from crawler.explain.explained import Explained, Row
    from crawler.explain.origin import Found

_REASON_WIDTH = 16
_NUMBER_WIDTH = 6
_KIND_WIDTH = 10
_FEWEST_TEXT_CELLS = 20
_LONGEST_SHOWN = 1_000  # characters of a text that may become a line


def show(found: Found, explained: Explained, most_rows: int) -> None:
    """Print the first blocks, and the counts of all, on stdout."""
    out = make_console()
    _line(out, found.name, "bold")
    _line(out, f"{explained.cleaned.method}; {origin(found, explained)}")
    _line(out, "; ".join(verdict(explained)))
    if (said := difference(explained)) is not None:
        _line(out, said)
    out.print()
    width = max(5, len(str(len(explained.rows))))
    _line(
        out, f"{'block':>{width}} {'decision':{_REASON_WIDTH}} {'score':>6} {'prior.':>6} {'kind':{_KIND_WIDTH}} text"
    )
    for row in explained.rows[:most_rows]:
        _show_row(out, row, width)
    rest = len(explained.rows) - most_rows
    if rest > 0:
        _line(out, f"and {rest:,} more blocks; --limit shows more, --json all")
    out.print()
    _show_counts(out, explained)


def _show_row(out: Console, row: Row, width: int) -> None:
    kept = row.decision.kept
    shown = Text(f"{row.block.position:>{width}} ", no_wrap=True)
    shown.append(f"{_mark(row):{_REASON_WIDTH}} ", "green" if kept else "red")
    shown.append(f"{number(row.decision.score):>{_NUMBER_WIDTH}} {number(row.block.priority):>{_NUMBER_WIDTH}} ")
    shown.append(f"{row.block.kind.replace('_', ' '):{_KIND_WIDTH}} ", "dim")
    room = max(_FEWEST_TEXT_CELLS, out.width - cell_len(shown.plain))
    shown.append_text(_cut(row.block.text, room, "" if kept else "dim"))
    out.print(shown, soft_wrap=True)
    for note in notes(row):
        _line(out, f"{'':{width}} {'':{_REASON_WIDTH}} {note}", "dim")


def _mark(row: Row) -> str:
    """Return the decision in letters: colours are not seen by all, nor in a file."""
    return f"{'+' if row.decision.kept else '-'} {row.decision.reason}"


def _cut(text: str, cells: int, style: str) -> Text:
    """Return the beginning of a text on one line; characters of two cells count as such."""
    shown = Text(printable(" ".join(text[:_LONGEST_SHOWN].split())), style)
    shown.truncate(cells, overflow="ellipsis")
    return shown


def _show_counts(out: Console, explained: Explained) -> None:
    words = explained.word_counts()
    rows: list[tuple[object, ...]] = [
        (_legend(reason.value), count, words[reason], MEANINGS[reason]) for reason, count in explained.counts().items()
    ]
    rows.append((Text("all", "bold"), len(explained.rows), explained.words, ""))
    out.print(make_table("Blocks by reason", ("decision", "blocks", "words", "meaning"), rows))


def _legend(reason: str) -> Text:
    kept = reason == "kept"
    return Text(f"{'+' if kept else '-'} {reason}", "green" if kept else "red")


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(printable(text), style), soft_wrap=True)
