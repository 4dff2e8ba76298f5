"""How much text a page loses when one word of the table of hints is put on it, in a place where it means nothing.

The word stands as class or id, or as the class of a label that begins a text: on the element around the main text, on a
part of it (an element of the page, or a new one), and on every paragraph. The loss is the share of the kept words of
the gold text that are kept no more.

    python tests/research/flips.py [--pages 240] [--cross-validate FOLDER] [--json]

The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout). FOLDER is what `python -m
cleaning.training DATA --folds FOLDER` writes; then each page is judged by the model that never saw its host.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import corpus
import numpy as np
from evaluation import LARGEST_PAGE
from folds import Folds
from lxml import html

from cleaning import METHODS, Options, Page, parse
from cleaning.classifier.hints import hint_table
from cleaning.clean import decide_page
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements
from cleaning.training.gold import label_blocks, split_words

SETS = ("wcxb-dev", "fundus-dev", "magic-dev")
PLACES = ("wrapper", "section", "paragraphs")
FORMS = ("class", "id", "label")
_MIN_WORDS = 100  # of the gold text
_MIN_PROSE_WORDS = 8
_MIN_KEPT = 0.5  # of the gold text; of a page that loses more anyway a word can take little
_MAIN = 0.5
_MIN_PARTS = 2
_LABEL = "Note: "
_HALF = 0.5


@dataclass(frozen=True)
class Flip:
    """What one word in one place took from a page: the share of its kept words of the gold text."""

    page: str
    place: str
    form: str
    word: str
    loss: float


def pages(count):
    """Return so many pages of the sets with long gold texts, chosen by their hashes."""
    samples = [sample for name in SETS for sample in corpus.read_samples(name) if _fits(sample)]
    return corpus.pin(samples, count)


def _fits(sample):
    return sample.snippets is None and len(split_words(sample.text)) >= _MIN_WORDS


class Flips:
    """The flips of one page, judged by `texts_of`, which returns the texts that are kept of a page."""

    def __init__(self, sample, texts_of):
        self._sample = sample
        self._texts_of = texts_of
        self._page = parse(sample.body, sample.url, max_bytes=LARGEST_PAGE)
        self._gold = Counter(split_words(sample.text))
        self._before = self._right_words(self._page)

    def run(self):
        """Return a flip for each place and form; none for a page of which little is kept anyway."""
        if self._before < _MIN_KEPT * self._gold.total():
            return []
        paths = self._main_paths()
        if len(paths) < _MIN_PARTS:
            return []
        drawn = random.Random(zlib.crc32(self._sample.id.encode()))
        return [self._flip(paths, place, form, drawn) for place in PLACES for form in FORMS]

    def _flip(self, paths, place, form, drawn):
        word = drawn.choice(words())
        root = copy.deepcopy(self._page.root)
        elements = [elements[0] for path in paths if (elements := root.xpath(path))]
        for element in _places(place, elements, drawn):
            _mark(element, form, word)
        after = self._right_words(Page(root, self._page.url, self._page.encoding))
        return Flip(self._sample.id, place, form, word, max(0.0, 1 - after / self._before))

    def _main_paths(self):
        """Return the paths of the elements of the main text's longer blocks, in reading order."""
        blocks = read_leaf_table(self._page.root).blocks
        labels = label_blocks([block.text for block in blocks], self._sample.text)
        chosen = (block for block, label in zip(blocks, labels, strict=True) if label > _MAIN)
        return list(dict.fromkeys(block.path for block in chosen if block.words > _MIN_PROSE_WORDS))

    def _right_words(self, page):
        return (Counter(split_words(self._texts_of(page, self._sample.host))) & self._gold).total()


def words():
    """Return the words of the table of hints, in order."""
    return sorted(word for word in hint_table() if not word.startswith("<"))


def _places(place, elements, drawn):
    """Return the elements that get the word."""
    if place == "paragraphs":
        return elements
    wrapper = _around(elements)
    if place == "wrapper":
        return [wrapper]
    parts = [child for child in wrapper if any(_inside(element, child) for element in elements)]
    whole = [child for child in parts if child.tag in ("div", "section", "article")]
    if len(whole) >= _MIN_PARTS:
        return [drawn.choice(whole)]
    return [_wrap(parts, drawn)]


def _around(elements):
    """Return the innermost element around all of these."""
    chains = [[*reversed(list(element.iterancestors())), element] for element in elements]
    last = chains[0][0]
    for level in zip(*chains, strict=False):
        if any(element is not level[0] for element in level):
            break
        last = level[0]
    return last


def _inside(element, outer):
    return element is outer or any(ancestor is outer for ancestor in element.iterancestors())


def _wrap(parts, drawn):
    """Return a new section around a third of the parts."""
    size = max(1, len(parts) // 3)
    start = drawn.randrange(len(parts) - size + 1)
    section = html.Element("section")
    parts[start].addprevious(section)
    for part in parts[start : start + size]:
        section.append(part)
    return section


def _mark(element, form, word):
    if form == "class":
        element.set("class", f"{element.get('class', '')} {word}".strip())
    elif form == "id":
        element.set("id", word)
    else:
        label = html.Element("span")
        label.set("class", word)
        label.text, label.tail, element.text = _LABEL, element.text, None
        element.insert(0, label)


def measure(count, texts_of):
    """Return the flips of so many pages."""
    return [flip for sample in pages(count) for flip in Flips(sample, texts_of).run()]


def shipped_text(page, _host):
    """Return the text that the shipped model keeps of a page."""
    decided = decide_page(page, read_statements(page.root), METHODS["default"], Options())
    return "\n".join(decision.block.text for decision in decided.decisions if decision.kept)


def summary(flips):
    """Return for each place and form the number of flips, the mean loss and how many pages lose half."""
    by_place = defaultdict(list)
    for flip in flips:
        by_place[flip.place, flip.form].append(flip.loss)
    return {
        key: (len(losses), float(np.mean(losses)), sum(loss > 0.5 for loss in losses))
        for key, losses in by_place.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=240)
    parser.add_argument("--cross-validate", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts_of = Folds.read(options.cross_validate).text if options.cross_validate else shipped_text
    flips = measure(options.pages, texts_of)
    if options.json:
        print(json.dumps([flip.__dict__ for flip in flips], indent=1))
        return
    for (place, form), (count, loss, halves) in summary(flips).items():
        print(f"{place:10} {form:6} {count:4} pages, {loss:6.2%} of the words lost, {halves} pages lose half")


if __name__ == "__main__":
    main()
