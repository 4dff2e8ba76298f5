"""CPU time of a call, with the garbage collector treated alike for all that is compared."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager


@contextmanager
def garbage_frozen():
    """Keep what lives by now out of the collector's sight, so that everyone pays for garbage of their own alone."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def timed(call):
    """Return the CPU seconds that a call takes, and its result; what others left is collected before it."""
    gc.collect()
    began = time.process_time()
    result = call()
    return time.process_time() - began, result
