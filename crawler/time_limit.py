"""A time limit for what this process does with one page or feed.

Cleaning processes have an alarm of the kernel instead, which ends them wherever they hang (`crawler/workers/`). A
process that must go on can only be interrupted between two steps of Python, and in regular expressions of its main
thread. The time of lxml and of the compiled core is bounded by the size of the page.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crawler.errors import TimeLimitError

if TYPE_CHECKING:
    from types import FrameType

# A library may swallow the interruption in a broad `except`, so it is repeated.
_REPEAT_SECONDS = 0.1


class time_limit:  # noqa: N801 — used like a function
    """End the block with TimeLimitError after `seconds`, in any thread: `with time_limit(seconds):`.

    The main thread gets a signal. Another thread gets an exception between two instructions.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        in_main_thread = threading.current_thread() is threading.main_thread()
        self._clock = _SignalClock(seconds) if in_main_thread else _ThreadClock(seconds)

    def __enter__(self) -> None:
        self._clock.start()

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        self._clock.stop()
        if kind is _TimeUp:
            raise TimeLimitError(f"it takes more than {self._seconds:g} seconds (setting CLEANING_SECONDS)") from None


class _TimeUp(BaseException):
    """Interrupts the block. Only a bare `except` in it could take this for an error of its own."""


class _SignalClock:
    """Interrupts the main thread by SIGALRM. An alarm of the program around it goes on afterwards."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._runs = False
        self._rings = False
        self._former: Any = None
        self._former_timer = (0.0, 0.0)

    def start(self) -> None:
        self._former = signal.signal(signal.SIGALRM, self._ring)
        self._runs = True
        self._former_timer = signal.setitimer(signal.ITIMER_REAL, self._seconds, _REPEAT_SECONDS)

    def stop(self) -> None:
        self._runs = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        # This discards an alarm that is still on its way, in another thread perhaps: SIG_DFL would end the process.
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        # None: the former handler was not set from Python, so it cannot be set again.
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self._former is None else self._former)
        signal.setitimer(signal.ITIMER_REAL, *self._former_timer)

    def _ring(self, _number: int, frame: FrameType | None) -> None:
        # An alarm that arrives in here is not answered: where they come fast, each would look through a longer stack.
        if not self._runs or self._rings:
            return
        self._rings = True
        try:
            if not _is_at_an_end(frame):
                raise _TimeUp
        finally:
            self._rings = False


class _ThreadClock:
    """Interrupts the thread that has made it, by a thread that waits."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._target = threading.get_ident()
        self._lock = threading.Lock()
        self._rang = False
        self._ended = threading.Event()
        self._waiting = threading.Thread(target=self._wait, daemon=True)

    def start(self) -> None:
        self._waiting.start()

    def stop(self) -> None:
        self._ended.set()
        with self._lock:  # from now on nothing is raised
            rang = self._rang
        if rang:
            # What was raised may not have arrived. It is awaited here: an exception that is taken back leaves the
            # interpreter looking for it at each step of each thread, and Python 3.11 stands still under a profiler.
            with suppress(_TimeUp):
                self._interrupt()
                while True:
                    pass

    def _wait(self) -> None:
        pause = self._seconds
        while not self._ended.wait(pause):
            pause = _REPEAT_SECONDS
            with self._lock:
                frame = sys._current_frames().get(self._target)  # noqa: SLF001 — the documented way to another thread
                if not self._ended.is_set() and not _is_at_an_end(frame):
                    self._rang = True
                    self._interrupt()

    def _interrupt(self) -> None:
        """Raise _TimeUp in the thread before its next instruction."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._target), ctypes.py_object(_TimeUp))


_ENDS = frozenset(
    function.__code__
    for cls in (time_limit, _SignalClock, _ThreadClock)
    for name in ("__enter__", "__exit__", "start", "stop")
    if (function := vars(cls).get(name))
)


def _is_at_an_end(frame: FrameType | None) -> bool:
    """Return True if a clock is being started or stopped: an exception would leave the block with the clock running.

    On a busy machine, the clock may ring again while the block's first exception is on its way out.
    """
    while frame is not None and frame.f_code not in _ENDS:
        frame = frame.f_back
    return frame is not None
