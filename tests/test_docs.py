"""Every command that README.md and docs/ show is run, or names what there is."""

import json
import os
import re
import shlex
import shutil
import sqlite3
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import processes
import pytest
from documented import PAGES, commands, mentioned, options_of, pages, prepare

ROOT = Path(__file__).parents[1]
# Tests that run what is not run here, because it needs more than saved pages, or would cost their time twice.
ELSEWHERE = {
    "-s ARCHIVE=crawl.warc.gz": "crawler/fetching/test_archive.py",
    "-s REPLAY=crawl.warc.gz": "crawler/fetching/test_archive.py",
    "scrapy reclean crawl.warc.gz": "crawler/commands/test_reclean.py",
    "-s CLEANING_PROCESSES=": "crawler/workers/test_crawl.py",
    "-s METRICS=": "crawler/monitoring/test_metrics.py",
    "-s SUMMARY=": "crawler/monitoring/test_summary.py",
    "-s DATABASE_URL=sqlite:///webkb.db": "examples/test_mining.py",
    "scrapy crawl essays": "test_docs.py",
    "scrapy correct": "crawler/commands/sites/test_correct.py",
    "scrapy reclean --site example.org": "crawler/commands/sites/test_correct.py",
    "scrapy sites": "test_operator_day.py",
    "scrapy crawl news -O items.jsonl": "test_wheel.py",
    # What the sites answer today is for nobody to test; these crawl sites of their own.
    "scrapy crawl news -a site=thehindu": "spiders/test_news.py",
    "scrapy crawl news -a site=all": "spiders/test_news.py",
    "scrapy crawl news -a site=www.example.org": "spiders/test_news.py",
    "scrapy crawl news -a site=manual": "spiders/test_news.py",
    "scrapy crawl section -a url=https://docs.example.org": "spiders/test_section.py",
    "scrapy crawl archive -s REPLAY=saved-pages/ -s PAGES_MIN=500": "examples/test_spidermon.py",
    "python -m cleaning page.html": "cleaning/test_main.py",
    "scrapy mine": "crawler/commands/test_mine.py",
    "python -m crawler.config > docs/settings.md": "crawler/test_config.py",
    "-s RENDER=true": "test_render.py",
    "scrapy batch 's3://": "crawler/batch/test_job.py",
    "scrapy batch https://": "crawler/batch/test_job.py",
    "scrapy batch s3://bucket/archives/": "test_deploy.py",
    "scrapy import cleaned/": "crawler/batch/test_load.py",
    "datasette blocks.db": "test_datasette.py",
    "scrapy serve": "crawler/commands/serving/test_serve.py",
    "DATABASE_URL=sqlite:////var/lib/blocksieve/blocks.db /opt/blocksieve/bin/scrapyd": "test_deploy.py",
}
# The programs of others: what they name of ours is there.
FOREIGN = frozenset(
    "cat cd cp createdb crontab curl docker echo export grep jq kubectl mkdir promtool python3 ray scrapyd source "
    "sqlite3 systemctl systemd-analyze useradd warcio".split()
)
SETTINGS = {"extend.md": "newsroom.settings"}
QUICK = """
from {module} import *
PROGRESS, STORE_BATCH_SECONDS, REPLAY = "off", 0.05, {saved!r}
"""
# One process does the same as one for each core, and starts in half the time.
ONE_PROCESS = {"batch": ["--workers", "1"], "reclean": ["--processes", "1"]}
# A browser, which costs more than all else, is not found on this path; tests/crawler/reports has one.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "SCRAPY_SETTINGS_MODULE": "quick",
    "PATH": str(ROOT),
    "no_proxy": "",
    "NO_PROXY": "",
}
SECONDS = 300


def is_run(line):
    """Tell whether a command is run by this file."""
    runs = re.match(r"scrapy |sqlite3 |curl .*\| scrapy ", line)
    return bool(runs) and not any(known in line for known in ELSEWHERE)


RUN = {path.name: [line for page, line in commands() if page == path.name and is_run(line)] for path in PAGES}
NOT_RUN = [(page, line) for page, line in commands() if not is_run(line)]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    """A folder in which the saved pages were crawled; the file `cursor` holds the cursor of an export."""
    folder = tmp_path_factory.mktemp("docs")
    prepare(folder)
    run(folder, "README.md", "scrapy crawl archive -s REPLAY=saved-pages/ -s STRUCTURE=True")
    exported = run(folder, "README.md", "scrapy export first.jsonl --json")
    (folder / "cursor").write_text(json.loads(exported.stdout)["cursor"])
    return folder


