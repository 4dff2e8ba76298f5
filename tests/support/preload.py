"""The server behind `processes.py`: imports what our programs need, and forks a process for each that a test starts.

    python tests/support/preload.py DESCRIPTOR

DESCRIPTOR is a socket that listens. An order comes as a packet on a connection: program, arguments, folder and
environment, and with it the files for input, output and errors, and the one to which the process's number, its exit
code and its memory are told. The server ends when its standard input does.
"""

import compileall
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

ROOT = Path(__file__).parents[2]
LARGEST = 1 << 18
# Not `spiders` and `pipelines`: which packages those are depends on the folder.
MODULES = ("alembic.command", "psycopg", "scrapy.cmdline", "sqlalchemy.dialects.sqlite.pysqlite")
# Needs a library that a test takes away.
OPTIONAL = ("monitoring.exposition",)
COMPONENTS = ("DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "SPIDER_MIDDLEWARES")


def preload():
    for module in MODULES:
        import_module(module)
    import crawler  # noqa: PLC0415 — the path is set by now

    for module in walk_packages(crawler.__path__, "crawler."):
        if not module.name.endswith(("__main__", *OPTIONAL)):
            import_module(module.name)
    load_components()
    tasks = import_module("crawler.workers.tasks")
    tasks.load_models()
    tasks.load_stemmer()
    clean_a_page()
    for package in ("pipelines", "spiders"):
        compileall.compile_dir(ROOT / package, quiet=1)  # the forked processes write no bytecode
    gc.collect()
    gc.freeze()


def clean_a_page():
    """Make what the first page of each crawl would make: the model's words, and the table of the domains."""
    page = "<title>A mill</title><nav><a href=/>Home</a></nav><p>The river rose in the night, and the mill stood still."
    import_module("cleaning").clean(page, url="http://www.example.org/news/1")
    import_module("cleaning.domains").registered_domain("http://www.example.org/")


def load_components():
    """Import what Scrapy creates in each crawl, in use or not."""
    scrapy_settings = import_module("scrapy.settings")
    misc = import_module("scrapy.utils.misc")
    settings = scrapy_settings.Settings()
    settings.setmodule("crawler.settings")
    for name in COMPONENTS:
        for path in settings.getwithbase(name):
            misc.load_object(path)


def serve(listener):
    """Fork a process for each order; return the order in each of them, and None when there are no more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with selectors.DefaultSelector() as ready:
        ready.register(listener, selectors.EVENT_READ)
        ready.register(sys.stdin.fileno(), selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is listener:
                    ready.register(listener.accept()[0], selectors.EVENT_READ)
                elif key.fd == sys.stdin.fileno():
                    return None
                elif (order := receive(key.fileobj, ready)) is not None:
                    return order


def receive(connection, ready):
    """Fork a process for the order that has come; return the order in it, None in the server."""
    packet, descriptors, _, _ = socket.recv_fds(connection, LARGEST, 4)
    if not packet:
        ready.unregister(connection)
        connection.close()
    elif os.fork() == 0:
        for key in list(ready.get_map().values()):
            if key.fd != sys.stdin.fileno():
                key.fileobj.close()
        return keep(json.loads(packet), descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    return None


def keep(order, descriptors):
    """Fork the process and tell of it; return its order in it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *files, status = descriptors
    if (process := os.fork()) == 0:
        os.close(status)
        become(order, files)
        return order
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
    tempfile.tempdir = None  # found anew: the folder of the test that started the server may be gone
    time.tzset()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 — until its end
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 — until its end
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115 — as above
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    first = order["folder"] if order["module"] else str(Path(order["program"]).resolve().parent)
    sys.path[:0] = [first, *filter(None, paths)]
    sys.argv[1:] = order["arguments"]
    sys.dont_write_bytecode = True  # tests write spiders anew within a second


def run(order):
    if order["module"]:
        if not hasattr(sys.modules.get(order["program"]), "__path__"):
            sys.modules.pop(order["program"], None)  # or runpy warns that it was imported
        runpy.run_module(order["program"], run_name="__main__", alter_sys=True)
    else:
        sys.argv[0] = order["program"]
        runpy.run_path(order["program"], run_name="__main__")


if __name__ == "__main__":
    LISTENER = socket.socket(fileno=int(sys.argv[1]))
    sys.path[0] = str(ROOT)
    preload()
    del sys.path[0]
    if ORDER := serve(LISTENER):
        run(ORDER)
