"""A long crawl of many hosts, and a re-crawl of all of it: pages a second, and the memory of each process over time.

A farm of hosts on loopback addresses is served by a process of its own. The processes of a crawl share one database:
two on PostgreSQL, one on SQLite. Then every page becomes due, and as many processes run `scrapy recrawl --due --join`;
the farm answers 304. Every few seconds a line says how many responses the farm has given and what each process holds.

With --queued, the frontier alone is measured: so many requests of --queued-hosts are queued, first those of a large
host, which has half of them. Workers lease 100 at a time and give them up as done, until nothing is left or for
--seconds. Each number of workers has a queue of its own. `all hosts after` is the number of leases until each host had
given a request. `large` is the large host's share of the leases while requests of others were left.

    python tests/bench/soak.py [--hosts 300] [--pages 100] [--databases postgresql sqlite] [--every 10]
    python tests/bench/soak.py --queued 1000000 [--queued-hosts 10000] [--workers 1 4 8] [--seconds 30]

PostgreSQL is the server at BLOCKSIEVE_POSTGRES, on which a database is made and dropped.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import psutil
import scrapy
from room import new_database
from sqlalchemy import text

from crawler.demo.run import FAST_SETTINGS
from crawler.storage import requests
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store
from crawler.visit import RequestRecord

PROCESSES = {"postgresql": 2, "sqlite": 1}
LARGE_HOST = "large.example"
RECORDS_AT_ONCE = 10_000
LEASED_AT_ONCE = 100
SENTENCE = "The ferryman of host {} told visitor {} about storm {}, which had taken the roof off barn {}. "


class SoakSpider(scrapy.Spider):
    """Reads the listing and the articles of each host of the farm."""

    name = "soak"

    async def start(self):
        for host in range(int(self.hosts)):
            yield scrapy.Request(f"http://127.0.{1 + host // 200}.{1 + host % 200}:{self.port}/")

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse_article)

    def parse_article(self, response):
        from crawler.page import page  # noqa: PLC0415 — the spider alone needs it

        yield page(response)


class Farm(BaseHTTPRequestHandler):
    """Answers as the host that was asked: `/` links to its articles."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        with self.server.count.get_lock():
            self.server.count.value += 1
        tag = f'"{hashlib.md5(self.path.encode(), usedforsecurity=False).hexdigest()}"'
        body, status = self.body(), 200
        if body is None:
            body, status = b"", 404
        elif self.headers.get("If-None-Match") == tag:
            body, status = b"", 304
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        host = self.headers["Host"].partition(":")[0]
        if self.path == "/":
            links = "".join(f'<a href="/news/{number}">{number}</a> ' for number in range(self.server.pages))
            return f"<html><body>{links}</body></html>".encode()
        number = self.path.removeprefix("/news/")
        if not number.isdecimal():
            return None
        paragraphs = (
            "".join(SENTENCE.format(host, number, part * line, hash((host, number, part, line))) for line in range(4))
            for part in range(8)
        )
        content = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
        return f"<html><title>Storm {number}</title><body><article>{content}</article></body></html>".encode()

    def log_message(self, *_arguments):
        pass


def serve(pages, count, ports):
    with ThreadingHTTPServer(("0.0.0.0", 0), Farm) as server:
        server.pages, server.count = pages, count
        ports.put(server.server_port)
        server.serve_forever()


@contextmanager
def running_farm(pages):
    """Serve the farm; yield its port and the shared number of its responses."""
    count, ports = multiprocessing.Value("q", 0), multiprocessing.Queue()
    process = multiprocessing.Process(target=serve, args=(pages, count, ports), daemon=True)
    process.start()
    try:
        yield ports.get(timeout=120), count
    finally:
        process.terminate()
        process.join()


def soak(database, url, options):
    """Crawl the farm, let all of it become due, and crawl it again; print a line every few seconds."""
    with running_farm(options.pages) as (port, count):
        arguments = ["-a", f"hosts={options.hosts}", "-a", f"port={port}"]
        run(f"{database}, crawl", ["crawl", "soak", *arguments], PROCESSES[database], url, count, options)
        with opened_engine(url) as engine, write_transaction(engine) as connection:
            for table in ("page", "section"):
                connection.execute(text(f"UPDATE {table} SET next_visit = first_seen WHERE next_visit IS NOT NULL"))
            stored = connection.scalar(text("SELECT count(*) FROM page"))
        say(f"{database}: {stored:,} pages stored and due")
        run(f"{database}, re-crawl", ["recrawl", "--due", "--join"], PROCESSES[database], url, count, options)


