"""What the frontier costs: CPU of a crawl that only fetches, with its requests in the database and in memory.

A site of sections that lead to articles is served by a process of its own. Each crawl fetches all of it and stores no
page; the crawls run in turn, each in a process of its own with a fresh database. The ratio of one run is what counts.

    python tests/bench/frontier.py [--articles 3000] [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import scrapy
from crawl import Stopwatch
from rich.console import Console
from rich.table import Table
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

from crawler.demo.run import FAST_SETTINGS

OF_SECTION = 50
SENTENCE = "The ferryman of the northern lake told visitor {} how many storms he had crossed. "
IN_MEMORY = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "ITEM_PIPELINES": {}}
IN_DATABASE = {"ITEM_PIPELINES": {"pipelines.store.StorePipeline": 500}}
STAGES = {"in memory": IN_MEMORY, "in the database": IN_DATABASE}


class Handler(BaseHTTPRequestHandler):
    """`/` leads to sections, `/s/N` to articles, all else is an article of some 10 kB."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        body = page(self.path, self.server.articles)
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


def page(path, articles):
    if path == "/":
        return listing(f"/s/{first}" for first in range(0, articles, OF_SECTION))
    if path.startswith("/s/"):
        first = int(path[3:])
        return listing(f"/a/{number}" for number in range(first, min(first + OF_SECTION, articles)))
    return f"<html><body><h1>{path}</h1><p>{SENTENCE.format(path) * 120}</p></body></html>".encode()


def listing(paths):
    return ("<html><body>" + "".join(f'<a href="{path}">{path}</a> ' for path in paths) + "</body></html>").encode()


def serve(articles, addresses):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.articles = articles
    addresses.put(f"http://127.0.0.1:{server.server_port}/")
    server.serve_forever()


class Fetcher(scrapy.Spider):
    """Follows every link and makes nothing of what it finds."""

    name = "fetcher"

    async def start(self):
        yield scrapy.Request(self.address)

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse if link.startswith("/s/") else self.read)

    def read(self, response):
        pass


def worker(stage, address, database):
    """Run one crawl in this process."""
    settings = get_project_settings()
    common = {"DATABASE_URL": f"sqlite:///{database}", "EXTENSIONS": {Stopwatch: 1}, "LOG_FILE": os.devnull}
    common |= {"ALLOW_ADDRESSES": "127.0.0.0/8", "PROGRESS": "off"}
    settings.setdict(FAST_SETTINGS | common | STAGES[stage], priority="cmdline")
    process = AsyncCrawlerProcess(settings)
    process.crawl(Fetcher, address=address)
    process.start()


def run_stage(stage, address):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--worker", stage, "--address", address]
        command += ["--database", str(Path(folder, "blocks.db"))]
        environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(finished.stdout.splitlines()[-1])


def measure(articles, rounds):
    """Return, by stage, the CPU milliseconds for each response of each round."""
    addresses = multiprocessing.Queue()
    site = multiprocessing.Process(target=serve, args=(articles, addresses), daemon=True)
    site.start()
    address, found = addresses.get(timeout=30), {stage: [] for stage in STAGES}
    for turn in range(rounds):
        for stage, costs in found.items():
            figures = run_stage(stage, address)
            costs.append(1000 * figures["cpu_seconds"] / figures["responses"])
            print(f"round {turn + 1}/{rounds} {stage:16} {costs[-1]:.2f} ms", file=sys.stderr)
    site.terminate()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    parser.add_argument("--worker", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.address, options.database)
        return
    costs = {stage: statistics.median(each) for stage, each in measure(options.articles, options.rounds).items()}
    overhead = costs["in the database"] / costs["in memory"] - 1
    if options.json:
        print(json.dumps({"cpu_ms": costs, "overhead": overhead}, indent=2))
        return
    table = Table("requests", "CPU ms a response", "overhead")
    table.add_row("in memory", f"{costs['in memory']:.2f}", "")
    table.add_row("in the database", f"{costs['in the database']:.2f}", f"{overhead:+.0%}")
    Console().print(table)


if __name__ == "__main__":
    main()
