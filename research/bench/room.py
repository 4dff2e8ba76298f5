"""Where the databases of a benchmark lie, the disk they need, and how its figures are printed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url

SERVER = make_url(os.environ.get("BLOCKSIEVE_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres"))
# A fingerprint, with what the log and sorting take for a while.
_BYTES = {"sqlite": 120, "postgresql": 300}
_BYTES_OF_DATA = 16


def connect():
    return psycopg.connect(SERVER.render_as_string(hide_password=False), autocommit=True, connect_timeout=5)


@contextmanager
def new_database():
    """Create an empty PostgreSQL database and give its URL; it is dropped at the end."""
    name = f"blocksieve_bench_{os.getpid()}"
    with connect() as server:
        server.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        try:
            yield SERVER.set(drivername="postgresql+psycopg", database=name).render_as_string(hide_password=False)
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def new_url(database):
    """Give the URL of an empty database of this kind, `sqlite` or `postgresql`; it is removed at the end."""
    if database == "postgresql":
        with new_database() as url:
            yield url
    else:
        with tempfile.TemporaryDirectory(prefix="blocksieve-bench-") as folder:
            yield f"sqlite:///{folder}/bench.db"


def say(line):
    """Print a line at once: a benchmark that takes minutes shows each figure when it has it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def needs(folder, indexes, size):
    """Return the bytes needed by folder: the one given, and the server's where it is on this machine."""
    needed = Counter({Path(folder): size * _BYTES_OF_DATA})
    if "sqlite" in indexes:
        needed[Path(folder)] += size * _BYTES["sqlite"]
    if "postgresql" in indexes:
        needed[_server_folder()] += size * _BYTES["postgresql"]
    return needed


def shortage(needed):
    """Return what is missing where, one sentence; None if there is room for all, folders of one disk taken together."""
    disks, folders = Counter(), {}
    for folder, size in needed.items():
        if folder is not None:
            disk = folder.stat().st_dev
            disks[disk] += size
            folders[disk] = folder
    for disk, size in disks.items():
        free = shutil.disk_usage(folders[disk]).free
        if size > free:
            return f"the disk of {folders[disk]} has {free / 1e9:.1f} GB free, {size / 1e9:.1f} GB are needed"
    return None


def _server_folder():
    """Return the folder of the server's data; None where it is elsewhere, hidden, or there is no server."""
    try:
        with connect() as server:
            folder = Path(server.execute("SHOW data_directory").fetchone()[0])
            folder.stat()
    except (psycopg.Error, OSError):
        return None
    return folder