def run(name, command, processes, url, count, options):
    """Run a command in several processes to their end, and print what they do."""
    settings = FAST_SETTINGS | {
        "ALLOW_ADDRESSES": "127.0.0.0/8",
        "LOG_FILE": "",
        "LOG_LEVEL": "ERROR",
        "PROGRESS": "off",
        "ROBOTSTXT_OBEY": "False",
        "SPIDER_MODULES": "soak",
    }
    line = [sys.executable, "-m", "scrapy", *command]
    for setting in settings.items():
        line += ["-s", "=".join(setting)]
    environment = os.environ | {"DATABASE_URL": url, "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    began, first = time.monotonic(), count.value
    last, before = began, first
    running = [psutil.Popen(line, env=environment) for _ in range(processes)]
    while any(process.poll() is None for process in running):
        wait_for(running, options.every)
        now, responses = time.monotonic(), count.value
        memory = ", ".join(memory_of(process) for process in running if process.poll() is None)
        rate = (responses - before) / (now - last)
        say(f"{name}: {now - began:4.0f} s, {responses - first:7,} responses, {rate:5.0f}/s, {memory or 'ended'}")
        last, before = now, responses
    codes = [process.returncode for process in running]
    if any(codes):
        sys.exit(f"{name}: exit codes {codes}")


def wait_for(running, seconds):
    """Wait so long, or until all have ended."""
    until = time.monotonic() + seconds
    for process in running:
        try:
            process.wait(max(0, until - time.monotonic()))
        except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
            return


def memory_of(process):
    try:
        return f"{process.memory_info().rss / 1e6:.0f} MB"
    except psutil.NoSuchProcess:
        return "ended"


def measure_frontier(database, workers, url, options):
    """Queue requests, let workers lease them, and print how fast and in which order they do."""
    with opened_engine(url) as engine:
        prepare_schema(engine)
        crawl_id = Store(engine).join_crawl("soak", {}, CrawlPolicy()).crawl_id
        began = time.monotonic()
        for start in range(0, options.queued, RECORDS_AT_ONCE):
            numbers = range(start, min(start + RECORDS_AT_ONCE, options.queued))
            records = [queued_record(number, options) for number in numbers]
            with write_transaction(engine) as connection:
                requests.add_requests(connection, crawl_id, records, requests.database_now(connection))
    say(f"{database}: {options.queued:,} requests queued in {time.monotonic() - began:.0f} s")
    say(f"{database}: {workers} workers, {lease_by(workers, url, crawl_id, options)}")


def queued_record(number, options):
    """Return a request: the first half is of the large host."""
    of_large = number < options.queued // 2
    host = LARGE_HOST if of_large else f"host{number % (options.queued_hosts - 1):05}.example"
    address = f"https://{host}/{number}"
    return RequestRecord(f"{number:012x}", address, host, callback="parse")


def lease_by(workers, url, crawl_id, options):
    """Let workers lease requests; return the figures."""
    results = multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=lease, args=(url, crawl_id, f"worker{number}", options.seconds, results))
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    calls = sorted((call for _ in processes for call in results.get()), key=lambda call: call.ended)
    for process in processes:
        process.join()
    return figures_of(calls, options)


class Call(NamedTuple):
    """A call of a worker: when it began and ended, on the clock of the machine, and the hosts of what it leased."""

    began: float
    ended: float
    hosts: list[str]


def figures_of(calls, options):
    """Return what the calls of all workers show, given in the order of their ends."""
    seconds = calls[-1].ended - min(call.began for call in calls)
    hosts = [host for call in calls for host in call.hosts]
    first_leases = {host: number for number, host in reversed(list(enumerate(hosts, 1)))}
    last_of_others = max((number for number, host in enumerate(hosts, 1) if host != LARGE_HOST), default=0)
    before = hosts[:last_of_others]
    served = "-" if len(first_leases) < options.queued_hosts else f"{max(first_leases.values()):,}"
    slowest = max(call.ended - call.began for call in calls)
    return (
        f"{len(hosts) / seconds:,.0f} leases/s ({len(hosts):,} in {seconds:.1f} s), "
        f"all hosts after {served}, large {before.count(LARGE_HOST) / max(1, len(before)):.1%}, "
        f"slowest call {slowest:.2f} s"
    )


def lease(url, crawl_id, name, seconds, results):
    """Lease requests and give them up as done, for a while or until nothing is left."""
    calls, after = [], ""
    with opened_engine(url) as engine:
        until = time.monotonic() + seconds
        while (began := time.monotonic()) < until:
            with write_transaction(engine) as connection:
                now = requests.database_now(connection)
                leased = requests.lease_requests(connection, crawl_id, lease_options(name, now, after))
                acks = [requests.Ack(row.lease_token, requests.RequestState.DONE, "page") for row in leased]
                requests.acknowledge_requests(connection, acks, now)
            if not leased:
                break
            after = leased[-1].record.host
            calls.append(Call(began, time.monotonic(), [row.record.host for row in leased]))
    results.put(calls)


def lease_options(name, now, after):
    return requests.LeaseOptions(
        lease_id=name,
        limit=LEASED_AT_ONCE,
        now=now,
        until=now + timedelta(minutes=5),
        horizon_seconds=10.0,
        after_host=after,
    )


@contextmanager
def new_url(database):
    if database == "postgresql":
        with new_database() as url:
            yield url
    else:
        with tempfile.TemporaryDirectory(prefix="blocksieve-bench-") as folder:
            yield f"sqlite:///{folder}/soak.db"


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--pages", type=int, default=100, help="of each host")
    parser.add_argument("--databases", nargs="+", choices=PROCESSES, default=list(PROCESSES))
    parser.add_argument("--every", type=float, default=10, metavar="SECONDS", help="between two lines")
    parser.add_argument("--queued", type=int, metavar="N", help="measure the frontier with N requests instead")
    parser.add_argument("--queued-hosts", type=int, default=10_000, metavar="N", help="of these requests")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--seconds", type=float, default=30, help="for which workers lease requests")
    return parser.parse_args()


def main():
    options = arguments()
    for database in options.databases:
        if options.queued is None:
            with new_url(database) as url:
                soak(database, url, options)
        for workers in options.workers if options.queued else ():
            with new_url(database) as url:
                measure_frontier(database, workers, url, options)


if __name__ == "__main__":
    main()
