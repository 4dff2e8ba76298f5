"""Files for other programs: written as a whole or not at all."""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawler.errors import ConfigError
from crawler.monitoring.files import append_line, replace_file, writable_path

APPEND = """
import sys
from pathlib import Path
from crawler.monitoring.files import append_line

for _ in range(200):
    append_line(Path(sys.argv[1]), '{"who": %s, "text": "%s"}' % (sys.argv[2], "x" * 5000))
"""
NOBODY = 65534


@contextmanager
def room_for(size):
    """Let no file of this process grow beyond this size, as a disk that is full would."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_path_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert writable_path("SUMMARY", "crawls.jsonl") == tmp_path / "crawls.jsonl"
    assert not (tmp_path / "crawls.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [("", "not a regular file"), ("missing/crawls.jsonl", "there is no folder"), ("pipe", "not a regular file")],
)
def test_a_path_that_cannot_be_a_file_is_refused(tmp_path, name, says):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=f"SUMMARY is .*{says}"):
        writable_path("SUMMARY", str(tmp_path / name))


@pytest.fixture
def foreign_folder():
    """A folder that this process may read and not write, although it may be root's."""
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        os.seteuid(user or NOBODY)
        yield Path(folder)
        os.seteuid(user)


def test_a_folder_that_may_not_be_written_is_refused(foreign_folder):
    with pytest.raises(ConfigError, match=r"METRICS is .*, which this user may not write"):
        writable_path("METRICS", str(foreign_folder / "lake.prom"))


def test_lines_are_added(tmp_path):
    for line in ("one", "two"):
        append_line(tmp_path / "lines", line)
    assert (tmp_path / "lines").read_text() == "one\ntwo\n"


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "lines"
    writers = [subprocess.Popen([sys.executable, "-c", APPEND, path, str(who)]) for who in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    whole = [json.loads(line)["who"] for line in path.read_text().splitlines()]
    assert sorted(whole) == sorted([0, 1, 2] * 200)


def test_a_line_that_does_not_fit_leaves_none_of_it(tmp_path):
    append_line(tmp_path / "lines", "x" * 99)
    with room_for(150), pytest.raises(OSError, match="No space left"):
        append_line(tmp_path / "lines", "y" * 99)
    assert (tmp_path / "lines").read_text() == "x" * 99 + "\n"


def test_a_file_is_replaced_and_readable_by_all(tmp_path):
    path = tmp_path / "metrics.prom"
    before = os.umask(0o077)
    try:
        for content in (b"first", b"second"):
            replace_file(path, content)
    finally:
        os.umask(before)
    assert path.read_bytes() == b"second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_a_replacement_that_does_not_fit_leaves_the_old_content(tmp_path):
    path = tmp_path / "metrics.prom"
    replace_file(path, b"old")
    with room_for(100), pytest.raises(OSError, match="File too large"):
        replace_file(path, b"x" * 200)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
