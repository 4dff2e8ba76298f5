"""The comparison page of one page: its text in reading order, coloured by the methods that keep it.

No script: radio buttons choose the method, and the style sheet shows what belongs to it.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from cleaning.blocks import Kind, Reason
from cleaning.leaves import HEADING_TAGS
from crawler.compare.marks import mark
from crawler.compare.markup import address, colour, document, inert, name, percent, short
from crawler.compare.run import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawler.compare.marks import Marked, Run
    from crawler.compare.run import Compared, Result

_SPACE = re.compile(r"\s+")
_BARE = "·"
_WHOLE_FROM_MS = 100


def page_html(compared: Compared, most_leaves: int, index: str | None = None) -> Iterator[str]:
    """Yield the page piece by piece; `index` is the address of the page that lists it."""
    names = list(compared.results)
    title = _title(compared)
    yield document(f"{title} · methods compared", _rules(names, compared))
    yield "".join(_radios(names))
    yield '<div class="frame">\n<aside>\n'
    yield f'<p class="home"><a href="{index}">← all pages</a></p>\n' if index else ""
    yield _legend(compared)
    yield _agreement(compared, names)
    yield "</aside>\n<main>\n"
    yield _heading(compared, title)
    for marked in mark(compared, most_leaves):
        yield _leaf(marked, names)
    rest = len(compared.leaves) - most_leaves
    yield f'<p class="note">{rest:,} more blocks are not shown.</p>\n' if rest > 0 else ""
    yield "</main>\n</div>\n</body>\n</html>\n"


def _title(compared: Compared) -> str:
    root = compared.page.root
    found = root.findtext("head/title") or root.findtext(".//title") or ""
    return " ".join(found.split()) or compared.source.name


def _heading(compared: Compared, title: str) -> str:
    page = compared.page
    facts = [f"{len(compared.leaves):,} blocks", f"{compared.words:,} words"]
    facts += [inert(page.encoding)] if page.encoding else []
    facts += [f"parse {compared.parse_ms:,.1f} ms"]
    facts += [f"rendering {compared.render_ms:,.0f} ms"] if compared.render_ms is not None else []
    facts += [parse_warning.replace("_", " ") for parse_warning in page.parse_warnings]
    where = address(page.url) or name(compared.source.name)
    return (
        f'<header><p class="title" dir="auto">{name(title)}</p>\n<p class="where">{where}</p>\n'
        f'<p class="facts">{" · ".join(facts)}</p></header>\n'
    )


def _rules(names: Sequence[str], compared: Compared) -> list[str]:
    """Return the style rules that depend on how many methods there are, and the bars of the legend."""
    rules = [f".bars{{grid-template-columns:repeat({len(names)},6px);width:{len(names) * 7 - 1}px}}"]
    for place in range(len(names)):
        full, tint = colour(place)
        chosen = f"#m{place}:checked~.frame"
        rules += [
            f".c{place}{{background:{full}}}.bars .c{place}{{grid-column:{place + 1}}}",
            f"{chosen} main{{--full:{full};--tint:{tint}}}",
            f"{chosen} .t:not(.k{place}){{color:var(--dropped)}}",
            f"{chosen} .k{place},{chosen} .r{place} .text{{background:var(--tint);color:var(--ink)}}",
            f"{chosen} .row::after{{content:attr(data-{place})}}",
            f"{chosen} .bars i:not(.c{place}){{opacity:.18}}",
            f"{chosen} label[for=m{place}]{{background:{tint};border-color:{full}}}",
            f"#m{place}:focus-visible~.frame label[for=m{place}]{{outline:2px solid #1a1c1f}}",
        ]
    shares = {_whole(result.words, compared.words) for result in compared.results.values()}
    return rules + [f".w{share}{{width:{share}%}}" for share in sorted(shares)]


def _radios(names: Sequence[str]) -> Iterator[str]:
    yield '<input type="checkbox" id="differ" aria-label="only where methods differ">\n'
    yield '<input type="radio" name="method" id="all" checked aria-label="all methods">\n'
    for place, each in enumerate(names):
        yield f'<input type="radio" name="method" id="m{place}" aria-label="{inert(each)}">\n'


def _legend(compared: Compared) -> str:
    entries = [_entry(place, each, found, compared) for place, (each, found) in enumerate(compared.results.items())]
    failed = [
        f'<p class="failed"><b>{inert(each)}</b> {inert(outcome.message)}</p>\n'
        for each, outcome in compared.outcomes.items()
        if isinstance(outcome, Failure)
    ]
    return (
        '<div class="legend">\n<label class="entry every" for="all"><b>All methods</b>'
        "<small>a bar for each that keeps the text</small></label>\n"
        + "".join(entries)
        + "".join(failed)
        + '<label class="differ" for="differ">Only where methods differ</label>\n</div>\n'
    )


def _entry(place: int, each: str, found: Result, compared: Compared) -> str:
    share = found.words / compared.words if compared.words else None
    return (
        f'<label class="entry" for="m{place}"><i class="swatch c{place}"></i><b>{place + 1} {inert(each)}</b>'
        f'<small class="time">{_ms(found.ms)} ms</small><span class="share">{percent(share)}</span>'
        f'<span class="track"><i class="c{place} w{_whole(found.words, compared.words)}"></i></span>'
        f'<small class="count">{len(found.kept):,}/{len(found.judged):,} blocks · {found.words:,} words</small>'
        "</label>\n"
    )


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE_FROM_MS else f"{value:.1f}"


def _whole(words: int, all_words: int) -> int:
    return min(100, round(100 * words / all_words)) if all_words else 0


def _agreement(compared: Compared, names: Sequence[str]) -> str:
    if not compared.agreement:
        return ""
    head = "".join(f"<th>{place}</th>" for place in range(1, len(names) + 1))
    rows = [
        f'<tr><th scope="row">{place} {inert(one)}</th>'
        + "".join(f"<td>{_cell(compared, one, other)}</td>" for other in names)
        + "</tr>\n"
        for place, one in enumerate(names, 1)
    ]
    return (
        '<details><summary>Agreement</summary>\n<p class="note">F1 of the words that two methods keep.</p>\n'
        f'<table class="matrix"><tr><th></th>{head}</tr>\n{"".join(rows)}</table></details>\n'
    )


def _cell(compared: Compared, one: str, other: str) -> str:
    if one == other:
        return _BARE
    known = compared.agreement
    return short(known[one, other] if (one, other) in known else known[other, one])


def _leaf(marked: Marked, names: Sequence[str]) -> str:
    """Return the row of a leaf: bars of the methods that keep it, its text, and each method's reason to drop it."""
    runs = marked.runs
    kinds = [_kind(marked), "prose" if marked.leaf.is_prose else "bit"]
    same = (
        all(_is_kept(reason) == _is_kept(runs[0].marks[0]) for run in runs for reason in run.marks) if names else True
    )
    kinds += ["same"] if same else []
    kinds += [f"r{place}" for place in range(len(names)) if all(_is_kept(run.marks[place]) for run in runs)]
    whys = "".join(_why(place, [run.marks[place] for run in runs]) for place in range(len(names)))
    texts = "".join(_run(run, names, code=marked.leaf.block.kind is Kind.CODE) for run in runs)
    return (
        f'<div class="row {" ".join(kinds)}"{whys}><span class="bars">{_bars(runs, len(names))}</span>'
        f'<div class="text" dir="auto">{texts}</div></div>\n'
    )


