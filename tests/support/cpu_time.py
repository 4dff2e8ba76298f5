"""How the CPU time of a call grows with its input: a bound that holds on a busy machine, too."""

import gc
import time

_ROUNDS = 3


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
