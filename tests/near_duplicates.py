"""What fingerprints find: edits planted in real texts, and different texts that must not be found.

    python tests/near_duplicates.py [--json]

The weightings of `cleaning.fingerprint` at three bits stand beside Jaccard and MinHash on the sets of stems and beside
the digest. Without --json, the tables in docs/near-duplicates.md and the plot beside it are written anew; the prose
there stays. The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from xxhash import xxh64_intdigest

from cleaning.fingerprint import WEIGHTINGS, digest_terms, fingerprint_terms
from cleaning.terms import count_words, terms

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("BLOCKSIEVE_DATA", ROOT.parent / "shared" / "data"))
PAGE, PLOT = ROOT / "docs" / "near-duplicates.md", ROOT / "docs" / "near-duplicates.svg"
BEGIN, END = "<!-- made by tests/near_duplicates.py -->", "<!-- end of what is made -->"

SEED = 20
MOST_BITS = 3
SIMILAR = 0.8  # of Jaccard and MinHash
DIFFERENT = 0.5  # pairs whose stems overlap less are false positives when found
FEWEST_TERMS = 20  # FINGERPRINT_MIN_TERMS
PERMUTATIONS = 128
LENGTHS = {"10-19": (10, 20), "20-49": (20, 50), "50-99": (50, 100), "100-199": (100, 200), "200+": (200, 2_000)}
PER_LENGTH = 300
PER_LENGTH_PAIRS = 1_200
METHODS = (*WEIGHTINGS, "Jaccard", "MinHash", "digest")
ENGLISH = {"us", "uk", "ca", "za", "au", "nz", "ie", None}
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*(?=\S)")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a page's gold text."""

    page: str
    language: str  # English, European, Japanese
    text: str
    words: int


@dataclass(frozen=True)
class Marks:
    """All that the methods compare of a text."""

    fingerprints: dict
    stems: frozenset
    minima: np.ndarray
    digest: int

    @classmethod
    def of(cls, text):
        sequence = terms(text)
        stems = frozenset(sequence)
        prints = {one: fingerprint_terms(sequence, weighting=one) for one in WEIGHTINGS}
        return cls(prints, stems, minima(stems), digest_terms(sequence))


def factors():
    """Return the multipliers and summands of MinHash's permutations (multiply and shift)."""
    made = np.random.default_rng(SEED).integers(0, 1 << 63, (2, PERMUTATIONS, 1), dtype=np.uint64)
    return made[0] * np.uint64(2) + np.uint64(1), made[1]


FACTORS, SUMMANDS = factors()


def minima(stems):
    if not stems:
        return np.zeros(PERMUTATIONS, np.uint64)
    hashes = np.array([xxh64_intdigest(stem.encode()) for stem in stems], np.uint64)
    return ((hashes * FACTORS + SUMMANDS) >> np.uint64(32)).min(axis=1)


def bits(one, other, weighting):
    return (one.fingerprints[weighting] ^ other.fingerprints[weighting]).bit_count()


def jaccard(one, other):
    return len(one.stems & other.stems) / max(1, len(one.stems | other.stems))


def verdicts(one, other):
    """Return by method whether it takes two texts for duplicates."""
    found = {weighting: bits(one, other, weighting) <= MOST_BITS for weighting in WEIGHTINGS}
    found["Jaccard"] = jaccard(one, other) >= SIMILAR
    found["MinHash"] = bool((one.minima == other.minima).mean() >= SIMILAR)
    found["digest"] = one.digest == other.digest
    return found


def paragraphs():
    """Return the different paragraphs of the gold texts, in a fixed random order."""
    found = {}
    for name in ("fundus-dev", "wcxb-dev"):
        with (DATA / "extraction" / name / "truth.jsonl").open(encoding="utf-8") as lines:
            for truth in map(json.loads, lines):
                language = truth.get("lang")
                group = "English" if language in ENGLISH else "Japanese" if language == "jp" else "European"
                for line in truth["text"].split("\n"):
                    text = " ".join(line.split())
                    found.setdefault(text, Paragraph(truth["id"], group, text, count_words(text)))
    wanted = [one for one in found.values() if one.words >= LENGTHS["10-19"][0]]
    random.Random(SEED).shuffle(wanted)
    return wanted


