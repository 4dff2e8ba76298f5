"""The training data: pages with their gold texts, as `<data>/extraction/<set>/truth.jsonl` lists them."""

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

# Words to a shingle by which a set is scored, as its authors do.
SETS = {"fundus-dev": 4, "wcxb-dev": 1}
LARGEST_PAGE = 100_000_000
_PROCESSES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A page as the model sees it, with its labels (n, 0 to 1) and what it is grouped by.

    `words` (n) are the blocks' words as scores count them.
    """

    id: str
    set: str
    host: str
    language: str | None
    type: PageType
    gold: str
    scan: LeafTable
    facts: PageSignals
    labels: np.ndarray
    words: np.ndarray

    @property
    def size(self) -> int:
        return len(self.labels)


def read_examples(data: Path) -> list[Example]:
    """Return the pages of all sets in their order. Raises OSError, ValueError or KeyError for broken data."""
    jobs = [(name, folder, truth) for name in SETS for folder, truth in _truths(data / "extraction" / name)]
    found = []
    with get_context("spawn").Pool(_PROCESSES) as pool:
        for example in pool.imap(_read, jobs, chunksize=20):
            found.append(example)
            if len(found) % 200 == 0 or len(found) == len(jobs):
                sys.stderr.write(f"{len(found)}/{len(jobs)} pages read\n")
    return found


def hash_sets(data: Path) -> dict[str, str]:
    """Return the SHA-256 of each set: of its truth file and its pages, in the order of their names."""
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
    page = parse(body, truth.get("url"), max_bytes=LARGEST_PAGE)
    scan = read_leaf_table(page.root)
    texts = [block.text for block in scan.blocks]
    return Example(
        truth["id"],
        name,
        urlsplit(truth.get("url") or "").hostname or truth["id"].rsplit("_", 3)[0],
        truth.get("lang"),
        PageType(truth.get("type") or "article"),
        truth["text"],
        scan,
        read_signals(page, read_statements(page.root)),
        label_blocks(texts, truth["text"]),
        np.array([len(split_words(text)) for text in texts], np.float64),
    )
