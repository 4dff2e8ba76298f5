"""The shares of planted edits that each method finds, and the different texts that it must not find."""

from __future__ import annotations

import gzip
import sys
from collections import defaultdict

import numpy as np
from edits import DATA, LENGTHS, Editor, paragraphs
from marks import METHODS, MOST_BITS, SIMILAR, Marks, bits, jaccard, verdicts
from xxhash import xxh64_intdigest

from cleaning.fingerprint import WEIGHTINGS
from cleaning.terms import terms

_DIFFERENT = 0.5  # pairs whose stems overlap less are false positives when found
_FEWEST_TERMS = 20  # FINGERPRINT_MIN_TERMS
_FEWEST_TEXTS = 20
_LANGUAGES = ("English", "European", "Japanese")


def measure(per_length=300, per_length_pairs=1_200):
    """Return all results: recall by language, length and edit; false positives by length; the news pairs."""
    every = paragraphs()
    result = {"recall": defaultdict(dict), "false_positives": {}, "compared": {}, "news": news()}
    for language in _LANGUAGES:
        sources = [paragraph for paragraph in every if paragraph.language == language]
        for length, (low, high) in LENGTHS.items():
            texts = [paragraph for paragraph in sources if low <= paragraph.words < high]
            say(f"{language}, {length} words: {len(texts):,} paragraphs")
            if len(texts) >= _FEWEST_TEXTS:
                result["recall"][language][length] = recall(sources, texts[:per_length])
            if language == "English":
                result["false_positives"][length] = false_positives(texts[:per_length_pairs])
                unique = [len(set(terms(paragraph.text))) for paragraph in texts[:per_length]]
                result["compared"][length] = share([count >= _FEWEST_TERMS for count in unique])
    return result


def share(flags):
    return round(sum(flags) / len(flags), 3) if flags else None


def recall(sources, texts):
    """Return by edit: the pairs, each method's share found, and each weighting's share without one differing bit."""
    results = {}
    for name, edit in Editor(texts[0].language, sources).edits().items():
        pairs = [
            tuple(map(Marks.of, pair)) for paragraph in texts if (pair := edit(paragraph.text)) and pair[0] != pair[1]
        ]
        told = [verdicts(*pair) for pair in pairs]
        results[name] = {
            "pairs": len(pairs),
            "found": {method: share([verdict[method] for verdict in told]) for method in METHODS},
            "blind": {weighting: share([bits(*pair, weighting) == 0 for pair in pairs]) for weighting in WEIGHTINGS},
        }
    return results


def false_positives(texts):
    """Return by method how many pairs of different texts it finds: all pairs, and those of the same page."""
    marks = [Marks.of(paragraph.text) for paragraph in texts]
    pages = np.array([hash_of(paragraph.page) for paragraph in texts])
    prints = {
        weighting: np.array([mark.fingerprints[weighting] for mark in marks], np.uint64) for weighting in WEIGHTINGS
    }
    sketches = np.stack([mark.minima for mark in marks])
    counts = {kind: {"pairs": 0} | dict.fromkeys(METHODS, 0) for kind in ("any", "same page")}
    for place in range(len(marks) - 1):
        rest = slice(place + 1, None)
        same = pages[rest] == pages[place]
        near = {
            weighting: np.bitwise_count(prints[weighting][rest] ^ prints[weighting][place]) <= MOST_BITS
            for weighting in WEIGHTINGS
        }
        near["MinHash"] = (sketches[rest] == sketches[place]).mean(axis=1) >= SIMILAR
        # Jaccard and the digest never take such a pair for duplicates: 0 by definition.
        for method, flags in near.items():
            for other in np.flatnonzero(flags):
                if jaccard(marks[place], marks[place + 1 + other]) < _DIFFERENT:
                    counts["any"][method] += 1
                    counts["same page"][method] += int(same[other])
        counts["any"]["pairs"] += len(same)
        counts["same page"]["pairs"] += int(same.sum())
    return counts


def hash_of(page):
    return xxh64_intdigest(page.encode()) >> 1


def news():
    """Return each method's share of the planted news pairs, their bits, and how many other pairs it finds."""
    folder = DATA / "near-duplicates"
    with gzip.open(folder / "articles_2500.train.gz", "rt", encoding="utf-8") as lines:
        marks = {name: Marks.of(text) for name, _, text in (line.partition(" ") for line in lines)}
    planted = [tuple(line.split()) for line in (folder / "articles_2500.truth").read_text().splitlines()]
    told = [verdicts(marks[first], marks[second]) for first, second in planted]
    others = dict.fromkeys(WEIGHTINGS, 0)
    for weighting in WEIGHTINGS:
        prints = np.array([mark.fingerprints[weighting] for mark in marks.values()], np.uint64)
        near = sum(int((np.bitwise_count(prints[n + 1 :] ^ prints[n]) <= MOST_BITS).sum()) for n in range(len(prints)))
        others[weighting] = near - sum(verdict[weighting] for verdict in told)
    return {
        "pairs": len(planted),
        "found": {method: sum(verdict[method] for verdict in told) for method in METHODS},
        "bits": {
            weighting: sorted(bits(marks[first], marks[second], weighting) for first, second in planted)
            for weighting in WEIGHTINGS
        },
        "others": others,
    }


def say(line):
    print(line, file=sys.stderr)
