"""With how many stored fingerprints the index of near-duplicates compares honest texts, at most.

A candidate of a text is a stored fingerprint that has a half in common with its own, up to 1 bit; CANDIDATES_MAX is
their bound. The texts are read one after another: first each is stored only if no stored text is a near-duplicate, as a
crawl does with DEDUP_SCOPE=all, then each is stored. They are the kept blocks and whole pages of the saved pages, the
news articles with planted near-duplicates, and texts that a template makes of a list of places with their weather.

    python tests/bench/candidates.py [--template 100000]

The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout); without it, the template alone
is measured.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections import defaultdict
from itertools import chain
from pathlib import Path
from random import Random

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "research"))  # programs are run by path

import corpus

from cleaning import PageError, clean, fingerprint
from cleaning.page_fingerprint import Fingerprinter
from crawler.storage.near_duplicates import CANDIDATES_MAX, MAX_DISTANCE

HALF = 32
LOW = (1 << HALF) - 1
FLIPS = (0, *(1 << bit for bit in range(HALF)))
MAX_BYTES = 100_000_000
SYLLABLES = "ba co di fe gu ha lo ma ne pi ra so ta ul ver wan ston tri cle bra".split()
SKIES = "sunny cloudy foggy stormy windy overcast hazy showery thundery frosty".split()
TEMPLATE = (
    "The forecast for {place} today: the morning begins {sky} with {degrees} degrees, and visitors should expect a "
    "{later} afternoon. Our weather station in {place} measures temperature, humidity, pressure, rainfall and wind "
    "every ten minutes. Subscribe to the free newsletter and receive warnings of severe storms before they reach your "
    "village."
)


class Halves:
    """Stored fingerprints by either half."""

    def __init__(self):
        self.by_high = defaultdict(list)
        self.by_low = defaultdict(list)

    def candidates(self, bits):
        """Return the lists of stored fingerprints with an equal half, up to 1 bit."""
        high, low = bits >> HALF, bits & LOW
        lists = [self.by_high.get(high ^ flip) for flip in FLIPS] + [self.by_low.get(low ^ flip) for flip in FLIPS]
        return [stored for stored in lists if stored]

    def add(self, bits):
        self.by_high[bits >> HALF].append(bits)
        self.by_low[bits & LOW].append(bits)


def measure(fingerprints, *, store_duplicates):
    """Return how many of the texts are stored, and the number of candidates of each text."""
    halves, stored, counts = Halves(), 0, []
    for bits in fingerprints:
        candidates = halves.candidates(bits)
        counts.append(sum(map(len, candidates)))
        near = (bits ^ other for other in chain.from_iterable(candidates))
        if store_duplicates or not any(differing.bit_count() <= MAX_DISTANCE for differing in near):
            halves.add(bits)
            stored += 1
    return stored, np.array(counts)


def say(name, fingerprints):
    for policy, store_duplicates in (("originals stored", False), ("all stored", True)):
        stored, counts = measure(fingerprints, store_duplicates=store_duplicates)
        figures = f"{len(counts):,} texts, {stored:,} stored, at most {counts.max():,} candidates"
        above = (counts > CANDIDATES_MAX).mean()
        sys.stdout.write(f"{name}, {policy}: {figures}, {above:.2%} of the texts above {CANDIDATES_MAX}\n")
        sys.stdout.flush()


def real_fingerprints():
    """Return the fingerprints of the kept blocks of all saved pages, and those of the pages."""
    blocks, pages = [], []
    paths = [*(corpus.DATA / "extraction").glob("*/html/*.html.gz"), *(corpus.DATA / "sites").glob("*/*.html.gz")]
    for path in sorted(paths):
        try:
            page = clean(gzip.decompress(path.read_bytes()), max_bytes=MAX_BYTES)
        except PageError:  # counted among no texts
            continue
        keys = Fingerprinter().fingerprint(page.decisions)
        blocks += [block.fingerprint for block in keys.blocks if block.repeats is None]
        pages += [] if keys.fingerprint is None else [keys.fingerprint]
    return [bits for bits in blocks if bits is not None], pages


def news_fingerprints():
    texts = []
    for path in sorted((corpus.DATA / "near-duplicates").glob("*.train.gz")):
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        texts += [line.partition(" ")[2] for line in lines]
    return [fingerprint(text) for text in texts]


def template_fingerprints(count):
    random = Random(1)
    return [fingerprint(weather(random)) for _ in range(count)]


def weather(random):
    place = "".join(random.choices(SYLLABLES, k=3)).title()
    sky, later = random.sample(SKIES, 2)
    return TEMPLATE.format(place=place, sky=sky, later=later, degrees=random.randint(-10, 35))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--template", type=int, default=100_000, help="number of texts of the template")
    options = parser.parse_args()
    if corpus.DATA.is_dir():
        blocks, pages = real_fingerprints()
        say("kept blocks", blocks)
        say("pages", pages)
        say("news", news_fingerprints())
    say("template", template_fingerprints(options.template))


if __name__ == "__main__":
    main()
