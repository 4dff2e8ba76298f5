"""An export appears complete or not at all, and leaves nothing else behind."""

import os
import resource
import signal
import subprocess
import sys

import pytest

from crawler.errors import ExportError
from crawler.reading.exports.export import _atomic_file

KILLED = """
import os, signal, sys
from pathlib import Path
from crawler.reading.exports.export import _atomic_file

with _atomic_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def out(folder):
    path = folder / "out.jsonl"
    path.write_bytes(b"old")
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_old_file_stays_until_the_new_one_is_complete(out):
    with _atomic_file(out) as file:
        file.write(b"new")
        assert out.read_bytes() == b"old"
    assert (out.read_bytes(), names(out.parent)) == (b"new", ["out.jsonl"])
    assert out.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    now = os.umask(0)
    os.umask(now)
    return now


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_a_failed_export_leaves_only_the_old_file(write, out, error):
    def stop(_):
        raise error

    with pytest.raises(error):
        write(out.name, stop)
    assert (out.read_bytes(), names(out.parent)) == (b"old", ["out.jsonl"])


def test_a_full_disk_is_named_and_leaves_the_old_file(write, out):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        with pytest.raises(ExportError, match=r"out.jsonl' cannot be written: File too large"):
            write(out.name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (out.read_bytes(), names(out.parent)) == (b"old", ["out.jsonl"])


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl.gz", "x.csv"])
def test_a_full_disk_is_named_by_every_format(write, folder, name):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(ExportError, match="cannot be written: File too large"):
            write(name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(folder) == []


def test_the_next_export_removes_abandoned_files_but_none_in_use(out):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        with _atomic_file(out.with_name("other.jsonl")):
            pass
        assert len(names(out.parent)) == 3  # its file is still there
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert out.read_bytes() == b"old"
    with _atomic_file(out.with_name("other.jsonl")):
        pass
    assert names(out.parent) == ["other.jsonl", "out.jsonl"]


def test_a_missing_folder_is_named(folder):
    with pytest.raises(ExportError, match="No such file or directory"), _atomic_file(folder / "none" / "out.csv"):
        pass
