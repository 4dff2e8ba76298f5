"""The program of a worker process, `main`, and its messages.

The worker's standard input is a socket to the crawl. It reads a task and then pages, one at a time, and answers each.
It ends when the crawl closes the socket or is gone; the kernel ends it if a page takes too long.

Messages are MessagePack behind their length. They hold values of known types and nothing else: a worker that a hostile
page has taken over can make the crawl believe a wrong result, but cannot make it run code.
"""

from __future__ import annotations

import gc
import logging
import signal
import socket
import traceback
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from pkgutil import resolve_name
from struct import Struct
from typing import TYPE_CHECKING, Any

import msgspec

from cleaning import PageError, PageFault

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from crawler.workers.tasks import WorkerTask

_LENGTH = Struct("!Q")
"""The length of a message to a worker, sent before it."""

ANSWER_HEAD = Struct("!BQ")
"""The AnswerKind of an answer and its length, sent before it."""

_OBJECTS_PER_COLLECTION = 5_000
# A worker collects garbage after it has sent a page. Only the largest pages make this many objects.
_OBJECTS_OF_LARGE_PAGE = 100_000
_PAGES_PER_FULL_COLLECTION = 100


class AnswerKind(IntEnum):
    """The content of an answer."""

    RESULT = 0
    PAGE_ERROR = 1
    RAISED = 2


@dataclass(frozen=True, slots=True)
class RaisedInWorker:
    """An exception of a worker as text: exceptions of other libraries cannot be sent."""

    message: str
    representation: str
    traceback: str


def encode_task(task: WorkerTask[Any]) -> bytes:
    """Return the message that gives a worker its task."""
    kind = type(task)
    return _frame((f"{kind.__module__}:{kind.__qualname__}", task))


def encode_page(page: object) -> bytes:
    """Return the message that gives a worker a page."""
    return _frame(page)


def decode_answer(kind: int, message: bytes | bytearray, result_type: Any) -> Any:
    """Return the result, or the PageError or RaisedInWorker in its place.

    Raises msgspec.DecodeError or ValueError for an answer that no worker sends.
    """
    match AnswerKind(kind):
        case AnswerKind.RESULT:
            return msgspec.msgpack.decode(message, type=result_type)
        case AnswerKind.PAGE_ERROR:
            return PageError(*msgspec.msgpack.decode(message, type=tuple[PageFault, str]))
        case AnswerKind.RAISED:
            return msgspec.msgpack.decode(message, type=RaisedInWorker)


def read_exactly(messages: BinaryIO, size: int) -> bytes:
    """Return the next `size` bytes. Raises EOFError if the other end has closed the socket before."""
    message = messages.read(size)
    if len(message) < size:
        raise EOFError
    return message


def main() -> None:
    """Answer the crawl until it closes the socket or is gone."""
    # systemd sends SIGTERM to all processes of a unit. The crawl gets it too and ends this worker after its page.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING)
    with socket.socket(fileno=0) as channel, channel.makefile("rb") as messages:
        try:
            _serve(channel, messages)
        except (EOFError, ConnectionError):
            return  # the crawl has closed the socket, or was killed, possibly in the middle of a message


def collect_less_garbage() -> None:
    """Let garbage collection look at fewer objects, and less often; call it when this process has loaded its modules.

    The objects of the start are some 500,000, of modules and classes, and stay until the end: looking at them took 7 %
    of a page's CPU. A page makes some ten thousand, nearly all of them in no circle: looking at each 700 of them took
    another 2 %.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_PER_COLLECTION)


def _serve(channel: socket.socket, messages: BinaryIO) -> None:
    # The alarm must kill this process, even if the crawl was started with another disposition or mask.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    task = _decode_task(_read_message(messages))
    channel.sendall(_answer(task.prepare))
    collect_less_garbage()
    gc.set_threshold(_OBJECTS_OF_LARGE_PAGE)
    pages = msgspec.msgpack.Decoder(task.page_type)
    for number in count(1):
        page = pages.decode(_read_message(messages))
        signal.setitimer(signal.ITIMER_REAL, task.seconds)
        answer = _answer(task.work, page)
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.sendall(answer)
        # Little of the page is left now. Looking at its objects while it is cleaned took 3 % of its CPU.
        gc.collect(0 if number % _PAGES_PER_FULL_COLLECTION else 2)


def _decode_task(message: bytes) -> WorkerTask[Any]:
    name, fields = msgspec.msgpack.decode(message, type=tuple[str, Any])
    task: WorkerTask[Any] = msgspec.convert(fields, resolve_name(name))
    return task


def _read_message(messages: BinaryIO) -> bytes:
    (length,) = _LENGTH.unpack(read_exactly(messages, _LENGTH.size))
    return read_exactly(messages, length)


def _answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    try:
        return _frame_answer(AnswerKind.RESULT, function(*arguments))
    except PageError as error:
        return _frame_answer(AnswerKind.PAGE_ERROR, (error.cause, str(error)))
    except Exception as error:  # noqa: BLE001 — the crawl decides what to do about it
        descriptions = [
            text.encode(errors="replace").decode() for text in (str(error), repr(error), traceback.format_exc())
        ]
        return _frame_answer(AnswerKind.RAISED, RaisedInWorker(*descriptions))


def _frame(value: Any) -> bytes:
    message = msgspec.msgpack.encode(value)
    return _LENGTH.pack(len(message)) + message


def _frame_answer(kind: AnswerKind, value: Any) -> bytes:
    message = msgspec.msgpack.encode(value)
    return ANSWER_HEAD.pack(kind, len(message)) + message
