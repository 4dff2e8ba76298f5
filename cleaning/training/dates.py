"""Train the weights that choose a page's date of publication: `python -m cleaning.training.dates DATA`.

A page's options are the days that it has, and no answer. A log-linear model gives each option a probability: the
softmax of the sums of its features' weights. The weights have the greatest likelihood with an L2 penalty. `--folds`
prints the figures of a cross-validation by host: each page is judged by weights that were trained on other hosts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np

from cleaning.metadata.date_candidates import collect_dates
from cleaning.metadata.dates import STATED_SOURCES, choose_day, describe_days, score_options
from cleaning.metadata.languages import stated_language
from cleaning.metadata.statements import read_statements
from cleaning.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SETS = ("snippets-dev", "dates-dev", "wcxb-dev")
WEIGHTS = Path(__file__).parents[1] / "data" / "date-weights.txt"
_FOLDS = 5
_PENALTY = 2.0
_UNCERTAIN = 0.3  # the weight of a page whose gold has no date although the page states one
# What the weights are shrunk to: a statement of the page counts unless the data say otherwise.
_PRIOR = {
    "json-ld": 1.5,
    "article-meta": 1.5,
    "library-meta": 1.0,
    "meta": 1.0,
    "microdata": 1.5,
    "time": 1.5,
    "time:marked-published": 1.0,
    "url": 1.0,
}
_MIN_PAGES = 8  # that have a feature
_MAX_PAGE_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class DatedPage:
    """A page with its options and its gold day, None for a page without a date."""

    host: str
    options: Mapping[str | None, frozenset[str]]
    day: str | None
    certain: bool = True
    """False for a page whose gold has no date although the page states one: readers noted what they saw."""

    @property
    def fold(self) -> int:
        """The part of the cross-validation that the page's host is in."""
        return zlib.crc32(self.host.encode()) % _FOLDS


def read_pages(data: Path, sets: Sequence[str] = SETS) -> list[DatedPage]:
    """Return the pages of these sets whose date people have noted, in order."""
    return [page for name in sets for page in _read_set(data / "extraction" / name)]


def _read_set(folder: Path) -> Iterator[DatedPage]:
    truths = _read_lines(folder / "truth.jsonl")
    paths = {truth["id"]: folder / truth["html_path"] for truth in truths}
    notes = folder / "metadata.jsonl"
    for truth in _read_lines(notes) if notes.exists() else truths:
        url = truth.get("url")
        page = parse(gzip.decompress(paths[truth["id"]].read_bytes()), url, max_bytes=_MAX_PAGE_BYTES)
        stated = read_statements(page.root)
        candidates = list(collect_dates(page.root, stated, url, stated_language(page.root, stated)))
        host = (urlsplit(url or "").hostname or truth["id"]).removeprefix("www.")
        day = (truth.get("date") or "")[:10] or None
        certain = day is not None or not any(candidate.source in STATED_SOURCES for candidate in candidates)
        yield DatedPage(host, describe_days(candidates, stated.types, url), day, certain)


def _read_lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:  # texts have line separators that `splitlines` cuts at
        return [json.loads(line) for line in lines]


class OptionTable:
    """The options of pages as a sparse matrix: a row an option, a column a feature."""

    def __init__(self, pages: Sequence[DatedPage], names: Sequence[str]) -> None:
        from scipy import sparse  # noqa: PLC0415 — the extra `train` brings it

        columns = {name: column for column, name in enumerate(names)}
        rows = [
            (number, options, day == page.day)
            for number, page in enumerate(pages)
            for day, options in page.options.items()
        ]
        known = [[columns[name] for name in sorted(options) if name in columns] for _, options, _ in rows]
        starts = np.cumsum([0, *map(len, known)])
        cells = np.concatenate([np.array(row, int) for row in known])
        self.matrix = sparse.csr_matrix((np.ones(len(cells)), cells, starts), shape=(len(rows), len(columns)))
        self.page_numbers = np.array([number for number, _, _ in rows])
        self.right = np.array([right for _, _, right in rows], float)
        self.prior = np.array([_PRIOR.get(name, 0.0) for name in names])
        self.page_weights = np.array([1.0 if page.certain else _UNCERTAIN for page in pages])

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
        value = -self.page_weights @ np.log(likelihoods) + _PENALTY / 2 * excess @ excess
        slopes = self.page_weights[numbers] * (shares - right_shares)
        return float(value), self.matrix.T @ slopes + _PENALTY * excess


def train(pages: Sequence[DatedPage]) -> dict[str, float]:
    """Return the weights of the features that several pages have, rounded to two digits; zeros are left out."""
    from scipy.optimize import minimize  # noqa: PLC0415 — the extra `train` brings it

    # A page whose day is not among its options teaches nothing: not that it has no date.
    pages = [page for page in pages if page.day in page.options]
    counts = Counter(name for page in pages for name in frozenset().union(*page.options.values()))
    names = sorted(name for name, count in counts.items() if count >= _MIN_PAGES)
    table = OptionTable(pages, names)
    weights = minimize(table.loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    rounded = (round(float(weight), 2) for weight in weights)
    return {name: weight for name, weight in zip(names, rounded, strict=True) if weight}


def cross_validate(pages: Sequence[DatedPage]) -> Iterator[tuple[DatedPage, dict[str | None, float]]]:
    """Yield each page with the scores of its options, by weights that were trained on the pages of other folds."""
    for fold in range(_FOLDS):
        weights = train([page for page in pages if page.fold != fold])
        for page in pages:
            if page.fold == fold:
                yield page, score_options(page.options, weights)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: those of the process); return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m cleaning.training.dates", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the development data")
    parser.add_argument("--folds", action="store_true", help="print the figures of the cross-validation; write nothing")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="the file to write (default: that of the package)")
    options = parser.parse_args(arguments)
    if not (options.data / "extraction").is_dir():
        parser.error(f"there is no folder 'extraction' in {options.data}")
    pages = read_pages(options.data)
    if options.folds:
        _print_verdicts(list(cross_validate(pages)))
        return 0
    lines = [f"{weight:+.2f}\t{name}\n" for name, weight in train(pages).items()]
    options.out.write_text(_HEAD.format(pages=len(pages)) + "".join(lines), "utf-8")
    return 0


_HEAD = """\
# Weights of the features of a page's days, by `python -m cleaning.training.dates DATA` on {pages} pages.
"""


def _print_verdicts(scored: Sequence[tuple[DatedPage, Mapping[str | None, float]]]) -> None:
    sys.stdout.write("likelihood  right  wrong  missing  invented\n")
    for likelihood in (0.2, 0.3, 0.4, 0.5, 0.6):
        counts = Counter(judge(choose_day(scores, likelihood), page.day) for page, scores in scored)
        figures = f"{counts['right']:6} {counts['wrong']:6} {counts['missing']:8} {counts['invented']:9}"
        sys.stdout.write(f"{likelihood:10} {figures}\n")


def judge(answer: str | None, day: str | None) -> str:
    """Return `right`, `wrong`, `missing`, `invented`, or `none` where neither the answer nor the gold has a day."""
    if day is None:
        return "none" if answer is None else "invented"
    return "missing" if answer is None else "right" if answer == day else "wrong"


if __name__ == "__main__":
    sys.exit(main())
