"""CPU of whole crawls of real pages: Scrapy that only fetches, a hand-made spider, and ours with everything on.

The hand-made spider is what a user would write: Scrapy, trafilatura and one SQLite insert a page. Ours is the command
`scrapy crawl section`, with its default settings but for politeness, on SQLite and on PostgreSQL, with
CLEANING_PROCESSES 0, 1 and 2. A site on the loopback address serves pages of wcxb-dev and fundus-dev, without the
largest, from a process of its own. Each crawl runs in processes of its own with a fresh database; the rows run in turn,
several rounds, and the medians are shown.

A row crawls a small section and a large one. The difference is the cost of its pages; what is left of the small one is
the start, from the command to the first request, and the end. CPU counts user and system time of all processes of the
crawl; `own` is that of the crawl's own process, `server` that of PostgreSQL's; `kB` is the size of the SQLite file.
Ratios of one run are what counts. The rows `sqlite-0-structure` and `sqlite-1-structure` store Markdown and places too
(STRUCTURE).

--profile writes a flame graph of one row's large section by py-spy: FILE.svg, or FILE.json for speedscope.app, or
FILE.txt with one stack a line.

    python research/bench/chain.py [--pages 400] [--rounds 3] [--rows fetch,sqlite-0,...] [--data FOLDER] [--json]
    python research/bench/chain.py --profile FILE.svg --rows sqlite-0
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread

import psycopg
import scrapy
from loopback import listing, real_pages, run_site
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from room import SERVER, new_database
from scrapy.crawler import AsyncCrawlerProcess
from sqlalchemy import create_engine, text

from crawler.demo.run import FAST_SETTINGS

OF_LISTING = 50
SETS = ("wcxb-dev", "fundus-dev")
LARGEST_PAGE = 400_000
SMALL_SHARE = 0.1
DATA = Path(os.environ.get("BLOCKSIEVE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
BY_HAND = ("fetch", "trafilatura")
ROWS = (
    *BY_HAND,
    *(f"{database}-{processes}" for database in ("sqlite", "postgresql") for processes in (0, 1, 2)),
)
# Asked for by --rows only.
MORE_ROWS = tuple(f"sqlite-{processes}-structure" for processes in (0, 1))
ALL_ROWS = (*ROWS, *MORE_ROWS)
COLUMNS = {
    "pages": "pages",
    "cpu_ms": "CPU ms",
    "times_fetch": "× fetch",
    "own_ms": "own",
    "server_ms": "server",
    "start_cpu_s": "start s",
    "stored_kb": "kB",
    "pages_per_second": "pages/s",
}
SENTENCE = "The ferryman of the northern lake told visitor {} how many storms he had crossed before the ice had gone."
# The first page of each section. It states no language, and such a page loads the language model: half a second that
# belongs to the start, and that only the large section would have otherwise.
FIRST_PAGE = f"<html><body><h1>The ferry</h1><p>{'<p>'.join(map(SENTENCE.format, range(8)))}</body></html>".encode()
_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_SECONDS = 0.2


class Fetcher(scrapy.Spider):
    """Follows every link of the listings and makes nothing of the articles."""

    name = "fetcher"

    articles = 0

    async def start(self):
        yield scrapy.Request(self.address)

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse if link.startswith("/s/") else self.read)

    def read(self, _response):
        self.articles += 1

    def closed(self, _reason):
        print(self.articles)


class ByHand(Fetcher):
    """Extracts the text of the articles by trafilatura and inserts it into an SQLite table."""

    name = "by_hand"

    def parse(self, response):
        import trafilatura  # noqa: PLC0415 — its import belongs to the start of this row alone

        self.extract = trafilatura.bare_extraction
        self.database = sqlite3.connect(self.path)
        self.database.execute("CREATE TABLE IF NOT EXISTS page (url PRIMARY KEY, title, text, html)")
        yield from super().parse(response)

    def read(self, response):
        document = self.extract(response.text, url=response.url)
        title, words = (document.title, document.text) if document else (None, None)
        self.database.execute("INSERT INTO page VALUES (?, ?, ?, ?)", (response.url, title, words, response.text))
        self.database.commit()


def section_site(bodies):
    """Return the function from path to body: `/s/SIZE/FIRST` is a listing of a section of so many articles."""

    def page(path):
        _, kind, *rest = path.split("/")
        if kind == "a":
            return bodies[int(rest[0])]
        if kind != "s":
            return b"<html><body>There is nothing here."
        size, first = map(int, rest)
        following = first + OF_LISTING
        paths = [f"/a/{number}" for number in range(first, min(following, size))]
        return listing(paths, f"/s/{size}/{following}" if following < size else None)

    return page


def sample_pages(data, count):
    """Return so many pages: the first one, and an even sample of those that are not too large."""
    if not all((data / "extraction" / name).is_dir() for name in SETS):
        raise SystemExit(f"{data} has no pages of {' and '.join(SETS)}; name the folder that has them with --data")
    bodies = [body for body in real_pages(data, SETS) if len(body) <= LARGEST_PAGE]
    if len(bodies) < count:
        raise SystemExit(f"{data} has {len(bodies)} pages of at most {LARGEST_PAGE} bytes; --pages is {count}")
    return [FIRST_PAGE, *(bodies[number * len(bodies) // count] for number in range(1, count))]


def work_by_hand(row, address, path):
    """Run one crawl of Scrapy, as it comes, in this process."""
    settings = {"LOG_LEVEL": "WARNING", "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "TELNETCONSOLE_ENABLED": False}
    process = AsyncCrawlerProcess(settings)
    process.crawl({"fetch": Fetcher, "trafilatura": ByHand}[row], address=address, path=path)
    process.start()


@dataclass(frozen=True)
class Crawl:
    """One crawl, with the CPU seconds of its own process, of its children and of the database server."""

    seconds: float
    own: float
    children: float
    server: float
    pages: int
    stored: int = 0

    @property
    def cpu(self):
        return self.own + self.children + self.server


def run_crawl(row, address, pages, profile=None):
    """Crawl a section of so many pages."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kind, processes, structure, *_ = [*row.split("-"), "", ""]
        url = stack.enter_context(new_database()) if kind == "postgresql" else f"sqlite:///{folder}/blocks.db"
        clock = stack.enter_context(ServerClock(url)) if kind == "postgresql" else None
        command = profiling(profile) + command_of(row, f"{address}s/{pages}/0", url, processes or "0", structure)
        environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings"} if processes else os.environ
        with Path(folder, "log").open("wb") as log:
            began = time.perf_counter()
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
            own, children = wait(process)
        if process.returncode:
            raise SystemExit(f"{row} ended with exit code {process.returncode}:\n{Path(folder, 'log').read_text()}")
        seconds = time.perf_counter() - began
        stored = int(Path(folder, "log").read_text().split()[-1]) if row == "fetch" else count_pages(url)
        size = sum(path.stat().st_size for path in folder.glob("blocks.db"))
        return Crawl(seconds, own, children, clock.stop() if clock else 0.0, stored, size)


