"""A long crawl of many hosts, and a re-crawl of all of it: pages a second, and the memory of each process over time.

A farm of hosts on loopback addresses is served by a process of its own. The processes of a crawl share one database:
two on PostgreSQL, one on SQLite. Then every page becomes due, and as many processes run `scrapy recrawl --due --join`;
the farm answers 304. Every few seconds a line says how many responses the farm has given, and the most memory that each
process has held since the line before.

The articles are made up, of words as frequent as those of a language. Texts of one template would be near-duplicates of
each other: full_buckets.py measures those.

With --queued, the frontier alone is measured: so many requests of --queued-hosts are queued, first those of a large
host, which has half of them. Workers lease 100 at a time and give them up as done, until nothing is left or for
--seconds. Then all are queued again for the next number of workers. `all hosts after` is the number of leases until
each host had given a request. `large` is the large host's share of the leases while requests of others were left.

    python research/bench/soak.py [--hosts 300] [--pages 100] [--databases postgresql sqlite] [--every 10]
    python research/bench/soak.py --queued 1000000 [--queued-hosts 10000] [--workers 1 4 8] [--seconds 30]

PostgreSQL is the server at BLOCKSIEVE_POSTGRES, on which a database is made and dropped.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import psutil
import scrapy
from made_up import frequencies, vocabulary
from room import new_url, say
from sqlalchemy import JSON, BigInteger, String, case, cast, insert, literal, select, text, update

from crawler.demo.run import FAST_SETTINGS
from crawler.storage import requests
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import opened_engine, write_transaction
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store
from crawler.storage.tables import request

PROCESSES = {"postgresql": 2, "sqlite": 1}
LARGE_HOST = "large.example"
LEASED_AT_ONCE = 100
SECONDS_BETWEEN_LOOKS = 0.2
PARAGRAPHS = 8
WORDS = 60  # of a paragraph


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
        tag = f'"{self.path}"'
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
        return article(host, number)

    def log_message(self, *_arguments):
        pass


def article(host, number):
    """Return the page of a host with this number, the same each time."""
    words = vocabulary()
    chance = random.Random(f"{host} {number}")
    text = chance.choices(words, cum_weights=word_frequencies(), k=PARAGRAPHS * WORDS)
    paragraphs = (" ".join(text[start : start + WORDS]).capitalize() for start in range(0, len(text), WORDS))
    content = "".join(f"<p>{paragraph}.</p>" for paragraph in paragraphs)
    return f"<html><title>Storm {number}</title><body><article>{content}</article></body></html>".encode()


@cache
def word_frequencies():
    """Return the cumulated shares of the vocabulary's words, as `random.choices` takes them."""
    return frequencies().tolist()


def serve(pages, count, ports):
    with ThreadingHTTPServer(("0.0.0.0", 0), Farm) as server:
        server.pages, server.count = pages, count
        ports.put(server.server_port)
        server.serve_forever()


@contextmanager
def running_farm(pages):
    """Serve the farm; yield its port and the shared number of its responses."""
    count = multiprocessing.Value("q", 0)
    ports = multiprocessing.Queue()
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
    began, first = time.monotonic(), count.value
    last, before, cpu_seconds = began, first, [0.0] * processes
    running = [started(command, url) for _ in range(processes)]
    while any(process.poll() is None for process in running):
        taken = taken_during(running, options.every)
        cpu_seconds = [max(pair) for pair in zip(cpu_seconds, (use.cpu_seconds for use in taken), strict=True)]
        memory = ", ".join(f"{use.resident_bytes / 1e6:.0f} MB" for use in taken)
        now, responses = time.monotonic(), count.value
        rate = (responses - before) / (now - last)
        say(f"{name}: {now - began:4.0f} s, {responses - first:7,} responses, {rate:5.0f}/s, {memory}")
        last, before = now, responses
    cpu_ms = 1000 * sum(cpu_seconds) / max(1, before - first)
    say(
        f"{name}: ended after {last - began:.0f} s, {(before - first) / (last - began):.0f}/s, {cpu_ms:.1f} ms CPU each"
    )
    codes = [process.returncode for process in running]
    if any(codes):
        sys.exit(f"{name}: exit codes {codes}")


def started(command, url):
    """Start a command of Scrapy with the spider of the farm, and return its process."""
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
    return psutil.Popen(line, env=environment)


class Taken(NamedTuple):
    """The memory and the CPU time of a process."""

    resident_bytes: int = 0
    cpu_seconds: float = 0.0


def taken_during(running, seconds):
    """Wait so long, or until all have ended; return the most that each process took meanwhile."""
    until, most = time.monotonic() + seconds, [Taken()] * len(running)
    while time.monotonic() < until and any(process.poll() is None for process in running):
        most = [Taken(*map(max, taken, taken_by(process))) for taken, process in zip(most, running, strict=True)]
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return most


def taken_by(process):
    """Return what a process takes now; nothing if it has ended."""
    try:
        times = process.cpu_times()
        return Taken(process.memory_info().rss, times.user + times.system)
    except psutil.NoSuchProcess:
        return Taken()


def measure_frontier(database, url, options):
    """Queue requests, let each number of workers lease them, and print how fast and in which order they do."""
    with opened_engine(url) as engine:
        prepare_schema(engine)
        crawl_id = Store(engine).join_crawl("soak", {}, CrawlPolicy()).crawl_id
        with write_transaction(engine) as connection:
            queue(connection, crawl_id, options)
    say(f"{database}: {options.queued:,} requests queued")
    for workers in options.workers:
        say(f"{database}: {workers} workers, {lease_by(workers, url, crawl_id, options)}")
        queue_again(url)


def queue_again(url):
    """Queue what was done, so that each number of workers finds the same requests."""
    is_done = request.c.state != requests.RequestState.QUEUED.value
    queued = {"state": requests.RequestState.QUEUED.value, "outcome": None, "ended": None}
    with opened_engine(url) as engine, write_transaction(engine) as connection:
        connection.execute(update(request).where(is_done).values(lease_id=None, lease_until=None, **queued))


def queue(connection, crawl_id, options):
    """Queue the requests in one statement: the first half is of the large host."""
    numbers = select(literal(0, BigInteger).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < options.queued - 1))
    number = cast(numbers.c.n, String)
    small_host = "host" + cast(numbers.c.n % (options.queued_hosts - 1), String) + ".example"
    host = case((numbers.c.n < options.queued // 2, LARGE_HOST), else_=small_host)
    values = {
        "crawl_id": literal(crawl_id),
        "key": number,
        "url": "https://" + host + "/" + number,
        "host": host,
        "method": literal("GET"),
        **{name: literal({}, JSON) for name in ("headers", "cb_kwargs", "meta")},
        "callback": literal("parse"),
        "priority": literal(0),
        "state": literal(requests.RequestState.QUEUED.value),
        "attempts": literal(0),
        "added": literal(requests.database_now(connection), request.c.added.type),
    }
    connection.execute(insert(request).from_select(list(values), select(*values.values()).select_from(numbers)))


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
    if codes := [process.exitcode for process in processes if process.exitcode]:
        sys.exit(f"{len(codes)} of {workers} workers failed")
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
    try:
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
    finally:
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
    measure = soak if options.queued is None else measure_frontier
    for database in options.databases:
        with new_url(database) as url:
            measure(database, url, options)


if __name__ == "__main__":
    main()
