"""The first stage of a batch job: clean the records of one input file in a process of its own.

The cleaning process has the time and memory limits of a crawl's cleaning processes. A record that breaks them is
counted, and the next one is cleaned by a new process. The file's tables appear when all records are done.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from xxhash import xxh3_128_hexdigest, xxh3_128_intdigest

from crawler.batch.clean_record import CleanedRecord, RecordTask, RecordToClean
from crawler.batch.columns import ADDRESSES, CLEANED_BLOCKS, PAGES, REJECTED, create_table
from crawler.batch.filters import Filtered
from crawler.batch.records import read_records
from crawler.errors import InputError, SetupError, WorkerError, WorkerTimeoutError
from crawler.fetching.answers import Answer, OtherRequests, Passed, PassedRecord
from crawler.reading.conditions import RowConditions
from crawler.reading.exports.rows import EXPORT_VERSION, RowChange
from crawler.storage.tables import signed
from crawler.urls import is_respelled, url_key
from crawler.visit import Outcome
from crawler.workers.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawler.batch.columns import TableWriter
    from crawler.batch.filters import RecordFilter
    from crawler.batch.inputs import InputFile
    from crawler.batch.output import OutputFolder

ID_BITS = 32
"""The ids of pages and blocks: the number of the input file, and in the low bits the number in that file."""

UNDECIDED = ("doubted_canonical", "duplicate", "duplicate_of", "duplicate_bits")
"""The columns of a page that have a value only when all pages are cleaned."""

_UNREADABLE_FILE = "unreadable_file"
"""Why an input file was not read to its end, in the table of rejected records."""

_LOW_64_BITS = (1 << 64) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_HASH = (None, None)
_REPORTED_RECORDS = 100
_TRANSIENT_STATUSES = frozenset({304, 408, 429})
_SERVER_ERROR = 500


class CleaningProcess(Protocol):
    """The process that a task runs in (`crawler.batch.engine.TaskProcess`)."""

    cleaners: Cleaners
    progress: Callable[[int, int], None]
    attempts_left: int


@dataclass(frozen=True, slots=True)
class CleaningRules:
    """How the records of a job are read and cleaned. `default_date` is the date of records that state none.

    A page that does not meet the `conditions` on its columns is left out.
    """

    records: RecordFilter
    task: RecordTask
    max_bytes: int
    default_date: datetime
    conditions: RowConditions = RowConditions()  # noqa: RUF009 — frozen


class Cleaners:
    """The cleaning process of a task's process, started when it is first needed and kept for the next task."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._counts: Counter[str] = Counter()
        self._pool: WorkerPool[CleanedRecord] | None = None
        self._task: RecordTask | None = None

    def use(self, task: RecordTask) -> tuple[asyncio.Runner, WorkerPool[CleanedRecord]]:
        """Return the event loop and a pool of one process for a task. Raises SetupError."""
        if self._pool is None or self._task != task:
            self.close()
            self._runner = asyncio.Runner()
            self._pool, self._task = WorkerPool.start(1, task, _Stats(self._counts)), task
        return self._runner, self._pool

    def take_counts(self) -> Counter[str]:
        """Return the restarts and other events of the processes since the last call."""
        counts, self._counts = self._counts.copy(), self._counts
        self._counts.clear()
        return counts

    def close(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.close()
            self._runner.close()
            self._pool = None


class _Stats:
    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts

    def inc_value(self, key: str) -> None:
        self._counts[key] += 1


def cleaned_names(number: int) -> dict[str, str]:
    """Return the names of an input file's tables."""
    stem = f"work/cleaned/{number:06}"
    return {
        "pages": f"{stem}.pages.parquet",
        "blocks": f"{stem}.blocks.parquet",
        "addresses": f"{stem}.addresses.parquet",
        "rejected": f"rejected/part-{number:06}.parquet",
    }


def clean_file(output: OutputFolder, file: InputFile, rules: CleaningRules, process: CleaningProcess) -> dict[str, int]:
    """Clean an input file, write its tables and return its counts.

    A file that cannot be read to its end at the last attempt is counted as lost; what was read before is kept. Raises
    InputError for one that may be readable at the next attempt, and SetupError.
    """
    runner, pool = process.cleaners.use(rules.task)
    process.cleaners.take_counts()
    with _create_tables(output, file.number) as tables:
        job = _FileCleaner(file, rules, pool, tables, process.progress)
        try:
            runner.run(job.run())
        except InputError as error:
            if process.attempts_left:
                raise
            tables.rejected.add((file.path, 0, None, _UNREADABLE_FILE, str(error), None))
            job.counts["file/unreadable"] += 1
        except SetupError:
            process.cleaners.close()  # the pool starts no process any more; the next attempt begins with another one
            raise
    return dict(job.counts + process.cleaners.take_counts())


@contextmanager
def _create_tables(output: OutputFolder, number: int) -> Iterator[_Tables]:
    names = cleaned_names(number)
    schemas = {"pages": PAGES, "blocks": CLEANED_BLOCKS, "rejected": REJECTED, "addresses": ADDRESSES}
    with ExitStack() as stack:
        yield _Tables(
            **{name: stack.enter_context(create_table(output, names[name], schema)) for name, schema in schemas.items()}
        )


@dataclass(frozen=True, slots=True)
class _Tables:
    pages: TableWriter
    blocks: TableWriter
    rejected: TableWriter
    addresses: TableWriter


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A record that is being cleaned, and its number in the file."""

    number: int
    answer: Answer
    running: asyncio.Task[CleanedRecord]


class _FileCleaner:
    """Cleans the records of one file: while the process cleans a record, the next one is read."""

    def __init__(
        self,
        file: InputFile,
        rules: CleaningRules,
        pool: WorkerPool[CleanedRecord],
        tables: _Tables,
        progress: Callable[[int, int], None],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._file = file
        self._rules = rules
        self._pool = pool
        self._tables = tables
        self._progress = progress
        self._base = file.number << ID_BITS
        self._pages = self._blocks = self._records = 0
        self._others = OtherRequests()
        self._unreadable: InputError | None = None
        self._page_ids_by_record: dict[str, int] = {}

    async def run(self) -> None:
        """Clean all records. Raises InputError when those before the unreadable place are cleaned, and SetupError."""
        waiting: _Waiting | None = None
        for record in self._read_records():
            self._count_record()
            if isinstance(record, PassedRecord):
                self._pass(record)
                continue
            page = RecordToClean(record.url, record.status, record.headers, record.body)
            following = _Waiting(self._records, record, asyncio.ensure_future(self._pool.run(page)))
            await asyncio.sleep(0)  # the page is sent, unless the process still has the one before
            if waiting is not None:
                await self._finish(waiting)
            waiting = following
        if waiting is not None:
            await self._finish(waiting)
        self._progress(self._records, self._pages)
        self.counts["records"] = self._records
        self.counts["pages"] = self._pages
        self.counts["blocks"] = self._blocks
        if self._unreadable is not None:
            raise self._unreadable

    def _read_records(self) -> Iterator[Answer | PassedRecord]:
        """Yield the file's records up to its end, or to the place where it cannot be read."""
        try:
            yield from read_records(self._file, self._rules.records, self._rules.max_bytes, self._others)
        except InputError as error:
            self._unreadable = error

    def _count_record(self) -> None:
        self._records += 1
        if self._records % _REPORTED_RECORDS == 0:
            self._progress(self._records, self._pages)

    def _pass(self, record: PassedRecord) -> None:
        kind = "filtered" if isinstance(record.reason, Filtered) else "record"
        self.counts[f"{kind}/{record.reason}"] += 1
        if record.is_lost:
            detail = str(record.place) if record.place.inside else None
            source = record.place.packed_file or self._file.path
            self._tables.rejected.add((source, record.place.offset, record.url, record.reason, detail, None))

    async def _finish(self, waiting: _Waiting) -> None:
        answer = waiting.answer
        try:
            result = await waiting.running
        except WorkerTimeoutError as error:
            result = CleanedRecord(Outcome.CLEANING_TIMEOUT, str(error), url_key(answer.url))
        except WorkerError as error:
            result = CleanedRecord(Outcome.CLEANING_FAILED, str(error), url_key(answer.url))
        if answer.record_id in self._others.answer_ids:
            self.counts[f"record/{Passed.POSTED}"] += 1
            return
        self.counts["record/shortened"] += answer.is_shortened
        self.counts[f"visit/{result.outcome}"] += 1
        if result.outcome is Outcome.PAGE:
            self._add_page(waiting, result)
        else:
            self._reject(waiting, result, result.outcome, result.detail)

    def _reject(self, waiting: _Waiting, result: CleanedRecord, reason: str, detail: str | None) -> None:
        answer = waiting.answer
        record_id = answer.record_id
        source = answer.place.packed_file or self._file.path
        self._tables.rejected.add((source, answer.place.offset, answer.url, reason, detail, record_id))
        self._add_address(waiting, result, -1)

    def _add_address(self, waiting: _Waiting, result: CleanedRecord, page_id: int) -> None:
        answer = waiting.answer
        own_key = url_key(answer.url)
        stated: tuple[int | None, int | None] = _NO_HASH
        if is_respelled(result.key, own_key):
            own_key = result.key
        else:
            stated = _hash_halves(result.key)
        transient = answer.status in _TRANSIENT_STATUSES or answer.status >= _SERVER_ERROR
        order = self._base + waiting.number
        at = (answer.at or self._rules.default_date) - _EPOCH
        self._tables.addresses.add((*_hash_halves(own_key), at // _MICROSECOND, order, page_id, transient, *stated))

    def _add_page(self, waiting: _Waiting, result: CleanedRecord) -> None:
        answer = waiting.answer
        page_id = self._base + self._pages
        first_seen = answer.at or self._rules.default_date
        text = "\n".join(result.blocks.text)
        counted = {
            "schema": EXPORT_VERSION,
            "change": RowChange.NEW.value,
            "id": page_id,
            "first_seen": first_seen,
            "blocks": len(result.blocks),
            "words": sum(result.blocks.words),
            "text": text if result.columns["text"] is None else result.columns["text"],
            "source": answer.place.packed_file or self._file.path,
            "place": answer.place.offset,
            "record_id": answer.record_id,
            "text_digest": xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass")) if text else None,
            **dict.fromkeys(UNDECIDED),
        }
        values = result.columns | counted
        if broken := self._rules.conditions.first_broken(values):
            self.counts["filtered/where"] += 1
            self._reject(waiting, result, "filtered", broken)
            return
        self._pages += 1
        self._add_address(waiting, result, page_id)
        self._tables.pages.add(tuple(values[name] for name in PAGES.names))
        self._add_blocks(page_id, result)
        for reason, count in result.reasons.items():
            self.counts[f"blocks/{reason}"] += count
            self.counts["blocks/seen"] += count
        for warning in result.warnings:
            self.counts[f"page/{warning}"] += 1

    def _add_blocks(self, page_id: int, result: CleanedRecord) -> None:
        blocks, count, first = result.blocks, len(result.blocks), self._base + self._blocks
        self._blocks += count
        own: dict[str, Sequence[Any]] = {
            "id": range(first, first + count),
            "page_id": [page_id] * count,
            "site": [result.columns["site"]] * count,
            "repeats": [first + number if number >= 0 else -1 for number in blocks.repeats],
        }
        columns = [own[name] if name in own else getattr(blocks, name) for name in CLEANED_BLOCKS.names]
        self._tables.blocks.add_columns(columns)


def _hash_halves(key: str) -> tuple[int, int]:
    """Return the two halves of a key's hash."""
    digest = xxh3_128_intdigest(key.encode("utf-8", "surrogatepass"))
    return signed(digest >> 64), signed(digest & _LOW_64_BITS)
