"""A server of files that keeps its readers waiting until a test lets them go on: so a process is killed at its work."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Less than the 300 seconds for which aiohttp waits for an answer.
SECONDS = 280


class GatedFiles:
    """The files of a folder at `url`. Bodies wait for `open`; `reached` is released for each reader that waits."""

    def __init__(self, folder):
        self.folder = folder
        self.reached = threading.Semaphore(0)
        self._open = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"files": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def open(self):
        """Let all readers go on, now and later."""
        self._open.set()

    def wait(self, readers=1):
        """Wait until so many readers are at the gate."""
        for _ in range(readers):
            assert self.reached.acquire(timeout=SECONDS), "nobody reads"

    def pass_gate(self):
        if not self._open.is_set():
            self.reached.release()
            self._open.wait(SECONDS)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: GatedFiles

    def do_HEAD(self):
        self._head(200, self._body())

    def do_GET(self):
        body = self._body()
        status = 200
        if "Range" in self.headers:
            start, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
            body, status = body[int(start) : int(end) + 1 if end else None], 206
        self.files.pass_gate()
        try:
            self._head(status, body)
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the reader was killed

    def _body(self):
        return (self.files.folder / self.path.lstrip("/")).read_bytes()

    def _head(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def log_message(self, *_arguments):
        """A test's output is no place for it."""


@contextmanager
def gated_files(folder):
    """Serve the files of a folder behind a closed gate."""
    files = GatedFiles(folder)
    thread = threading.Thread(target=files._server.serve_forever, daemon=True)
    thread.start()
    try:
        yield files
    finally:
        files.open()
        files._server.shutdown()
        files._server.server_close()
        thread.join()
