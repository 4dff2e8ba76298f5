"""The crawl's side of the workers: start them, hand out pages, and replace a worker that ends."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from struct import error as StructError  # noqa: N812 — a class
from typing import TYPE_CHECKING, Any, Generic, Protocol

from cleaning import PageError
from crawler.errors import SetupError, WorkerError, WorkerLostError, WorkerTimeoutError
from crawler.workers.worker import LENGTH_PREFIX, RaisedInWorker, ResultT

if TYPE_CHECKING:
    from typing import Self

    from crawler.workers.worker import PageToClean, WorkerTask


logger = logging.getLogger(__name__)

# Imports and models take about a second; on a machine with too much to do, more.
_START_SECONDS = 120.0


class StatCounter(Protocol):
    """Where it is counted what the processes go through: the stats of a crawl, for one."""

    def inc_value(self, key: str) -> None:
        """Count one more."""


class WorkerPool(Generic[ResultT]):
    """So many processes that clean pages, one page each at a time; further pages wait for a free one.

    A page whose process dies (killed for its memory, a fault in a compiled library) is tried once more in another: it
    may have been another page's fault. One that takes too long is not, as it would again.
    """

    def __init__(self, processes: list[WorkerProcess], task: WorkerTask[ResultT], stats: StatCounter) -> None:
        self._task = task
        self._stats = stats
        self._fault: SetupError | None = None
        self._free: asyncio.Queue[WorkerProcess] = asyncio.Queue()
        for process in processes:
            self._free.put_nowait(process)

    @classmethod
    def start(cls, count: int, task: WorkerTask[ResultT], stats: StatCounter) -> Self:
        """Return so many processes, ready to work. Raises SetupError where one cannot start; none is left then."""
        with ThreadPoolExecutor(count) as starters:
            starting = [starters.submit(WorkerProcess.start, task) for _ in range(count)]
        failed = [error for each in starting if (error := each.exception())]
        processes = [each.result() for each in starting if not each.exception()]
        if failed:
            _end_workers(processes)
            raise failed[0]
        logger.info("Pages are cleaned in %s processes, each page within %g seconds", count, task.seconds)
        return cls(processes, task, stats)

    async def clean(self, order: PageToClean) -> ResultT:
        """Return what the task makes of the page, a cleaned one, as soon as a process is free and done with it.

        Raises PageError as `cleaning.clean` does; CleanerTimeoutError for a page that takes too long, CleanerError for
        one on which cleaning fails or two processes die; SetupError where no new process can be started.
        """
        try:
            return await self._attempt(order)
        except WorkerLostError as lost:
            logger.warning("Cleaning %s: %s; it is tried once more in another", order.url, lost)
            self._stats.inc_value("clean/retries")
        return await self._attempt(order)

    def close(self) -> None:
        """End the processes; the crawl closes when no page is in work any more."""
        _end_workers([self._free.get_nowait() for _ in range(self._free.qsize())])

    async def _attempt(self, order: PageToClean) -> ResultT:
        process = await self._free.get()
        try:
            if process.ended:
                process = await self._replaced(process)
            answer = await process.ask(pickle.dumps(order, pickle.HIGHEST_PROTOCOL))
        finally:
            self._free.put_nowait(process)
        if isinstance(answer, PageError):
            raise answer
        if isinstance(answer, RaisedInWorker):
            error = WorkerError(answer.shown)
            error.add_note(answer.traceback)
            raise error
        result: ResultT = answer
        return result

    async def _replaced(self, process: WorkerProcess) -> WorkerProcess:
        """Return a new process for one that has ended; where one could not be started, no other is tried."""
        process.end()
        if self._fault is not None:
            raise self._fault
        self._stats.inc_value("clean/restarts")
        try:
            # It blocks for a second, and this is rare: a thread does no harm here.
            return await asyncio.to_thread(WorkerProcess.start, self._task)
        except SetupError as error:
            self._fault = error
            raise


class WorkerProcess:
    """One cleaning process and the channel to it; once it has ended it answers no more."""

    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket, seconds: float) -> None:
        self._process = process
        self._channel = channel
        self._seconds = seconds

    @classmethod
    def start(cls, task: WorkerTask[Any]) -> Self:
        """Return a process that is ready to work; this blocks for about a second. Raises SetupError."""
        try:
            ours, theirs = socket.socketpair()
            with theirs:
                started = cls(_spawn_worker(theirs), ours, task.seconds)
        except OSError as error:
            raise SetupError(f"a cleaning process cannot be started: {error}; lower CLEANING_PROCESSES") from error
        try:
            started._prepare(task)
        except BaseException:
            started.end()
            raise
        return started

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    async def ask(self, message: bytes) -> Any:
        """Send an order and return the answer; the process is ended where none comes, or nobody waits for it any more.

        Raises CleanerError.
        """
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._channel, message)
            (length,) = LENGTH_PREFIX.unpack(await self._receive(LENGTH_PREFIX.size))
            return pickle.loads(await self._receive(length))  # noqa: S301 — of a process of ours
        except (OSError, EOFError) as error:
            raise self._lost() from error
        except BaseException:
            self.end()  # its answer must not be taken for the next page's
            raise

    def end(self) -> None:
        """Kill the process, which keeps nothing that could be lost, and wait for its end."""
        self._channel.close()
        self._process.kill()
        self._process.wait()

    def _prepare(self, task: WorkerTask[Any]) -> None:
        self._channel.settimeout(_START_SECONDS)
        try:
            with self._channel.makefile("rb") as answers:
                self._channel.sendall(pickle.dumps(task))
                (length,) = LENGTH_PREFIX.unpack(answers.read(LENGTH_PREFIX.size))
                answer = pickle.loads(answers.read(length))  # noqa: S301 — of a process of ours
        except TimeoutError as error:
            raise SetupError(f"a cleaning process does not start within {_START_SECONDS:g} seconds") from error
        except (OSError, EOFError, StructError) as error:
            raise SetupError(f"a cleaning process ends at its start ({self._end_of()})") from error
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

    def _lost(self) -> WorkerError:
        how = self._end_of()
        if how == signal.SIGALRM.name:
            return WorkerTimeoutError(f"it takes more than {self._seconds:g} seconds (setting CLEANING_SECONDS)")
        return WorkerLostError(f"its process has died ({how})")

    def _end_of(self) -> str:
        """End what may be left of the process and say what ended it: a signal's name, or its exit code."""
        self.end()
        code = self._process.returncode
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _spawn_worker(channel: socket.socket) -> subprocess.Popen[bytes]:
    # In a session of its own: Ctrl-C is the crawl's business, which finishes the pages that it has. With -P nothing
    # in the current folder comes before what this process would import.
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109 — a text is wanted
    return subprocess.Popen(
        [sys.executable, "-P", "-c", "from crawler.workers.worker import main; main()"],
        stdin=channel.fileno(),
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": paths},
        start_new_session=True,
    )


def _end_workers(processes: list[WorkerProcess]) -> None:
    for process in processes:
        process.end()
