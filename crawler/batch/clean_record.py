"""One record in a cleaning process: rejected, or cleaned and fingerprinted, as a crawl does it.

`RecordTask` calls what the middlewares and steps of a crawl call (`crawler/middlewares.py`, `crawler/processing.py`),
so `scrapy crawl archive` gives the same pages, decisions, digests and fingerprints.
"""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.http import Response
from scrapy.settings import BaseSettings
from xxhash import xxh3_128_intdigest

from cleaning import PageError, clean
from cleaning.blocks import Metadata, kept_decisions
from cleaning.terms import normalise
from crawler.config import Config
from crawler.fetching.compression import DamagedBodyError, unpack_body
from crawler.fetching.directives import DirectiveReader, crawler_names, reject_unwanted
from crawler.fetching.response_filter import Rejection, read_page, reject_status
from crawler.page import get_header
from crawler.storage.pages import describe_page, page_names
from crawler.storage.tables import signed
from crawler.urls import url_key
from crawler.visit import OUTCOME_BY_FAULT, FetchedPage, Outcome, ProcessedPage
from crawler.workers.tasks import WorkerTask, expect_method, load_models, load_stemmer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import FileIO

    from cleaning.page_fingerprint import BlockKeys, FingerprintedBlock

_MEMORY = Path("/proc/self/statm")
_STATM_BYTES = 256
_WATCH_SECONDS = 0.02
_LOW_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class RecordToClean:
    """An answer on its way to a cleaning process."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


_FIRST = RecordToClean(
    "https://example.invalid/",
    200,
    (("Content-Type", "text/html"),),
    b"<!DOCTYPE html><html><head><title>First</title></head><body><p>A page for the start.</p></body></html>",
)


@dataclass(slots=True)
class BlockColumns:
    """The kept blocks of a page with their keys, a list for each column: rows would be objects to make twice.

    `repeats` is the number of the earlier kept block of the page that a block duplicates, counted from 0, or -1;
    `distance` the number of bits between the two. `check` is another hash of its terms: two blocks with the same digest
    and check have the same terms. Digest, fingerprint and check are signed.
    """

    position: list[int] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    priority: list[float] = field(default_factory=list)
    digest: list[int] = field(default_factory=list)
    check: list[int] = field(default_factory=list)
    unique_terms: list[int] = field(default_factory=list)
    fingerprint: list[int | None] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    distance: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True, slots=True)
class CleanedRecord:
    """The result for a record: its outcome, with a page only if that is `page`.

    `key` identifies the page. `columns` are those of a stored page, `reasons` the number of blocks by reason and
    `warnings` what its bytes showed.
    """

    outcome: Outcome
    detail: str | None
    key: str
    columns: dict[str, str | int | None] = field(default_factory=dict)
    blocks: BlockColumns = field(default_factory=BlockColumns)
    reasons: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordTask(WorkerTask[CleanedRecord]):
    """The task of a batch job's cleaning processes. `settings` are those of a crawl that it needs.

    A process that takes more than `memory_bytes` of memory for a page is killed, on Linux; 0 sets no limit.
    """

    page_type = RecordToClean
    result_type = CleanedRecord

    settings: dict[str, Any]
    seconds: float
    memory_bytes: int = 0

    def prepare(self) -> None:
        expect_method(self.settings["CLEANING_METHOD"])
        load_models()
        load_stemmer()
        # What the first page loads is not what a page takes.
        self.cleaner.clean(_FIRST)
        if self.memory_bytes and (own := _resident_bytes()):
            threading.Thread(target=_watch, args=(own + self.memory_bytes,), daemon=True).start()

    @cached_property
    def cleaner(self) -> RecordCleaner:
        """The rules by which the records are cleaned."""
        return RecordCleaner(self.settings)

    def work(self, page: RecordToClean) -> CleanedRecord:  # type: ignore[override] # of this task's page_type
        """Return the result for a record."""
        return self.cleaner.clean(page)


class RecordCleaner:
    """Rejects or cleans answers by the settings of a crawl."""

    def __init__(self, settings: dict[str, Any]) -> None:
        given = BaseSettings(settings)
        self._config = Config.read(given)
        self._directives = DirectiveReader(self._config, crawler_names(given))
        self._fingerprinter = self._config.fingerprinter

    def clean(self, record: RecordToClean) -> CleanedRecord:
        """Return the page of an answer, cleaned and fingerprinted, or why it has none."""
        try:
            found = self._read(record)
        except PageError as error:
            found = Rejection(OUTCOME_BY_FAULT[error.cause], str(error))
        except DamagedBodyError as error:
            found = Rejection(Outcome.DOWNLOAD_FAILED, str(error))
        if isinstance(found, Rejection):
            return CleanedRecord(found.outcome, found.detail, url_key(record.url))
        return self._process(found)

    def _read(self, record: RecordToClean) -> FetchedPage | Rejection:
        headers: dict[str, list[str]] = {}
        for name, value in record.headers:
            headers.setdefault(name, []).append(value)
        response = Response(record.url, record.status, headers, record.body)
        max_bytes = self._config.page_max_bytes
        if encodings := get_header(response, "Content-Encoding"):
            response = response.replace(body=unpack_body(record.body, encodings, max_bytes))
        found = reject_status(response.status, response.body) or read_page(response, max_bytes)
        if isinstance(found, Rejection):
            return found
        if rejection := reject_unwanted(self._directives.read(response, found)):
            return rejection
        etag, last_modified = get_header(response, "ETag"), get_header(response, "Last-Modified")
        return FetchedPage(response.url, response.body, found, Metadata(), etag, last_modified)

    def _process(self, fetched: FetchedPage) -> CleanedRecord:
        config = self._config
        cleaned = clean(fetched.tree, method=config.cleaning_method, **config.cleaning_options)
        kept = kept_decisions(cleaned.decisions)
        keys = [self._fingerprinter.block_keys(decision.block.text, decision.block.kind) for decision in kept]
        found = self._fingerprinter.compare(kept, keys)
        page = ProcessedPage(fetched, cleaned, found.blocks, found.fingerprint)
        names = page_names(page)
        columns = describe_page(page) | {
            "headline": names.headline,
            "stated_title": names.stated_title,
            "modified": _normalised(cleaned.metadata.modified),
            "type": None if cleaned.type is None else cleaned.type.value,
            "markdown": cleaned.markdown if config.structure else None,
        }
        columns |= {name: _signed(columns[name]) for name in ("body_hash", "page_fingerprint")}
        return CleanedRecord(
            Outcome.PAGE,
            None,
            columns["url_key"],
            columns,
            _columns_of(found.blocks, keys),
            {str(reason): count for reason, count in cleaned.counts().items()},
            tuple(warning.value for warning in cleaned.parse_warnings),
        )


def _columns_of(blocks: tuple[FingerprintedBlock, ...], keys: list[BlockKeys]) -> BlockColumns:
    numbers = {one.decision.block.position: number for number, one in enumerate(blocks)}
    inner = [one.decision.block for one in blocks]
    return BlockColumns(
        position=[block.position for block in inner],
        kind=[str(block.kind) for block in inner],
        path=[block.path for block in inner],
        text=[block.text for block in inner],
        words=[block.words for block in inner],
        score=[one.decision.score for one in blocks],
        priority=[block.priority for block in inner],
        digest=[signed(one.digest) for one in blocks],
        check=[_check_of(block.text, its.terms) for block, its in zip(inner, keys, strict=True)],
        unique_terms=[one.unique_terms for one in blocks],
        fingerprint=[_signed(one.fingerprint) for one in blocks],
        repeats=[-1 if one.repeats is None else numbers[one.repeats] for one in blocks],
        distance=[one.distance for one in blocks],
    )


def _check_of(text: str, words: Sequence[str]) -> int:
    """Return half of a 128-bit hash of a text's terms, or of a text without terms itself."""
    shown = "\0".join(words) if words else text
    return signed(xxh3_128_intdigest(shown.encode("utf-8", "surrogatepass")) & _LOW_64_BITS)


def _watch(limit: int) -> None:
    """Kill this process if it takes more memory than the limit.

    A limit of the kernel would not do: libxml2 takes what it could allocate for the whole page.
    """
    with _MEMORY.open("rb", buffering=0) as file:
        while _read_resident(file) <= limit:
            time.sleep(_WATCH_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _resident_bytes() -> int:
    """Return the memory that this process takes; 0 where the system does not say."""
    try:
        with _MEMORY.open("rb", buffering=0) as file:
            return _read_resident(file)
    except OSError:
        return 0


def _read_resident(file: FileIO) -> int:
    return int(os.pread(file.fileno(), _STATM_BYTES, 0).split()[1]) * resource.getpagesize()


def _signed(bits: int | None) -> int | None:
    return None if bits is None else signed(bits)


def _normalised(text: str | None) -> str | None:
    return None if text is None else normalise(text)
