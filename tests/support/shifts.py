"""A task for the workers of tests, which import it by name."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from crawler.errors import SetupError
from crawler.workers.tasks import WorkerTask


@dataclass(frozen=True)
class Shift(WorkerTask[int]):
    """Begins in the way of that name, does what each page says, and returns the id of its process."""

    result_type = int

    seconds: float
    start: str = "ready"

    def prepare(self):
        what, _, argument = self.start.partition(" ")
        STARTS[what](argument)

    def work(self, page):
        what, _, argument = page.body.decode().partition(" ")
        WHAT[what](argument)
        return os.getpid()


def no_room(_argument):
    raise SetupError("there is no room for the model")


def die_at_once(_argument):
    os._exit(3)


def be_ready_once(marker):
    path = Path(marker)
    if path.exists():
        no_room(marker)
    path.touch()


STARTS = {
    "ready": lambda _: None,
    "ready-once": be_ready_once,
    "no-room": no_room,
    "dies-at-once": die_at_once,
}


def work_for_ever(_argument):
    while True:
        pass


def hang_in_a_library(_argument):
    # Block all signals but those that the kernel acts on itself.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    time.sleep(3600)


def be_killed(_argument):
    os.kill(os.getpid(), signal.SIGKILL)


def be_killed_once(marker):
    path = Path(marker)
    if not path.exists():
        path.touch()
        be_killed(marker)


def send(hexadecimal):
    """Send the crawl these bytes in place of an answer."""
    os.write(0, bytes.fromhex(hexadecimal))


def fail(argument):
    raise ValueError(argument)


WHAT = {
    "nothing": lambda _: None,
    "endless": work_for_ever,
    "hang": hang_in_a_library,
    "killed": be_killed,
    "killed-once": be_killed_once,
    "fail": fail,
    "send": send,
}
