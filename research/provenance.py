"""What published figures were measured with: the model, what the methods decide, and the data, as digests.

    python research/provenance.py

lists the pages of docs/ with such figures, and what has changed since they were measured. The exit code is 1 if
anything has. `make figures` measures all of them again.

A stamp stands below the figures, in words: "Measured with model `73ab671e402d`; decisions `0123456789ab` of default;
data wcxb-dev `0123456789ab`." The model is that of `default`, and stands where `default` was measured. The decisions
are those of the methods on the pages of tests/golden: text and reason of each block. So a change of code that changes
no decision makes no figure old. A method that needs a browser has no decisions there. The data is found through
BLOCKSIEVE_DATA (default: ../shared/data beside the checkout). A set that is missing is not compared.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from functools import cache

import corpus

from cleaning import METHODS, Options, parse
from cleaning.classifier.shipped import SHIPPED_MODEL
from cleaning.clean import decide_page
from cleaning.metadata.statements import read_statements
from research.training.data import hash_sets

LEARNED = "default"
GOLDEN = corpus.ROOT / "tests" / "golden"
# The folder or file of each set of data.
SETS = {
    "fundus-dev": "extraction/fundus-dev",
    "wcxb-dev": "extraction/wcxb-dev",
    "magic-dev": "extraction/magic-dev",
    "snippets-dev": "extraction/snippets-dev",
    "pool": "pool",
    "sites": "sites",
    "webkb": "categories/webkb.tar.gz",
}
# What people noted of the pages' titles, authors and dates: no figure with a stamp is measured with it.
NOTES = "metadata.jsonl"
# The pages of docs/ with stamps.
PAGES = ("methods.md", "model-card.md")
_DIGITS = 12
_STAMP = re.compile(r"Measured\s+with\s+([^.]*`\w{12}`[^.]*)\.")
_MODEL = re.compile(r"model\s+`(\w+)`")
_DECISIONS = re.compile(r"decisions\s+`(\w+)`\s+of\s+([\w,\s]+)")
_SET = re.compile(r"([\w-]+)\s+`(\w+)`")
# The model card is written by the package, which knows nothing of stamps: it states whole hashes.
_CARD_MODEL = re.compile(r"SHA-256 `(\w+)` \|")
_CARD_SET = re.compile(r"^\| `([\w-]+)` \| .+ \| `(\w{64})` \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Stamp:
    """What figures were measured with; `model` and `decisions` are empty where they have no part in them."""

    model: str
    decisions: str
    methods: tuple[str, ...]
    data: dict[str, str]

    @classmethod
    def of(cls, methods, data):
        """Return the stamp of figures that are measured now, of these methods on these sets."""
        seen = tuple(name for name in methods if METHODS[name].needs != "layout")
        model = model_digest() if LEARNED in methods else ""
        return cls(model, decisions_digest(seen) if seen else "", seen, {name: data_digest(name) for name in data})

    @classmethod
    def read(cls, words):
        """Return the stamp that these words state."""
        model = _MODEL.search(words)
        decisions = _DECISIONS.search(words)
        methods = tuple(re.findall(r"\w+", decisions[2])) if decisions else ()
        data = dict(_SET.findall(words.partition("data")[2]))
        return cls(model[1] if model else "", decisions[1] if decisions else "", methods, data)

    def __str__(self):
        parts = [f"model `{self.model}`"] if self.model else []
        parts += [f"decisions `{self.decisions}` of {', '.join(self.methods)}"] if self.methods else []
        parts += ["data " + ", ".join(f"{name} `{value}`" for name, value in self.data.items())] if self.data else []
        return f"Measured with {'; '.join(parts)}."

    def outdated(self):
        """Return a line for each thing that is not what it was when the figures were measured."""
        now = Stamp.of(self.methods, [name for name in self.data if (corpus.DATA / SETS[name]).exists()])
        pairs = [("the model is", self.model, now.model)]
        pairs += [(f"the decisions of {', '.join(self.methods)} are", self.decisions, now.decisions)]
        pairs += [(f"the data {name} is", self.data[name], value) for name, value in now.data.items()]
        return _differences(pairs)


def stamps(text):
    """Return the stamps in a page, in their order."""
    return [Stamp.read(words) for words in _STAMP.findall(text)]


def outdated(text):
    """Return what is not as it was when the figures of a page were measured.

    Raises ValueError for a page that does not say what its figures were measured with.
    """
    differences = [line for stamp in stamps(text) for line in stamp.outdated()]
    if model := _CARD_MODEL.search(text):
        differences += _card_outdated(model[1], dict(_CARD_SET.findall(text)))
    elif not stamps(text):
        raise ValueError("the page does not say what its figures were measured with")
    return list(dict.fromkeys(differences))


def _card_outdated(model, data):
    there = all((corpus.DATA / SETS.get(name, "pool")).exists() for name in data)
    now = hash_sets(corpus.DATA) if there else data
    pairs = [("the model is", model, model_digest(None))]
    return _differences(pairs + [(f"the data {name} is", was, now[name]) for name, was in data.items()])


def _differences(pairs):
    return [f"{what} {now}, the figures are of {was}" for what, was, now in pairs if was != now]


def model_digest(digits=_DIGITS):
    """Return the SHA-256 of the shipped model's file, or its first digits."""
    return hashlib.sha256(SHIPPED_MODEL.read_bytes()).hexdigest()[:digits]


@cache
def decisions_digest(methods):
    """Return a digest of what the methods decide on the golden pages: text and reason of each block."""
    state = hashlib.sha256()
    for folder in sorted(GOLDEN.iterdir()):
        url = json.loads((folder / "expected.json").read_text("utf-8"))["url"]
        page = parse((folder / "page.html").read_bytes(), url)
        for method in methods:
            decisions = decide_page(page, read_statements(page.root), METHODS[method], Options()).decisions
            decided = [(decision.block.text, decision.reason) for decision in decisions]
            state.update(json.dumps([folder.name, method, decided]).encode())
    return state.hexdigest()[:_DIGITS]


def data_digest(name):
    """Return a digest of the names and bytes of a set's files, without NOTES.

    Raises FileNotFoundError where the set is missing.
    """
    return files_digest(corpus.DATA / SETS[name])


@cache
def files_digest(place):
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    files = [path for path in files if path.name != NOTES]
    state = hashlib.sha256()
    for path in files:
        state.update(path.relative_to(place.parent).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:_DIGITS]


def main():
    """Print what is outdated on each page; return the exit code."""
    old = {name: outdated((corpus.ROOT / "docs" / name).read_text("utf-8")) for name in PAGES}
    for name, differences in old.items():
        print(f"docs/{name}: {'; '.join(differences) or 'measured with what is here'}")
    return int(any(old.values()))


if __name__ == "__main__":
    sys.exit(main())
