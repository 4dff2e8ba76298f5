"""A page's past on the terminal: figures, requests, and what changed at each moment."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from rich.text import Text as Shown

from crawler.terminal import console, printable, table
from crawler.wording import Change

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from crawler.history.moments import Edit, Moment, Text
    from crawler.history.read import Known, Past

_STYLES = {Change.SAME: "", Change.REMOVED: "red strike", Change.ADDED: "green"}
# What a terminal without colours shows, and a file.
_MARKS = {Change.SAME: ("", ""), Change.REMOVED: ("[-", "-]"), Change.ADDED: ("{+", "+}")}
_LONGEST_SAME = 60  # characters kept of an unchanged stretch, at each of its ends


def show(past: Past, most_moments: int) -> None:
    """Print what is known, of the moments the last ones."""
    out = console()
    _line(out, past.asked if past.page is None else past.page.url, "bold")
    if past.page is None:
        _line(out, "no page is stored at this address")
    else:
        for line in _facts(past, past.page):
            _line(out, line)
    if past.requests:
        rows = [(one.crawl, one.spider, _at(one.ended), one.outcome, one.error, one.url) for one in past.requests]
        out.print(table("Requests that are still known", ("crawl", "spider", "ended", "outcome", "error", "url"), rows))
    left_out = len(past.moments) - most_moments
    if left_out > 0:
        _line(out, f"{left_out:,} earlier moments are left out; --limit shows more, --format json all", "dim")
    for moment in past.moments[-most_moments:]:
        _show_moment(out, moment)


def _facts(past: Past, page: Known) -> list[str]:
    visits = "1 visit" if page.visits == 1 else f"{page.visits:,} visits"
    facts = [
        f"first seen {_at(page.first_seen)}, last seen {_at(page.last_seen)}, last changed {_at(page.last_changed)}",
        f"{visits}, {page.changes:,} with changes; {page.texts:,} texts now, by {page.method}",
    ]
    if page.key != page.url:
        facts.insert(0, f"known as {page.key}")
    if past.asked not in {page.url, page.key}:
        facts.insert(0, f"asked for as {past.asked}")
    if page.title:
        facts.insert(0, page.title)
    if page.mirrors:
        facts.append(f"nearly the same as {page.mirrors}")
    if page.retired:
        facts.append(f"gone from its site: retired {_at(page.retired)}")
    elif page.next_visit:
        facts.append(f"next visit {_at(page.next_visit)}")
    return facts


def _show_moment(out: Console, moment: Moment) -> None:
    counts = f"{len(moment.added):,} added, {len(moment.gone):,} gone, {len(moment.edited):,} edited"
    heading = f"{len(moment.added):,} texts at the first visit" if moment.first else counts
    out.print()
    _line(out, f"{_at(moment.at)}  {heading}", "bold")
    # What a page began with is no change; all of it is in JSON.
    lines = [(text.position, _text("+", text)) for text in (() if moment.first else moment.added)]
    lines += [(text.position, _text("-", text)) for text in moment.gone]
    lines += [(edit.new.position, _edit(out, edit)) for edit in moment.edited]
    for _, line in sorted(lines, key=itemgetter(0)):
        out.print(line, soft_wrap=True)


def _text(sign: str, text: Text) -> Shown:
    shown = Shown(f"  {sign} {_flat(text.text)}", "green" if sign == "+" else "red")
    return shown.append(f"  (also on {printable(text.of)})", "dim") if text.of else shown


def _edit(out: Console, edit: Edit) -> Shown:
    marks = not out.is_terminal or out.no_color
    shown = Shown().append("  ~ ", "yellow")
    for part in edit.parts:
        before, after = _MARKS[part.change] if marks else ("", "")
        text = _shortened(_flat(part.text)) if part.change is Change.SAME else _flat(part.text)
        shown.append(f"{before}{text}{after}", style=_STYLES[part.change]).append(" ")
    return shown


def _shortened(text: str) -> str:
    return text if len(text) <= 2 * _LONGEST_SAME + 5 else f"{text[:_LONGEST_SAME]} ... {text[-_LONGEST_SAME:]}"


def _flat(text: str) -> str:
    return printable(" ".join(text.split()))


def _at(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Shown(printable(text), style), soft_wrap=True)
