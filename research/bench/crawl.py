"""Pages a second and CPU a page of a crawl, stage by stage, on the demo site.

Each stage adds something to the one before: fetch, clean, dedup, store, and the frontier in the database in place of
Scrapy's scheduler. The stages run in turn, several rounds, each in a process of its own with a fresh database; the
ratios of one run are what counts, not the absolute figures.
With --cleaning-processes all stages together run with each of these values of CLEANING_PROCESSES instead.

    python research/bench/crawl.py [--rounds 5] [--cleaning-processes 0 1 2] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

from crawler.demo.run import BASE_URL, FAST_SETTINGS, crawl_environment, run_site

PIPELINES = ["pipelines.clean.CleanPipeline", "pipelines.dedup.DedupPipeline", "pipelines.store.StorePipeline"]
STAGES = {"fetch": 0, "+ clean": 1, "+ dedup": 2, "+ store": 3, "+ frontier": 3}
"""How many of the pipelines a stage has."""


class Stopwatch:
    """Prints the crawl's own time: from the opened to the closed spider, without the start of Python."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        watch = cls(crawler)
        crawler.signals.connect(watch.start, signal=signals.spider_opened)
        crawler.signals.connect(watch.stop, signal=signals.spider_closed)
        return watch

    def start(self):
        self.began = time.perf_counter(), time.process_time()

    def stop(self):
        stats = self.crawler.stats.get_stats()
        figures = {
            "pages": stats.get("visit/page", 0),
            "responses": stats.get("response_received_count", 0),
            "seconds": time.perf_counter() - self.began[0],
            "cpu_seconds": time.process_time() - self.began[1] + cleaning_seconds(),
        }
        print(json.dumps(figures), flush=True)


def cleaning_seconds():
    """Return the CPU time of the cleaning processes, which have ended, their start included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def worker(stage, database, processes):
    """Run one crawl in this process."""
    settings = get_project_settings()
    settings.setdict(FAST_SETTINGS, priority="cmdline")
    settings.setdict(
        {
            "CLEANING_PROCESSES": processes,
            "DATABASE_URL": f"sqlite:///{database}",
            "EXTENSIONS": {Stopwatch: 1},
            "ITEM_PIPELINES": {path: order for order, path in enumerate(PIPELINES[: STAGES[stage]])},
            "LOG_FILE": os.devnull,
            "PROGRESS": "off",
        },
        priority="cmdline",
    )
    if stage != "+ frontier":
        settings.set("SCHEDULER", "scrapy.core.scheduler.Scheduler", priority="cmdline")
    process = AsyncCrawlerProcess(settings)
    process.crawl("ezine", base_url=BASE_URL, categories="all")
    process.start()


def run_stage(stage, processes, address):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--worker", stage, "--database", str(Path(folder, "blocks.db"))]
        command += ["--cleaning-processes", str(processes)]
        finished = subprocess.run(command, env=crawl_environment(address), capture_output=True, text=True, check=True)
    return json.loads(finished.stdout.splitlines()[-1])


def plan(processes):
    """Return what is run, by its name in the table: the stage and the number of cleaning processes."""
    if not processes:
        return {stage: (stage, 0) for stage in STAGES}
    return {"fetch": ("fetch", 0)} | {f"all, {count} processes": ("+ frontier", count) for count in processes}


def measure(rounds, planned):
    runs = {name: [] for name in planned}
    with run_site() as address:
        for turn in range(rounds + 1):
            for name, (stage, processes) in planned.items():
                figures = run_stage(stage, processes, address)
                if turn:  # the first round warms the caches of the disk and the site
                    runs[name].append(figures)
                print(f"round {turn}/{rounds} {name:8} {figures['seconds']:.2f} s", file=sys.stderr)
    return runs


def summary(runs):
    """Return for each run pages, medians of pages/s and CPU ms a page, and pages/s as a share of fetch-only's."""
    rows = {}
    for stage, figures in runs.items():
        rate = statistics.median(run["pages"] / run["seconds"] for run in figures)
        cpu = statistics.median(1000 * run["cpu_seconds"] / run["pages"] for run in figures)
        rows[stage] = {"pages": figures[0]["pages"], "pages_per_second": round(rate, 1), "cpu_ms": round(cpu, 2)}
    for row in rows.values():
        row["share_of_fetch"] = round(row["pages_per_second"] / rows["fetch"]["pages_per_second"], 3)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    parser.add_argument("--cleaning-processes", type=int, nargs="+", default=[])
    parser.add_argument("--worker", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.database, options.cleaning_processes[0])
        return
    rows = summary(measure(options.rounds, plan(options.cleaning_processes)))
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("stage", "pages", "pages/s", "CPU ms a page", "share of fetch-only")
    for stage, row in rows.items():
        table.add_row(stage, *(str(row[name]) for name in ("pages", "pages_per_second", "cpu_ms", "share_of_fetch")))
    Console().print(table)


if __name__ == "__main__":
    main()
