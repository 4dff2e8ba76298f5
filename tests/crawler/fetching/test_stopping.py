"""Ctrl-C ends a crawl whose servers do not answer, and the same command continues it."""

import os
import signal
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import processes
import pytest

ARTICLE = "<title>River</title><h1>River</h1>" + "<p>The river rose in the night, and the bridge was closed.</p>" * 20


class Hanging(BaseHTTPRequestHandler):
    """Answers nothing at the hanging path until it is told to."""

    def do_GET(self):
        if self.path == self.server.hanging:
            self.server.asked.set()
            self.server.answering.wait(600)
        body = b"" if self.path == "/robots.txt" else ARTICLE.encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def hanging():
    with ThreadingHTTPServer(("127.0.0.1", 0), Hanging) as server:
        server.asked, server.answering = threading.Event(), threading.Event()
        server.handle_error = lambda *_arguments: None  # clients that go away
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.answering.set()
        server.shutdown()


@pytest.mark.parametrize("path", ["/robots.txt", "/.well-known/tdmrep.json", "/a"])
def test_one_ctrl_c_ends_a_crawl_of_a_server_that_hangs(hanging, every_link, tmp_path, path):
    """It would wait for DOWNLOAD_TIMEOUT, here two hours, at each of three attempts."""
    (tmp_path / "every.py").write_text(textwrap.dedent(every_link), "utf-8")
    site = f"http://127.0.0.1:{hanging.server_port}"
    command = [sys.executable, "-m", "scrapy", "runspider", "every.py", "-a", f"site={site}", "-a", "paths=/a /b"]
    for setting in ("ALLOW_ADDRESSES=127.0.0.0/8", "DOWNLOAD_TIMEOUT=7200", "PROGRESS=off", "AUTOTHROTTLE_ENABLED=0"):
        command += ["-s", setting]
    environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    hanging.hanging = path
    with (tmp_path / "log").open("w") as log:
        crawl = processes.start(command, cwd=tmp_path, env=environment, stderr=log)
        assert hanging.asked.wait(600)
        crawl.send_signal(signal.SIGINT)
        crawl.wait(600)
    log = (tmp_path / "log").read_text("utf-8")
    assert "The crawl ended (shutdown)" in log
    assert "queued" in log
    assert "Traceback" not in log
    hanging.answering.set()
    again = processes.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "The crawl ended (finished)" in again.stderr
    assert "pages        1 (new 1)" in again.stderr or "pages        2 (new 2)" in again.stderr
