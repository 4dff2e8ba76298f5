"""A comparison as HTML: each page's text in the colours of the methods that keep it, and an index of several pages."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cleaning.blocks import Kind, Reason
from cleaning.leaves import HEADING_TAGS
from crawler.errors import CompareError
from crawler.reports.compare import CompareFailure
from crawler.reports.comparison import METHOD_COLUMNS, agreement_rows, method_figures
from crawler.reports.inert_page import INDEX, check_output, render_page, unwritable
from crawler.reports.markup import SPACE, TextDecisions
from crawler.terminal import format_counters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from cleaning.leaves import Leaf, Piece
    from crawler.reports.compare import ComparedPage, ComparisonPlan, ComparisonTotals
    from crawler.reports.sources import ReportTarget, UnreadPage


class MarkedText(NamedTuple):
    """Neighbouring text nodes of a leaf with the same decisions: a reason for each method, None if it has none."""

    text: str
    linked: bool
    reasons: tuple[Reason | None, ...]

    @property
    def kept(self) -> list[int]:
        """The places of the methods that keep the text."""
        return [place for place, reason in enumerate(self.reasons) if reason is Reason.KEPT]


class MarkedLeaf(NamedTuple):
    """A leaf of the page, cut where a decision changes."""

    leaf: Leaf
    texts: list[MarkedText]


def mark_leaves(compared: ComparedPage, max_leaves: int) -> Iterator[MarkedLeaf]:
    """Yield the page's first leaves with the reasons that the methods gave their text nodes.

    Methods cut a page into different blocks, so the text node is what they have in common. A text node of a rendered
    page is found by its text: the n-th node with a text on one page is the n-th on the other. A node that only the
    rendered page has is not shown; one that it lacks has the reason None.
    """
    found = [TextDecisions(result.judged, by_text=result.rendered) for result in compared.results.values()]
    for leaf in compared.leaves[:max_leaves]:
        yield MarkedLeaf(leaf, _marked_texts(leaf.pieces, found))


def compared_page(compared: ComparedPage, max_leaves: int, index: str | None = None) -> Iterator[str]:
    """Yield the HTML page of one compared page piece by piece; `index` is the address of the page that lists it."""
    root, page = compared.page.root, compared.page
    title = " ".join((root.findtext("head/title") or root.findtext(".//title") or "").split())
    facts = [f"{len(compared.leaves):,} blocks", f"{compared.words:,} words"]
    facts += [page.encoding] if page.encoding else []
    facts += [f"parse {compared.parse_ms:,.1f} ms"]
    facts += [f"rendering {compared.render_ms:,.0f} ms"] if compared.render_ms is not None else []
    facts += [parse_warning.replace("_", " ") for parse_warning in page.parse_warnings]
    names, known = list(compared.results), compared.agreement

    def agreement(one: str, other: str) -> float:
        return known[one, other] if (one, other) in known else known[other, one]

    return render_page(
        "comparison",
        name=compared.source.name,
        page_title=title or compared.source.name,
        url=page.url,
        facts=facts,
        index=index,
        compared=compared,
        agreement=agreement_rows(names, agreement) if known else [],
        rows=(_row_view(marked, names) for marked in mark_leaves(compared, max_leaves)),
        hidden=len(compared.leaves) - max_leaves,
    )


class _IndexRow(NamedTuple):
    """A page in the index; `failure` says why it has no file."""

    number: int
    name: str
    file: str = ""
    words: int = 0
    agreement: float | None = None
    failure: str = ""


def _index_page(
    target: ReportTarget, plan: ComparisonPlan, totals: ComparisonTotals, rows: Iterable[_IndexRow]
) -> Iterator[str]:
    facts = [f"{totals.compared:,} of {totals.pages:,} pages", f"{totals.blocks:,} blocks", f"{totals.words:,} words"]
    facts += [f"not compared: {format_counters(dict(totals.failures))}"] if totals.failures else []
    methods = [(name, method_figures(one), format_counters(dict(one.failures))) for name, one in totals.methods.items()]
    return render_page(
        "index",
        name=target.name,
        facts=facts,
        left_out=plan.left_out,
        columns=METHOD_COLUMNS,
        methods=methods,
        agreement=agreement_rows(totals.methods, totals.agreement),
        rows=rows,
    )


class ComparisonPages:
    """Writes pages next to their final place and moves them there at the end: a file for a page, a folder for several.

    Used with `with`. Nothing unfinished is ever visible at the final place, and an earlier comparison stays until then.
    """

    def __init__(self, out: Path, target: ReportTarget, plan: ComparisonPlan, max_leaves: int) -> None:
        self._out, self._target, self._plan = out, target, plan
        self._max_leaves = max_leaves
        self._rows: list[_IndexRow] = []

    def __enter__(self) -> Self:
        check_output(self._out, folder=self._target.several)
        if self._target.several and self._out.resolve().is_relative_to(Path(self._target.name).resolve()):
            # The next comparison would compare its own output.
            raise CompareError(f"--html {str(self._out)!r} lies in what is compared; choose a folder outside")
        with self._writing():
            self._draft = Path(tempfile.mkdtemp(prefix=f".{self._out.name}-", dir=self._out.parent))
            self._draft.chmod(0o755)
        return self

    def __exit__(self, *_exception: object) -> None:
        shutil.rmtree(self._draft, ignore_errors=True)

    def add(self, source: UnreadPage, found: ComparedPage | CompareFailure) -> None:
        """Write a page's comparison. Raises CompareError if it cannot be written."""
        number = len(self._rows) + 1
        if isinstance(found, CompareFailure):
            self._rows.append(_IndexRow(number, source.name, failure=found.reason.replace("_", " ")))
            return
        file = f"page-{number:05}.html"
        self._write(file, compared_page(found, self._max_leaves, INDEX if self._target.several else None))
        self._rows.append(_IndexRow(number, source.name, file, found.words, found.mean_agreement))

    def finish(self, totals: ComparisonTotals) -> None:
        """Move everything to its place; nothing is written if no page could be compared."""
        if not any(row.file for row in self._rows):
            return
        if self._target.several:
            self._write(INDEX, _index_page(self._target, self._plan, totals, self._rows))
        with self._writing():
            if self._target.several:
                self._replace_folder()
            else:
                (self._draft / self._rows[0].file).replace(self._out)

    def _write(self, file: str, parts: Iterable[str]) -> None:
        with self._writing(), (self._draft / file).open("w", encoding="utf-8", newline="\n") as opened:
            opened.writelines(parts)

    def _replace_folder(self) -> None:
        """Move the draft to its place; an earlier comparison is checked again before it is deleted."""
        if not self._out.exists():
            self._draft.rename(self._out)
            return
        check_output(self._out, folder=True)
        earlier = self._draft.with_name(f"{self._draft.name}-earlier")
        self._out.rename(earlier)
        self._draft.rename(self._out)
        shutil.rmtree(earlier)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self._out, error) from error


