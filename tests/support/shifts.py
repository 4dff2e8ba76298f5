"""Tasks for the workers of tests, which import them by name."""

import os
import signal
import time
from pathlib import Path

from crawler.errors import SetupError


def ready():
    pass


def no_room():
    raise SetupError("there is no room for the model")


def dies_at_once():
    os._exit(3)


def ready_once(marker):
    path = Path(marker)
    if path.exists():
        no_room()
    path.touch()


def work(page):
    """Do what the page says and return the id of this process."""
    what, _, argument = page.body.decode().partition(" ")
    WHAT[what](argument)
    return os.getpid()


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


def fail(argument):
    raise ValueError(argument)


WHAT = {
    "nothing": lambda _: None,
    "endless": work_for_ever,
    "hang": hang_in_a_library,
    "killed": be_killed,
    "killed-once": be_killed_once,
    "fail": fail,
}
