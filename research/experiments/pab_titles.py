"""Naive Bayes with the title given to every text, and on the types of pages of today (beside pab.txt, 4.3)."""

from __future__ import annotations

import numpy as np
from categories import CLASSES, METHOD_NAMES, RAW, load, load_types
from findings import Finding, Panel
from pab_classes import PAPER, classify, count_terms, with_error
from report import Figures
from sklearn.model_selection import StratifiedGroupKFold
from verdicts import judge_ahead

from cleaning.classifier.signals import PAGE_TYPES

FOLDS = 10
WEBKB, MODERN = "WebKB", "types of wcxb-dev"
AS_KEPT, WITH_TITLE = "as kept", "title given"
_SEED = 2015
_NOTE = (
    f"Each of {FOLDS} folds is judged by what the others teach; all pages of a host are in one fold, so pages of one "
    "hand do not teach each other. ± is σ/√n over the folds. `pab-classes` draws pages without regard to hosts, as the "
    "paper does. `title given` adds the page's title as a line to each text that has no such line."
)
_TYPES_NOTE = (
    "The classes of today are types of pages (article, forum, shop ...), not topics: no data set at hand has topics. "
    "So words of the page around the text, which cleaning removes, can tell a class."
)


def run(limit=None):
    classes = load(limit)
    types = load_types(limit)
    right = {
        (name, form): measure([page.with_title() for page in pages] if form == WITH_TITLE else pages)
        for name, pages in ((WEBKB, classes), (MODERN, types))
        for form in (AS_KEPT, WITH_TITLE)
    }
    hosts = {WEBKB: [page.host for page in classes], MODERN: [page.host for page in types]}
    return Finding(
        "Naive Bayes with every page's title, and on pages of today",
        "Kabir et al. 2015, section 4.3, with what it leaves open",
        f"{len(classes)} pages of three classes of WebKB ({', '.join(CLASSES)}), and {len(types)} pages of the "
        f"{len(PAGE_TYPES)} types of wcxb-dev",
        (_table(right),),
        _panels(right),
        _verdicts(right, hosts),
        tuple(METHOD_NAMES),
        ("webkb", "wcxb-dev"),
        notes=(_NOTE, _TYPES_NOTE),
    )


def measure(pages):
    """Return for each text the folds, and whether each page was classed rightly, by the models of the other folds."""
    labels = np.array([page.label for page in pages])
    counts = {text: count_terms([page.texts[text] for page in pages]) for text in pages[0].texts}
    count = min(FOLDS, *np.unique(labels, return_counts=True)[1])
    folds = StratifiedGroupKFold(count, shuffle=True, random_state=_SEED)
    hosts = [page.host for page in pages]
    splits = [classify(counts, labels, np.sort(tested)) for _, tested in folds.split(labels, labels, hosts)]
    return [split for split in splits if len(split.tested)]


def _accuracy(splits, text):
    """Return the accuracy of each fold."""
    return np.array([split.right[text].mean() for split in splits])


def _right(splits, text):
    """Return whether each page was classed rightly, in the pages' order."""
    order = np.argsort(np.concatenate([split.tested for split in splits]))
    return np.concatenate([split.right[text] for split in splits])[order].astype(int)


def _verdicts(right, hosts):
    return tuple(
        judge_ahead(f"{claim}: {name}, {form}", _right(splits, ahead) - _right(splits, behind), hosts[name])
        for ahead, behind, claim in (
            ("pab", "eniw", "PAB's text is classed better than ENIW's"),
            ("pab", RAW, "PAB's text is classed better than raw text"),
        )
        for (name, form), splits in right.items()
    )


def _table(right):
    rows = [[f"paper: {method}", *[""] * len(right), f"{100 * np.mean(PAPER[method]):.1f}"] for method in PAPER]
    rows += [
        [f"ours: {text}", *(with_error(_accuracy(splits, text)) for splits in right.values()), ""]
        for text in (RAW, *METHOD_NAMES)
    ]
    head = ("text", *(f"{name}, {form}" for name, form in right), "the paper's categories")
    return Figures("Accuracy by the models of other hosts, %", head, rows)


def _panels(right):
    texts = (RAW, *METHOD_NAMES)
    return tuple(
        Panel(
            name,
            texts,
            {
                form: [100 * _accuracy(right[name, form], text).mean() for text in texts]
                for form in (AS_KEPT, WITH_TITLE)
            },
            "%",
        )
        for name in (WEBKB, MODERN)
    )
