"""A site that changes, a database, and the commands between them as users run them."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import processes
from changing_site import Site
from sqlalchemy import text

from crawler.storage.database import opened_engine

ROOT = Path(__file__).parents[2]
HURRY = {
    "ALLOW_ADDRESSES": "127.0.0.0/8",
    "AUTOTHROTTLE_ENABLED": "0",
    "DOWNLOAD_DELAY": "0",
    "PROGRESS": "off",
    "RETRY_TIMES": "0",
    "STORE_BATCH_SECONDS": "0.1",
    "BOILERPLATE_MIN_PAGES": "0",
}
LONG_AGO = "2024-01-01 00:00:00+00:00"


class World:
    """A site and a database, and the commands between them."""

    def __init__(self, site, folder, url=None):
        self.site = site
        self.folder = folder
        self.url = url or f"sqlite:///{folder / 'blocks.db'}"

    def scrapy(self, *arguments, **settings):
        """Run a command and return the finished process."""
        return processes.run(self._line(arguments, settings), capture_output=True, timeout=600, **self._place())

    def started(self, *arguments, **settings):
        """Start a command."""
        line = self._line(arguments, settings)
        return processes.start(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self._place())

    def crawl(self, **settings):
        """Crawl the site's section /news/."""
        arguments = ("-a", f"url={self.site.url}/news/", "-a", r"allow=/news/\d+")
        return self.scrapy("crawl", "section", *arguments, **settings)

    def rows(self, query, **values):
        with opened_engine(self.url) as engine, engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(query), values).mappings()]

    def change(self, statement, **values):
        with opened_engine(self.url) as engine, engine.begin() as connection:
            connection.execute(text(statement), values)

    def make_due(self, *paths):
        """Let the time of pages and sections have come: of all, or of these paths."""
        for table in ("page", "section"):
            condition = " AND url = :url" if paths else ""
            for path in paths or ("",):
                values = {"url": self.site.url + path} if paths else {}
                statement = f"UPDATE {table} SET next_visit = '{LONG_AGO[:19]}' WHERE next_visit IS NOT NULL{condition}"
                self.change(statement, **values)

    def totals(self):
        """The counts of the last crawl."""
        totals = self.rows("SELECT totals FROM crawl ORDER BY id DESC LIMIT 1")[0]["totals"]
        return json.loads(totals) if isinstance(totals, str) else totals

    def page(self, path):
        (row,) = self.rows("SELECT * FROM page WHERE url = :url", url=self.site.url + path)
        return row

    def texts(self, path, *, gone=False):
        """The blocks and sightings of a page, in order: those that are there, or those gone."""
        query = f"""
        SELECT coalesce(own.text, block.text) AS text FROM (
            SELECT page_id, position, text, gone_at, id AS block_id FROM block
            UNION ALL SELECT page_id, position, text, gone_at, block_id FROM sighting
        ) AS own JOIN block ON block.id = own.block_id JOIN page ON page.id = own.page_id
        WHERE page.url = :url AND own.gone_at IS {"NOT" if gone else ""} NULL ORDER BY own.position
        """
        return [row["text"] for row in self.rows(query, url=self.site.url + path)]

    def _line(self, arguments, settings):
        line = [sys.executable, "-m", "scrapy", *arguments]
        for name, value in (HURRY | {"DATABASE_URL": self.url} | settings).items():
            line += ["-s", f"{name}={value}"]
        return line

    def _place(self):
        environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environ |= {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
        return {"cwd": self.folder, "env": environ, "stdin": subprocess.DEVNULL, "text": True}


@contextmanager
def a_world(folder, url=None):
    site = Site()
    try:
        yield World(site, folder, url)
    finally:
        site.close()