def command_of(row, start, url, processes, structure):
    if row in BY_HAND:
        return [
            sys.executable,
            __file__,
            "--worker",
            row,
            "--address",
            start,
            "--database",
            url.removeprefix("sqlite:///"),
        ]
    settings = FAST_SETTINGS | {"ALLOW_ADDRESSES": "127.0.0.0/8", "DATABASE_URL": url, "CLEANING_PROCESSES": processes}
    settings |= {"LOG_FILE": "", "PROGRESS": "off", "STRUCTURE": bool(structure)}
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "crawl",
        "section",
        "-a",
        f"url={start}",
        "-a",
        "allow=/a/",
        "-a",
        "pages=1000",
    ]
    return command + [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]


def profiling(path):
    if path is None:
        return []
    kind = {".svg": "flamegraph", ".json": "speedscope", ".txt": "raw"}.get(path.suffix)
    if kind is None:
        raise SystemExit(f"--profile is {path}; its name must end in .svg, .json or .txt")
    program = Path(sys.executable).with_name("py-spy")
    return [str(program), "record", "--output", str(path), "--format", kind, "--rate", "200", "--subprocesses", "--"]


def wait(process):
    """Wait for a process to end; return the CPU seconds of it and of its children, from what it leaves behind."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    own = cpu_seconds(process.pid, 11)
    children = cpu_seconds(process.pid, 13)
    process.wait()
    return own, children


def cpu_seconds(pid, first=11):
    """Return the sum of two fields of /proc/PID/stat, counted from the state: user and system time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[first]) + int(fields[first + 1])) / _TICKS


