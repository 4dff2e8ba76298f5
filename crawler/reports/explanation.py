"""An explanation for readers: on the terminal, as JSON, and as an HTML page with kept and dropped blocks in colour."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from cleaning.blocks import Reason, TextSource
from cleaning.methods import METHODS
from crawler.reports.explain import HtmlOrigin
from crawler.reports.inert_page import render_page
from crawler.reports.markup import MarkedText, RebuiltPage, TextValues, head_texts
from crawler.terminal import count_of, cut_text, fields_of, make_console, make_table, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import Console

    from cleaning.blocks import Metadata
    from cleaning.structure.clean_page import CleanPage
    from crawler.reports.explain import ExplainedBlock, Explanation, PageToExplain, TextMatch
    from crawler.storage.queries import PageContents, StoredText

_DIGITS = 6
_WHOLE_FROM = 1_000
_REASON_WIDTH = 16
_NUMBER_WIDTH = 6
_KIND_WIDTH = 10
_MIN_TEXT_CELLS = 20
_MAX_TEXT_CHARS = 1_000  # of a text that is cut to one line
_MAX_PATH = 300
_MAX_VALUE_CELLS = 300  # of a field of the metadata


def print_explanation(source: PageToExplain, explanation: Explanation, max_rows: int) -> None:
    """Print the first blocks, and the counts of all, on stdout."""
    out = make_console()
    _line(out, source.name, "bold")
    _line(out, f"{explanation.cleaned.method}; {_origin(source, explanation)}")
    _line(out, "; ".join(page_facts(explanation)))
    if (difference := _difference(explanation)) is not None:
        _line(out, difference)
    out.print()
    if fields := list(metadata_rows(explanation.cleaned.metadata)):
        out.print(make_table("Metadata", ("field", "value", "source"), fields))
        out.print()
    width = max(5, len(str(len(explanation.rows))))
    _line(
        out, f"{'block':>{width}} {'decision':{_REASON_WIDTH}} {'score':>6} {'prior.':>6} {'kind':{_KIND_WIDTH}} text"
    )
    for row in explanation.rows[:max_rows]:
        _print_row(out, row, width)
    rest = len(explanation.rows) - max_rows
    if rest > 0:
        _line(out, f"and {rest:,} more blocks; --limit shows more, --json all")
    out.print()
    rows = [
        (_decision(count.reason), count.blocks, count.words, count.reason.meaning) for count in explanation.reasons()
    ]
    rows.append((Text("all", "bold"), len(explanation.rows), explanation.words, ""))
    out.print(make_table("Blocks by reason", ("decision", "blocks", "words", "meaning"), rows))


def metadata_rows(metadata: Metadata) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of a page's metadata that have a value: name, value, and where it comes from."""
    for name, value in asdict(metadata).items():
        text = ", ".join(value) if isinstance(value, tuple) else value
        if text and name != "sources":
            yield name.replace("_", " "), cut_text(text, _MAX_VALUE_CELLS), metadata.sources.get(name, "")


def explanation_record(source: PageToExplain, explanation: Explanation) -> dict[str, Any]:
    """Return everything about the page and each of its blocks, as values for `print_json`."""
    cleaned, contents = explanation.cleaned, explanation.contents
    return {
        **fields_of(source, "name url origin"),
        "method": cleaned.method,
        "score": METHODS[cleaned.method].scale,
        **fields_of(explanation, "threshold lowest_kept"),
        **fields_of(cleaned, "type confidence encoding text_source parse_warnings title fits_site"),
        "metadata": asdict(cleaned.metadata),
        "stored": contents and _contents_record(contents, explanation.missing),
        "reasons": {
            count.reason: {"blocks": count.blocks, "words": count.words, "meaning": count.reason.meaning}
            for count in explanation.reasons()
        },
        "blocks": [_block_record(row) for row in explanation.rows],
    }


def print_matches(explanation: Explanation, matches: Sequence[TextMatch]) -> None:
    """Print the blocks that have a text, each with its decision, the meaning of the reason and what else is known."""
    out = make_console()
    width = max(5, len(str(len(explanation.rows))))
    for match in matches:
        _print_row(out, match.row, width)
        _line(out, f"{'':{width}} {why_matched(match)}: {match.row.decision.reason.meaning}", "dim")
    _line(out, "; ".join(page_facts(explanation)))


def why_matched(match: TextMatch) -> str:
    """Return how much of the text a block has."""
    if match.whole:
        return "has the whole text"
    return f"has {match.share:.0%} of its words, or is as similar"


