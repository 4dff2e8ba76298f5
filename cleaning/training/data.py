"""The training data: the pages that `<data>/extraction/<set>/truth.jsonl` lists, with their gold texts."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from cleaning.blocks import PageType
from cleaning.classifier.signals import PageSignals, read_signals
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements
from cleaning.parse import parse
from cleaning.training.gold import label_blocks, split_words

if TYPE_CHECKING:
    from pathlib import Path

    from cleaning.leaf_table import LeafTable

# The sets, with the number of words in a shingle of their scores, as their authors score them.
SETS = {"fundus-dev": 4, "wcxb-dev": 1}
MAX_PAGE_BYTES = 100_000_000
_PROCESSES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A page as the model reads it, with the labels of its n blocks (0 to 1) and its groups: set, host, language, type.

    `words` (n) are the blocks' numbers of words as the scores count them.
    """

    id: str
    set: str
    host: str
    language: str | None
    type: PageType
    gold: str
    table: LeafTable
    signals: PageSignals
    labels: np.ndarray
    words: np.ndarray

    @property
    def size(self) -> int:
        return len(self.labels)


def read_examples(data: Path) -> list[Example]:
    """Return the pages of all sets, in order. Raises OSError, ValueError or KeyError for broken data."""
    jobs = [(name, folder, truth) for name in SETS for folder, truth in _truths(data / "extraction" / name)]
    found = []
    with get_context("spawn").Pool(_PROCESSES) as pool:
        for example in pool.imap(_read, jobs, chunksize=20):
            found.append(example)
            if len(found) % 200 == 0 or len(found) == len(jobs):
                sys.stderr.write(f"{len(found)}/{len(jobs)} pages read\n")
    return found


def hash_sets(data: Path) -> dict[str, str]:
    """Return the SHA-256 of each set: of its truth file and its pages in the order of their names."""
    found = {}
    for name in SETS:
        folder = data / "extraction" / name
        whole = hashlib.sha256((folder / "truth.jsonl").read_bytes())
        for path in sorted((folder / "html").iterdir()):
            whole.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        found[name] = whole.hexdigest()
    return found


def _truths(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
        return [(folder, json.loads(line)) for line in lines]


def _read(job: tuple[str, Path, dict[str, Any]]) -> Example:
    name, folder, truth = job
    body = gzip.decompress((folder / truth["html_path"]).read_bytes())
    page = parse(body, truth.get("url"), max_bytes=MAX_PAGE_BYTES)
    table = read_leaf_table(page.root)
    texts = [block.text for block in table.blocks]
    return Example(
        truth["id"],
        name,
        urlsplit(truth.get("url") or "").hostname or truth["id"].rsplit("_", 3)[0],
        truth.get("lang"),
        PageType(truth.get("type") or "article"),
        truth["text"],
        table,
        read_signals(page, read_statements(page.root)),
        label_blocks(texts, truth["text"]),
        np.array([len(split_words(text)) for text in texts], np.float64),
    )
