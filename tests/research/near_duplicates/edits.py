"""Paragraphs of real pages, and the edits planted in them."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path

from cleaning.terms import count_words

DATA = Path(os.environ.get("BLOCKSIEVE_DATA", Path(__file__).parents[4] / "shared" / "data"))
LENGTHS = {"10-19": (10, 20), "20-49": (20, 50), "50-99": (50, 100), "100-199": (100, 200), "200+": (200, 2_000)}
_SEED = 20
_ENGLISH = {"us", "uk", "ca", "za", "au", "nz", "ie", None}
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*(?=\S)")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a page's gold text."""

    page: str
    language: str  # English, European, Japanese
    text: str
    words: int


def paragraphs():
    """Return the different paragraphs of the gold texts, in a fixed random order."""
    paragraphs_by_text = {}
    for name in ("fundus-dev", "wcxb-dev"):
        with (DATA / "extraction" / name / "truth.jsonl").open(encoding="utf-8") as lines:
            for truth in map(json.loads, lines):
                language = truth.get("lang")
                group = "English" if language in _ENGLISH else "Japanese" if language == "jp" else "European"
                for line in truth["text"].split("\n"):
                    text = " ".join(line.split())
                    paragraphs_by_text.setdefault(text, Paragraph(truth["id"], group, text, count_words(text)))
    long_enough = [paragraph for paragraph in paragraphs_by_text.values() if paragraph.words >= LENGTHS["10-19"][0]]
    random.Random(_SEED).shuffle(long_enough)
    return long_enough


class Editor:
    """Makes pairs of texts that differ by one edit; other words and sentences come from the same language."""

    def __init__(self, language, sources):
        self.chance = random.Random(_SEED)
        self.glue = "" if language == "Japanese" else " "
        self.vocabulary = [unit for source in sources for unit in self.units(source.text)]
        self.sentences = [
            text for source in sources for text in _SENTENCE.split(source.text) if 5 <= count_words(text) <= 25
        ]

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
