"""The training data: pages with gold texts, with snippets, and with readers' annotations.

`<data>/extraction/<set>/truth.jsonl` lists the pages with gold texts or snippets. The annotated pages are in the
folders `<data>/pool` and `<data>/sites`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from cleaning.blocks import PageType
from cleaning.classifier.signals import PageSignals, read_signals
from cleaning.errors import AnnotationError
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements
from cleaning.parse import parse
from cleaning.teaching.sheet import Mark, digest_body
from research.training.annotations import (
    ANNOTATIONS,
    Convention,
    inherit_marks,
    main_marks,
    merge_marks,
    read_annotations,
)
from research.training.gold import (
    CHARACTERS,
    WORDS,
    Snippets,
    WordRule,
    label_blocks,
    label_by_snippets,
    score_snippets,
    score_text,
)
from research.training.pool import MAX_PAGE_BYTES, read_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cleaning.leaf_table import LeafTable
    from cleaning.text_score import TextScore
    from research.training.annotations import PageAnnotation
    from research.training.pool import PoolPage


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set of pages with gold texts: the words in a shingle of its scores, and what counts as a word."""

    shingle: int = 1
    rule: WordRule = WORDS
    pools: tuple[str, ...] = ()

    def score(self, text: str, gold: str, snippets: Snippets | None = None) -> TextScore:
        """Return the score of a text that was extracted from a page; snippets take the place of a gold text."""
        if snippets is not None:
            return score_snippets(text, snippets)
        return score_text(text, gold, self.shingle, self.rule)


# Scored as their authors score them. `annotated` has the annotated pages of the folders `pools`.
SETS = {
    "fundus-dev": LabelledSet(shingle=4),
    "wcxb-dev": LabelledSet(),
    "magic-dev": LabelledSet(rule=CHARACTERS),
    "snippets-dev": LabelledSet(rule=CHARACTERS),
    "annotated": LabelledSet(rule=CHARACTERS, pools=("pool", "sites")),
}
_PROCESSES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """A page as the model reads it, with the labels of its n blocks (0 to 1) and its groups: set, host, language, type.

    `words` (n) are the blocks' numbers of words as the scores count them. `known` (n) tells which labels are known,
    None if all are. `snippets` take the place of a gold text. The type is None if it is not labelled.
    """

    id: str
    set: str
    host: str
    language: str | None
    type: PageType | None
    gold: str
    table: LeafTable
    signals: PageSignals
    labels: np.ndarray
    words: np.ndarray
    known: np.ndarray | None = None
    snippets: Snippets | None = None

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def known_labels(self) -> np.ndarray:
        """Which labels are known (n, bool)."""
        return np.ones(self.size, bool) if self.known is None else self.known

    def score(self, text: str) -> TextScore:
        """Return the score of a text that was extracted from the page, as its set is scored."""
        return SETS[self.set].score(text, self.gold, self.snippets)


def read_examples(data: Path, sets: Sequence[str] = tuple(SETS), annotations: Path = ANNOTATIONS) -> list[Example]:
    """Return the pages of some sets, in order.

    Raises OSError, ValueError or KeyError for broken data, AnnotationError for annotations of missing pages.
    """
    jobs = [job for name in sets for job in _jobs(data, name, annotations)]
    examples = []
    with get_context("spawn").Pool(_PROCESSES) as pool:
        for example in pool.imap(_run, jobs, chunksize=20):
            examples.append(example)
            if len(examples) % 200 == 0 or len(examples) == len(jobs):
                sys.stderr.write(f"{len(examples)}/{len(jobs)} pages read\n")
    return examples


def hash_sets(data: Path, sets: Sequence[str] = tuple(SETS), annotations: Path = ANNOTATIONS) -> dict[str, str]:
    """Return the SHA-256 of each set: of its truth file and its pages in the order of their names.

    The hash of `annotated` covers the files of annotations, which have the digests of the pages.
    """
    digests = {}
    for name in sets:
        if SETS[name].pools:
            whole = hashlib.sha256()
            files = sorted(annotations.glob("*.tsv"))
        else:
            folder = data / "extraction" / name
            whole = hashlib.sha256((folder / "truth.jsonl").read_bytes())
            files = sorted((folder / "html").iterdir())
        for path in files:
            whole.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        digests[name] = whole.hexdigest()
    return digests


class _Job(NamedTuple):
    """A page to read: the function that reads it, and its arguments."""

    read: Callable[..., Example]
    arguments: tuple[Any, ...]


def _run(job: _Job) -> Example:
    return job.read(*job.arguments)


def _jobs(data: Path, name: str, annotations: Path) -> list[_Job]:
    if not SETS[name].pools:
        folder = data / "extraction" / name
        with (folder / "truth.jsonl").open(encoding="utf-8") as lines:
            return [_Job(_read, (name, folder, json.loads(line))) for line in lines]
    decided: dict[str, list[PageAnnotation]] = defaultdict(list)
    for annotation in read_annotations(annotations):
        decided[annotation.page_name].append(annotation)
    folders = {annotation.set for of_page in decided.values() for annotation in of_page}
    pages = [page for pool in SETS[name].pools if pool in folders for page in read_pool(data / pool)]
    by_name = {f"{page.set}/{page.id}": page for page in pages}
    unknown = sorted(decided.keys() - by_name.keys())
    if unknown:
        raise AnnotationError(f"{len(unknown)} annotated pages are not in {data}; the first is {unknown[0]}")
    return [_Job(_read_annotated, (name, by_name[page], decided[page])) for page in decided]


def _read(name: str, folder: Path, truth: dict[str, Any]) -> Example:
    body = gzip.decompress((folder / truth["html_path"]).read_bytes())
    page = parse(body, truth.get("url"), max_bytes=MAX_PAGE_BYTES)
    table = read_leaf_table(page.root)
    texts = [block.text for block in table.blocks]
    how = SETS[name]
    grouped = truth["id"], name, urlsplit(truth.get("url") or "").hostname or truth["id"].rsplit("_", 3)[0]
    signals = read_signals(page, read_statements(page.root))
    words = np.array([len(how.rule.split(text)) for text in texts], np.float64)
    snippets = Snippets.of_truth(truth)
    if snippets is not None:
        partial = label_by_snippets(texts, snippets)
        gold = " ".join(snippets.kept)
        return Example(
            *grouped, truth.get("lang"), None, gold, table, signals, partial.labels, words, partial.known, snippets
        )
    labels = label_blocks(texts, truth["text"], how.rule)
    page_type = PageType(truth.get("type") or "article")
    return Example(*grouped, truth.get("lang"), page_type, truth["text"], table, signals, labels, words)


def _read_annotated(name: str, saved: PoolPage, decided: Sequence[PageAnnotation]) -> Example:
    body = saved.read_body()
    for annotation in decided:
        annotation.check(digest_body(body))
    page = saved.parse(body)
    table = read_leaf_table(page.root)
    texts = [block.text for block in table.blocks]
    marks = merge_marks([inherit_marks(texts, annotation.texts) for annotation in decided])
    main = main_marks(Convention.MIXED, decided[0].type)
    labels = np.array([mark in main for mark in marks], np.float32)
    gold = "\n".join(text for text, mark in zip(texts, marks, strict=True) if mark in main)
    return Example(
        f"{saved.set}/{saved.id}",
        name,
        saved.host,
        None,
        decided[0].type,
        gold,
        table,
        read_signals(page, read_statements(page.root)),
        labels,
        np.array([len(SETS[name].rule.split(text)) for text in texts], np.float64),
        np.array([mark is not Mark.UNDECIDED for mark in marks], bool),
    )
