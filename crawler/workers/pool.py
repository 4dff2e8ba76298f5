"""The crawl's side of the workers: start them, hand out pages, and replace a worker that has ended."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, Protocol

from cleaning import PageError
from crawler.errors import SetupError, WorkerError, WorkerLostError, WorkerTimeoutError
from crawler.workers.tasks import ResultT
from crawler.workers.worker import ANSWER_HEAD, RaisedInWorker, decode_answer, encode_page, encode_task, read_exactly

if TYPE_CHECKING:
    from typing import Self

    from crawler.workers.tasks import WorkerTask

logger = logging.getLogger(__name__)

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""For the environment of a process that shares the cores with others: numpy would start a thread for each core."""

# Imports and models take about a second, and more on a busy machine.
_START_SECONDS = 120.0
# No page has a result of this size: its bytes are limited too (PAGE_MAX_BYTES).
_MAX_ANSWER_BYTES = 1 << 30


class StatCounter(Protocol):
    """Counts what happens to workers; the stats of a crawl do."""

    def inc_value(self, key: str) -> None:
        """Add 1 to a stat."""


class PageForWorker(Protocol):
    """The input of a worker, of its task's `page_type`."""

    @property
    def url(self) -> str | None: ...


class WorkerPool(Generic[ResultT]):
    """A fixed number of worker processes, each with one page at a time; further pages wait for a free worker.

    A page whose worker dies (out of memory, a crash in a compiled library) is tried once more in another worker, since
    another page may be the cause. A page that takes too long is not: it would again.
    """

    def __init__(self, workers: list[WorkerProcess], task: WorkerTask[ResultT], stats: StatCounter) -> None:
        self._task = task
        self._stats = stats
        self._start_error: SetupError | None = None
        self._free: asyncio.Queue[WorkerProcess] = asyncio.Queue()
        for worker in workers:
            self._free.put_nowait(worker)

    @classmethod
    def start(cls, count: int, task: WorkerTask[ResultT], stats: StatCounter) -> Self:
        """Return a pool of `count` ready workers. Raises SetupError, and leaves none running, if one cannot start."""
        with ThreadPoolExecutor(count) as threads:
            starting = [threads.submit(WorkerProcess.start, task) for _ in range(count)]
        errors = [error for future in starting if (error := future.exception())]
        workers = [future.result() for future in starting if not future.exception()]
        if errors:
            _end_workers(workers)
            raise errors[0]
        logger.info("Pages are cleaned in %s processes, each page within %g seconds", count, task.seconds)
        return cls(workers, task, stats)

    async def run(self, page: PageForWorker) -> ResultT:
        """Return the task's result for a page, once a worker is free and has done it.

        Raises PageError as `cleaning.clean` does, WorkerTimeoutError for a page that takes too long, WorkerError if the
        task raises an exception or two workers die of the page, and SetupError if no new worker can be started.
        """
        try:
            return await self._run_once(page)
        except WorkerLostError as lost:
            logger.warning("Cleaning %s: %s; it is tried once more in another", page.url, lost)
            self._stats.inc_value("clean/retries")
        return await self._run_once(page)

    def close(self) -> None:
        """End the workers. The crawl calls it when no page is being cleaned."""
        _end_workers([self._free.get_nowait() for _ in range(self._free.qsize())])

    async def _run_once(self, page: PageForWorker) -> ResultT:
        worker = await self._free.get()
        try:
            if worker.has_ended:
                worker = await self._replace(worker)
            answer = await worker.ask(encode_page(page))
        finally:
            self._free.put_nowait(worker)
        if isinstance(answer, PageError):
            raise answer
        if isinstance(answer, RaisedInWorker):
            error = WorkerError(answer.representation)
            error.add_note(answer.traceback)
            raise error
        result: ResultT = answer
        return result

    async def _replace(self, worker: WorkerProcess) -> WorkerProcess:
        """Return a new worker for one that has ended. After one start has failed, no other is tried."""
        worker.end()
        if self._start_error is not None:
            raise self._start_error
        self._stats.inc_value("clean/restarts")
        try:
            # A start blocks for a second, so it runs in a thread.
            return await asyncio.to_thread(WorkerProcess.start, self._task)
        except SetupError as error:
            self._start_error = error
            raise


