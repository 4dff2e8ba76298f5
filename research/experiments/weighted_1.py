"""Removal of primary noise: tag analysis and DOM tree, CoreEx, ECON and tag rules (weighted.txt, experiment 1)."""

from __future__ import annotations

import weighted_pages as common
from findings import Finding
from stand_ins import ARTICLE_SETS, decide, text_of

from cleaning.blocks import Reason

PAPER = common.Paper(
    "Table 6",
    {
        "V-Wrapper": (78, 164, 242),
        "coreex": (81, 171, 256),
        "econ": (90, 182, 264),
        "tags": (92, 185, 271),
        "proposed": (93, 189, 272),
    },
    {"V-Wrapper": 80.22, "coreex": 83.94, "econ": 89.67, "tags": 91.61, "proposed": 92.72},
    proposed="proposed",
)
ABSENT = {"V-Wrapper": "it is learned from labelled pages, and the paper does not give what it has learned"}
NOTHING = "nothing"
# What steps 1 to 4 leave of a page; the later steps drop for these reasons.
LEFT = frozenset({Reason.KEPT, Reason.LOW_SCORE, Reason.PAGE_DUPLICATE})


def run(limit=None):
    samples = common.load(limit)
    scored = common.measure(samples, extract)
    return Finding(
        "Primary noise removed",
        "Saravanan and Sathya Bama 2020, section 5, experiment 1, table 6",
        common.describe(samples),
        (common.table(PAPER, scored),),
        common.panels(PAPER, scored),
        common.verdicts(PAPER, scored, NOTHING),
        ("weighted", "coreex", "econ", "tags"),
        ARTICLE_SETS,
        ABSENT,
        (common.NOTE, f"`proposed` is what tag analysis, DOM tree and punctuation leave; `{NOTHING}` removes nothing."),
    )


def extract(page):
    """Return what each method leaves of a page."""
    proposed = decide(page, "weighted")
    everything = "\n".join(decision.block.text for decision in proposed)
    rivals = {method: text_of(decide(page, method)) for method in ("coreex", "econ", "tags")}
    return rivals | {"proposed": text_of(proposed, LEFT), NOTHING: everything}
