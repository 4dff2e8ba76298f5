"""The results as Markdown tables and as a plot."""

from __future__ import annotations

import matplotlib as mpl
from marks import METHODS
from matplotlib import pyplot as plt

from cleaning.fingerprint import WEIGHTINGS

_ENDS = ("date in front", "price at the end", "first word", "last word")
_WORDS = ("1 % of words", "2 % of words", "5 % of words", "10 % of words")
_KINDS = {
    "words replaced": _WORDS,
    "at an end": _ENDS,
    "all but reordered": (*_WORDS, *_ENDS, "sentence inserted"),
    "all": (*_WORDS, *_ENDS, "sentence inserted", "sentences reordered"),
}
_BLIND = ("last word", "price at the end", "date in front")


def tables(result):
    """Return the results as Markdown."""
    means = [
        (language, length, kind, *(mean(edits[edit]["found"][method] for edit in members) for method in METHODS))
        for language, lengths in result["recall"].items()
        for length, edits in lengths.items()
        for kind, members in _KINDS.items()
    ]
    parts = ["### Found, means over kinds of edits", table(("language", "words", "edits", *METHODS), means)]
    for language, lengths in result["recall"].items():
        rows = [
            (edit, length, result_of_edit["pairs"], *result_of_edit["found"].values())
            for edit in next(iter(lengths.values()))
            for length, edits in lengths.items()
            if (result_of_edit := edits[edit])["pairs"]
        ]
        parts += [f"### Found, {language}", table(("edit", "words", "pairs", *METHODS), rows)]
    blind = [
        (
            length,
            result["compared"][length],
            *(edits[edit]["blind"][weighting] for edit in _BLIND for weighting in WEIGHTINGS),
        )
        for length, edits in result["recall"]["English"].items()
    ]
    head = ("words", "compared", *(f"{edit}, {weighting}" for edit in _BLIND for weighting in WEIGHTINGS))
    parts += ["### The same fingerprint in spite of the edit, English", table(head, blind)]
    wrong = [
        (length, kind, *shares.values())
        for length, kinds in result["false_positives"].items()
        for kind, shares in kinds.items()
    ]
    parts += ["### Different texts found, English", table(("words", "pairs of", "pairs", *METHODS), wrong)]
    told = result["news"]
    rows = [
        (method, told["found"][method], ", ".join(map(str, told["bits"][method])), told["others"][method])
        for method in WEIGHTINGS
    ]
    rows += [(method, told["found"][method], None, None) for method in METHODS[len(WEIGHTINGS) :]]
    parts += [
        "### Planted news pairs",
        table(("method", f"found of {told['pairs']}", "bits", "other pairs found"), rows),
    ]
    return "\n\n".join(parts)


def plot(result, target):
    """Draw the share found over the length of the text, a panel an edit; the same result gives the same file."""
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "blocksieve", "svg.fonttype": "none", "font.size": 8})
    lengths = result["recall"]["English"]
    figure, panels = plt.subplots(2, 5, figsize=(13, 5), sharex=True, sharey=True)
    for panel, edit in zip(panels.flat, next(iter(lengths.values())), strict=True):
        for method in METHODS[:-1]:
            style = "-" if method in WEIGHTINGS else "--"
            panel.plot(list(lengths), [edits[edit]["found"][method] for edits in lengths.values()], style, label=method)
        panel.set_title(edit)
        panel.tick_params(axis="x", rotation=45)
        panel.set_ylim(-0.02, 1.02)
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="lower center", ncols=len(METHODS))
    figure.supylabel("share found")
    figure.supxlabel("words in the text", y=0.06)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(target, format="svg", metadata={"Date": None})


def row(*cells):
    return "| " + " | ".join("–" if cell is None else str(cell) for cell in cells) + " |"


def table(head, rows):
    return "\n".join([row(*head), row(*["---"] * len(head)), *(row(*cells) for cells in rows)])


def mean(shares):
    values = [value for value in shares if value is not None]
    return round(sum(values) / len(values), 3)
