"""The server behind `processes.py`: imports what `scrapy` commands need, and forks a process for each that is wanted.

    python tests/support/preload.py DESCRIPTOR

An order comes as a packet on the socket: arguments, folder and environment, and with it the files for input, output and
errors, and the one to which the process's number, its exit code and its memory are told. It ends when the socket does.
"""

import gc
import json
import os
import runpy
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

LARGEST = 1 << 18
# Not `spiders` and `pipelines`: which packages those are depends on the folder.
MODULES = (
    "alembic.command",
    "crawler.fetching.throttling",
    "crawler.frontier.scheduler",
    "crawler.middlewares",
    "crawler.fetching.network",
    "crawler.storage.store",
    "psycopg",
    "scrapy.cmdline",
    "sqlalchemy.dialects.sqlite.pysqlite",
)


def preload():
    for module in MODULES:
        import_module(module)
    for command in entry_points(group="scrapy.commands"):
        command.load()
    from crawler.workers.worker import load_models  # noqa: PLC0415 — after what it needs

    load_models()
    import_module("nltk.stem.porter")
    gc.collect()
    gc.freeze()


def serve(orders):
    """Fork a process for each order; return True in each of them, and False when there are no more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        with suppress(InterruptedError):
            packet, descriptors, _, _ = socket.recv_fds(orders, LARGEST, 4)
            if not packet:
                return False
            if os.fork() == 0:
                orders.close()
                return keep(json.loads(packet), descriptors)
            for descriptor in descriptors:
                os.close(descriptor)


def keep(order, descriptors):
    """Fork the process and tell of it; return True in it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *files, status = descriptors
    if (process := os.fork()) == 0:
        os.close(status)
        become(order, files)
        return True
    os.write(status, json.dumps({"pid": process}).encode())
    for descriptor in [*files, 0, 1, 2]:
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, code, used = os.wait4(process, 0)
    told = {"code": os.waitstatus_to_exitcode(code), "peak_bytes": used.ru_maxrss * 1024}
    with suppress(BrokenPipeError):
        os.write(status, json.dumps(told).encode())
    os._exit(0)


def become(order, files):
    """Take over the place of the process that was asked for."""
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 — until its end
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 — as above
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [order["folder"], *filter(None, paths)]
    sys.argv[1:] = order["arguments"]
    sys.dont_write_bytecode = True  # tests write spiders anew within a second


if __name__ == "__main__":
    ORDERS = socket.socket(fileno=int(sys.argv[1]))
    sys.path[0] = str(Path(__file__).parents[2])
    preload()
    del sys.path[0]
    if serve(ORDERS):
        runpy.run_module("scrapy", run_name="__main__", alter_sys=True)
