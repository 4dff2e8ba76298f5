"""One record in a cleaning process: rejected, or cleaned and fingerprinted, as a crawl does it.

`RecordTask` calls what the middlewares and steps of a crawl call (`crawler/middlewares.py`, `crawler/processing/`),
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
from cleaning.blocks import kept_decisions
from cleaning.teaching import load_site_model
from crawler.config import Config
from crawler.fetching.compression import DamagedBodyError, unpack_body
from crawler.fetching.directives import Directive, DirectiveReader, crawler_names, reject_unwanted
from crawler.fetching.response_filter import Rejection, read_page, reject_status
from crawler.page import fetched_page, get_header
from crawler.storage.page_columns import normalised
from crawler.storage.pages import describe_page, page_names
from crawler.storage.tables import signed
from crawler.urls import site_of, url_key
from crawler.visit import OUTCOME_BY_FAULT, FetchedPage, Outcome, ProcessedPage, TextForm
from crawler.workers.tasks import WorkerTask, expect_method, load_models, load_stemmer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import FileIO

    from cleaning.blocks import Decision
    from cleaning.page_fingerprint import BlockKeys, FingerprintedBlock
    from cleaning.structure.clean_page import CleanPage

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

    `key` identifies the page. `columns` are the columns of a stored page, `reasons` the number of blocks by
    reason and `warnings` what its bytes showed.
    """

    outcome: Outcome
    detail: str | None
    key: str
    columns: dict[str, str | int | float | None] = field(default_factory=dict)
    blocks: BlockColumns = field(default_factory=BlockColumns)
    reasons: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordTask(WorkerTask[CleanedRecord]):
    """The task of a batch job's cleaning processes. `settings` are the settings of a crawl that cleaning reads.

    A process that takes more than `memory_bytes` of memory for a page is killed, on Linux; 0 sets no limit. `text_form`
    is for the setting STRUCTURE. `site_models` are the models of sites, in JSON.
    """

    page_type = RecordToClean
    result_type = CleanedRecord

    settings: dict[str, Any]
    seconds: float
    memory_bytes: int = 0
    text_form: TextForm = TextForm()  # noqa: RUF009 — frozen
    site_models: dict[str, str] = field(default_factory=dict)

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
        return RecordCleaner(self.settings, self.text_form, self.site_models)

    def work(self, page: RecordToClean) -> CleanedRecord:  # type: ignore[override] # of this task's page_type
        """Return the result for a record."""
        return self.cleaner.clean(page)


