"""Train the weights that choose a page's date, authors and title: `python -m research.training.metadata DATA`.

A page's options are the answers that it has, and no answer. A log-linear model gives each option a probability: the
softmax of the sums of its features' weights. The weights have the greatest likelihood with an L2 penalty. `--folds`
prints the figures of a cross-validation by host: each page is judged by weights that were trained on other hosts.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import sys
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from cleaning.metadata import authors, dates, titles
from cleaning.metadata.author_names import split_names
from cleaning.metadata.date_candidates import collect_dates
from cleaning.metadata.languages import stated_language
from cleaning.metadata.ranking import WEIGHTS_FILE, choose_answer, read_evidence, score_options
from cleaning.metadata.site_names import letters_of
from cleaning.metadata.statements import read_statements
from cleaning.metadata.title_candidates import collect_titles
from cleaning.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from cleaning.blocks import Page
    from cleaning.metadata.ranking import Evidence

    Options = Mapping[str | None, AbstractSet[str]]
    Truth = Mapping[str, str | None]

SETS = ("snippets-dev", "dates-dev", "wcxb-dev")
WEIGHTS = Path(__file__).parents[2] / "cleaning" / "data" / WEIGHTS_FILE
_FOLDS = 5
_MIN_PAGES = 8  # that have a feature
_MAX_PAGE_BYTES = 100_000_000
_NOT_THERE = frozenset({""})  # the key of an answer that is not among the options


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page with its options and the keys of those that are right: None is right for a page without an answer."""

    host: str
    options: Options
    right: frozenset[str | None]
    weight: float = 1.0
    id: str = ""

    @property
    def fold(self) -> int:
        """The part of the cross-validation that the page's host is in."""
        return fold_of(self.host)


class Labelled(NamedTuple):
    """The options of a page for a field, and what is right of them.

    `certain` is False for a page whose gold has no answer although it states one: readers noted what they saw.
    """

    options: Options
    right: frozenset[str | None]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class RankedField:
    """How a field is trained: `gold` is its name in the data, `label` reads a page.

    The weights are shrunk to `prior` (0 for a feature without one) by `penalty`. A page whose gold is uncertain weighs
    `uncertain`, the pages of a set `set_weights`.
    """

    name: str
    gold: str
    label: Callable[[Evidence, Truth], Labelled]
    min_likelihood: float
    prior: Mapping[str, float]
    penalty: float = 2.0
    uncertain: float = 1.0
    set_weights: Mapping[str, float] = dataclasses.field(default_factory=dict)


def _label_dates(evidence: Evidence, truth: Truth) -> Labelled:
    candidates = list(collect_dates(evidence, stated_language(evidence.root, evidence.stated)))
    day = (truth.get("date") or "")[:10] or None
    certain = day is not None or not any(candidate.source in dates.STATED_SOURCES for candidate in candidates)
    return Labelled(dates.describe_days(candidates, evidence), frozenset({day}), certain)


def _label_authors(evidence: Evidence, truth: Truth) -> Labelled:
    options = authors.describe_authors(authors.group_authors(evidence), evidence)
    gold = split_names(truth.get("author") or "")
    if not gold:
        return Labelled(options, frozenset({None}))
    return Labelled(options, frozenset(key for key in options if key and split_names(key) == gold) or _NOT_THERE)


def _label_titles(evidence: Evidence, truth: Truth) -> Labelled:
    options = titles.describe_titles(list(collect_titles(evidence)), evidence)
    return Labelled(options, frozenset({letters_of(truth.get("title") or "") or None}))


FIELDS = (
    RankedField(dates.FIELD, "date", _label_dates, dates.MIN_LIKELIHOOD, dates.PRIOR, uncertain=0.3),
    RankedField(authors.FIELD, "author", _label_authors, authors.MIN_LIKELIHOOD, authors.PRIOR, penalty=5.0),
    # The titles of wcxb-dev are often those of the title element, and 92 % of the pages are in English.
    RankedField(
        titles.FIELD,
        "title",
        _label_titles,
        titles.MIN_LIKELIHOOD,
        titles.PRIOR,
        penalty=5.0,
        set_weights={"snippets-dev": 3.0},
    ),
)


