"""CPU and memory from the command to the first request: plain Scrapy beside our crawl, and each command's start.

Plain Scrapy is a spider of one request in an empty folder. Both ask a server in this program, which reads their CPU
time and resident memory when the first request arrives. Exits with 1 where our crawl takes more than the bounds.

    python research/bench/startup.py [--rounds 5] [--most-cpu 1.5] [--most-mb 160] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

PLAIN = """
import scrapy

class Plain(scrapy.Spider):
    name = "plain"
    start_urls = ["{address}/robots.txt"]

    def parse(self, response):
        pass
"""
COMMANDS = {
    "scrapy version": ["version"],
    "scrapy status": ["status"],
    "scrapy search": ["search", "river"],
    "scrapy explain --help": ["explain", "--help"],
}


class Site(ThreadingHTTPServer):
    """Answers with an empty list, and notes what the process that asks first has used until then."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.process = None
        self.figures = None
        self.asked = threading.Event()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def note(self):
        if self.figures is None:
            times = self.process.cpu_times()
            mb = self.process.memory_info().rss / 1e6
            self.figures = {"cpu_seconds": times.user + times.system, "mb": mb}


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.server.asked.wait(60):
            self.server.note()
        body = b"<title>Nothing</title>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def serve():
    with Site() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.shutdown()


def environment(*, ours):
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "SCRAPY_SETTINGS_MODULE"}}
    return kept | ({"SCRAPY_SETTINGS_MODULE": "crawler.settings"} if ours else {})


def at_first_request(arguments, folder, *, ours):
    """Return the figures of a `scrapy` program when its first request arrives; {address} is the server's."""
    with serve() as site:
        spider = Path(folder, "plain.py")
        spider.write_text(PLAIN.format(address=site.address), "utf-8")
        command = [sys.executable, "-m", "scrapy", *(argument.format(address=site.address) for argument in arguments)]
        quiet = {"cwd": folder, "env": environment(ours=ours), "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, **quiet) as process:
            site.process = psutil.Process(process.pid)
            site.asked.set()
            _, errors = process.communicate()
    if site.figures is None:
        raise RuntimeError(f"{' '.join(command)} has asked for nothing: {errors.decode()}")
    return site.figures


def whole_run(arguments, folder):
    """Return the CPU time and the largest memory of a `scrapy` command."""
    command = [sys.executable, "-m", "scrapy", *arguments]
    quiet = {"cwd": folder, "env": environment(ours=True), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return {"cpu_seconds": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss * 1024 / 1e6}


def programs():
    """Return what is measured, by its name in the table."""
    quiet = ["-s", "LOG_LEVEL=CRITICAL"]
    crawl = ["crawl", "section", "-a", "url={address}/", "-s", "ALLOW_ADDRESSES=127.0.0.1", "-a", "fresh=1", *quiet]
    return {
        "plain Scrapy": lambda folder: at_first_request(["runspider", "plain.py", *quiet], folder, ours=False),
        "scrapy crawl": lambda folder: at_first_request(crawl, folder, ours=True),
    } | {name: lambda folder, line=line: whole_run(line, folder) for name, line in COMMANDS.items()}


def measure(rounds):
    runs = {name: [] for name in programs()}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds + 1):
            for name, run in programs().items():
                figures = run(folder)
                if turn:  # the first round compiles modules and warms the cache of the disk
                    runs[name].append(figures)
    return {
        name: {key: round(statistics.median(run[key] for run in figures), 3) for key in ("cpu_seconds", "mb")}
        for name, figures in runs.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most-cpu", type=float, default=1.5, help="bound on our crawl's CPU beyond plain Scrapy's")
    parser.add_argument("--most-mb", type=float, default=160.0, help="bound on our crawl's resident memory")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    rows = measure(options.rounds)
    ours, plain = rows["scrapy crawl"], rows["plain Scrapy"]
    beyond = round(ours["cpu_seconds"] - plain["cpu_seconds"], 3)
    if options.json:
        print(json.dumps({"rows": rows, "cpu_beyond_plain": beyond}, indent=2))
    else:
        table = Table("program", "CPU s", "MB", caption=f"our crawl takes {beyond} s of CPU more than plain Scrapy")
        for name, row in rows.items():
            table.add_row(name, str(row["cpu_seconds"]), str(row["mb"]))
        Console().print(table)
    return 0 if beyond <= options.most_cpu and ours["mb"] <= options.most_mb else 1


if __name__ == "__main__":
    sys.exit(main())
