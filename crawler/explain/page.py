"""An explanation as one HTML page: the original with kept and dropped blocks in colour. It runs and loads nothing.

No script: a checkbox hides what was dropped, and the style sheet shows a text's reason where the pointer is.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from cleaning.blocks import Reason
from crawler.compare.markup import address, colour, document, inert, name
from crawler.explain.meanings import MEANINGS
from crawler.explain.rebuild import Rebuilt, outside
from crawler.explain.words import difference, notes, number, origin, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cleaning.blocks import Decision
    from crawler.explain.explained import Explained, Row
    from crawler.explain.origin import Found

# Colours of dropped blocks; the greens are left to what is kept. Black is read on the light ones, white on the others.
_PLACES = (5, 0, 3, 1, 8, 6, 4, 11, 10, 13)
_LIGHT = frozenset({1, 3, 4, 10})
_UNKNOWN = "a page"
_LONGEST_PATH = 300


def page_html(explained: Explained, found: Found | None = None) -> Iterator[str]:
    """Yield the page piece by piece; `found` says where the page was read."""
    title = explained.cleaned.title or (found.name if found else explained.page.url) or _UNKNOWN
    dropped = [reason for reason in explained.counts() if reason is not Reason.KEPT]
    reasons: dict[Reason, int] = {reason: place for place, reason in enumerate(dropped, 1)}
    texts = _Texts(explained, reasons)
    rebuilt = Rebuilt(explained, texts.show)
    yield document(f"{title} · explained", [_style(), *_rules(reasons)])
    yield '<input type="checkbox" id="hide" aria-label="hide what was dropped">\n<div class="frame">\n<aside>\n'
    yield '<label class="hide" for="hide">Hide what was dropped</label>\n'
    yield from _legend(explained, reasons)
    yield "</aside>\n<main>\n"
    yield from _heading(explained, found, title)
    yield from _outside(explained, texts)
    yield '<div class="page">\n'
    yield from rebuilt.parts()
    yield "</div>\n"
    yield '<p class="note">The page is too long: what follows is not shown.</p>\n' if rebuilt.cut else ""
    yield "</main>\n</div>\n</body>\n</html>\n"


class _Texts:
    """Writes text nodes; the first one of a dropped block begins with its reason's number."""

    def __init__(self, explained: Explained, reasons: Mapping[Reason, int]) -> None:
        self._rows = {row.block.position: row for row in explained.rows}
        self._reasons = reasons
        self._begun: set[int] = set()

    def show(self, decision: Decision, text: str) -> str:
        """Return a text node in the colour of its decision, with the reason for the pointer; the text is inert."""
        key = decision.block.position
        first = "" if key in self._begun else " f"
        self._begun.add(key)
        look = "k" if decision.kept else f"d r{self._reasons[decision.reason]}"
        return f'<span class="t {look}{first}" data-why="{inert(_why(self._rows[key]))}">{text}</span>'


def _why(row: Row) -> str:
    block, decision = row.block, row.decision
    reason = "" if decision.kept else f": {_word(decision.reason)}, {MEANINGS[decision.reason]}"
    facts = [
        f"block {block.position}",
        f"score {number(decision.score)}",
        f"priority {number(block.priority)}",
        block.kind.replace("_", " "),
        f"{block.words:,} words, {block.link_words:,} in links",
        block.path[:_LONGEST_PATH],
    ]
    lines = [f"{'kept' if decision.kept else 'dropped'}{reason}", " · ".join(facts), *notes(row)]
    return "\n".join(lines)


def _style() -> str:
    return resources.files("crawler.explain").joinpath("style.css").read_text("utf-8")


def _rules(reasons: Mapping[Reason, int]) -> Iterator[str]:
    yield ".chip{background:#00694c}\n"
    for place in reasons.values():
        chosen = _PLACES[(place - 1) % len(_PLACES)]
        full, tint = colour(chosen)
        ink = "#000" if chosen in _LIGHT else "#fff"
        yield f".r{place}{{background:{tint}}}.c{place},.f.r{place}::before{{background:{full};color:{ink}}}"
        yield f'.r{place}.f::before{{content:"{place}"}}\n'


def _legend(explained: Explained, reasons: Mapping[Reason, int]) -> Iterator[str]:
    words = explained.word_counts()
    yield '<div class="legend">\n'
    for reason, count in explained.counts().items():
        place = reasons.get(reason)
        chip = '<i class="chip">✓</i>' if place is None else f'<i class="chip c{place}">{place}</i>'
        said = f"{MEANINGS[reason]} · {words[reason]:,} words"
        yield f'<div class="reason">{chip}<b>{_word(reason)}</b><span>{count:,}</span><small>{said}</small></div>\n'
    total = f"<b>all blocks</b><span>{len(explained.rows):,}</span><small>{explained.words:,} words</small>"
    yield f'<div class="reason sum"><i></i>{total}</div>\n</div>\n'
    if Reason.EMPTY in words:
        yield '<p class="facts">Blocks without text are counted, and not to be seen.</p>\n'


def _heading(explained: Explained, found: Found | None, title: str) -> Iterator[str]:
    cleaned = explained.cleaned
    where = address(explained.page.url) or name(found.name if found else _UNKNOWN)
    facts = [f"method {cleaned.method}", *verdict(explained)]
    facts += [cleaned.encoding] if cleaned.encoding else []
    facts += [parse_warning.replace("_", " ") for parse_warning in cleaned.parse_warnings]
    yield f'<header><p class="title" dir="auto">{name(title)}</p>\n<p class="where">{where}</p>\n'
    if found is not None:
        yield f'<p class="facts">{inert(origin(found, explained))}</p>\n'
    yield f'<p class="facts">{inert(" · ".join(facts))}</p>\n'
    if (said := difference(explained)) is not None:
        yield f'<p class="failed">{inert(said)}</p>\n'
    yield "</header>\n"


def _outside(explained: Explained, texts: _Texts) -> Iterator[str]:
    for decision in outside(explained):
        shown = texts.show(decision, inert(decision.block.text))
        yield f'<div class="head{"" if decision.kept else " bare"}" dir="auto">{shown}</div>\n'


def _word(reason: Reason) -> str:
    return reason.replace("_", " ")
