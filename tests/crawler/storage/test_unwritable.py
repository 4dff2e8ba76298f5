"""An SQLite file that this user cannot write, by its permissions or on a read-only mount, is read all the same."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import insert

from crawler.storage import schema
from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.tables import host

NOBODY = 65534
# Prints the hosts, once for each line that it gets, by an engine of commands and one of readers; then tries to write.
CLIENT = f"""
import os, sys
from sqlalchemy import insert, select
from crawler.errors import StoreError
from crawler.storage.database import has_crawl_lock, opened_engine, read_transaction, write_transaction
from crawler.storage.schema import check_schema
from crawler.storage.tables import host

url, drops_rights = sys.argv[1], sys.argv[2] == "drop"
if drops_rights and os.getuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
try:
    with opened_engine(url, must_exist=True) as command, opened_engine(url, query_seconds=60) as reader:
        for _line in sys.stdin:
            for engine in (command, reader):
                check_schema(engine)
                with read_transaction(engine) as connection:
                    print(*sorted(connection.scalars(select(host.c.host))), has_crawl_lock(engine, 1), flush=True)
        with write_transaction(command) as connection:
            connection.execute(insert(host), {{"host": "never"}})
except StoreError as error:
    print(error, flush=True)
"""
READ_ONLY_MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
REFUSED_WRITE = "cannot be written; give this user write access to the file and its folder"


def can_mount():
    """Return True if this user may mount a folder read-only in a namespace of its own."""
    with TemporaryDirectory() as folder:
        command = ["unshare", "-m", "sh", "-c", READ_ONLY_MOUNT, folder, "sh", "-c", f"! touch {folder}/file"]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return False


@pytest.fixture
def path():
    # Not in tmp_path: a user without rights cannot reach that one.
    with TemporaryDirectory() as folder:
        path = Path(folder) / "some blocks#.db"
        with opened_engine(f"sqlite:///{path}") as engine:
            schema.prepare_schema(engine)
            add_host(engine, "a.example")
        yield path
        Path(folder).chmod(0o755)


def add_host(engine, name):
    with write_transaction(engine) as connection:
        connection.execute(insert(host), {"host": name})


class Client:
    """A process that may not write to the database."""

    def __init__(self, path, kind):
        command = [sys.executable, "-c", CLIENT, f"sqlite:///{path}", "drop" if kind == "permissions" else "keep"]
        if kind == "mount":
            command = ["unshare", "-m", "sh", "-c", READ_ONLY_MOUNT, str(path.parent), *command]
        else:
            path.chmod(0o444)
            path.parent.chmod(0o555)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self):
        """Return the lines of the two engines."""
        self._process.stdin.write("read\n")
        self._process.stdin.flush()
        return [self._process.stdout.readline().strip() for _ in range(2)]

    def close(self):
        """Return the last line: the answer to an attempt to write."""
        return self._process.communicate(timeout=300)[0].strip()


@pytest.fixture(params=["permissions", "mount"])
def kind(request):
    if request.param == "mount" and not can_mount():
        pytest.skip("a read-only mount in a namespace needs the rights of root")
    return request.param


def allow_writing(path):
    path.parent.chmod(0o755)
    path.chmod(0o644)


def test_it_is_read_and_a_write_gets_one_sentence(path, kind):
    path.with_name(f"{path.name}-crawl-1").touch(mode=0o644)  # of a process that was killed
    client = Client(path, kind)
    assert client.read() == ["a.example False"] * 2
    assert REFUSED_WRITE in client.close()
    assert {file.name for file in path.parent.iterdir()} == {path.name, f"{path.name}-crawl-1"}


def test_a_reader_follows_a_writer_who_comes_later(path, kind):
    client = Client(path, kind)
    assert client.read() == ["a.example False"] * 2
    allow_writing(path)
    with opened_engine(f"sqlite:///{path}") as engine:
        add_host(engine, "b.example")
        assert client.read() == ["a.example b.example False"] * 2
        add_host(engine, "c.example")
        assert client.read() == ["a.example b.example c.example False"] * 2
    assert client.read() == ["a.example b.example c.example False"] * 2
    client.close()


def test_the_logs_of_a_writer_who_was_killed_are_read(path, kind):
    writer = (
        "import os, sys\nfrom crawler.storage.database import opened_engine, write_transaction\n"
        "from sqlalchemy import insert\nfrom crawler.storage.tables import host\n"
        "with opened_engine(sys.argv[1]) as engine:\n"
        "    with write_transaction(engine) as connection:\n"
        "        connection.execute(insert(host), {'host': 'b.example'})\n"
        "    os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", writer, f"sqlite:///{path}"], check=True)
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0
    client = Client(path, kind)
    assert client.read() == ["a.example b.example False"] * 2
    client.close()
    allow_writing(path)
    path.with_name(f"{path.name}-shm").unlink()
    client = Client(path, kind)
    problem = client.read()[0]
    assert f"{path.name}-wal holds changes that are not in it yet" in problem
    assert "run `scrapy status` once as a user who may write there" in problem
    client.close()


def test_a_deleted_file_is_one_sentence(path, kind):
    client = Client(path, kind)
    assert client.read() == ["a.example False"] * 2
    allow_writing(path)
    path.unlink()
    problem = client.read()[0]
    assert str(path) in problem
    assert client.close() == ""
