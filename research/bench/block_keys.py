"""How many blocks of 50 words get their digest and fingerprint in a second, on one core: compiled core and pure Python.

Both run in this process in turn, several rounds, on the same texts; the best round of each counts, in CPU time. Half of
the words are stop words, the others are made-up words of which few are frequent, with the endings that the stemmer
removes. The pure version keeps the stems and hashes of the last 65,536 words, and has seen every word before the first
round that counts: it is measured at its best. Both must give the same keys, or the run ends with exit code 1.

    python research/bench/block_keys.py [--blocks 5000] [--rounds 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from random import Random

from rich.console import Console
from rich.table import Table

from cleaning._native import load_compiled
from cleaning.blocks import Kind
from cleaning.fingerprint import digest_terms, pure_fingerprint_terms
from cleaning.page_fingerprint import Fingerprinter
from cleaning.terms import pure_terms, stop_words

WORDS = 50
VOCABULARY = 20_000
SYLLABLES = "ba co di fe gu ha lo ma ne pi ra so ta ul ver wan ston tri cle bra".split()
ENDINGS = "s ed ing ation ness ly er able ment ful ize al ive y e".split() + [""] * 15


def main():
    options = arguments()
    if load_compiled("words") is None:
        sys.exit("the compiled core is missing or turned off, so there is nothing to compare; run make to build it")
    texts = made_up_texts(options.blocks)
    keys = {"compiled core": compiled_keys, "pure Python": pure_keys}
    if [compiled_keys(text) for text in texts] != [pure_keys(text) for text in texts]:
        sys.exit("the compiled core gives other keys than pure Python")
    rounds = [
        {name: blocks_per_second(function, texts) for name, function in keys.items()} for _ in range(options.rounds)
    ]
    best = {name: max(rates[name] for rates in rounds) for name in keys}
    if options.json:
        print(json.dumps(best))
        return
    table = Table("", "blocks of 50 words/s", "x pure Python")
    for name, figure in best.items():
        table.add_row(name, f"{figure:,.0f}", f"{figure / best['pure Python']:.1f}")
    Console().print(table)


def made_up_texts(count):
    random = Random(0)
    stop = sorted(stop_words())
    words = [
        "".join(random.choices(SYLLABLES, k=random.randint(1, 3))) + random.choice(ENDINGS) for _ in range(VOCABULARY)
    ]
    return [" ".join(made_up_word(random, stop, words) for _ in range(WORDS)) for _ in range(count)]


def made_up_word(random, stop, words):
    """Return a stop word, or a word of the vocabulary, whose first words are the most frequent."""
    return random.choice(stop) if random.random() < 0.5 else words[int(VOCABULARY * random.random() ** 3)]


def compiled_keys(text):
    """Return digest and fingerprint as a crawl makes them."""
    keys = Fingerprinter(min_terms=1).block_keys(text, Kind.PARAGRAPH)
    return keys.digest, keys.fingerprint


def pure_keys(text):
    sequence = pure_terms(text)
    return digest_terms(sequence), pure_fingerprint_terms(sequence, weighting="modified")


def blocks_per_second(function, texts):
    began = time.process_time()
    for text in texts:
        function(text)
    return len(texts) / (time.process_time() - began)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=5_000, help="number of texts")
    parser.add_argument("--rounds", type=int, default=5, help="the best of so many rounds counts")
    parser.add_argument("--json", action="store_true", help="print blocks a second for programs")
    options = parser.parse_args()
    if min(options.blocks, options.rounds) < 1:
        parser.error("--blocks and --rounds are 1 at least")
    return options


if __name__ == "__main__":
    main()