class RecordCleaner:
    """Rejects or cleans answers by the settings of a crawl."""

    def __init__(
        self,
        settings: dict[str, Any],
        text_form: TextForm,
        site_models: Mapping[str, str] | None = None,
    ) -> None:
        self._text_form = text_form
        self._site_models = site_models or {}
        scrapy_settings = BaseSettings(settings)
        self._config = Config.read(scrapy_settings)
        self._directives = DirectiveReader(self._config, crawler_names(scrapy_settings))
        self._fingerprinter = self._config.fingerprinter

    def clean(self, record: RecordToClean) -> CleanedRecord:
        """Return the page of an answer, cleaned and fingerprinted, or why it has none."""
        try:
            answer = self._read(record)
        except PageError as error:
            answer = Rejection(OUTCOME_BY_FAULT[error.cause], str(error))
        except DamagedBodyError as error:
            answer = Rejection(Outcome.DOWNLOAD_FAILED, str(error))
        if isinstance(answer, Rejection):
            return CleanedRecord(answer.outcome, answer.detail, url_key(record.url))
        return self._process(*answer)

    def _read(self, record: RecordToClean) -> tuple[FetchedPage, str | None] | Rejection:
        """Return the page of an answer with the wishes of its publisher, or why it has none."""
        headers: dict[str, list[str]] = {}
        for name, value in record.headers:
            headers.setdefault(name, []).append(value)
        response = Response(record.url, record.status, headers, record.body)
        max_bytes = self._config.page_max_bytes
        if encodings := get_header(response, "Content-Encoding"):
            response = response.replace(body=unpack_body(record.body, encodings, max_bytes))
        tree = reject_status(response.status, response.body) or read_page(response, max_bytes)
        if isinstance(tree, Rejection):
            return tree
        stated = self._directives.read_stated(response, tree)
        if rejection := reject_unwanted(self._directives.obeyed(stated)):
            return rejection
        opt_outs = ",".join(directive.value for directive in Directive if directive in stated)
        return fetched_page(response, tree), opt_outs or None

    def _process(self, fetched: FetchedPage, opt_outs: str | None) -> CleanedRecord:
        config = self._config
        model = load_site_model(self._site_models.get(site_of(fetched.url)))
        cleaned = clean(fetched.tree, method=config.cleaning_method, site_model=model, **config.cleaning_options)
        kept = kept_decisions(cleaned.decisions)
        keys = [self._fingerprinter.block_keys(decision.block.text, decision.block.kind) for decision in kept]
        fingerprints = self._fingerprinter.compare(kept, keys)
        page = ProcessedPage(fetched, cleaned, fingerprints.blocks, fingerprints.fingerprint)
        names = page_names(page)
        columns = describe_page(page) | {
            "headline": names.headline,
            "stated_title": names.stated_title,
            "modified": normalised(cleaned.metadata.modified_text),
            "type": None if cleaned.type is None else cleaned.type.value,
            **self._write_texts(cleaned),
        }
        columns |= {name: _signed(columns[name]) for name in ("body_hash", "page_fingerprint")}
        columns |= {
            "opt_outs": opt_outs,
            "kept_share": _kept_share(cleaned.decisions),
        }
        return CleanedRecord(
            Outcome.PAGE,
            None,
            columns["url_key"],
            columns,
            _columns_of(fingerprints.blocks, keys),
            {str(reason): count for reason, count in cleaned.counts().items()},
            tuple(warning.value for warning in cleaned.parse_warnings),
        )

    def _write_texts(self, cleaned: CleanPage) -> dict[str, str | None]:
        """Return the forms of the main text that need its structure; the text of blocks is made of their column."""
        if not self._config.structure:
            return {"text": None, "markdown": None}
        form, document = self._text_form, cleaned.structure
        return {"text": form.write_text(document), "markdown": form.write(document)}


def _kept_share(decisions: Sequence[Decision]) -> float:
    """Return the share of the words of a page that are in kept blocks; 0 for a page without words."""
    words = sum(decision.block.words for decision in decisions)
    return sum(decision.block.words for decision in decisions if decision.kept) / words if words else 0.0


def _columns_of(fingerprinted: tuple[FingerprintedBlock, ...], keys: list[BlockKeys]) -> BlockColumns:
    decisions = [block.decision for block in fingerprinted]
    blocks = [decision.block for decision in decisions]
    numbers = {block.position: number for number, block in enumerate(blocks)}
    return BlockColumns(
        position=[block.position for block in blocks],
        kind=[str(block.kind) for block in blocks],
        path=[block.path for block in blocks],
        text=[block.text for block in blocks],
        words=[block.words for block in blocks],
        score=[decision.score for decision in decisions],
        priority=[block.priority for block in blocks],
        digest=[signed(block.digest) for block in fingerprinted],
        check=[_check_of(block.text, block_keys.terms) for block, block_keys in zip(blocks, keys, strict=True)],
        unique_terms=[block.unique_terms for block in fingerprinted],
        fingerprint=[_signed(block.fingerprint) for block in fingerprinted],
        repeats=[-1 if block.repeats is None else numbers[block.repeats] for block in fingerprinted],
        distance=[block.distance for block in fingerprinted],
    )


def _check_of(text: str, words: Sequence[str]) -> int:
    """Return half of a 128-bit hash of a text's terms, or of a text without terms itself."""
    hashed = "\0".join(words) if words else text
    return signed(xxh3_128_intdigest(hashed.encode("utf-8", "surrogatepass")) & _LOW_64_BITS)


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
