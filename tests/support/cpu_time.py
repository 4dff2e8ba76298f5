"""The CPU time of a call, bounded so that the bound holds on a busy machine, too."""

import gc
import time
from contextlib import contextmanager

_ROUNDS = 3
_SECONDS_MAX = 60


@contextmanager
def bounded_cpu_time():
    """Fail if the body takes more than a minute of CPU time.

    The work that it guards takes some seconds, and up to ten times as long on a busy machine. If its time grew with the
    square of its input, it would take many minutes.
    """
    began = time.process_time()
    yield
    assert time.process_time() - began < _SECONDS_MAX


def cpu_growth(call, small, large):
    """Return how many times the CPU time of `call(small)` `call(large)` takes, by the best of three rounds of each.

    The garbage collector is off: it reads all objects of the process, and more often for a large input.
    """
    seconds = {}
    gc.disable()
    try:
        for _ in range(_ROUNDS):
            for name, value in (("small", small), ("large", large)):
                began = time.process_time()
                call(value)
                spent = time.process_time() - began
                seconds[name] = min(spent, seconds.get(name, spent))
    finally:
        gc.enable()
    return seconds["large"] / seconds["small"]
