"""What the frontier costs: CPU of a crawl that only fetches, with its requests in the database and in memory.

A site of sections that lead to articles is served by a process of its own. Each crawl fetches all of it and stores no
page; the crawls run in turn, each in a process of its own with a fresh database. The ratio of one run is what counts.
The articles are made up, in the size of real pages: 140 kB, the median of the 1,470 of wcxb-dev; or they are those,
where `--data` names the folder of the development data. Our settings let Scrapy start fewer tasks a response than it
does by default (CONCURRENT_ITEMS); the first row is without that.

    python research/bench/frontier.py [--articles 1000] [--kilobytes 140 | --data FOLDER] [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import scrapy
from crawl import Stopwatch
from loopback import listing, real_pages, run_site
from rich.console import Console
from rich.table import Table
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import default_settings
from scrapy.utils.project import get_project_settings

from crawler.demo.run import FAST_SETTINGS

OF_SECTION = 50
SENTENCE = "The ferryman of the northern lake told visitor {} how many storms he had crossed. "
# As on real pages, less than half of the bytes is markup and text.
SCRIPT = f"<script>{'var storms = [1, 2, 3]; ' * 25}</script>"
IN_MEMORY = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "ITEM_PIPELINES": {}}
IN_DATABASE = {"ITEM_PIPELINES": {"pipelines.store.StorePipeline": 500}}
STAGES = {
    "in memory, Scrapy's CONCURRENT_ITEMS": IN_MEMORY | {"CONCURRENT_ITEMS": default_settings.CONCURRENT_ITEMS},
    "in memory": IN_MEMORY,
    "in the database": IN_DATABASE,
}


def site(options):
    """Return the function from path to body: `/` leads to sections, `/s/N` to articles, all else is an article."""
    real = list(islice(real_pages(options.data), options.articles)) if options.data else []

    def page(path):
        if path == "/":
            return listing(f"/s/{first}" for first in range(0, options.articles, OF_SECTION))
        if path.startswith("/s/"):
            first = int(path[3:])
            return listing(f"/a/{number}" for number in range(first, min(first + OF_SECTION, options.articles)))
        number = path.removeprefix("/a/")
        if real and number.isdecimal():
            return real[int(number) % len(real)]
        return made_up(path, options.kilobytes)

    return page


def made_up(path, kilobytes):
    part = f'<div class="storm wide"><h2><a href="{path}#top">{path}</a></h2><p>{SENTENCE.format(path) * 4}</p></div>'
    parts = max(1, 1000 * kilobytes // len(part + SCRIPT))
    return f"<html><body>{(part + SCRIPT) * parts}</body></html>".encode()


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


def measure(options):
    """Return, by stage, the CPU milliseconds for each response of each round."""
    costs_by_stage = {stage: [] for stage in STAGES}
    with run_site(site, options) as address:
        for turn in range(options.rounds):
            for stage, costs in costs_by_stage.items():
                figures = run_stage(stage, address)
                costs.append(1000 * figures["cpu_seconds"] / figures["responses"])
                print(f"round {turn + 1}/{options.rounds} {stage:38} {costs[-1]:.2f} ms", file=sys.stderr)
    return costs_by_stage


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=1_000)
    parser.add_argument("--kilobytes", type=int, default=140, help="of each article")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="serve the real pages of its extraction/wcxb-dev")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    parser.add_argument("--worker", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.address, options.database)
        return
    costs = {stage: statistics.median(rounds) for stage, rounds in measure(options).items()}
    overhead = {stage: cost / costs["in memory"] - 1 for stage, cost in costs.items()}
    if options.json:
        print(json.dumps({"cpu_ms": costs, "overhead": overhead["in the database"]}, indent=2))
        return
    table = Table("requests", "CPU ms a response", "overhead")
    for stage, cost in costs.items():
        table.add_row(stage, f"{cost:.2f}", f"{overhead[stage]:+.0%}")
    Console().print(table)


if __name__ == "__main__":
    main()