class Editor:
    """Makes pairs of texts that differ by one edit; other words and sentences come from the same language."""

    def __init__(self, language, sources):
        self.chance = random.Random(SEED)
        self.glue = "" if language == "Japanese" else " "
        self.vocabulary = [unit for one in sources for unit in self.units(one.text)]
        self.sentences = [text for one in sources for text in _SENTENCE.split(one.text) if 5 <= count_words(text) <= 25]

    def units(self, text):
        return text.split(" ") if self.glue else list(text)

    def replaced(self, text, places):
        units = self.units(text)
        for place in places:
            old = units[place]
            while units[place] == old:
                units[place] = self.chance.choice(self.vocabulary)
        return self.glue.join(units)

    def share(self, share):
        def edit(text):
            count = len(self.units(text))
            return text, self.replaced(text, self.chance.sample(range(count), max(1, round(count * share))))

        return edit

    def insert(self, text):
        parts = _SENTENCE.split(text)
        place = self.chance.randrange(len(parts) + 1)
        return text, self.glue.join([*parts[:place], self.chance.choice(self.sentences), *parts[place:]])

    def reorder(self, text):
        parts = _SENTENCE.split(text)
        half = len(parts) // 2
        return (text, self.glue.join(parts[half:] + parts[:half])) if half else None

    def date(self, text):
        return f"12 March 2019 {text}", f"4 June 2021 {text}"

    def price(self, text):
        return f"{text} It costs 10 dollars.", f"{text} It costs 25 dollars."

    def edits(self):
        return {
            "1 % of words": self.share(0.01),
            "2 % of words": self.share(0.02),
            "5 % of words": self.share(0.05),
            "10 % of words": self.share(0.1),
            "sentence inserted": self.insert,
            "sentences reordered": self.reorder,
            "date in front": self.date,
            "price at the end": self.price,
            "first word": lambda text: (text, self.replaced(text, [0])),
            "last word": lambda text: (text, self.replaced(text, [-1])),
        }


def share(flags):
    return round(sum(flags) / len(flags), 3) if flags else None


def recall(sources, texts):
    """Return by edit: the pairs, each method's share found, and each weighting's share without one differing bit."""
    found = {}
    for name, edit in Editor(texts[0].language, sources).edits().items():
        pairs = [tuple(map(Marks.of, pair)) for one in texts if (pair := edit(one.text)) and pair[0] != pair[1]]
        told = [verdicts(*pair) for pair in pairs]
        found[name] = {
            "pairs": len(pairs),
            "found": {method: share([one[method] for one in told]) for method in METHODS},
            "blind": {each: share([bits(*pair, each) == 0 for pair in pairs]) for each in WEIGHTINGS},
        }
    return found


def false_positives(texts):
    """Return by method how many pairs of different texts it finds: all pairs, and those of the same page."""
    marks = [Marks.of(one.text) for one in texts]
    pages = np.array([hash_of(one.page) for one in texts])
    prints = {each: np.array([one.fingerprints[each] for one in marks], np.uint64) for each in WEIGHTINGS}
    sketches = np.stack([one.minima for one in marks])
    found = {kind: {"pairs": 0} | dict.fromkeys(METHODS, 0) for kind in ("any", "same page")}
    for place in range(len(marks) - 1):
        rest = slice(place + 1, None)
        same = pages[rest] == pages[place]
        near = {each: np.bitwise_count(prints[each][rest] ^ prints[each][place]) <= MOST_BITS for each in WEIGHTINGS}
        near["MinHash"] = (sketches[rest] == sketches[place]).mean(axis=1) >= SIMILAR
        # Jaccard and the digest never take such a pair for duplicates: 0 by definition.
        for method, flags in near.items():
            for other in np.flatnonzero(flags):
                if jaccard(marks[place], marks[place + 1 + other]) < DIFFERENT:
                    found["any"][method] += 1
                    found["same page"][method] += int(same[other])
        found["any"]["pairs"] += len(same)
        found["same page"]["pairs"] += int(same.sum())
    return found


def hash_of(page):
    return xxh64_intdigest(page.encode()) >> 1


def news():
    """Return each method's share of the planted news pairs, their bits, and how many other pairs it finds."""
    folder = DATA / "near-duplicates"
    with gzip.open(folder / "articles_2500.train.gz", "rt", encoding="utf-8") as lines:
        marks = {name: Marks.of(text) for name, _, text in (line.partition(" ") for line in lines)}
    planted = [tuple(line.split()) for line in (folder / "articles_2500.truth").read_text().splitlines()]
    told = [verdicts(marks[one], marks[other]) for one, other in planted]
    others = dict.fromkeys(WEIGHTINGS, -0)
    for each in WEIGHTINGS:
        prints = np.array([one.fingerprints[each] for one in marks.values()], np.uint64)
        near = sum(int((np.bitwise_count(prints[n + 1 :] ^ prints[n]) <= MOST_BITS).sum()) for n in range(len(prints)))
        others[each] = near - sum(one[each] for one in told)
    return {
        "pairs": len(planted),
        "found": {method: sum(one[method] for one in told) for method in METHODS},
        "bits": {each: sorted(bits(marks[a], marks[b], each) for a, b in planted) for each in WEIGHTINGS},
        "others": others,
    }