class WorkerProcess:
    """One worker and the socket to it."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket, task: WorkerTask[Any]) -> None:
        self._process = process
        self._channel = channel
        self._task = task

    @classmethod
    def start(cls, task: WorkerTask[Any]) -> Self:
        """Return a worker that is ready. This blocks for about a second. Raises SetupError."""
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                worker = cls(_spawn(theirs), ours, task)
        except OSError as error:
            raise SetupError(f"a cleaning process cannot be started: {error}; lower CLEANING_PROCESSES") from error
        try:
            worker._prepare()
        except BaseException:
            worker.end()
            raise
        return worker

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    async def ask(self, message: bytes) -> Any:
        """Send a page and return the answer. The worker is ended if none arrives, or if the caller is cancelled.

        Raises WorkerError.
        """
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._channel, message)
            kind, length = ANSWER_HEAD.unpack(await self._receive(ANSWER_HEAD.size))
            return decode_answer(kind, await self._receive(_check_length(length)), self._task.result_type)
        except (OSError, EOFError) as error:
            raise self._lost_error() from error
        except ValueError as error:  # msgspec.DecodeError is one
            self.end()
            raise WorkerLostError(f"its process has sent an answer that cannot be read ({error})") from error
        except BaseException:
            self.end()  # its late answer must not be read as the next page's
            raise

    def end(self) -> None:
        """Kill the worker and wait for its end. It holds nothing that could be lost."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def _prepare(self) -> None:
        self._channel.settimeout(_START_SECONDS)
        try:
            with self._channel.makefile("rb") as answers:
                self._channel.sendall(encode_task(self._task))
                kind, length = ANSWER_HEAD.unpack(read_exactly(answers, ANSWER_HEAD.size))
                answer = decode_answer(kind, read_exactly(answers, _check_length(length)), None)
        except TimeoutError as error:
            raise SetupError(f"a cleaning process does not start within {_START_SECONDS:g} seconds") from error
        except (OSError, EOFError, ValueError) as error:
            raise SetupError(f"a cleaning process ends at its start ({self._end_cause()})") from error
        if isinstance(answer, RaisedInWorker):
            raise SetupError(answer.message)
        self._channel.setblocking(False)

    async def _receive(self, size: int) -> bytearray:
        loop = asyncio.get_running_loop()
        received = bytearray(size)
        view = memoryview(received)
        while view:
            count = await loop.sock_recv_into(self._channel, view)
            if not count:
                raise EOFError
            view = view[count:]
        return received

    def _lost_error(self) -> WorkerError:
        cause = self._end_cause()
        if cause == signal.SIGALRM.name:
            return WorkerTimeoutError(f"it takes more than {self._task.seconds:g} seconds (setting CLEANING_SECONDS)")
        return WorkerLostError(f"its process has died ({cause})")

    def _end_cause(self) -> str:
        """End the worker if it still runs, and return what ended it: the name of a signal, or its exit code."""
        self.end()
        code = self._process.returncode
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _check_length(length: int) -> int:
    """Return the length of an answer. Raises ValueError for one that no worker sends."""
    if length > _MAX_ANSWER_BYTES:
        raise ValueError(f"an answer of {length} bytes")
    return length


def _spawn(channel: socket.socket) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C stops the crawl, which finishes its pages first. -P keeps the current folder from
    # hiding the modules that the worker imports.
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109 — a string is needed
    return subprocess.Popen(
        [sys.executable, "-P", "-c", "from crawler.workers.worker import main; main()"],
        stdin=channel.fileno(),
        stdout=subprocess.DEVNULL,
        env=ONE_THREAD | os.environ | {"PYTHONPATH": paths},
        start_new_session=True,
    )


def _end_workers(workers: list[WorkerProcess]) -> None:
    for worker in workers:
        worker.end()
