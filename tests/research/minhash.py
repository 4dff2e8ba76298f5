"""Our MinHash beside datatrove's: news articles and edited copies of them, which pairs both find, and which one does.

Of each article, a copy is made in which a share of the words is replaced by words of other articles. Both take 14 bands
of 8 hashes over 5-grams of words. `expected` is the mean of 1 - (1 - J^8)^14 over the pairs, J by counting 5-grams;
`error` is the standard error of a share of so many pairs. `chance` is how often two such draws with these
probabilities differ. Needs the development data (BLOCKSIEVE_DATA), datatrove, tokenizers and spacy.

    python tests/research/minhash.py [--articles 1000] [--json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import sys
import tempfile
from pathlib import Path

from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupSignature
from datatrove.utils.hashing import HashConfig
from rich.console import Console
from rich.table import Table

from cleaning.terms import tokenise
from crawler.batch.duplicates.minhash import MinHashRules

SHARES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
RULES = MinHashRules()


def read_articles(count):
    """Return the texts of a number of news articles."""
    path = Path(os.environ["BLOCKSIEVE_DATA"]) / "near-duplicates" / "articles_2500.train.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.partition(" ")[2].strip() for line in lines][:count]


def replace_words(text, share, vocabulary, chance):
    """Return the text with a share of its words, at least one, replaced by other ones."""
    words = text.split()
    for place in chance.sample(range(len(words)), max(1, round(share * len(words)))):
        words[place] = chance.choice(vocabulary)
    return " ".join(words)


def similarity(text, copy):
    """Return the Jaccard similarity of the 5-grams of words."""
    own, others = (
        {tuple(words[place : place + RULES.length]) for place in range(len(words) - RULES.length + 1)}
        for words in (tokenise(text), tokenise(copy))
    )
    return len(own & others) / max(1, len(own | others))


def datatrove_bands(texts):
    """Return the bands of each text as datatrove computes them; none for a text that is shorter than an n-gram."""
    with tempfile.TemporaryDirectory() as folder:
        # Its other hash, xxhash, takes texts, which xxhash 4 refuses.
        hashing = HashConfig(hash_fc="sha1")
        config = MinhashConfig(RULES.length, RULES.bands, RULES.hashes, hash_config=hashing)
        step = MinhashDedupSignature(folder, config)
        shingles = [step.get_shingles(text) for text in texts]
        return [step.get_signature(grams) if grams.size else [] for grams in shingles]


def measure(count):
    """Return a row for each share of replaced words."""
    articles = read_articles(count)
    chance = random.Random(1)
    vocabulary = [word for article in articles for word in article.split()]
    rows = []
    bands = {
        "ours": [RULES.bands_of(text).tolist() for text in articles],
        "datatrove": datatrove_bands(articles),
    }
    for share in SHARES:
        copies = [replace_words(text, share, vocabulary, chance) for text in articles]
        copied = {"ours": [RULES.bands_of(text).tolist() for text in copies], "datatrove": datatrove_bands(copies)}
        probabilities = [RULES.find_probability(similarity(*pair)) for pair in zip(articles, copies, strict=True)]
        matches = {
            name: [
                any(mine == other for mine, other in zip(*pair, strict=True))
                for pair in zip(bands[name], copied[name], strict=True)
            ]
            for name in bands
        }
        expected = sum(probabilities) / len(articles)
        differing = sum(mine != other for mine, other in zip(*matches.values(), strict=True))
        rows.append(
            {"replaced": share, "expected": expected}
            | {name: sum(flags) / len(articles) for name, flags in matches.items()}
            | {
                "error": math.sqrt(sum(value * (1 - value) for value in probabilities)) / len(articles),
                "differ": differing / len(articles),
                "chance": sum(2 * value * (1 - value) for value in probabilities) / len(articles),
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=1_000)
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    rows = measure(options.articles)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.3f}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
