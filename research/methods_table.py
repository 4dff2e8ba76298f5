"""The tables and the plot in docs/methods.md: the F1 and cost of each method in one run of quality.py."""

from __future__ import annotations

import peers
import report
from evaluation import LEARNED
from provenance import Stamp

from cleaning import METHODS

NEWS, MIXED = "fundus-dev", "wcxb-dev"
# Shares of a panel's height and width. Labels that would meet stand one below the other.
_LINE, _CHARACTER, _GAP = 0.045, 0.0165, 0.03
TITLES = {NEWS: "news, 4-gram F1", MIXED: "mixed pages, word F1"}


def write(page, results, missing, more=None):
    """Write the tables between the marks of a page and, beside it, the plot of the same name.

    `missing` says why a method was not measured; `more` are the results of `default` and the peers on other sets.
    """
    plot, more = page.with_suffix(".svg"), more or {}
    measured = [method for method in METHODS if any(method in of for of in results.values())]
    stamp = Stamp.of(measured, [*results, *more])
    report.put(page, "quality.py", _tables(results, missing, plot.name, more) + f"\n\n{stamp}")
    draw(plot, results)


def _tables(results, missing, plot, more):
    pages = {name: max(measured.whole["pages"] for measured in of.values()) for name, of in results.items()}
    return (
        _METHODS.format(
            news=pages[NEWS],
            mixed=pages[MIXED],
            rows="\n".join(_row(method, results, missing) for method in METHODS),
            plot=plot,
        )
        + "".join([_beside(results), _more(more) if {ARTICLES, SNIPPETS} <= more.keys() else ""]).rstrip()
    )


_METHODS = """| method | F1, {news:,} news pages | under .5 | F1, {mixed:,} mixed pages | under .5 | cost × lxml parse |
| --- | --- | --- | --- | --- | --- |
{rows}

![F1 against cost]({plot})
"""


def _row(method, results, missing):
    measurements = [results[name].get(method) for name in (NEWS, MIXED)]
    if None in measurements:
        return f"| `{method}` | not measured: {missing.get(method, 'left out')} | | | | |"
    scores = [f"{_decimals(measured.whole['f1'], 3)} | {measured.whole['under_half']:.0%}" for measured in measurements]
    return f"| `{method}`{_judged(measurements)} | {' | '.join(scores)} | {_cost(measurements)} |"


def _judged(measurements):
    return f" ({measurements[0].judged})" if measurements[0].judged else ""


def _beside(results):
    """Return the section on the peers; nothing where none was measured."""
    ours = {name: of[LEARNED] for name, of in results.items() if LEARNED in of}
    if not ours or not all(measured.ahead for measured in ours.values()):
        return ""
    rows = [
        f"| {peer} | {' | '.join(_compared(results[name][peer], ours[name].ahead[peer]['all']) for name in ours)} "
        f"| {overall([of[peer] for of in results.values()], 'cost'):.1f} |"
        for peer in ours[NEWS].ahead
    ]
    versions = ", ".join(
        sorted({f"{peers.PEERS[peer].package} {peers.PEERS[peer].version}" for peer in ours[NEWS].ahead})
    )
    return _BESIDE.format(rows="\n".join(rows), versions=versions, judged=ours[NEWS].judged)


def _more(results):
    """Return the section on the sets that only `default` and the peers were measured on."""
    articles, snippets = results[ARTICLES], results[SNIPPETS]
    names, groups = [LEARNED, *articles[LEARNED].ahead], articles[LEARNED].groups
    titles = {group: f"{what}, {groups[group]['pages']:,} pages" for group, what in _GROUPS.items() if group in groups}
    rows = [f"| {name} | {' | '.join(_more_compared(articles, name, group) for group in titles)} |" for name in names]
    return _MORE.format(
        judged=articles[LEARNED].judged,
        heads=" | ".join(f"{head} | ahead" for head in titles.values()),
        rules=" | ".join(["---"] * 2 * len(titles)),
        rows="\n".join(rows),
        snippets=f"{snippets[LEARNED].whole['pages']:,}",
        of_snippets="\n".join(f"| {name} | {_of_snippets(snippets, name)} |" for name in names),
    )


def _more_compared(of_set, name, group):
    if name == LEARNED:
        return f"{_decimals(of_set[name].groups[group]['f1'], 3)} | "
    return f"{_decimals(of_set[name].groups[group]['f1'], 3)} | {_lead(of_set[LEARNED].ahead[name][group])}"


def _of_snippets(of_set, name):
    whole = of_set[name].whole
    return " | ".join(_decimals(whole[measure], 3) for measure in ("f1", "precision", "recall"))


