"""Searching for one word and for 50: raw blocks, those that ENIW and PAB keep, and our index (pab.txt, 4.5 and 4.6)."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from findings import Finding, Panel
from pab_blocks import PAPER as BLOCKS
from pab_blocks import TOTAL
from report import Figures
from scans import NAMES, find, scanned, vocabulary
from stand_ins import ARTICLE_SETS, ARTICLES, articles
from stored import stored
from verdicts import judge_ahead, judge_near

from crawler.reading.search import search
from crawler.storage.database import read_transaction

PAGES = 500
KEYWORD = "computer"
WORDS = 50
INDEX = "pab, our index"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of table 4.5.1."""

    seconds: float
    pages: int


PAPER = {"raw": Row(0.278, 140), "eniw": Row(0.235, 137), "pab": Row(0.012, 136)}
_ROUNDS = 15  # of the one keyword
_ROUNDS_OF_EACH = 3
_SEED = 50
_NOTE = (
    "The paper does not say how its searches find a block. Here they are scans of SQLite tables: of all texts of the"
    " pages, of the blocks that ENIW keeps and of those that PAB keeps. A scan finds each block that holds the "
    "letters of the word, ranked by density, PAB's by priority times density. The paper's shares are those of table "
    "4.1.1. Our index holds PAB's blocks, finds whole words and ranks by the same. Each search returns all "
    "matching pages. Times are CPU time, as ratios; for 50 words the paper has a figure without values."
)


@dataclass(frozen=True, slots=True)
class Searched:
    """What the searches of some words took and found, by kind: seconds with a row a word and a column a round."""

    seconds: dict
    pages: dict

    def best(self, kind):
        """Return the time of each word in its best round."""
        return self.seconds[kind].min(axis=1)

    def ratio(self, kind):
        return float(self.best(kind).sum() / self.best("raw").sum())


def run(limit=None):
    samples = articles(PAGES, limit)
    with tempfile.TemporaryDirectory(prefix="blocksieve-experiments-") as folder:
        index = stored(Path(folder) / "blocks.db", "pab", samples)
        with scanned(Path(folder) / "scans.db", samples) as tables, index as engine:
            searches = _searches(tables, engine, len(samples))
            searched_word = measure(searches, [KEYWORD], _ROUNDS)
            searched_words = measure(searches, _draw(vocabulary(tables, "pab")), _ROUNDS_OF_EACH)
            sizes = {name: tables.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in NAMES}
    return Finding(
        "Searching without an index, and with ours",
        "Kabir et al. 2015, sections 4.5 and 4.6, table 4.5.1 and figure 4.6.1",
        f"{len(samples)} {ARTICLES}, for 500 pages of ezinearticles",
        (_table(searched_word, sizes), _table_of_words(searched_words)),
        _panels(searched_word, searched_words),
        (*_verdicts_of_one(searched_word), *_verdicts_of_many(searched_words)),
        ("eniw", "pab"),
        ARTICLE_SETS,
        notes=(_NOTE,),
    )


def measure(searches, words, rounds):
    """Search each word in each way, in turns, and return what that took and found."""
    seconds = {kind: np.zeros((len(words), rounds)) for kind in searches}
    pages = {kind: [] for kind in searches}
    for number, word in enumerate(words):
        for turn in range(rounds):
            for kind, call in searches.items():
                began = time.process_time()
                hits = call(word)
                seconds[kind][number, turn] = time.process_time() - began
                if turn == 0:
                    pages[kind].append(len(hits))
    return Searched(seconds, pages)


def _searches(tables, engine, most):
    def indexed(word):
        with read_transaction(engine) as connection:
            return search(connection, word, limit=most)

    return {name: partial(find, tables, name) for name in NAMES} | {INDEX: indexed}


def _draw(words):
    """Return the words that are searched: 50 of those that there are, the same each time."""
    chosen = np.random.default_rng(_SEED).choice(words, min(WORDS, len(words)), replace=False)
    return [str(word) for word in chosen]


