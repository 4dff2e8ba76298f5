"""A time limit for what this process does with one page or feed.

Cleaning processes have an alarm of the kernel instead, which ends them wherever they hang (`crawler/workers/`). A
process that must go on can only be interrupted between two steps of Python, and in regular expressions of its main
thread. The time of lxml and of the compiled core is bounded by the size of the page.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crawler.errors import TimeLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A library may swallow the interruption in a broad `except`, so it is repeated.
_REPEAT_SECONDS = 0.5


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End the block after so many seconds with TimeLimitError, in any thread.

    The main thread gets a signal. Another thread gets an exception between two instructions.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    clock = _SignalClock(seconds) if in_main_thread else _ThreadClock(seconds)
    try:
        try:
            clock.start()
            yield
        finally:
            clock.stop()
    except _TimeUp:
        clock.stop()  # it may have been interrupted
        raise TimeLimitError(f"it takes more than {seconds:g} seconds (setting CLEANING_SECONDS)") from None


class _TimeUp(BaseException):
    """Interrupts the block. Only a bare `except` in it could take this for an error of its own."""


class _SignalClock:
    """Interrupts the main thread by SIGALRM. An alarm of the program around it goes on afterwards."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._runs = False
        self._former: Any = None
        self._former_timer = (0.0, 0.0)

    def start(self) -> None:
        self._former = signal.signal(signal.SIGALRM, self._ring)
        self._runs = True
        self._former_timer = signal.setitimer(signal.ITIMER_REAL, self._seconds, _REPEAT_SECONDS)

    def stop(self) -> None:
        self._runs = False
        signal.setitimer(signal.ITIMER_REAL, *self._former_timer)
        # None: the former handler was not set from Python, so it cannot be set again.
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self._former is None else self._former)

    def _ring(self, _number: int, _frame: object) -> None:
        if self._runs:
            raise _TimeUp


class _ThreadClock:
    """Interrupts the thread that has made it, by a thread that waits."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._target = threading.get_ident()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._waiting = threading.Thread(target=self._wait, daemon=True)

    def start(self) -> None:
        self._waiting.start()

    def stop(self) -> None:
        self._ended.set()
        with self._lock:  # from now on nothing is raised; what was raised and has not arrived is taken back
            _raise_in_thread(self._target, None)

    def _wait(self) -> None:
        pause = self._seconds
        while not self._ended.wait(pause):
            pause = _REPEAT_SECONDS
            with self._lock:
                if not self._ended.is_set():
                    _raise_in_thread(self._target, _TimeUp)


def _raise_in_thread(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in a thread before its next instruction; None takes back one that has not arrived."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