def _marked_texts(pieces: Sequence[Piece], found: Sequence[TextDecisions]) -> list[MarkedText]:
    marked: list[MarkedText] = []
    for piece in pieces:
        if piece.text.isspace() and marked:
            marked.append(marked[-1]._replace(text=piece.text))
        elif not piece.text.isspace():
            decisions = [method.next(piece) for method in found]
            reasons = tuple(None if decision is None else decision.reason for decision in decisions)
            marked.append(MarkedText(piece.text, piece.link is not None, reasons))
    groups = groupby(marked, lambda text: text[1:])
    return [MarkedText("".join(text.text for text in group), *shared) for shared, group in groups]


class _RowView(NamedTuple):
    """A leaf as the template prints it: `dropped` has, by method's place, why its text is not kept, or not whole."""

    classes: str
    dropped: dict[int, str]
    bars: list[str]
    texts: list[tuple[str, str, str]]
    """Classes, what stands under the pointer, and the text."""


def _row_view(marked: MarkedLeaf, names: Sequence[str]) -> _RowView:
    leaf, texts = marked.leaf, marked.texts
    tag, kind = leaf.node.tag, leaf.block.kind
    classes = [tag if tag in HEADING_TAGS else kind.value, "prose" if leaf.is_prose else "bit"]
    dropped, bars, whole = {}, [], []
    for place in range(len(names)):
        reasons = [text.reasons[place] for text in texts]
        missing = list(dict.fromkeys(_reason_words(reason) for reason in reasons if reason is not Reason.KEPT))
        part = Reason.KEPT in reasons and bool(missing)
        if missing:
            dropped[place] = ("in part: " if part else "") + ", ".join(missing)
        else:
            whole.append(f"r{place}")
        if Reason.KEPT in reasons:
            bars.append(f"c{place}{' part' if part else ''}")
    everywhere = len(whole) == len(names)
    classes += ["same"] if everywhere or not bars else []
    shown = [_text_view(text, names, code=kind is Kind.CODE) for text in texts]
    return _RowView(" ".join(classes + whole), dropped, bars, shown)


def _text_view(text: MarkedText, names: Sequence[str], *, code: bool) -> tuple[str, str, str]:
    kept = text.kept
    classes = ["t", f"h{_heat(len(kept), len(names))}", *(f"k{place}" for place in kept)]
    classes += ["link"] if text.linked else []
    dropped = [
        f"{name} ({_reason_words(reason)})"
        for name, reason in zip(names, text.reasons, strict=True)
        if reason is not Reason.KEPT
    ]
    lines = [f"kept by {', '.join(names[place] for place in kept)}"] if kept else []
    lines += [f"dropped by {', '.join(dropped)}"] if dropped else []
    return " ".join(classes), "\n".join(lines), text.text if code else SPACE.sub(" ", text.text)


def _heat(kept: int, methods: int) -> int:
    """Return 0 for a text that no method keeps, 3 for one that all keep."""
    if not kept:
        return 0
    return 3 if kept == methods else 2 if 2 * kept >= methods else 1


def _reason_words(reason: Reason | None) -> str:
    return "not on the rendered page" if reason is None else reason.replace("_", " ")