def read_pages(data: Path, sets: Sequence[str] = SETS) -> dict[str, list[RankedPage]]:
    """Return, by field, the pages of these sets whose gold says something of the field, in order."""
    pages: dict[str, list[RankedPage]] = {field.name: [] for field in FIELDS}
    for name in sets:
        truths = list(_read_set(data / "extraction" / name))
        noted = {key for _, truth in truths for key in truth}
        for page, truth in truths:
            evidence = read_evidence(page.root, read_statements(page.root), page.url)
            host = host_of(page.url, str(truth["id"]))
            for field in FIELDS:
                if field.gold in noted:
                    options, right, certain = field.label(evidence, truth)
                    weight = field.set_weights.get(name, 1.0) * (1.0 if certain else field.uncertain)
                    pages[field.name].append(RankedPage(host, options, right, weight, f"{name}/{truth['id']}"))
    return pages


def host_of(url: str | None, page_id: str) -> str:
    """Return the host of a page, without `www.`; the page's id if it has no address."""
    return (urlsplit(url or "").hostname or page_id).removeprefix("www.")


def fold_of(host: str) -> int:
    """Return the part of the cross-validation that a host is in."""
    return zlib.crc32(host.encode()) % _FOLDS


def _read_set(folder: Path) -> Iterator[tuple[Page, Truth]]:
    truths = _read_lines(folder / "truth.jsonl")
    paths = {truth["id"]: folder / (truth["html_path"] or "") for truth in truths}
    notes = folder / "metadata.jsonl"
    for truth in _read_lines(notes) if notes.exists() else truths:
        body = gzip.decompress(paths[truth["id"]].read_bytes())
        yield parse(body, truth.get("url"), max_bytes=_MAX_PAGE_BYTES), truth


def _read_lines(path: Path) -> list[dict[str, str | None]]:
    with path.open(encoding="utf-8") as lines:  # texts have line separators that `splitlines` cuts at
        return [json.loads(line) for line in lines]


