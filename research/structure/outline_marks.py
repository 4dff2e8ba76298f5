"""What readers marked on the outlines of pages: which texts are main content, and which elements are not what they say.

`marks.tsv` has a line for each page: set, id, the digest of the page, that of its outline, and the marks. There is no
text of a page. The marks are words of the form `name=1-3,7`. `main` has the numbers of units, `open` those of units
that may be left out or kept (tables of contents, bylines, comments on an article). `layout` has the numbers of tables
that arrange the page, `unlisted` those of lists that are none (posts, cards), `unquoted` those of block quotes that are
none, and `code` those of `pre` elements that hold no code. What is both `main` and `open` is main content.

    python research/structure/outline_marks.py show SET ID ...     the outlines, with a guess from the gold text
    python research/structure/outline_marks.py add < LINES         store lines: SET ID main=... layout=...

The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # programs are run by path

import corpus
import xxhash
from page_outline import read_outline

PATH = Path(__file__).with_name("marks.tsv")
NAMES = ("main", "open", "layout", "unlisted", "unquoted", "code")
_WORD = re.compile(r"[\W_]+")
_SHOWN_CHARS = 28
_SHOWN_RUN = 4


@dataclass
class MarkedPage:
    """A page with a reader's marks."""

    set: str
    sample: corpus.Sample
    marks: dict[str, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def body(self):
        return self.sample.body

    @cached_property
    def outline(self):
        return read_outline(self.body, self.sample.url)

    @property
    def main(self):
        """Return the units that are main content, by number."""
        return self._units(self.marks["main"])

    @property
    def open(self):
        """Return the units that may be left out or kept."""
        return self._units(self.marks["open"] - self.marks["main"])

    def _units(self, numbers):
        return {number: unit for number, unit in self.outline.units.items() if number in numbers}


def read_marks(path=PATH, every=1):
    """Return the marked pages, or every so many of them.

    Raises ValueError for a page or an outline that is another one than was read.
    """
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines()[::every]] if path.exists() else []
    samples = Samples()
    pages = []
    for name, key, page_digest, outline_digest, words in lines:
        page = MarkedPage(name, samples.find(name, key), parse_marks(words.split()))
        digests = (xxhash.xxh64_hexdigest(page.body), page.outline.digest)
        if digests != (page_digest, outline_digest):
            raise ValueError(f"{path}: the page {name} {key} or its outline is not the one that was marked: {digests}")
        pages.append(page)
    return pages


def write_marks(pages, path=PATH):
    lines = []
    for page in sorted(pages, key=lambda page: (page.set, page.sample.id)):
        words = " ".join(f"{name}={_runs(page.marks[name])}" for name in NAMES if page.marks[name])
        digests = xxhash.xxh64_hexdigest(page.body), page.outline.digest
        lines.append("\t".join([page.set, page.sample.id, *digests, words]))
    path.write_text("\n".join(lines) + "\n", "utf-8")


def parse_marks(words):
    """Return the numbers of each mark; raises ValueError for another word than `name=1-3,7`."""
    numbers_by_name = dict.fromkeys(NAMES, frozenset())
    for word in words:
        name, _, runs = word.partition("=")
        if name not in NAMES:
            raise ValueError(f"{word!r} is not a mark; there are {', '.join(NAMES)}")
        numbers = set()
        for run in filter(None, runs.split(",")):
            first, _, last = run.partition("-")
            numbers |= set(range(int(first), int(last or first) + 1))
        numbers_by_name[name] |= numbers
    return numbers_by_name


def _runs(numbers):
    runs = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in runs)


class Samples:
    """Finds the pages of the development data by set and id; the sets are read when they are first needed."""

    def __init__(self):
        self._sets = {}

    def find(self, name, key):
        if name not in self._sets:
            self._sets[name] = {sample.id: sample for sample in _read_set(name)}
        return self._sets[name][key]


def _read_set(name):
    if name != "pool":
        return corpus.read_samples(name)
    folder = corpus.DATA / name
    lines = (folder / "truth.jsonl").read_text("utf-8").splitlines()
    return [corpus._sample({"text": "", **json.loads(line)}, folder) for line in lines]


# The reader's side ------------------------------------------------------------------------------------------------


def normal(text):
    """Return the letters and digits of a text, in small letters."""
    return _WORD.sub("", text).casefold()


def show(page):
    """Print a page's outline, equal kinds of units on a line; `+` is a guess from its gold text."""
    gold = normal(page.sample.text)
    outline = page.outline
    sizes = {number: f"{len(rows)}x{max(map(len, rows), default=0)}" for number, rows in outline.tables.items()}
    print(f"=== {page.set} {page.sample.id} {page.sample.type} {page.sample.url} tables {sizes}")
    units = [(number, unit, _guess(unit, gold)) for number, unit in outline.units.items()]
    for (label, _, guess), run in groupby(
        units, key=lambda numbered_unit: (_label(numbered_unit[1]), numbered_unit[1].heading, numbered_unit[2])
    ):
        texts = [_line(number, unit) for number, unit, _ in run]
        if len(texts) > _SHOWN_RUN:
            texts[_SHOWN_RUN - 2 : -2] = ["\u2026"]
        print(f"{label or 'p'}{guess}: {' | '.join(texts)}")


def _guess(unit, gold):
    text = normal(unit.text)
    return "+" if gold and len(text) > 2 and text in gold else ""


def _line(number, unit):
    more = f"~{len(unit.text)}" if len(unit.text) > _SHOWN_CHARS else ""
    linked = f"a{len(unit.links)}" if unit.links else ""
    return f"{number} {unit.text[:_SHOWN_CHARS]}{more}{linked}{'f' * len(unit.formulas)}"


def _label(unit):
    parts = [f"h{unit.level}"] if unit.heading else []
    parts += [f"l{len(unit.lists)}.{unit.lists[-1]}"] if unit.lists else []
    parts += ["d"] if unit.term else []
    parts += [f"t{unit.table}"] if unit.table else []
    parts += [f"q{unit.quote}"] if unit.quote else []
    parts += [f"c{unit.code}"] if unit.code else []
    return " ".join(parts)


def main():
    samples = Samples()
    if sys.argv[1:2] == ["show"]:
        for name, key in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
            show(MarkedPage(name, samples.find(name, key)))
        return
    if sys.argv[1:] != ["add"]:
        raise SystemExit(__doc__)
    pages = {(page.set, page.sample.id): page for page in read_marks()}
    for line in sys.stdin:
        name, key, *words = line.split()
        page = pages[name, key] = MarkedPage(name, samples.find(name, key), parse_marks(words))
        beyond = (page.marks["main"] | page.marks["open"]) - page.outline.units.keys()
        if (
            beyond
            or page.marks["layout"] - page.outline.tables.keys()
            or page.marks["code"] - page.outline.codes.keys()
        ):
            raise ValueError(f"{name} {key}: there is no such unit or table")
    write_marks(pages.values())
    print(f"{len(pages)} pages")


if __name__ == "__main__":
    main()
