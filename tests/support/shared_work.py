"""Work that one worker of a run does for all of them."""

import fcntl
import os
from contextlib import contextmanager


def run_folder(tmp_path_factory):
    """Return the folder that the workers of a run share; without workers, that of the run."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@contextmanager
def locked(path):
    """Keep other processes out of the same block; a process that dies lets them in."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