@pytest.fixture
def folder(crawled, tmp_path):
    """A copy of that folder."""
    shutil.copytree(crawled, tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


def write_project(folder):
    """Write the files of the project in docs/extend.md."""
    page = (ROOT / "docs" / "extend.md").read_text("utf-8").partition("\n## All visits\n")[0]
    named = re.findall(r"^`([\w/]+\.(?:py|cfg))`[^\n]*:\n\n```\w+\n(.*?)```", page, re.DOTALL | re.MULTILINE)
    assert [name for name, _ in named] == ["scrapy.cfg", "newsroom/settings.py", "newsroom/spiders.py"]
    (folder / "newsroom").mkdir()
    (folder / "newsroom" / "__init__.py").touch()
    for name, code in named:
        (folder / name).write_text(code, "utf-8")


def run(folder, page, line, **environment):
    """Run a command of a page in a folder and return the finished process; addresses are answered from saved pages."""
    piped, _, command = line.rpartition(" | ")
    words = shlex.split(command, comments=True)
    if words[0] == "sqlite3":
        return query(folder, *words[1:])
    words = [(folder / "cursor").read_text() if word == "CURSOR" else word for word in words]
    option = ONE_PROCESS.get(words[1], [])
    words += option if not set(option) & set(words) else []
    quick = QUICK.format(module=SETTINGS.get(page, "crawler.settings"), saved=str(folder / "saved-pages"))
    (folder / "quick.py").write_text(quick, "utf-8")
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    done = processes.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=kept | ENVIRONMENT | environment,
        input=(folder / "page.html").read_text("utf-8") if piped else "",
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, (line, done.stderr)
    return done


def query(folder, name, statement):
    """Do what SQLite's shell would do: `.backup`, or a statement, which finds something."""
    with closing(sqlite3.connect(folder / name)) as database:
        if statement.startswith(".backup "):
            with closing(sqlite3.connect(folder / statement.split()[1])) as copy:
                database.backup(copy)
        else:
            assert database.execute(statement).fetchall()


@pytest.mark.parametrize("page", [page for page, lines in RUN.items() if lines])
def test_the_commands_of_a_page_run_one_after_the_other(folder, page):
    if page == "extend.md":
        write_project(folder)
    for line in RUN[page]:
        run(folder, page, line)


def test_the_spider_of_the_documentation_stores_what_it_states_and_its_section(tmp_path, serve, answer):
    write_project(tmp_path)
    spiders = tmp_path / "newsroom" / "spiders.py"
    spiders.write_text(spiders.read_text("utf-8").replace("https:", "http:"), "utf-8")
    site = {url.replace("https:", "http:"): answer(text) for url, text in pages().items()}
    proxy, _ = serve(site)
    run(tmp_path, "extend.md", "scrapy crawl essays -s REPLAY= -s AUTOTHROTTLE_ENABLED=0", http_proxy=proxy)
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        stored = database.execute("SELECT url, author, section, next_visit IS NOT NULL FROM page").fetchall()
        sections = database.execute("SELECT url, spider FROM section").fetchall()
    assert stored == [("http://news.example.org/essays/1", "Ada Quill", "Essays", 1)]
    assert sections == [("http://news.example.org/essays/", "essays")]


def test_the_commands_for_the_file_of_sites_run(tmp_path):
    deploy = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    sites = re.search(r"```toml\n(# sites\.toml\n.*?)```", deploy, re.DOTALL)[1]
    (tmp_path / "sites.toml").write_text(sites, "utf-8")
    prepare(tmp_path)
    assert "2 sites" in run(tmp_path, "deploy.md", "scrapy sites check").stdout
    # Of this section a page is saved.
    section = '[sites.example]\nsections = ["https://news.example.org/science/"]\n'
    (tmp_path / "sites.toml").write_text(section, "utf-8")
    lines = re.findall(r"^scrapy sites .*", deploy, re.MULTILINE)
    assert [line.split()[2] for line in lines] == ["check", "crawl", "status", "alerts"]
    outputs = [run(tmp_path, "deploy.md", line).stdout for line in lines]
    assert "sites.toml is right: 1 sites" in outputs[0], outputs
    assert "of 1 sites: 0 sites failed" in outputs[1], outputs
    assert outputs[3] == "No site has a problem.\n"


@pytest.mark.parametrize(("page", "line"), NOT_RUN)
def test_a_command_that_is_not_run_is_accounted_for(page, line):
    program = Path(line.split()[0]).name
    places = [place for known, place in ELSEWHERE.items() if known in line]
    assert places or program in CHECKS or program in FOREIGN, f"{page}: no test runs {line!r} or knows its program"
    assert all((ROOT / "tests" / place).exists() for place in places)
    check(program, line)


@pytest.mark.parametrize(("page", "line"), mentioned())
def test_a_command_in_running_text_names_what_there_is(page, line):
    check(line.split()[0], line)


def check(program, line):
    words = shlex.split(re.sub(r"[\[\]|…]", " ", line), comments=True)
    CHECKS.get(program, check_files)(words)


def check_files(words):
    """Assert that our files are there; some are the user's own."""
    own = {"docs/deploy/.env", "docs/deploy/outputs"}
    assert all((ROOT / word).exists() for word in words if word.startswith("docs/") and word not in own)


def check_extras(words):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = words[-1].split(",") if words[-1].replace(",", "").isalpha() else []
    assert words[1] == "install"
    assert set(listed) - {"blocksieve", "spidermon"} <= set(project["optional-dependencies"])


def check_target(words):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in words[1:]:
        name, is_variable, _ = target.partition("=")
        assert f"$({name})" in makefile if is_variable else re.search(rf"^{target}:", makefile, re.MULTILINE), target


def check_program(words):
    """Assert that a program or module of ours is there, and declares the options."""
    module = words[2] if words[1] == "-m" else None
    if module == "pytest":
        assert all((ROOT / word).exists() for word in words[3:])
        return
    if module == "scrapy":
        check_scrapy(words[2:])
        return
    place = ROOT / (module.replace(".", "/") if module else words[1])
    sources = [place] if place.is_file() else [*place.glob("*.py"), *filter(Path.exists, [place.with_suffix(".py")])]
    assert sources, f"there is no {place}"
    declared = {option for source in sources for option in re.findall(r'"(--[\w-]+)"', source.read_text("utf-8"))}
    assert {word for word in words if word.startswith("--")} <= declared | {"--help"}


def check_scrapy(words):
    if len(words) == 1:  # the program itself
        return
    assert {word.partition("=")[0] for word in words[2:] if word.startswith("--")} <= options_of(words[1])


CHECKS = {
    "make": check_target,
    "pip": check_extras,
    "python": check_program,
    "scrapy": check_scrapy,
}
