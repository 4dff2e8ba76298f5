"""Runs the tasks of a job: in processes of this machine (`local`), or on Ray (`ray`), with the same functions.

A task runs to its end once. Its counts are written last, so a job that is continued knows what is done. A task whose
process dies is run again by another process; so is one that fails because of a file.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from crawler.batch.clean_file import Cleaners
from crawler.errors import BatchError, CrawlerError
from crawler.workers.pool import ONE_THREAD
from crawler.workers.worker import collect_less_garbage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawler.batch.output import OutputFolder

logger = logging.getLogger(__name__)

_ATTEMPTS = 3
Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Task:
    """A task: `function(output, *arguments)` returns counts. One that `cleans` also gets a TaskProcess.

    Stage and number name it within its job.
    """

    stage: str
    number: int
    function: Callable[..., Counts]
    arguments: tuple[Any, ...]
    cleans: bool = False

    @property
    def done_name(self) -> str:
        """The file that says that the task is done, and has its counts."""
        return f"work/done/{self.stage}-{self.number:06}.json"


@dataclass(slots=True)
class TaskProcess:
    """The state of a process between tasks, and the progress of its task; `attempts_left` counts further attempts."""

    cleaners: Cleaners
    progress: Callable[[int, int], None]
    attempts_left: int = 0

    def run(self, output: OutputFolder, task: Task) -> Counts:
        """Run a task to its end, and return its counts."""
        arguments = (*task.arguments, self) if task.cleans else task.arguments
        counts = task.function(output, *arguments)
        output.write_json(task.done_name, counts)
        return counts


class Engine(Protocol):
    """Runs tasks that do not depend on each other."""

    def run(self, tasks: Sequence[Task], report: Callable[[Task, int, int], None]) -> Iterator[tuple[Task, Counts]]:
        """Yield each task when it is done, with its counts; `report` hears how far a task is.

        Raises BatchError if a task fails, or its process dies, at each of three attempts.
        """

    def close(self) -> None:
        """End all processes."""


@dataclass(slots=True)
class _Attempt:
    task: Task
    left: int = _ATTEMPTS - 1


class SerialEngine:
    """Runs tasks one after the other in this process, with one cleaning process."""

    def __init__(self, output: OutputFolder) -> None:
        self._output = output
        self._cleaners = Cleaners()

    def run(self, tasks: Sequence[Task], report: Callable[[Task, int, int], None]) -> Iterator[tuple[Task, Counts]]:
        for task in tasks:
            attempt = _Attempt(task)
            while True:
                process = TaskProcess(self._cleaners, partial(report, task), attempt.left)
                try:
                    counts = process.run(self._output, task)
                except CrawlerError as error:
                    attempt = _again(attempt, str(error))
                    continue
                yield task, counts
                break

    def close(self) -> None:
        self._cleaners.close()


class LocalEngine:
    """Runs tasks in a number of processes of this machine."""

    def __init__(self, output: OutputFolder, workers: int) -> None:
        self._output = output
        self._count = workers
        self._workers: list[_LocalProcess] = []
        self.restarts = 0

    def run(self, tasks: Sequence[Task], report: Callable[[Task, int, int], None]) -> Iterator[tuple[Task, Counts]]:
        waiting = deque(_Attempt(task) for task in tasks)
        running: dict[_LocalProcess, _Attempt] = {}
        while waiting or running:
            self._hand_out(waiting, running)
            by_channel = {worker.channel: worker for worker in running}
            for channel in wait(list(by_channel)):
                worker = by_channel[channel]  # type: ignore[index] # they are Connections
                attempt = running[worker]
                kind, *values = worker.receive()
                if kind == "progress":
                    report(attempt.task, *values)
                    continue
                del running[worker]
                if kind == "done":
                    yield attempt.task, values[0]
                    continue
                if kind == "died":
                    self._workers.remove(worker)
                    self.restarts += 1
                waiting.appendleft(_again(attempt, values[0]))

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers = []

    def _hand_out(self, waiting: deque[_Attempt], running: dict[_LocalProcess, _Attempt]) -> None:
        while waiting and len(running) < self._count:
            idle = next((worker for worker in self._workers if worker not in running), None)
            if idle is None:
                idle = _LocalProcess.start(self._output)
                self._workers.append(idle)
            attempt = waiting.popleft()
            running[idle] = attempt
            idle.send(attempt)


def _again(attempt: _Attempt, cause: str) -> _Attempt:
    """Return the next attempt at a task. Raises BatchError if there is none."""
    task = attempt.task
    if not attempt.left:
        raise BatchError(
            f"the task {task.stage} {task.number} has failed {_ATTEMPTS} times, the last time because {cause}; what is "
            "done is kept: --resume continues the job"
        )
    return _Attempt(task, attempt.left - 1)


class _LocalProcess:
    """A process that runs tasks. It ends when this process is gone."""

    def __init__(self, process: subprocess.Popen[bytes], channel: Connection) -> None:
        self._process = process
        self.channel = channel

    @classmethod
    def start(cls, output: OutputFolder) -> _LocalProcess:
        ours, theirs = socket.socketpair()
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109 — a string is needed
        with theirs:
            # A session of its own: Ctrl-C ends the job, which ends its processes.
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from crawler.batch.engine import main; main()"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=ONE_THREAD | os.environ | {"PYTHONPATH": paths},
                start_new_session=True,
            )
        worker = cls(process, Connection(ours.detach()))
        worker.channel.send(output)
        return worker

    def send(self, attempt: _Attempt) -> None:
        with suppress(OSError):  # it has died, which `receive` reports
            self.channel.send((attempt.task, attempt.left))

    def receive(self) -> tuple[Any, ...]:
        """Return its next message, or the fact that it has died."""
        try:
            message: tuple[Any, ...] = self.channel.recv()
        except (EOFError, OSError):
            self.end()
            code = self._process.returncode
            cause = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
            return "died", f"its process has died ({cause})"
        return message

    def end(self) -> None:
        self.channel.close()
        self._process.kill()
        self._process.wait()


def _attempt(process: TaskProcess, output: OutputFolder, task: Task) -> tuple[str, Any]:
    """Run a task; return `done` with its counts, or `failed` with the cause."""
    try:
        return "done", process.run(output, task)
    except CrawlerError as error:
        return "failed", str(error)
    except Exception as error:  # the boundary of a task: the job says what has failed
        logger.exception("The task %s %s has failed", task.stage, task.number)
        return "failed", f"{type(error).__name__}: {error}"


def main() -> None:
    """Run the tasks that arrive on standard input, a socket, until it is closed."""
    channel = Connection(os.dup(sys.stdin.fileno()))
    output: OutputFolder = channel.recv()
    tasks: SimpleQueue[tuple[Task, int]] = SimpleQueue()
    threading.Thread(target=_receive, args=(channel, tasks), daemon=True).start()
    process = TaskProcess(Cleaners(), lambda records, pages: channel.send(("progress", records, pages)))
    collect_less_garbage()
    while True:
        task, process.attempts_left = tasks.get()
        channel.send(_attempt(process, output, task))


def _receive(channel: Connection, tasks: SimpleQueue[tuple[Task, int]]) -> None:
    """Take tasks; end this process at once when the job's own process is gone."""
    while True:
        try:
            tasks.put(channel.recv())
        except (EOFError, OSError):
            os._exit(1)


