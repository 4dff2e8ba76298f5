"""The comparison page of a folder: all figures, and a list of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawler.compare.markup import colour, document, inert, name, percent, short
from crawler.terminal import format_counters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawler.compare.figures import Figures, MethodFigures
    from crawler.compare.plan import Plan
    from crawler.compare.targets import Target

_HEAD = ("", "method", "pages", "blocks", "kept", "words kept", "of all", "median ms", "mean ms", "failed")


def index_html(target: Target, plan: Plan, figures: Figures, rows: Iterable[str]) -> Iterator[str]:
    """Yield the page piece by piece; `rows` are those of `row`, one a page."""
    methods = list(figures.methods.items())
    yield document(
        f"{target.name} · methods compared", [f".c{n}{{background:{colour(n).full}}}" for n in _places(figures)]
    )
    yield '<main class="index">\n<header>'
    yield f'<p class="title">{name(target.name)}</p>\n<p class="facts">{_facts(figures)}</p></header>\n'
    for each, why in plan.left_out.items():
        yield f'<p class="failed"><b>{inert(each)}</b> left out: {inert(why)}</p>\n'
    yield f'<div class="wide"><table class="figures"><tr>{"".join(f"<th>{inert(head)}</th>" for head in _HEAD)}</tr>\n'
    yield from (_method(place, each, one) for place, (each, one) in enumerate(methods))
    yield "</table></div>\n"
    yield from _agreement(figures)
    yield '<h2>Pages</h2>\n<p class="note">Agreement: the mean over each two methods.</p>\n'
    yield '<div class="wide"><table class="pages"><tr><th></th><th>page</th><th>words</th><th>agreement</th></tr>\n'
    yield from rows
    yield "</table></div>\n</main>\n</body>\n</html>\n"


def row(number: int, source: str, *, file: str, words: int, agreement: float | None) -> str:
    """Return the row of a compared page."""
    return (
        f'<tr><td>{number:,}</td><td class="page"><a href="{inert(file)}">{name(source)}</a></td><td>{words:,}</td>'
        f"<td>{short(agreement)}</td></tr>\n"
    )


def failed_row(number: int, source: str, why: str) -> str:
    """Return the row of a page that could not be compared."""
    return f'<tr><td>{number:,}</td><td class="page">{name(source)}</td><td colspan="2">{inert(why)}</td></tr>\n'


def _facts(figures: Figures) -> str:
    facts = f"{figures.compared:,} of {figures.pages:,} pages · {figures.blocks:,} blocks · {figures.words:,} words"
    return f"{facts} · not compared: {format_counters(dict(figures.failures))}" if figures.failures else facts


def _places(figures: Figures) -> range:
    return range(len(figures.methods))


def _method(place: int, each: str, one: MethodFigures) -> str:
    times = ["–" if ms is None else f"{ms:,.1f}" for ms in (one.median_ms, one.mean_ms)]
    cells = [f"{one.pages:,}", f"{one.blocks:,}", f"{one.kept:,}", f"{one.words:,}", percent(one.share), *times]
    return (
        f'<tr><td><i class="swatch c{place}"></i></td><th scope="row">{place + 1} {inert(each)}</th>'
        f"{''.join(f'<td>{cell}</td>' for cell in cells)}<td>{inert(format_counters(dict(one.failures)))}</td></tr>\n"
    )


def _agreement(figures: Figures) -> Iterator[str]:
    names = list(figures.methods)
    yield '<h2>Agreement</h2>\n<p class="note">F1 of the words that two methods keep, mean of the pages.</p>\n'
    yield '<div class="wide"><table class="matrix"><tr><th></th>'
    yield "".join(f"<th>{place + 1}</th>" for place in _places(figures)) + "</tr>\n"
    for place, one in enumerate(names):
        cells = ["·" if one == other else short(figures.agreement(one, other)) for other in names]
        yield f'<tr><th scope="row">{place + 1} {inert(one)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'
    yield "</table></div>\n"
