"""How often titles, authors and dates of a site's pages are right before and after some of its pages are corrected.

    python tests/research/teach_fields.py [--draws 5] [--json]

A page is corrected by its gold title, authors or day, where it states them, or by having none; the other pages of its
site are judged as metadata_quality.py judges them. The weights are those of the page's fold, trained on other hosts.
Sites have four pages or more whose gold is certain. The data is found through BLOCKSIEVE_DATA (default: ../shared/data
beside the checkout).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import fmean

import corpus
from metadata_quality import LARGEST_PAGE, Found, gold, judge, names, read_truths
from rich.console import Console
from rich.table import Table

from cleaning import clean, parse
from cleaning.domains import registered_domain
from cleaning.errors import AnnotationError
from cleaning.metadata.page import read_metadata
from cleaning.metadata.ranking import read_evidence
from cleaning.metadata.statements import read_statements
from cleaning.teaching.fields import FIELDS, correct_field, learn_field, taught_weights
from cleaning.training import metadata as training

SETS = training.SETS
CORRECTED = (1, 2, 3)
LEAST_PAGES = 4
GOLD_NAMES = {"title": "title", "authors": "author", "published": "published"}
NOTES = {"title": "title", "authors": "author", "published": "date"}


@dataclass(frozen=True, eq=False)
class StatedPage:
    """A page with its gold, and the trained weights of the fold that leaves its host out."""

    sample: corpus.Sample
    truth: dict
    weights: dict

    @cached_property
    def tree(self):
        return parse(self.sample.body, self.sample.url, max_bytes=LARGEST_PAGE)

    @cached_property
    def text(self):
        return clean(self.sample.body, self.sample.url, max_bytes=LARGEST_PAGE).text

    @property
    def site(self):
        return registered_domain(self.sample.url or "") or self.sample.host

    @cached_property
    def gold(self):
        return gold(self.truth)

    def is_certain(self, field):
        """Whether the gold says what is right; a page without a noted date may state one."""
        label = next(ranked.label for ranked in training.FIELDS if ranked.name == field)
        evidence = read_evidence(self.tree.root, read_statements(self.tree.root), self.sample.url)
        return label(evidence, self.truth).certain

    def corrected(self, field):
        """The correction of a field by its gold, which may be no answer; None if the page states it nowhere."""
        answer = self.truth.get(NOTES[field]) or ""
        try:
            return correct_field(self.tree, field, answer[:10] if field == "published" else answer)
        except AnnotationError:
            return None

    def is_right(self, field, added):
        """Whether the field is right with the weights that a site adds."""
        weights = taught_weights(field, added, self.weights[field])
        metadata = read_metadata(self.tree, None, self.text, {**self.weights, field: weights})
        answer = Found(metadata.title, names(metadata.author), metadata.published)
        name = GOLD_NAMES[field]
        return judge(name, getattr(answer, name), getattr(self.gold, name)) in {"right", None}


@dataclass(frozen=True)
class MeasuredField:
    """The share of right answers on the other pages, before and after, as the mean of the sites."""

    field: str
    corrected: int
    sites: int
    before: float
    after: float
    worse_sites: int


def read_pages():
    """Return the pages of the sets with gold metadata."""
    weights = training.read_fold_weights(corpus.DATA)
    pages = []
    for name in SETS:
        truths = read_truths(name)
        for sample in corpus.read_samples(name):
            if sample.id in truths:
                fold = training.fold_of(training.host_of(sample.url, sample.id))
                pages.append(StatedPage(sample, truths[sample.id], weights[fold]))
    return pages


def measure(pages, draws=5):
    """Return the figures of each field and number of corrected pages; `draws` times the pages are drawn."""
    measured = []
    for field in FIELDS:
        by_site = defaultdict(list)
        for page in pages:
            if page.is_certain(field):
                by_site[page.site].append(page)
        sites = {site: members for site, members in by_site.items() if len(members) >= LEAST_PAGES}
        for count in CORRECTED:
            shares = [_shares(field, members, count, draws) for _, members in sorted(sites.items())]
            before = fmean(share for share, _ in shares)
            after = fmean(share for _, share in shares)
            worse = sum(later < earlier for earlier, later in shares)
            measured.append(MeasuredField(field, count, len(shares), before, after, worse))
    return measured


def _shares(field, members, count, draws):
    drawn = []
    for draw in range(draws):
        rng = random.Random(f"{members[0].site}-{field}-{count}-{draw}")
        chosen = set(rng.sample(range(len(members)), count))
        corrections = [members[number].corrected(field) for number in sorted(chosen)]
        known = [corrected for corrected in corrections if corrected is not None]
        added = learn_field(field, known, members[0].weights[field])
        others = [page for number, page in enumerate(members) if number not in chosen]
        drawn.append(
            (
                fmean(page.is_right(field, {}) for page in others),
                fmean(page.is_right(field, added) for page in others),
            )
        )
    return fmean(before for before, _ in drawn), fmean(after for _, after in drawn)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    measured = measure(read_pages(), options.draws)
    if options.json:
        json.dump([asdict(figures) for figures in measured], sys.stdout)
        return
    table = Table("field", "corrected", "sites", "right before", "after", "sites that lose")
    for figures in measured:
        cells = (figures.corrected, figures.sites, f"{figures.before:.3f}", f"{figures.after:.3f}", figures.worse_sites)
        table.add_row(figures.field, *map(str, cells))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
