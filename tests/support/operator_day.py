"""A folder with a file of sites and a database, and the commands that an operator runs there."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import processes
from sqlalchemy import text

from crawler.storage.database import opened_engine

ROOT = Path(__file__).parents[2]
# Each alert is appended to the file as a line.
TELL = "import pathlib, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n')"
HURRY = {
    "ALLOW_ADDRESSES": "127.0.0.0/8",
    "AUTOTHROTTLE_ENABLED": "0",
    "PROGRESS": "off",
    "RETRY_TIMES": "0",
    "STORE_BATCH_SECONDS": "0.1",
}


class Operator:
    """`sites` by name have a `url`; `settings` are those of all commands, in addition to `HURRY`."""

    def __init__(self, folder, sites, settings):
        self.folder = folder
        self.sites = sites
        self.url = f"sqlite:///{folder / 'blocks.db'}"
        self.told = folder / "alerts.jsonl"
        command = shlex.join([sys.executable, "-c", TELL, str(self.told)])
        self.settings = HURRY | {"DATABASE_URL": self.url, "ALERT_COMMAND": command} | settings

    def write_file(self, rows):
        tables = [f"[sites.{name}]\n{rows(site)}\n" for name, site in self.sites.items()]
        (self.folder / "sites.toml").write_text("\n".join(tables), "utf-8")

    def scrapy(self, *arguments):
        """Run a command; return its exit code, what it printed, and its errors."""
        line = [sys.executable, "-m", "scrapy", *arguments]
        for name, value in self.settings.items():
            line += ["-s", f"{name}={value}"]
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment |= {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
        done = processes.run(
            line,
            capture_output=True,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=600,
        )
        return done.returncode, done.stdout, done.stderr

    def crawl(self, *, first=False):
        """Let the time of everything have come, and crawl; return the exit code, that of each site, and the errors."""
        for table in () if first else ("page", "section"):
            self.change(f"UPDATE {table} SET next_visit = '2024-01-01 00:00:00' WHERE next_visit IS NOT NULL")
        if not first:
            self.change("UPDATE section SET last_seen = '2024-01-01 00:00:00'")
        code, output, errors = self.scrapy("sites", "crawl", "--json")
        assert output, errors
        return code, {crawl["site"]: crawl["exit_code"] for crawl in json.loads(output)["crawls"]}, errors

    def host(self, name):
        return self.sites[name].url.removeprefix("http://")

    def status(self):
        """Return the exit code of `scrapy sites status`, and its rows by the names of the sites."""
        code, output, errors = self.scrapy("sites", "status", "--json")
        assert output, errors
        return code, {row["site"]: row for row in json.loads(output)["sites"]}

    def change(self, statement):
        with opened_engine(self.url) as engine, engine.begin() as connection:
            connection.execute(text(statement))

    def rows(self, query):
        with opened_engine(self.url) as engine, engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def alerts(self):
        """Return what was told since the last call: the site's name, the condition and its state."""
        lines = self.told.read_text("utf-8").splitlines() if self.told.exists() else []
        self.told.unlink(missing_ok=True)
        names = {self.host(name): name for name in self.sites}
        told = [alert for line in lines for alert in json.loads(line)["alerts"]]
        return sorted((names.get(alert["site"], alert["site"]), alert["condition"], alert["state"]) for alert in told)