def measure(per_length=PER_LENGTH, per_length_pairs=PER_LENGTH_PAIRS):
    """Return all results: recall by language, length and edit; false positives by length; the news pairs."""
    every = paragraphs()
    result = {"recall": defaultdict(dict), "false_positives": {}, "compared": {}, "news": news()}
    for language in ("English", "European", "Japanese"):
        sources = [one for one in every if one.language == language]
        for length, (low, high) in LENGTHS.items():
            texts = [one for one in sources if low <= one.words < high]
            say(f"{language}, {length} words: {len(texts):,} paragraphs")
            if len(texts) >= 20:
                result["recall"][language][length] = recall(sources, texts[:per_length])
            if language == "English":
                result["false_positives"][length] = false_positives(texts[:per_length_pairs])
                unique = [len(set(terms(one.text))) for one in texts[:per_length]]
                result["compared"][length] = share([count >= FEWEST_TERMS for count in unique])
    return result


def say(line):
    print(line, file=sys.stderr)


def row(*cells):
    return "| " + " | ".join("–" if cell is None else str(cell) for cell in cells) + " |"


def table(head, rows):
    return "\n".join([row(*head), row(*["---"] * len(head)), *(row(*cells) for cells in rows)])


def tables(result):
    """Return the results as Markdown."""
    parts = []
    for language, lengths in result["recall"].items():
        rows = [
            (edit, length, one["pairs"], *one["found"].values())
            for edit in next(iter(lengths.values()))
            for length, edits in lengths.items()
            if (one := edits[edit])["pairs"]
        ]
        parts += [f"### Found, {language}", table(("edit", "words", "pairs", *METHODS), rows)]
    blind = [
        (length, result["compared"][length], *(edits[edit]["blind"][each] for edit in BLIND for each in WEIGHTINGS))
        for length, edits in result["recall"]["English"].items()
    ]
    head = ("words", "compared", *(f"{edit}, {each}" for edit in BLIND for each in WEIGHTINGS))
    parts += ["### The same fingerprint in spite of the edit, English", table(head, blind)]
    wrong = [(length, kind, *one.values()) for length, kinds in result["false_positives"].items() for kind, one in kinds.items()]
    parts += ["### Different texts found, English", table(("words", "pairs of", "pairs", *METHODS), wrong)]
    told = result["news"]
    rows = [(each, told["found"][each], ", ".join(map(str, told["bits"][each])), told["others"][each]) for each in WEIGHTINGS]
    rows += [(each, told["found"][each], None, None) for each in METHODS[len(WEIGHTINGS) :]]
    parts += ["### Planted news pairs", table(("method", f"found of {told['pairs']}", "bits", "other pairs found"), rows)]
    return "\n\n".join(parts)


BLIND = ("last word", "price at the end", "date in front")


def plot(result, target):
    """Draw the share found over the length of the text, a panel an edit; the same result gives the same file."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "blocksieve", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot

    lengths = result["recall"]["English"]
    figure, panels = pyplot.subplots(2, 5, figsize=(13, 5), sharex=True, sharey=True)
    for panel, edit in zip(panels.flat, next(iter(lengths.values())), strict=True):
        for method in METHODS[:-1]:
            style = "-" if method in WEIGHTINGS else "--"
            panel.plot(list(lengths), [one[edit]["found"][method] for one in lengths.values()], style, label=method)
        panel.set_title(edit)
        panel.tick_params(axis="x", rotation=45)
        panel.set_ylim(-0.02, 1.02)
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="lower center", ncols=len(METHODS))
    figure.supylabel("share found")
    figure.supxlabel("words in the text", y=0.06)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(target, format="svg", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures and write no file")
    options = parser.parse_args()
    if not DATA.exists():
        parser.error(f"there is no data at {DATA}; set BLOCKSIEVE_DATA")
    result = measure()
    if options.json:
        print(json.dumps(result, indent=2))
        return
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(result)}\n\n{END}{after}", encoding="utf-8")
    plot(result, PLOT)


if __name__ == "__main__":
    main()
