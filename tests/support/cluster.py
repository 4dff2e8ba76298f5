"""A private PostgreSQL server for tests: its own data, a free port, a user that is not root.

    python tests/support/cluster.py start   say in which server the tests may work, starting one if need be
    python tests/support/cluster.py stop    stop that one and remove it

`start` prints a line for the shell: eval "$(make --silent services)".
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg

DEFAULT = "postgresql://postgres@127.0.0.1:5432/postgres"
OLDEST = 14
# Nothing here needs to survive a crash of the machine.
CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
port = {port}
"""


class Cluster:
    """A server with all its files in one folder; `create` it once, then start and stop it at will."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.data = self.folder / "data"

    @property
    def url(self):
        port = next(line for line in self._configuration() if line.startswith("port = ")).removeprefix("port = ")
        return f"postgresql://postgres@127.0.0.1:{port}/postgres"

    def create(self, settings=""):
        """Make the files, with further lines for postgresql.conf; the folder must not exist or be empty."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if (owner := _owner()) is not None:
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as configuration:
            configuration.write(CONFIGURATION.format(port=_free_port()) + settings)

    def create_replica(self, primary):
        """Make the files of a streaming replica of a running server."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if (owner := _owner()) is not None:
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self._run("pg_basebackup", f"--dbname={primary.url}", "--write-recovery-conf", "--checkpoint=fast")
        lines = [line for line in self._configuration() if not line.startswith("port = ")]
        (self.data / "postgresql.conf").write_text("\n".join([*lines, f"port = {_free_port()}\n"]))

    def promote(self):
        """Make a replica the server that is written to."""
        self._run("pg_ctl", "--wait", "promote")

    def start(self):
        self._run("pg_ctl", "--wait", f"--log={self.folder / 'log'}", "start")

    def stop(self, mode="fast"):
        """Stop the server; `immediate` is how a crash looks."""
        self._run("pg_ctl", "--wait", f"--mode={mode}", "stop")

    @contextmanager
    def frozen(self):
        """Stop all processes of the server meanwhile: it accepts connections and does not answer."""
        main = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        stopped = [main]
        try:
            # The main process first: once it is stopped, it starts no process and no process ID becomes free.
            os.kill(main, signal.SIGSTOP)
            _await_stopped(main)
            for process_id in map(int, Path(f"/proc/{main}/task/{main}/children").read_text().split()):
                os.kill(process_id, signal.SIGSTOP)
                stopped.append(process_id)
            yield
        finally:
            for process_id in reversed(stopped):
                os.kill(process_id, signal.SIGCONT)

    def is_running(self):
        return self.data.is_dir() and self._run("pg_ctl", "status", check=False).returncode == 0

    def remove(self):
        if self.is_running():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _configuration(self):
        return (self.data / "postgresql.conf").read_text().splitlines()

    def _run(self, program, *arguments, check=True):
        owner = _owner()
        # PostgreSQL refuses to run as root.
        other = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        finished = subprocess.run(
            [programs() / program, f"--pgdata={self.data}", *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if program != "pg_ctl" else subprocess.DEVNULL,
            text=True,
            check=False,
            **other,
        )
        if check and finished.returncode:
            log = self.folder / "log"
            raise SystemExit(f"{program} failed: {finished.stdout} {log.read_text() if log.exists() else ''}")
        return finished


def programs():
    """Return the folder of PostgreSQL's programs, the newest version's."""
    debian = {int(path.parent.name): path for path in Path("/usr/lib/postgresql").glob("[0-9]*/bin")}
    if debian and max(debian) >= OLDEST:
        return debian[max(debian)]
    if initdb := shutil.which("initdb"):
        return Path(initdb).parent
    raise SystemExit(f"PostgreSQL {OLDEST} or newer is not installed (Debian: apt-get install postgresql)")


def answers(url):
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _await_stopped(process_id):
    """Wait until a process sent `SIGSTOP` is stopped: until then it may start and reap others."""
    end = time.monotonic() + 300
    while Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end, f"process {process_id} was sent SIGSTOP and goes on"
        time.sleep(0.01)


def _owner():
    """Return whom the server is run as where we are root; None: as ourselves."""
    if os.getuid() != 0:
        return None
    names = {user.pw_name: user for user in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _start(cluster):
    if answers(DEFAULT):
        return DEFAULT
    if not cluster.data.is_dir():
        cluster.create()
    if not cluster.is_running():
        cluster.start()
    return cluster.url


def main():
    private = Cluster(Path(tempfile.gettempdir()) / f"blocksieve-postgresql-{os.getuid()}")
    if sys.argv[1:] == ["start"]:
        print(f"export BLOCKSIEVE_POSTGRES={_start(private)}")
    elif sys.argv[1:] == ["stop"]:
        private.remove()
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