def match_record(match: TextMatch) -> dict[str, Any]:
    """Return a match as values for `print_json`."""
    return {"whole": match.whole, "share": round(match.share, _DIGITS), **_block_record(match.row)}


def explanation_page(
    explanation: Explanation, source: PageToExplain | None = None, *, framed: bool = False
) -> Iterator[str]:
    """Yield the HTML page piece by piece; `source` says where the page was read.

    In a frame (`framed`) the page has no head of its own, and no link that would lead the frame elsewhere.
    """
    cleaned, root, reasons = explanation.cleaned, explanation.page.root, explanation.reasons()
    dropped = (count.reason for count in reasons if count.reason is not Reason.KEPT)
    numbers: dict[Reason, int] = {reason: number for number, reason in enumerate(dropped, 1)}
    decided = [(row.leaf, row.decision) for row in explanation.rows]
    facts = [f"method {cleaned.method}", *page_facts(explanation)]
    facts += [cleaned.encoding] if cleaned.encoding else []
    facts += [parse_warning.replace("_", " ") for parse_warning in cleaned.parse_warnings]
    name = source.name if source else explanation.page.url or "a page"
    return render_page(
        "explanation",
        name=name,
        page_title=cleaned.title or name,
        url=explanation.page.url,
        facts=[*([_origin(source, explanation)] if source else []), " · ".join(facts)],
        difference=_difference(explanation),
        metadata=list(metadata_rows(cleaned.metadata)),
        framed=framed,
        reasons=reasons,
        numbers=numbers,
        head=head_texts(root, decided),
        marked=RebuiltPage(root, (row.leaf for row in explanation.rows), [TextValues(decided)]),
        describe=_describer(explanation, numbers),
    )


def _origin(source: PageToExplain, explanation: Explanation) -> str:
    """Return where the page was read, and what the database holds of it as a whole."""
    contents = source.contents
    if contents is None:
        return "a saved page" if source.origin is HtmlOrigin.FILE else "fetched now; not stored"
    parts = [f"stored, last seen {contents.last_seen:%Y-%m-%d %H:%M} UTC"]
    if source.origin is HtmlOrigin.STORED:
        parts.append("cleaned again from its stored HTML")
    else:
        parts += ["its HTML was not kept"] * (contents.html is None) + ["fetched now"]
    if contents.method != explanation.cleaned.method:
        parts.append(f"its crawl used the method {contents.method}")
    if contents.retired is not None:
        parts.append(f"the page was gone on {contents.retired:%Y-%m-%d}")
    if contents.near_duplicate_of is not None:
        parts.append(f"near-duplicate of {contents.near_duplicate_of.url} ({contents.near_duplicate_of.distance} bits)")
    return "; ".join(parts)


def _difference(explanation: Explanation) -> str | None:
    """Return how the stored texts differ from those kept now; None if they do not, or nothing is stored."""
    if explanation.contents is None:
        return None
    new = sum(row.decision.kept and row.stored is None for row in explanation.rows)
    if not new and not explanation.missing:
        return None
    return (
        f"the database differs from what is kept now: {explanation.missing:,} stored texts are not kept, "
        f"{new:,} kept blocks are not stored"
    )


def page_facts(explanation: Explanation) -> Iterator[str]:
    """Yield what the method says of the whole page, and what its score means."""
    cleaned = explanation.cleaned
    if cleaned.type is not None and cleaned.confidence is not None:
        yield f"page type {cleaned.type}, {cleaned.confidence:.0%} sure"
    if cleaned.text_source is not TextSource.TREE:
        yield f"the page shows no text: it was read from {cleaned.text_source.meaning}"
    if cleaned.fits_site is not None:
        yield _taught_fact(cleaned)
    yield f"score: {METHODS[cleaned.method].scale}"
    if cleaned.method == "default":
        yield f"favour {explanation.options.favour}"
    if explanation.threshold is not None:
        yield f"kept above {_number(explanation.threshold)}"
    if explanation.lowest_kept is not None:
        yield f"lowest score kept {_number(explanation.lowest_kept)}"


def _taught_fact(cleaned: CleanPage) -> str:
    if cleaned.fits_site:
        return f"the corrections of the site decide {count_of(len(cleaned.taught), 'block')} otherwise"
    return "the corrections of the site do not fit the page, which looks otherwise"


