"""The program of a cleaning process, `main`, which has a socket to the crawl as its standard input.

It reads a Task, then orders, one after the other, as pickles; each is answered by a pickle with its length before it.
It ends when the crawl closes the socket or is gone, and the kernel ends it when a page takes too long.
"""

from __future__ import annotations

import logging
import pickle
import signal
import socket
import traceback
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from crawler.cleaners.work import Task

LENGTH = Struct("!Q")


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception of the other process, in words: foreign exceptions need not survive being pickled."""

    message: str
    shown: str
    traceback: str


def main() -> None:
    """Serve until the crawl is done with this process."""
    # Sent to all processes of a systemd unit: the crawl, which has it too, ends this one when its pages are done.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING)
    with socket.socket(fileno=0) as channel, channel.makefile("rb") as orders:
        try:
            _serve(channel, orders)
        except (EOFError, ConnectionError, pickle.UnpicklingError):
            return  # the crawl is done, or gone, maybe in the middle of an order


def _serve(channel: socket.socket, orders: BinaryIO) -> None:
    # Whatever the crawl was started with: the alarm must end this process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    task: Task[Any] = pickle.load(orders)  # noqa: S301 — of the crawl that started us
    channel.sendall(_answer(task.prepare))
    while True:
        order = pickle.load(orders)  # noqa: S301 — as above
        signal.setitimer(signal.ITIMER_REAL, task.seconds)
        answer = _answer(task.work, order)
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.sendall(answer)


def _answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    try:
        pickled = pickle.dumps(function(*arguments), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 — the crawl decides what becomes of it
        pickled = pickle.dumps(Raised(str(error), repr(error), traceback.format_exc()))
    return LENGTH.pack(len(pickled)) + pickled
