"""A command imports what it needs: Scrapy creates all commands at each start, and one is used."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from crawler.commands import lazy

ROOT = Path(__file__).parents[3]
# Runs the command line as `scrapy` does, and writes what was imported.
PROGRAM = """
import atexit, json, sys
from pathlib import Path
from scrapy.cmdline import execute

atexit.register(lambda: Path("imported.json").write_text(json.dumps(sorted(sys.modules))))
execute()
"""
# What takes long or much memory, and that no command but its own needs.
RARE = (
    "alembic duckdb IPython jinja2 lightgbm matplotlib nltk pandas playwright polars prometheus_client "
    "psycopg pyarrow scipy scrapy_playwright sklearn shtab trafilatura"
)
CRAWL = "crawler.addon crawler.fetching.network crawler.frontier crawler.processing crawler.workers feedparser warcio"
PAGE = """<html lang="en"><head><title>The bridge</title><meta name="date" content="2024-05-01"></head><body><article>
<h1>The bridge</h1><p>The bridge at the old harbour opens on Monday, and the ferry that has crossed the river for ninety
years stays in the museum, where children may ring its bell.</p></article></body></html>"""


@pytest.fixture
def imported(tmp_path, environment):
    """Return the modules that are imported when a command has ended."""

    def run(*arguments):
        # Not forked: the process from which others are forked has all modules.
        program = [sys.executable, "-c", PROGRAM, *arguments]
        finished = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        return set(json.loads((tmp_path / "imported.json").read_text()))

    return run


def modules_inside(modules, names):
    """Return the modules that are one of these, or inside one."""
    return {
        name for name in names.split() if any(module == name or module.startswith(f"{name}.") for module in modules)
    }


@pytest.mark.slow
def test_a_command_of_scrapy_imports_none_of_ours(imported):
    modules = imported("version")
    assert modules_inside(modules, f"{RARE} {CRAWL} cleaning numpy rich sqlalchemy") == set()
    assert {name for name in modules if name.startswith("crawler.commands.")} == {
        "crawler.commands.lazy",
        "crawler.commands.project",
        "crawler.commands.project.crawl",
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", ["status", "search river", "duplicates", "retry --failed", "export out.jsonl"])
def test_a_command_that_reads_the_database_imports_nothing_of_crawls(imported, scrapy, command):
    assert scrapy("initdb").returncode == 0
    modules = imported(*command.split())
    assert modules_inside(modules, f"{RARE} {CRAWL}") == set()
    assert "sqlalchemy" in modules


@pytest.mark.slow
def test_only_the_upgrade_of_a_database_imports_alembic(imported):
    assert modules_inside(imported("initdb"), f"{RARE} {CRAWL}") == set()
    assert modules_inside(imported("upgrade"), f"{RARE} {CRAWL}") == {"alembic"}


@pytest.mark.slow
def test_a_crawl_imports_nothing_that_its_pages_and_settings_do_not_ask_for(imported, tmp_path):
    (tmp_path / "page.html").write_text(PAGE, "utf-8")
    (tmp_path / "index.tsv").write_text("file\turl\npage.html\thttps://e.org/bridge\n", "utf-8")
    modules = imported("crawl", "archive", "-s", f"REPLAY={tmp_path}", "-s", "LOG_LEVEL=CRITICAL")
    assert modules_inside(modules, RARE) == set()
    assert {"crawler.frontier.scheduler", "crawler.storage.store", "cleaning.classifier.model"} <= modules


def test_each_command_stands_in_the_table_and_among_the_entry_points():
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    table = {name: command.place for name, command in vars(lazy).items() if hasattr(command, "place")}
    assert table.pop("crawl_in_our_project") == "crawler.commands.crawl:CrawlCommand"
    stated = dict(entry_points["scrapy.commands"])
    assert stated.pop("import") == "blocksieve:import_tables"  # Python keeps the word `import` for itself
    assert table.pop("import_tables") == "crawler.commands.archives.load:ImportCommand"
    assert stated == {name: f"blocksieve:{name}" for name in table}
    for name, place in table.items():
        assert re.fullmatch(rf"crawler\.commands\.(?:archives\.|database\.|serving\.|sites\.)?{name}:\w+", place)
        assert getattr(lazy, name)().short_desc()


def test_a_lazy_command_is_the_command_in_everything():
    command = lazy.status()
    command.settings = {"A": 1}
    assert command._command.settings == {"A": 1}
    assert type(command._command).__name__ == "StatusCommand"
    assert command.syntax() == command._command.syntax()
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        command.nothing_of_the_kind  # noqa: B018 — it is looked up