ARTICLES, SNIPPETS = "magic-dev", "snippets-dev"
_GROUPS = {"type: article": "articles", "type: forum": "forums", "language: zh": "Chinese"}
_MORE = """
`default` ({judged}) and the same extractors on articles and forums of many countries (`magic-dev`), by words and
Chinese characters:

| extractor | {heads} |
| --- | {rules} |
{rows}

On the {snippets} pages of `snippets-dev` recall is the share of the snippets that must be in a text, and precision is
their share of all that are in it:

| extractor | F1 | precision | recall |
| --- | --- | --- | --- |
{of_snippets}
"""


def _compared(measured, ahead):
    whole = measured.whole
    return f"{_decimals(whole['f1'], 3)} | {whole['under_half']:.0%} | {_lead(ahead)}"


def _lead(ahead):
    """Return how far `default` is ahead, with the interval if there are hosts enough for one."""
    interval = ahead["intervals"]["f1"]
    return f"{ahead['f1']:+.3f}" + (f" [{interval[0]:+.3f}, {interval[1]:+.3f}]" if interval else "")


_BESIDE = """
Public extractors on the same pages in the same run ({versions}), and how far `default` ({judged}) is ahead of each,
with the 95 % interval of a bootstrap that draws whole hosts:

| extractor | news F1 | under .5 | ahead | mixed F1 | under .5 | ahead | cost × lxml parse |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}
"""


def _decimals(value, places):
    return f"{value:.{places}f}".removeprefix("0")


def _cost(measurements):
    alone = f"{overall(measurements, 'cost'):.1f}"
    return (
        alone
        if measurements[0].cost_rendered is None
        else f"{alone}; {overall(measurements, 'cost_rendered'):,.0f} with rendering"
    )


def overall(measurements, field):
    """Return the cost over several data sets, weighted by what lxml's parse of each takes."""
    return sum(getattr(measured, field) * measured.lxml_seconds for measured in measurements) / sum(
        measured.lxml_seconds for measured in measurements
    )


def draw(path, results):
    """Draw F1 against cost, a panel for each data set; the same results give the same bytes."""
    from matplotlib import rc_context  # noqa: PLC0415 — it takes a second, and most runs draw nothing
    from matplotlib.figure import Figure  # noqa: PLC0415 — as above

    with rc_context({"svg.hashsalt": "blocksieve", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9, 4.6), layout="constrained")
        panels = figure.subplots(1, len(results), sharey=True)
        for panel, (name, of_set) in zip(panels, results.items(), strict=True):
            _panel(panel, of_set)
            panel.set_title(f"{TITLES[name]}\n{_message(of_set)}", fontsize=9)
            panel.set_xlabel("cost × lxml parse, without rendering")
        panels[0].set_ylabel("mean F1")
        figure.savefig(path, format="svg", metadata={"Date": None})


def _message(of_set):
    """Return what a panel shows: how far `default` is from the best of the others."""
    own = of_set["default"]
    name, best = max(
        ((method, measured) for method, measured in of_set.items() if method != "default"),
        key=lambda named: named[1].whole["f1"],
    )
    ahead = own.whole["f1"] - best.whole["f1"]
    return f"default: {ahead:+.3f} beside {name}, at {own.cost / best.cost:.0%} of its cost"


def _panel(panel, of_set):
    points = sorted(
        ((measured.whole["f1"], measured.cost, method) for method, measured in of_set.items()), reverse=True
    )
    for label, color, drawn in _groups(of_set):
        chosen = [(cost, f1) for f1, cost, method in points if method in drawn]
        if chosen:
            panel.scatter(*zip(*chosen, strict=True), s=18, color=color, label=label, zorder=3)
    panel.set_ylim(0, 1)
    panel.set_xlim(0, 1.25 * max(cost for _, cost, _ in points))
    panel.grid(alpha=0.3)
    panel.legend(loc="lower left", fontsize=8)
    width = panel.get_xlim()[1]
    labels = []
    for f1, cost, method in points:
        left, right = _span(method, cost / width)
        height = min(
            [f1, *(low - _LINE for begin, end, low in labels if begin < right and left < end and low - _LINE < f1)]
        )
        labels.append((left, right, height))
        panel.annotate(
            method,
            (cost, f1),
            (left * width, height),
            va="center",
            weight="bold" if method == "default" else "normal",
            arrowprops={"arrowstyle": "-", "lw": 0.5, "shrinkA": 0},
        )


def _groups(of_set):
    """Return the groups of extractors: what they are, their colour, and their names."""
    published = METHODS.keys() - {"default"}
    return (
        ("ours", "#006b4f", {"default"}),
        ("published methods", "#6b8fb8", published),
        ("public extractors", "#b8860b", of_set.keys() - published - {"default"}),
    )


def _span(method, place):
    """Return where the label of a point begins and ends, as shares of the panel's width: right of it, or left."""
    length = _CHARACTER * len(method)
    left = place + _GAP if place + _GAP + length <= 1 else place - _GAP - length
    return left, left + length
