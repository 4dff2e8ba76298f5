"""Removal of secondary noise: near-duplicate blocks by five ways to compare them (weighted.txt, experiment 2)."""

from __future__ import annotations

from dataclasses import dataclass

import weighted_pages as common
from findings import Finding
from report import Figures
from similarity import LIKENESSES, MOST_BITS, PERMUTATIONS, SIMILAR, distinct
from stand_ins import ARTICLE_SETS, decide
from verdicts import judge_follows
from weighted_1 import LEFT

from cleaning.blocks import Reason

PAPER = common.Paper(
    "Table 7",
    {
        "Jaccard": (85, 162, 237),
        "MinHash": (89, 167, 242),
        "simhash": (89, 170, 249),
        "hybridhash": (90, 172, 251),
        "modified simhash": (91, 179, 253),
    },
    {"Jaccard": 81.67, "MinHash": 84.39, "simhash": 85.67, "hybridhash": 86.56, "modified simhash": 88.28},
    proposed="modified simhash",
    readings=("hybridhash",),
)
NOTHING = "nothing removed"
ITSELF = "`weighted` itself"  # modified simhash, of terms that end where a link begins or ends
CONCLUSION = 86.56  # per cent for modified simhash, in section 6
_READING = (
    "hybridhash is our reading. The paper says only that it is like simhash and works on binary vectors. Ours is "
    "simhash with binary weights: a term counts once, however often it occurs."
)
_NOTE = (
    f"Jaccard and MinHash ({PERMUTATIONS} permutations, by datasketch) take blocks for duplicates from {SIMILAR:g} on, "
    f"the fingerprints up to {MOST_BITS} bits; for the first two the paper has no figure. All compare the blocks that "
    "tag analysis, DOM tree and punctuation leave; the later of two goes."
)


@dataclass(frozen=True, slots=True)
class Removed:
    """The blocks that were compared on each page, and for each method how many went and on how many pages."""

    compared: list
    blocks: dict
    pages: dict

    def count(self, name, blocks):
        self.blocks[name] += blocks
        self.pages[name] += blocks > 0


def run(limit=None):
    samples = common.load(limit)
    names = (*LIKENESSES, ITSELF)
    removed = Removed([], dict.fromkeys(names, 0), dict.fromkeys(names, 0))
    scored = common.measure(samples, lambda page: extract(page, removed))
    return Finding(
        "Near-duplicate blocks removed",
        "Saravanan and Sathya Bama 2020, section 5, experiment 2, table 7",
        common.describe(samples),
        (common.table(PAPER, scored), _table(removed)),
        common.panels(PAPER, scored),
        (*common.verdicts(PAPER, scored, NOTHING), _conclusion()),
        ("weighted",),
        ARTICLE_SETS,
        notes=(common.NOTE, _NOTE, _READING),
    )


def extract(page, removed):
    """Return what is left of a page when each way of comparing has removed its duplicates; count what went."""
    left = [decision for decision in decide(page, "weighted") if decision.reason in LEFT]
    texts = [decision.block.text for decision in left]
    removed.compared.append(len(texts))
    removed.count(ITSELF, sum(decision.reason is Reason.PAGE_DUPLICATE for decision in left))
    texts_left = {}
    for name, likeness in LIKENESSES.items():
        kept = distinct(texts, likeness)
        removed.count(name, len(texts) - len(kept))
        texts_left[name] = "\n".join(texts[place] for place in kept)
    return texts_left | {NOTHING: "\n".join(texts)}


def _conclusion():
    name = PAPER.proposed
    claim = f"the conclusion's figure for {name} is that of table 7"
    return judge_follows(claim, CONCLUSION, PAPER.mean(name), 0.005)


def _table(removed):
    rows = [[name, f"{count:,}", f"{removed.pages[name]:,}"] for name, count in removed.blocks.items()]
    title = f"Blocks removed of {sum(removed.compared):,}, ours"
    return Figures(title, ("method", "blocks removed", "pages with one"), rows)