class OptionTable:
    """The options of pages as a sparse matrix: a row an option, a column a feature."""

    def __init__(self, field: RankedField, pages: Sequence[RankedPage], names: Sequence[str]) -> None:
        from scipy import sparse  # noqa: PLC0415 — the extra `train` brings it

        columns = {name: column for column, name in enumerate(names)}
        rows = [
            (number, features, key in page.right)
            for number, page in enumerate(pages)
            for key, features in page.options.items()
        ]
        known = [[columns[name] for name in sorted(features) if name in columns] for _, features, _ in rows]
        starts = np.cumsum([0, *map(len, known)])
        cells = np.concatenate([np.array(row, int) for row in known])
        self.matrix = sparse.csr_matrix((np.ones(len(cells)), cells, starts), shape=(len(rows), len(columns)))
        self.page_numbers = np.array([number for number, _, _ in rows])
        self.right = np.array([right for _, _, right in rows], float)
        self.prior = np.array([field.prior.get(name, 0.0) for name in names])
        self.penalty = field.penalty
        self.page_weights = np.array([page.weight for page in pages])

    def loss(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative log-likelihood with its penalty, and its gradient."""
        scores = self.matrix @ weights
        numbers = self.page_numbers
        highest = np.full(numbers[-1] + 1, -np.inf)
        np.maximum.at(highest, numbers, scores)
        odds = np.exp(scores - highest[numbers])
        totals = np.bincount(numbers, odds)
        likelihoods = np.bincount(numbers, odds * self.right) / totals
        shares = odds / totals[numbers]
        right_shares = odds * self.right / (likelihoods * totals)[numbers]
        excess = weights - self.prior
        value = -self.page_weights @ np.log(likelihoods) + self.penalty / 2 * excess @ excess
        slopes = self.page_weights[numbers] * (shares - right_shares)
        return float(value), self.matrix.T @ slopes + self.penalty * excess


def train(field: RankedField, pages: Sequence[RankedPage]) -> dict[str, float]:
    """Return the weights of the features that several pages have, rounded to two digits; zeros are left out."""
    from scipy.optimize import minimize  # noqa: PLC0415 — the extra `train` brings it

    # A page whose answer is not among its options teaches nothing: not that it has none.
    pages = [page for page in pages if not page.right.isdisjoint(page.options)]
    counts = Counter(name for page in pages for name in frozenset().union(*page.options.values()))
    names = sorted(name for name, count in counts.items() if count >= _MIN_PAGES)
    table = OptionTable(field, pages, names)
    weights = minimize(table.loss, table.prior, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    rounded = (round(float(weight), 2) for weight in weights)
    return {name: weight for name, weight in zip(names, rounded, strict=True) if weight}


def train_folds(field: RankedField, pages: Sequence[RankedPage]) -> list[dict[str, float]]:
    """Return the weights of each fold, trained on the pages of the other folds."""
    return [train(field, [page for page in pages if page.fold != fold]) for fold in range(_FOLDS)]


def read_fold_weights(data: Path) -> list[dict[str, dict[str, float]]]:
    """Return, for each fold, the weights of all fields, trained on the pages of the other folds."""
    pages = read_pages(data)
    trained = {field.name: train_folds(field, pages[field.name]) for field in FIELDS}
    return [{name: folds[number] for name, folds in trained.items()} for number in range(_FOLDS)]


def cross_validate(
    field: RankedField, pages: Sequence[RankedPage]
) -> Iterator[tuple[RankedPage, dict[str | None, float]]]:
    """Yield each page with the scores of its options, by weights that were trained on the pages of other folds."""
    weights = train_folds(field, pages)
    for page in pages:
        yield page, score_options(page.options, weights[page.fold])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: those of the process); return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m research.training.metadata", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the development data")
    parser.add_argument("--folds", action="store_true", help="print the figures of the cross-validation; write nothing")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="the file to write (default: that of the package)")
    options = parser.parse_args(arguments)
    if not (options.data / "extraction").is_dir():
        parser.error(f"there is no folder 'extraction' in {options.data}")
    pages = read_pages(options.data)
    if options.folds:
        for field in FIELDS:
            _print_verdicts(field, list(cross_validate(field, pages[field.name])))
        return 0
    lines = [
        f"{field.name}\t{weight:+.2f}\t{name}\n"
        for field in FIELDS
        for name, weight in train(field, pages[field.name]).items()
    ]
    options.out.write_text(_HEAD.format(pages=max(map(len, pages.values()))) + "".join(lines), "utf-8")
    return 0


_HEAD = """\
# Weights of the features of a page's dates, authors and titles: field, weight, feature.
# By `python -m research.training.metadata DATA` on {pages} pages.
"""


def _print_verdicts(field: RankedField, scored: Sequence[tuple[RankedPage, Mapping[str | None, float]]]) -> None:
    sys.stdout.write(f"{field.name}\nlikelihood  right  wrong  missing  invented\n")
    for likelihood in sorted({0.2, 0.3, 0.4, 0.5, 0.6, field.min_likelihood}):
        counts = Counter(judge(choose_answer(scores, likelihood), page.right) for page, scores in scored)
        figures = f"{counts['right']:6} {counts['wrong']:6} {counts['missing']:8} {counts['invented']:9}"
        sys.stdout.write(f"{likelihood:10} {figures}\n")


def judge(answer: str | None, right: frozenset[str | None]) -> str:
    """Return `right`, `wrong`, `missing`, `invented`, or `none` where neither the answer nor the gold has one."""
    if None in right:
        return "none" if answer is None else "invented"
    return "missing" if answer is None else "right" if answer in right else "wrong"


if __name__ == "__main__":
    sys.exit(main())
