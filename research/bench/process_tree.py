"""What a program and all the processes that it starts take: seconds, CPU, and the most memory of one process."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Taken:
    """What was taken: `largest_mb` is the resident memory of the largest process, `all_mb` of all at one time."""

    seconds: float
    cpu_seconds: float
    largest_mb: float
    all_mb: float


class Watch:
    """Looks at a process and its descendants several times a second while the block runs.

    Of this process, only the descendants count.
    """

    def __init__(self, pid=None):
        self._root = psutil.Process(pid)
        self._own = [] if pid is None else [self._root]
        self._cpu = {}
        self._before = {}
        self._largest = self._all = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._poll)

    def __enter__(self):
        self._look()
        self._before = dict(self._cpu)
        self._began = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._stopped.set()
        self._thread.join()
        self._look()
        self._seconds = time.perf_counter() - self._began

    @property
    def taken(self):
        cpu = sum(self._cpu.values()) - sum(self._before.values())
        return Taken(self._seconds, cpu, self._largest / 1e6, self._all / 1e6)

    def _poll(self):
        while not self._stopped.wait(_POLL_SECONDS):
            self._look()

    def _look(self):
        held = 0
        with suppress(psutil.NoSuchProcess):
            for process in [*self._own, *self._root.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    times, memory = process.cpu_times(), process.memory_info().rss
                    self._cpu[process.pid] = max(self._cpu.get(process.pid, 0.0), times.user + times.system)
                    self._largest = max(self._largest, memory)
                    held += memory
        self._all = max(self._all, held)


def run(command, **environment):
    """Run a program to its end; return its output and what it took. Exits with its log if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("wb") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=os.environ | environment)
            with Watch(process.pid) as watch:
                output = process.communicate()[0].decode()
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output}{log.read_text()}")
    return output, watch.taken