class ServerClock:
    """Adds up the CPU of the server processes that work for a database; 0 if the server runs on another machine."""

    def __init__(self, url):
        self._name = url.rpartition("/")[2].partition("?")[0]
        self._seconds = {}
        self._stopped = Event()
        self._thread = Thread(target=self._poll)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self.stop()

    def stop(self):
        self._stopped.set()
        self._thread.join()
        return sum(self._seconds.values())

    def _poll(self):
        url = SERVER.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(url, autocommit=True) as connection:
            while not self._stopped.wait(_POLL_SECONDS):
                query = "SELECT pid FROM pg_stat_activity WHERE datname = %s"
                for (pid,) in connection.execute(query, (self._name,)).fetchall():
                    self._read(pid)

    def _read(self, pid):
        try:
            if "postgres" in Path(f"/proc/{pid}/cmdline").read_text():
                self._seconds[pid] = cpu_seconds(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended; what was read last counts


def count_pages(url):
    engine = create_engine(url)
    with closing(engine.connect()) as connection:
        number = connection.scalar(text("SELECT count(*) FROM page"))
    engine.dispose()
    return number


def measure(rows, rounds, pages, address):
    """Return, by row, a small and a large crawl of each round."""
    small, runs = max(1, int(pages * SMALL_SHARE)), {row: [] for row in rows}
    for turn in range(rounds):
        for row, pairs in runs.items():
            pair = [run_crawl(row, address, size) for size in (small, pages)]
            pairs.append(pair)
            print(f"round {turn + 1}/{rounds} {row:14} CPU {pair[0].cpu:.2f} s, {pair[1].cpu:.2f} s", file=sys.stderr)
    return summary(runs, small, pages)


def summary(runs, small, large):
    """Return, by row, the medians: CPU ms a page, of that the crawl's own process and the server, start, pages/s."""
    more = large - small
    rows = {}
    for row, pairs in runs.items():
        differences = {
            name: statistics.median((getattr(b, name) - getattr(a, name)) / more for a, b in pairs)
            for name in ("cpu", "own", "server", "seconds", "stored")
        }
        rows[row] = {
            "pages": pairs[0][1].pages,
            "cpu_ms": round(1000 * differences["cpu"], 2),
            "own_ms": round(1000 * differences["own"], 2),
            "server_ms": round(1000 * differences["server"], 2),
            "start_cpu_s": round(statistics.median(a.cpu - small * (b.cpu - a.cpu) / more for a, b in pairs), 2),
            "stored_kb": round(differences["stored"] / 1000, 1),
            # On a busy machine a short section may take longer than a long one.
            "pages_per_second": round(1 / differences["seconds"], 1) if differences["seconds"] > 0 else None,
            "runs": [[asdict(crawl) for crawl in pair] for pair in pairs],
        }
        # A few pages on a busy machine can cost less than the difference of two runs shows.
        if "fetch" in rows and rows["fetch"]["cpu_ms"] > 0:
            rows[row]["times_fetch"] = round(rows[row]["cpu_ms"] / rows["fetch"]["cpu_ms"], 2)
    return rows


def show(rows):
    table = Table(box=SIMPLE_HEAD, padding=0)
    table.add_column("crawl", no_wrap=True)
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for row, figures in rows.items():
        values = [figures.get(name) for name in COLUMNS]
        table.add_row(row, *("" if value is None else str(value) for value in values))
    Console().print(table)
    Console().print("CPU a page: of all processes, of the crawl's own, of the server's, in ms.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=400, help="of the large section")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--rows", type=lambda names: names.split(","), default=list(ROWS), help=f"of {', '.join(ALL_ROWS)}"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the development data")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="write a flame graph of the one row of --rows")
    parser.add_argument("--worker", choices=BY_HAND, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work_by_hand(options.worker, options.address, options.database)
        return
    if unknown := set(options.rows) - set(ALL_ROWS):
        parser.error(f"--rows has {', '.join(sorted(unknown))}; the rows are {', '.join(ALL_ROWS)}")
    if options.profile and len(options.rows) != 1:
        parser.error(f"--profile takes one row; --rows has {len(options.rows)}")
    with run_site(section_site, sample_pages(options.data, options.pages)) as address:
        if options.profile:
            run_crawl(options.rows[0], address, options.pages, options.profile)
            return
        rows = measure(options.rows, options.rounds, options.pages, address)
    print(json.dumps(rows, indent=2)) if options.json else show(rows)


if __name__ == "__main__":
    main()
