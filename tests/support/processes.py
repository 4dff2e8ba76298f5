"""Python programs for tests, without the seconds that each takes to import the same modules.

`start` and `run` are `subprocess.Popen` and `subprocess.run`. A command `python -m MODULE` or `python PROGRAM.py` is
forked from a server that has imported what our programs need (`preload.py`, one for a whole test run). It is a process
of its own all the same: with its arguments, folder, environment and files, and it can be killed. Any other
command is started as usual.
"""

import atexit
import io
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
# The path of the server's socket, in the environment.
SERVER = "BLOCKSIEVE_TEST_SERVER"
# What is decided when our modules are imported.
NOT_FORKED = ("BLOCKSIEVE_PURE", "PYTHONHASHSEED", "PYTHONWARNINGS")


def start(command, *, cwd=None, env=None, **files):
    """Start a command and return its process."""
    environment = dict(os.environ if env is None else env)
    line = [os.fspath(part) for part in command]
    program = _program(line)
    if program is None or any(name in environment for name in NOT_FORKED):
        return subprocess.Popen(line, cwd=cwd, env=environment, **files)
    return Forked(line, program | {"folder": os.fspath(cwd or Path.cwd()), "environment": environment}, **files)


def _program(line):
    """Return what a command of Python runs; None for another command, or one with options of Python's."""
    python, *rest = [part for part in line if part != "-B"]
    if python != sys.executable or not rest:
        return None
    if rest[0] == "-m":
        return {"module": True, "program": rest[1], "arguments": rest[2:]}
    if rest[0].endswith(".py"):
        return {"module": False, "program": rest[0], "arguments": rest[1:]}
    return None


def run(command, *, input=None, capture_output=False, check=False, timeout=None, **options):  # noqa: A002 — as subprocess has it
    """Run a command to its end and return what came of it."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with start(command, **options) as process:
        try:
            output, errors = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def command_of(process):
    """Return the command of a psutil process; "" for one that has ended, also if nobody has waited for it."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # zombies too
        return ""


class Forked:
    """A process of the server's, with what tests use of `subprocess.Popen`; `peak_bytes` is the most memory it took."""

    def __init__(self, command, order, *, stdin=None, stdout=None, stderr=None, text=False):
        self.args, self.returncode, self.peak_bytes = command, None, None
        ends = [_open(file, number) for number, file in enumerate((stdin, stdout, stderr))]
        self.stdin, self.stdout, self.stderr = (_pipe(end.ours, number, text) for number, end in enumerate(ends))
        self._status, theirs = os.pipe()
        socket.send_fds(_server(), [json.dumps(order).encode()], [*(end.theirs for end in ends), theirs])
        for descriptor in [theirs, *(end.theirs for end in ends if end.is_new)]:
            os.close(descriptor)
        self.pid = self._read()["pid"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        self.wait()

    def poll(self):
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self._ended()
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self._ended()
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, input_text=None, timeout=None):
        """Give it its input, read to the end of both outputs, and wait; what was not piped is None."""
        texts = {}
        readers = [
            threading.Thread(target=lambda name=name, pipe=pipe: texts.update({name: pipe.read()}), daemon=True)
            for name, pipe in (("stdout", self.stdout), ("stderr", self.stderr))
            if pipe is not None
        ]
        for reader in readers:
            reader.start()
        if self.stdin is not None:
            if input_text is not None:
                self.stdin.write(input_text)
            self.stdin.close()
        self.wait(timeout)
        for reader in readers:
            reader.join()
        for pipe in filter(None, (self.stdout, self.stderr)):
            pipe.close()
        return texts.get("stdout"), texts.get("stderr")

    def _ended(self):
        told = self._read()
        self.returncode, self.peak_bytes = told["code"], told["peak_bytes"]
        os.close(self._status)

    def _read(self):
        told = os.read(self._status, 1000)
        assert told, "the server of preloaded processes is gone"
        return json.loads(told)


class _End:
    """The two ends of what a process reads or writes: its own, and ours where it is a pipe."""

    def __init__(self, theirs, ours=None, *, is_new=False):
        self.theirs, self.ours, self.is_new = theirs, ours, is_new


def _open(file, number):
    if file is None or (isinstance(file, int) and file >= 0):
        return _End(number if file is None else file)
    if file == subprocess.DEVNULL:
        return _End(os.open(os.devnull, os.O_RDWR), is_new=True)
    if file == subprocess.PIPE:
        reading, writing = os.pipe()
        return _End(reading, writing, is_new=True) if number == 0 else _End(writing, reading, is_new=True)
    return _End(file.fileno())


def _pipe(descriptor, number, text):
    if descriptor is None:
        return None
    pipe = os.fdopen(descriptor, "wb" if number == 0 else "rb")
    return io.TextIOWrapper(pipe, write_through=True) if text else pipe


def share_server():
    """Start the server for this process and all that it starts from now on; it ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="blocksieve-tests-"))
    path = str(folder / "orders")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as orders:
        orders.bind(path)
        orders.listen(64)
        environment = {name: value for name, value in os.environ.items() if name not in NOT_FORKED}
        command = [sys.executable, Path(__file__).with_name("preload.py"), str(orders.fileno())]
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, pass_fds=[orders.fileno()])

    def end():
        server.stdin.close()
        server.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    os.environ[SERVER] = path


@cache
def _server():
    """The connection to the server; without one of the whole test run, this process starts its own."""
    if SERVER not in os.environ:
        share_server()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(os.environ[SERVER])
    atexit.register(connection.close)
    return connection
