"""How much better the other pages of a site become when a reader corrects some of its pages, and how much worse.

    python research/teach.py --cross-validate FOLDER [--draws 5] [--wrong 0.1] [--json]

A page is corrected by its gold text: each block whose decision differs gets a mark, and the page is finished. The other
pages of the site are judged. FOLDER is what `python -m research.training DATA --folds FOLDER` writes: each page is
judged by the model that never saw its host; no model saw `sites-dev`. With --wrong, this share of the marks stands on
another block, drawn by chance. The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import corpus
import numpy as np
from rich.console import Console
from rich.table import Table

from cleaning import Options, parse
from cleaning.classifier.decide import decide
from cleaning.classifier.model import Model
from cleaning.classifier.shipped import load_shipped_model
from cleaning.classifier.signals import read_signals
from cleaning.domains import registered_domain
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements
from cleaning.teaching import CorrectedBlock, CorrectedPage, SiteModel, correct
from cleaning.teaching.signatures import read_signatures
from research.training.data import Example, read_examples
from research.training.folds import FOLDS
from research.training.gold import label_blocks, score_text

UNSEEN = "sites-dev"
SEEN = ("wcxb-dev", "annotated")
CORRECTED = (1, 2, 3, 5)
LEAST_PAGES = 4
HARM = 0.003
_MAIN = 0.5


@dataclass(frozen=True, eq=False)
class JudgedPage:
    """A page with the prediction of a model that does not know its host, and what is right of its blocks."""

    example: Example
    prediction: object
    site: str
    kept: np.ndarray
    right: np.ndarray
    plain: float

    @classmethod
    def of(cls, example, model):
        prediction = model.predict(example.table, example.signals)
        decisions = decide(example.table, prediction, Options())
        kept = np.array([decision.kept for decision in decisions])
        site = registered_domain(f"http://{example.host}") or example.host
        right = np.where(example.known_labels, example.labels >= _MAIN, kept)
        return cls(example, prediction, site, kept, right, _score(example, decisions))

    def corrected(self, number, rng, wrong):
        """The page as a reader corrects it; a share of the marks is wrong."""
        described = zip(
            read_signatures(self.example.table, self.prediction.scores),
            self.example.table.blocks,
            self.prediction.scores.tolist(),
            self.kept.tolist(),
            strict=True,
        )
        blocks = tuple(
            CorrectedBlock(signature, block.words, score, kept) for signature, block, score, kept in described
        )
        marks = {position: bool(self.right[position]) for position in np.flatnonzero(self.right != self.kept).tolist()}
        others = np.flatnonzero(self.right == self.kept).tolist()
        for position in list(marks):
            if others and rng.random() < wrong:
                del marks[position]
                instead = rng.choice(others)
                marks[instead] = not self.kept[instead]
        page = CorrectedPage(f"{self.site}/{number}", "gold", f"2026-01-{number + 1:02}", "", blocks)
        return correct(page, marks)

    def taught(self, model):
        """The F1 of the page with the model of its site."""
        scores = model.judge(self.example.table, self.prediction.scores)
        if scores is None:
            return self.plain
        return _score(self.example, decide(self.example.table, self.prediction._replace(scores=scores), Options()))


@dataclass(frozen=True)
class Measured:
    """The sites of a set, with a number of corrected pages: mean F1 of the other pages before and after, by site."""

    set: str
    corrected: int
    sites: int
    before: float
    after: float
    harmed: int
    worst_site: str
    worst: float

    @property
    def error_taken(self):
        """The share of the error (1 - F1) that is gone."""
        return (self.after - self.before) / (1 - self.before)


def measure(pages, draws=5, wrong=0.0):
    """Return the figures for each set and each number of corrected pages; `draws` times the pages are drawn."""
    by_site = defaultdict(list)
    for page in pages:
        by_site[page.example.set, page.site].append(page)
    gains = defaultdict(dict)
    for (name, site), members in sorted(by_site.items()):
        for count in CORRECTED:
            if len(members) >= max(LEAST_PAGES, count + 1):
                gains[name, count][site] = _gain(site, members, count, draws, wrong)
    return [_summary(name, count, of_sites) for (name, count), of_sites in sorted(gains.items())]


def _gain(site, members, count, draws, wrong):
    """Return the mean F1 of the other pages before and after, over the draws."""
    drawn = []
    for draw in range(draws):
        rng = random.Random(f"{site}-{count}-{draw}")
        chosen = rng.sample(range(len(members)), count)
        model = SiteModel.learn([members[number].corrected(place, rng, wrong) for place, number in enumerate(chosen)])
        others = [page for number, page in enumerate(members) if number not in chosen]
        drawn.append((fmean(page.plain for page in others), fmean(page.taught(model) for page in others)))
    return fmean(before for before, _ in drawn), fmean(after for _, after in drawn)


def _summary(name, count, of_sites):
    changes = {site: after - before for site, (before, after) in of_sites.items()}
    worst = min(changes, key=changes.get)
    return Measured(
        name,
        count,
        len(of_sites),
        fmean(before for before, _ in of_sites.values()),
        fmean(after for _, after in of_sites.values()),
        sum(change < -HARM for change in changes.values()),
        worst,
        changes[worst],
    )


def read_pages(folder):
    """Return the pages of all sets, each judged by a model that does not know its host."""
    hosts = json.loads((folder / "folds.json").read_text("utf-8"))["hosts"]
    models = [Model.load(folder / f"fold-{fold}.npz") for fold in range(FOLDS)]
    examples = [example for example in read_examples(corpus.DATA, SEEN) if example.size]
    return [JudgedPage.of(example, models[hosts[example.host]]) for example in examples] + unseen_pages()


def unseen_pages():
    """Return the pages of the set that the shipped model was not trained on."""
    examples = [_read_unseen(sample) for sample in corpus.read_samples(UNSEEN)]
    return [JudgedPage.of(example, load_shipped_model()) for example in examples if example.size]


def _read_unseen(sample):
    page = parse(sample.body, sample.url)
    table = read_leaf_table(page.root)
    texts = [block.text for block in table.blocks]
    signals = read_signals(page, read_statements(page.root))
    labels = label_blocks(texts, sample.text)
    return Example(
        sample.id, UNSEEN, sample.host, sample.language, None, sample.text, table, signals, labels, np.zeros(len(texts))
    )


def _score(example, decisions):
    text = "\n".join(decision.block.text for decision in decisions if decision.kept)
    return score_text(text, example.gold, 1).f1 if example.set == UNSEEN else example.score(text).f1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cross-validate", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--wrong", type=float, default=0.0, help="share of the marks that are wrong (default: 0)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = measure(read_pages(options.cross_validate), options.draws, options.wrong)
    if options.json:
        json.dump([asdict(figures) | {"error_taken": figures.error_taken} for figures in measured], sys.stdout)
        return
    table = Table("set", "corrected", "sites", "F1 before", "after", "error", "harmed", "worst site")
    for figures in measured:
        table.add_row(
            figures.set,
            str(figures.corrected),
            str(figures.sites),
            f"{figures.before:.3f}",
            f"{figures.after:.3f}",
            f"{-figures.error_taken:+.0%}",
            str(figures.harmed),
            f"{figures.worst:+.3f} {figures.worst_site}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