class RayEngine:
    """Runs tasks in actors of a Ray cluster, or of this machine if neither ``address`` nor RAY_ADDRESS names one.

    The output and the inputs must be reachable from all machines under the same path or URL. A task is given to an
    actor that runs: after the loss of a machine, the others do its tasks, and a new one joins in.
    """

    def __init__(self, output: OutputFolder, workers: int, address: str | None) -> None:
        try:
            import ray  # noqa: PLC0415 — an extra
        except ImportError as error:
            raise BatchError(f"--engine ray needs Ray: pip install 'blocksieve[cluster]' ({error})") from error
        self._ray: Any = ray
        self._output = output
        self._started = not self._ray.is_initialized()
        if self._started:
            # Without an address, Ray would join any cluster that somebody else started on this machine.
            address = address or os.environ.get("RAY_ADDRESS") or "local"
            local: dict[str, Any] = {"num_cpus": workers or os.cpu_count()} if address == "local" else {}
            try:
                self._ray.init(address=address, log_to_driver=False, include_dashboard=False, **local)
            except ConnectionError as error:
                raise BatchError(
                    f"--ray-address (or RAY_ADDRESS) is {address!r}, where no Ray cluster answers: {error}"
                ) from error
        self._count = workers or int(self._ray.cluster_resources().get("CPU", 1))
        self._asked: dict[Any, Any] = {}  # actors that have not answered yet
        self._new: set[Any] = set()
        self._idle: list[Any] = []
        self._running: dict[Any, tuple[Any, _Attempt]] = {}
        self._failed_starts = 0
        self.restarts = 0

    def run(self, tasks: Sequence[Task], report: Callable[[Task, int, int], None]) -> Iterator[tuple[Task, Counts]]:  # noqa: ARG002 — actors report at their end
        waiting = deque(_Attempt(task) for task in tasks)
        while waiting or self._running:
            self._hand_out(waiting)
            (ready,), _ = self._ray.wait([*self._running, *self._asked])
            if ready in self._asked:
                self._take_answer(ready)
                continue
            actor, attempt = self._running.pop(ready)
            try:
                kind, value = self._ray.get(ready)
                self._idle.append(actor)
            except self._ray.exceptions.RayError as error:
                self._ray.kill(actor)
                self.restarts += 1
                self._ask_idle()
                kind, value = "died", f"its process has died ({type(error).__name__})"
            if kind == "done":
                yield attempt.task, value
            else:
                waiting.appendleft(_again(attempt, value))

    def close(self) -> None:
        running = [actor for actor, _ in self._running.values()]
        for actor in (*self._idle, *self._asked.values(), *running):
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()

    def _hand_out(self, waiting: deque[_Attempt]) -> None:
        while waiting and self._idle:
            actor = self._idle.pop()
            attempt = waiting.popleft()
            self._running[actor.run.remote(self._output, attempt.task, attempt.left)] = actor, attempt
        missing = min(len(waiting), self._count - len(self._running)) - len(self._asked)
        for _ in range(missing):
            actor = self._ray.remote(num_cpus=1)(_RayProcess).remote()
            self._new.add(actor)
            self._ask(actor)

    def _ask(self, actor: Any) -> None:
        self._asked[actor.process_id.remote()] = actor

    def _ask_idle(self) -> None:
        """Ask the idle actors whether they still run: they may have been on the machine that is gone."""
        while self._idle:
            self._ask(self._idle.pop())

    def _take_answer(self, ready: Any) -> None:
        """Take over an actor that runs. Raises BatchError if several new ones could not start."""
        actor = self._asked.pop(ready)
        try:
            self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            self._failed_starts += actor in self._new
            if self._failed_starts >= _ATTEMPTS:
                raise BatchError(
                    f"no process starts on the Ray cluster, the last time because {_last_line(error)}; its machines "
                    "need the same Python, Ray and Blocksieve as this one"
                ) from error
        else:
            self._failed_starts = 0
            self._idle.append(actor)
        self._new.discard(actor)


def _last_line(error: Exception) -> str:
    """Return the cause that Ray shows below its own traceback."""
    return str(error).strip().rpartition("\n")[2]


class _RayProcess:
    """An actor that runs tasks."""

    def __init__(self) -> None:
        self._process = TaskProcess(Cleaners(), lambda _records, _pages: None)
        collect_less_garbage()

    def run(self, output: OutputFolder, task: Task, attempts_left: int) -> tuple[str, Any]:
        """Return `done` with the counts, or `failed` with the cause."""
        self._process.attempts_left = attempts_left
        return _attempt(self._process, output, task)

    def process_id(self) -> int:
        """Return the id of the actor's process: it runs."""
        return os.getpid()