def _kind(marked: Marked) -> str:
    tag = marked.leaf.node.tag
    return tag if tag in HEADING_TAGS else marked.leaf.block.kind.value


def _bars(runs: Sequence[Run], methods: int) -> str:
    bars = []
    for place in range(methods):
        kept = [_is_kept(run.marks[place]) for run in runs]
        if any(kept):
            bars.append(f'<i class="c{place}{"" if all(kept) else " part"}"></i>')
    return "".join(bars)


def _why(place: int, reasons: Sequence[Reason | None]) -> str:
    """Return the attribute that the style sheet shows beside a text that the method does not keep, or not whole."""
    dropped = list(dict.fromkeys(_words(reason) for reason in reasons if not _is_kept(reason)))
    if not dropped:
        return ""
    part = "in part: " if any(map(_is_kept, reasons)) else ""
    return f' data-{place}="{part}{", ".join(dropped)}"'


def _run(run: Run, names: Sequence[str], *, code: bool) -> str:
    kept = [place for place, reason in enumerate(run.marks) if _is_kept(reason)]
    classes = ["t", f"h{_heat(len(kept), len(names))}", *(f"k{place}" for place in kept)]
    classes += ["link"] if run.linked else []
    text = run.text if code else _SPACE.sub(" ", run.text)
    return f'<span class="{" ".join(classes)}" title="{_hover(run, names)}">{inert(text)}</span>'


def _heat(kept: int, methods: int) -> int:
    """Return 0 for a text that no method keeps, 3 for one that all keep."""
    if not kept:
        return 0
    return 3 if kept == methods else 2 if 2 * kept >= methods else 1


def _hover(run: Run, names: Sequence[str]) -> str:
    both = list(zip(names, run.marks, strict=True))
    kept = ", ".join(each for each, reason in both if _is_kept(reason))
    dropped = ", ".join(f"{each} ({_words(reason)})" for each, reason in both if not _is_kept(reason))
    lines = chain(["kept by " + kept] if kept else [], ["dropped by " + dropped] if dropped else [])
    return inert("\n".join(lines))


def _is_kept(reason: Reason | None) -> bool:
    return reason is Reason.KEPT


def _words(reason: Reason | None) -> str:
    return "not on the rendered page" if reason is None else reason.replace("_", " ")
