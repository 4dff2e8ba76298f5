"""Jobs that editors start: commands of the command line, each in a process of its own, with its log."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from crawler.errors import CrawlerError, NotStoredError, QueryError
from crawler.redact import redact_text
from crawler.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self

MAX_RUNNING = 4
"""Jobs that run at the same time."""
_KEPT = 50
_TAIL_BYTES = 20_000
_MAX_URL_CHARS = 2_000
_END_SECONDS = 60

ACTIONS: Mapping[str, Callable[[str], list[str]]] = {
    "crawl": lambda url: ["crawl", "section", "-a", f"url={url}"],
    "page": lambda url: ["recrawl", f"--url={url}"],
    "section": lambda url: ["recrawl", f"--section={url}"],
    "set_aside": lambda url: ["recrawl", f"--set-aside={url}"],
}
"""What can be done with an address, and the arguments of `scrapy` that do it."""


class JobRefusedError(CrawlerError):
    """A job cannot be started now."""


@dataclass(slots=True)
class Job:
    """A command that was started here. `is_stopped` tells that an editor has stopped it."""

    number: int
    arguments: Sequence[str]
    started: datetime
    log: Path
    process: subprocess.Popen[bytes] = field(repr=False)
    is_stopped: bool = False

    @property
    def command(self) -> str:
        """The command as it is typed, its secrets masked."""
        return redact_text(shlex.join(["scrapy", *self.arguments]))

    @property
    def exit_code(self) -> int | None:
        """The exit code; None as long as the job runs, negative for a signal that killed it."""
        return self.process.poll()

    @property
    def state(self) -> str:
        """Whether it runs, is stopping, was stopped, has ended well or failed."""
        code = self.exit_code
        if code is None:
            return "stopping" if self.is_stopped else "running"
        if self.is_stopped:
            return "stopped"
        return "done" if code == 0 else f"failed with exit code {code}"

    def tail(self) -> str:
        """Return the end of the log, up to 20,000 bytes of it, from the beginning of a line."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL_BYTES))
                end = file.read()
        except OSError as error:
            return f"the log cannot be read: {error.strerror}"
        whole = end if size <= _TAIL_BYTES else end.partition(b"\n")[2]
        return whole.decode("utf-8", "replace")


class Jobs:
    """Starts and stops jobs, and keeps the last fifty of them. At its end it stops those that run.

    `settings` are those of this command line (`NAME=VALUE`); each job gets them too. Safe for use by threads.
    """

    def __init__(self, settings: Iterable[str] = ()) -> None:
        self._settings = [part for setting in settings for part in ("-s", setting)]
        self._folder = TemporaryDirectory(prefix="blocksieve-jobs-", ignore_cleanup_errors=True)
        self._lock = threading.Lock()
        self._jobs: dict[int, Job] = {}
        self._last = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, action: str, url: str) -> Job:
        """Start what an action does with an address.

        Raises QueryError for an unknown action and for a URL that no crawl can fetch; JobRefusedError if too many jobs
        run or the process cannot be started.
        """
        if action not in ACTIONS:
            raise QueryError(f"the action is {action[:40]!r}; it is {', '.join(ACTIONS)}")
        address = _read_address(url)
        with self._lock:
            if sum(job.exit_code is None for job in self._jobs.values()) >= MAX_RUNNING:
                raise JobRefusedError(f"{MAX_RUNNING} jobs run already: wait for one, or stop one")
            return self._start(ACTIONS[action](address))

    def stop(self, number: int) -> None:
        """Stop a job as SIGTERM does: a crawl stores what it has. A second stop kills it. Raises NotStoredError."""
        job = self.job(number)
        with self._lock:
            _signal(job, signal.SIGKILL if job.is_stopped else signal.SIGTERM)
            job.is_stopped = job.is_stopped or job.exit_code is None

    def job(self, number: int) -> Job:
        """Return a job by its number. Raises NotStoredError if there is none."""
        job = self._jobs.get(number)
        if job is None:
            raise NotStoredError(f"there is no job {number}; the last {_KEPT} are kept until the server ends")
        return job

    def latest(self) -> list[Job]:
        """Return the jobs, the latest first."""
        with self._lock:
            return sorted(self._jobs.values(), key=lambda job: -job.number)

    def close(self) -> None:
        """Stop the jobs that run, wait a minute for them to end, kill the others, and delete the logs."""
        running = [job for job in self.latest() if job.exit_code is None]
        for job in running:
            _signal(job, signal.SIGTERM)
        for job in running:
            try:
                job.process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                _signal(job, signal.SIGKILL)
                job.process.wait()
        self._folder.cleanup()

    def _start(self, arguments: Sequence[str]) -> Job:
        self._last += 1
        log = Path(self._folder.name) / f"{self._last}.log"
        command = [sys.executable, "-m", "scrapy", *arguments, *self._settings]
        try:
            with log.open("wb") as file:
                process = subprocess.Popen(  # noqa: S603 — one of ACTIONS
                    command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
                )
        except OSError as error:
            raise JobRefusedError(f"the job cannot be started: {error.strerror}") from error
        job = Job(self._last, [*arguments, *self._settings], datetime.now(UTC), log, process)
        self._jobs[job.number] = job
        ended = [number for number, earlier in self._jobs.items() if earlier.exit_code is not None]
        for number in ended[: max(0, len(self._jobs) - _KEPT)]:
            self._jobs.pop(number).log.unlink(missing_ok=True)
        return job


def _read_address(text: str) -> str:
    url = text.strip()
    is_short = len(url) <= _MAX_URL_CHARS
    if not (is_short and url.startswith(("http://", "https://")) and url.isprintable() and site_of(url)):
        raise QueryError(f"{url[:200]!r} is no address of a web page; it begins with https:// or http://")
    return url


def _signal(job: Job, number: signal.Signals) -> None:
    """Send a signal to a job that runs: to its first process, or all of its processes to kill them."""
    if job.exit_code is not None:
        return
    with suppress(ProcessLookupError):
        if number is signal.SIGKILL:
            os.killpg(job.process.pid, number)
        else:
            job.process.send_signal(number)