def _verdicts_of_one(searched):
    rounds = [str(turn) for turn in range(_ROUNDS)]

    def slower(slow, fast):
        return 1000 * (searched.seconds[slow] - searched.seconds[fast])[0]

    raw = max(1, searched.pages["raw"][0])
    return (
        judge_ahead(f"{KEYWORD!r}: PAB is searched faster than ENIW", slower("eniw", "pab"), rounds, " ms"),
        judge_ahead(f"{KEYWORD!r}: ENIW is searched faster than raw blocks", slower("raw", "eniw"), rounds, " ms"),
        judge_near("PAB takes a twentieth of ENIW's time", _over(searched, "pab", "eniw"), _stated("pab", "eniw")),
        judge_near("ENIW's pages, of raw's", searched.pages["eniw"][0] / raw, PAPER["eniw"].pages / PAPER["raw"].pages),
        judge_near("PAB's pages, of raw's", searched.pages["pab"][0] / raw, PAPER["pab"].pages / PAPER["raw"].pages),
    )


def _over(searched, kind, other_kind):
    return searched.ratio(kind) / searched.ratio(other_kind)


def _stated(kind, other):
    return PAPER[kind].seconds / PAPER[other].seconds


def _verdicts_of_many(many):
    words = [str(number) for number in range(len(many.pages["raw"]))]

    def slower(slow, fast):
        return 1000 * (many.best(slow) - many.best(fast))

    return (
        judge_ahead(f"{WORDS} words: PAB is searched faster than ENIW", slower("eniw", "pab"), words, " ms"),
        judge_ahead(f"{WORDS} words: PAB is searched faster than raw blocks", slower("raw", "pab"), words, " ms"),
    )


def _table(searched, sizes):
    rows = []
    for name, row in PAPER.items():
        seconds = f"{row.seconds / PAPER['raw'].seconds:.3f}"
        rows.append([name, "paper", *_of_raw(_printed_blocks(name), TOTAL), seconds, f"{row.pages}"])
        rows.append([name, "ours", *_of_raw(sizes[name], sizes["raw"]), *_searched(searched, name)])
    rows.append([INDEX, "ours", *_of_raw(sizes["pab"], sizes["raw"]), *_searched(searched, INDEX)])
    head = ("blocks of", "whose", "blocks", "share of raw's", "time, raw = 1", "pages found")
    return Figures(f"Table 4.5.1: {KEYWORD}", head, rows)


def _of_raw(blocks, raw):
    return f"{blocks:,}", f"{blocks / max(1, raw):.0%}"


def _printed_blocks(name):
    return BLOCKS[name].informative if name in BLOCKS else TOTAL


def _searched(searched, kind):
    return f"{searched.ratio(kind):.3f}", f"{searched.pages[kind][0]}"


def _table_of_words(many):
    rows = [[kind, f"{many.ratio(kind):.3f}", f"{np.mean(many.pages[kind]):.1f}"] for kind in many.seconds]
    title = f"Figure 4.6.1: {len(many.pages['raw'])} words, ours"
    return Figures(title, ("blocks of", "mean time, raw = 1", "mean pages found"), rows)


def _panels(searched_word, searched_words):
    ticks = (*NAMES, INDEX)
    times = {
        f"paper, {KEYWORD}": [*(row.seconds / PAPER["raw"].seconds for row in PAPER.values()), None],
        f"ours, {KEYWORD}": [searched_word.ratio(kind) for kind in ticks],
        f"ours, {WORDS} words": [searched_words.ratio(kind) for kind in ticks],
    }
    pages = {
        "paper": [*(row.pages / PAPER["raw"].pages for row in PAPER.values()), None],
        "ours": [searched_word.pages[kind][0] / max(1, searched_word.pages["raw"][0]) for kind in ticks],
    }
    return Panel("time", ticks, times, "raw = 1"), Panel(f"pages found, {KEYWORD}", ticks, pages, "raw = 1")