def notes(row: ExplainedBlock) -> Iterator[str]:
    """Yield what there is to say of a block beside its decision, score and priority."""
    if row.is_taught:
        yield f"{'kept' if row.decision.kept else 'dropped'} because of what readers corrected on the site"
    if row.repeats is not None:
        yield f"repeats block {row.repeats.position}{_bits(row.repeats.distance)}"
    if row.stored is None:
        return
    if row.stored.distance is None:
        yield f"stored as block {row.stored.block_id}"
    else:
        yield f"duplicate of stored block {row.stored.block_id}{_bits(row.stored.distance)} of {row.stored.url}"
    if row.stored.boilerplate:
        yield "template: on many pages of the site"


def _bits(distance: int) -> str:
    return f" (differs in {distance} bit{'s' * (distance != 1)})" if distance else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.2f}"


def _print_row(out: Console, row: ExplainedBlock, width: int) -> None:
    block, decision = row.block, row.decision
    line = Text(f"{block.position:>{width}} ", no_wrap=True)
    line.append_text(_decision(decision.reason, _REASON_WIDTH + 1))
    line.append(f"{_number(decision.score):>{_NUMBER_WIDTH}} {_number(block.priority):>{_NUMBER_WIDTH}} ")
    line.append(f"{block.kind.replace('_', ' '):{_KIND_WIDTH}} ", "dim")
    text = cut_text(block.text[:_MAX_TEXT_CHARS], max(_MIN_TEXT_CELLS, out.width - line.cell_len))
    out.print(line.append(text, "" if decision.kept else "dim"), soft_wrap=True)
    for note in notes(row):
        _line(out, f"{'':{width}} {'':{_REASON_WIDTH}} {note}", "dim")


def _decision(reason: Reason, width: int = 0) -> Text:
    """Return the decision with its sign: not every reader, and no file, shows colours."""
    kept = reason is Reason.KEPT
    return Text(f"{'+' if kept else '-'} {reason}".ljust(width), "green" if kept else "red")


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(printable(text), style), soft_wrap=True)


def _contents_record(contents: PageContents, missing: int) -> dict[str, Any]:
    return {
        **fields_of(contents, "url method"),
        "first_seen": contents.first_seen.isoformat(),
        "last_seen": contents.last_seen.isoformat(),
        "visits": contents.visits,
        "retired": contents.retired and contents.retired.isoformat(),
        "html_kept": contents.html is not None,
        "near_duplicate_of": contents.near_duplicate_of,
        "texts": len(contents.texts),
        "not_kept_now": missing,
        "gone": contents.gone,
    }


def _block_record(row: ExplainedBlock) -> dict[str, Any]:
    block, decision = row.block, row.decision
    return {
        "position": block.position,
        **fields_of(decision, "kept reason"),
        "score": round(decision.score, _DIGITS),
        "priority": block.priority,
        **fields_of(block, "kind words link_words path text"),
        "taught": row.is_taught,
        "repeats": row.repeats,
        "stored": row.stored and _stored_record(row.stored),
    }


def _stored_record(text: StoredText) -> dict[str, Any]:
    return {
        "block": text.block_id,
        "duplicate": text.distance is not None,
        "distance": text.distance or 0,
        "url": text.url,
        "template": text.boilerplate,
    }


def _describer(explanation: Explanation, numbers: Mapping[Reason, int]) -> Callable[[MarkedText], tuple[str, str, str]]:
    """Return a function that gives a text's look, reasons and anchor; only the first text of a block has an anchor.

    It begins with the number of its reason.
    """
    rows = {row.block.position: row for row in explanation.rows}
    begun: set[int] = set()

    def describe(text: MarkedText) -> tuple[str, str, str]:
        (decision,) = text.decisions
        assert decision is not None  # only the texts of decided leaves are shown
        position = decision.block.position
        look = "k" if decision.kept else f"d r{numbers[decision.reason]}"
        first = " f" if position not in begun else ""
        begun.add(position)
        return f"{look}{first}", _why(rows[position]), f"block-{position}" if first else ""

    return describe


def _why(row: ExplainedBlock) -> str:
    block, reason = row.block, row.decision.reason
    facts = [
        f"block {block.position}",
        f"score {_number(row.decision.score)}",
        f"priority {_number(block.priority)}",
        block.kind.replace("_", " "),
        f"{block.words:,} words, {block.link_words:,} in links",
        block.path[:_MAX_PATH],
    ]
    decision = "kept" if row.decision.kept else f"dropped: {reason.replace('_', ' ')}, {reason.meaning}"
    return "\n".join([decision, " · ".join(facts), *notes(row)])
