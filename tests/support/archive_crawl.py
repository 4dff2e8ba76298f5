"""Crawls of saved pages by `scrapy crawl archive`, in a process of its own: everything but the network is real."""

import os
import subprocess
import sys
from pathlib import Path

import processes

ROOT = Path(__file__).parents[2]
PAGE = "<html><body><article><h1>Number {n}</h1><p>{text}</p></article></body></html>"
SENTENCE = "The ferryman of the northern lake told visitor {n} how many storms he had crossed in the year {n}. "


def save_pages(folder, count, **others):
    """Fill a folder for REPLAY with so many articles, and others: file name to content."""
    folder.mkdir()
    pages = {f"{n}.html": PAGE.format(n=n, text=SENTENCE.format(n=n) * 3) for n in range(count)} | others
    for name, content in pages.items():
        (folder / name).write_text(content, "utf-8")
    rows = [f"{name}\thttps://lake.example.org/{name}" for name in pages]
    (folder / "index.tsv").write_text("\n".join(["file\turl", *rows]) + "\n", "utf-8")
    return folder


def start(folder, pages, *settings, **environment):
    """Start a crawl of saved pages into `blocks.db` in the folder."""
    command = [sys.executable, "-m", "scrapy", "crawl", "archive"]
    for setting in ("PROGRESS=off", f"REPLAY={pages}", *settings):
        command += ["-s", setting]
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    path = os.pathsep.join(filter(None, [environment.pop("PYTHONPATH", ""), str(ROOT)]))
    settings_module = {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    return processes.start(
        command,
        cwd=folder,
        env=kept | settings_module | environment | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def crawl(folder, pages, *settings, **environment):
    """Crawl to the end and return the finished process."""
    with start(folder, pages, *settings, **environment) as process:
        output, log = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, log)
