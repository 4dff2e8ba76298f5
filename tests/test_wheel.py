"""What users install: a wheel, used from an empty folder."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tomllib
from contextlib import closing
from importlib.metadata import distribution
from pathlib import Path, PurePath

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cleaning._native import COMPILED_NAMES
from crawler.demo.run import BASE_URL, FAST_SETTINGS, run_site

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
HAS_COMPILER = shutil.which("cc") is not None and Path(sysconfig.get_path("include"), "Python.h").exists()
CHECK = ROOT / "tests" / "support" / "check_core.py"

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEPENDENCIES = PROJECT["dependencies"]
OUR_COMMANDS = PROJECT["entry-points"]["scrapy.commands"]
MODULES = list(COMPILED_NAMES)
CORE = f"from cleaning._native import load_compiled; print(*map(load_compiled, {MODULES}))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of a release for this machine; where there is no compiler, the pure one."""
    folder = tmp_path_factory.mktemp("wheel")
    # Building takes longer than all tests of it: once is enough, and a compiler that hardly optimises.
    # tests/test_hatch_build.py has the other wheels.
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT]
    environment = os.environ | {"CFLAGS": "-Og", "BLOCKSIEVE_STABLE_ABI": "1" if HAS_COMPILER else ""}
    subprocess.run(build, check=True, env=environment)
    (built,) = folder.glob("blocksieve-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with the built wheel's files, installed without a compiler; first on the path it hides the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    install = [*PIP, "install", "--no-deps", "--target", folder / "site", wheel]
    subprocess.run(install, check=True, env=os.environ | {"PATH": str(folder)})
    return folder / "site"


def run(installed, folder, code, **environment):
    """Return what Python code prints in that folder."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(installed)} | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def scrapy(installed, folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(installed), "SCRAPY_SETTINGS_MODULE": "crawler.settings", "no_proxy": "", "NO_PROXY": ""}
        | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_installed_packages_are_the_wheels(installed, tmp_path):
    code = "import cleaning, crawler, pipelines, spiders; print(cleaning.__file__, spiders.__file__)"
    assert run(installed, tmp_path, code).count(str(installed)) == 2


STORY = (
    "<title>A bridge</title><nav><a href=/>Front page</a></nav><article><h1>A bridge</h1>"
    "<p>The river rose in the night, and the old bridge was closed until the morning, when the mayor came to see it."
    "<p>Nobody was hurt, she said, but the market on the other bank would wait until the water had gone.</article>"
)


needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="COMPILER: there is none, or no header of Python")


@needs_compiler
def test_the_wheel_has_the_compiled_core(installed, tmp_path):
    assert run(installed, tmp_path, CORE, BLOCKSIEVE_PURE="").count(str(installed)) == len(MODULES) > 0


@needs_compiler
def test_one_wheel_serves_every_python(wheel, installed):
    assert "-cp311-abi3-" in wheel.name
    built = [path.name for path in (installed / "cleaning" / "_native").iterdir() if path.suffix in {".so", ".pyd"}]
    assert len(built) == len(MODULES)
    assert not [name for name in built if "cpython" in name]


@needs_compiler
def test_where_there_is_no_compiler_the_wheel_cleans_with_its_core(installed, tmp_path):
    # The program that a release runs on each wheel.
    checked = subprocess.run(
        [sys.executable, CHECK, ROOT / "tests" / "golden"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed), "PATH": str(tmp_path), "BLOCKSIEVE_PURE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "20 pages: pure Python decides the same" in checked.stdout


@pytest.fixture
def without_core(installed, tmp_path):
    """A folder with the installed packages, but without the compiled modules."""
    folder = tmp_path / "pure"
    shutil.copytree(installed, folder, ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    return folder


def test_a_crawl_without_the_core_says_so_once_and_how_to_get_it(without_core, tmp_path):
    (tmp_path / "a.html").write_text(STORY)
    (tmp_path / "index.tsv").write_text("file\na.html\n")
    crawled = scrapy(without_core, tmp_path, "crawl", "archive", "-s", f"REPLAY={tmp_path}", BLOCKSIEVE_PURE="")
    assert crawled.returncode == 0, crawled.stderr
    assert crawled.stderr.count("was installed without its compiled core") == 1, crawled.stderr
    assert crawled.stderr.count("install its binary wheel") == 1


@pytest.mark.parametrize(("command", "pure", "times"), [("reclean", "", 1), ("clean", "", 1), ("clean", "1", 0)])
def test_a_command_that_cleans_without_the_core_says_so_unless_told_to(command, pure, times, without_core, tmp_path):
    (tmp_path / "page.html").write_text(STORY)
    if command == "clean":
        arguments = [sys.executable, "-m", "cleaning", "page.html"]
    else:
        scrapy(without_core, tmp_path, "initdb", "-s", "DATABASE_URL=sqlite:///blocks.db")
        arguments = [sys.executable, "-m", "scrapy", "reclean", "--processes", "1"]
    environment = {
        "PYTHONPATH": str(without_core),
        "SCRAPY_SETTINGS_MODULE": "crawler.settings",
        "BLOCKSIEVE_PURE": pure,
    }
    done = subprocess.run(
        arguments, cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("was installed without its compiled core") == times


def test_a_command_that_only_looks_does_not_speak_of_the_core(without_core, serve, answer, tmp_path):
    address, _ = serve({"/": answer(STORY)})
    looked = scrapy(without_core, tmp_path, "fetch", f"{address}/", "-s", "ALLOW_ADDRESSES=127.0.0.0/8")
    assert "The river rose" in looked.stdout
    assert "compiled core" not in looked.stderr


def test_the_core_of_the_wheel_is_not_used_where_the_environment_forbids_it(installed, tmp_path):
    assert run(installed, tmp_path, CORE, BLOCKSIEVE_PURE="1").split() == ["None"] * len(MODULES)


def test_the_wheel_has_no_sources_of_the_compiled_core(installed):
    assert not [path.name for path in installed.rglob("*") if path.suffix in {".c", ".pyx", ".pxd", ".tsv"}]


def test_the_spiders_are_listed_in_an_empty_folder(installed, tmp_path):
    listed = scrapy(installed, tmp_path, "list")
    assert listed.stdout.split() == ["archive", "ezine", "news", "section"]


def test_the_wheel_has_the_table_of_portals(installed, tmp_path):
    listed = scrapy(installed, tmp_path, "portals", "bbc", "--json")
    assert [portal["portal"] for portal in json.loads(listed.stdout)] == ["bbc"]


def test_a_category_is_crawled_into_a_database_in_an_empty_folder(installed, tmp_path):
    settings = [part for name, value in FAST_SETTINGS.items() for part in ("-s", f"{name}={value}")]
    arguments = ["-a", "category=Computers-and-Technology", "-a", "pages=3", "-a", f"base_url={BASE_URL}"]
    with run_site() as address:
        crawled = scrapy(installed, tmp_path, "crawl", "ezine", *arguments, *settings, http_proxy=address)
    assert crawled.returncode == 0, crawled.stderr
    assert (tmp_path / "blocks.db").exists()
    status = scrapy(installed, tmp_path, "status", "--json")
    assert status.returncode == 0, status.stderr
    assert json.loads(status.stdout)["totals"]["pages"] > 0


def test_the_commands_are_there_without_a_project(installed, tmp_path):
    environment = {"SCRAPY_SETTINGS_MODULE": ""}
    created = scrapy(installed, tmp_path, "initdb", "-s", "DATABASE_URL=sqlite:///other.db", **environment)
    assert created.returncode == 0, created.stderr
    assert (tmp_path / "other.db").exists()


def test_a_crawl_without_a_project_says_what_to_set(installed, tmp_path):
    failed = scrapy(installed, tmp_path, "crawl", "ezine", SCRAPY_SETTINGS_MODULE="")
    assert failed.returncode == 2
    assert failed.stderr.startswith("scrapy crawl: there is no Scrapy project here; set SCRAPY_SETTINGS_MODULE=craw")


def test_methods_are_compared_without_a_project(installed, tmp_path):
    (tmp_path / "page.html").write_text("<p>The river rose in the night, and the bridge was closed until morning.")
    arguments = ["page.html", "--methods", "default,pab", "--html", "out.html"]
    compared = scrapy(installed, tmp_path, "compare", *arguments, SCRAPY_SETTINGS_MODULE="")
    assert compared.returncode == 0, compared.stderr
    assert "<style>:root" in (tmp_path / "out.html").read_text("utf-8")


FRONT = "<title>News</title><ul>" + "".join(f"<li><a href=/story/{n}>Story {n}</a>" for n in range(9)) + "</ul>"


@pytest.fixture
def documented(tmp_path):
    """The project of docs/extend.md, in an empty folder."""
    document = (ROOT / "docs" / "extend.md").read_text("utf-8").partition("\n## In any Scrapy project\n")[2]
    for name, code in re.findall(r"^`(\S+\.py)`[^\n]*:\n\n```python\n(.*?)```", document, re.DOTALL | re.MULTILINE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code, "utf-8")
    (tmp_path / "spiders" / "__init__.py").touch()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n", "utf-8")
    lines = [line for path in tmp_path.rglob("*.py") for line in path.read_text("utf-8").splitlines() if line]
    assert len(lines) == 10
    return tmp_path


def test_the_add_on_serves_the_documented_project_whose_packages_are_named_like_ours(
    installed, documented, serve, answer
):
    address, _ = serve({"http://news.example.org/": answer(FRONT), "http://news.example.org/story/1": answer(STORY)})
    # The program, and not `python -m`, which would put the project's folder first on the path.
    crawled = subprocess.run(
        [Path(sys.executable).parent / "scrapy", "crawl", "news", "-O", "items.jsonl"],
        cwd=documented,
        env=os.environ | {"PYTHONPATH": str(installed), "http_proxy": address, "no_proxy": "", "NO_PROXY": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert crawled.returncode == 0, crawled.stderr
    items = [json.loads(line) for line in (documented / "items.jsonl").read_text("utf-8").splitlines()]
    assert sorted(item["title"] for item in items) == ["A BRIDGE", "NEWS"]
    with closing(sqlite3.connect(documented / "blocks.db")) as database:
        assert database.execute("SELECT url, title FROM page").fetchall() == [
            ("http://news.example.org/story/1", "A bridge")
        ]
        texts = [text for (text,) in database.execute("SELECT text FROM informative_block ORDER BY position")]
    assert [text.split()[:2] for text in texts] == [["The", "river"], ["Nobody", "was"]]


def _base_distributions():
    """Return the distributions of the base install: the project's dependencies and theirs, without any extra."""
    distributions, waiting = {}, [Requirement(line) for line in DEPENDENCIES]
    while waiting:
        requirement = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        name = canonicalize_name(requirement.name)
        if name not in distributions:
            distributions[name] = distribution(name)
            waiting += map(Requirement, distributions[name].requires or [])
    return list(distributions.values())


def _link_distribution(installed_files, site):
    """Link the packages of a distribution into another folder of packages; a namespace package entry by entry."""
    # Modules without a package share the folder of their compiled files.
    names = {PurePath(file).parts[0] for file in installed_files.files if ".." not in file.parts} - {"__pycache__"}
    for name in names:
        package = Path(installed_files.locate_file(name))
        if package.is_dir() and package.suffix != ".dist-info" and not (package / "__init__.py").exists():
            (site / name).mkdir(exist_ok=True)
            for entry in package.iterdir():
                (site / name / entry.name).symlink_to(entry)
        else:
            (site / name).symlink_to(package)


@pytest.fixture(scope="module")
def base_python(wheel, tmp_path_factory):
    """The Python of an environment that has the wheel and the base dependencies, but no extra."""
    environment = tmp_path_factory.mktemp("base")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    for base_distribution in _base_distributions():
        _link_distribution(base_distribution, site)
    subprocess.run([*PIP, "install", "--no-deps", "--target", site, wheel], check=True)
    (environment / "bin" / "scrapy").write_text("from scrapy.cmdline import execute\nexecute()\n")
    return environment / "bin" / "python"


# Runs commands in one process, and prints the exit code and the output of each as JSON. The line "help" stands for the
# help of every command.
COMMANDS = """
import contextlib, io, json, sys
from scrapy import cmdline
from scrapy.utils.project import get_project_settings, inside_project

def execute(arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            cmdline.execute(["scrapy", *arguments])
        except SystemExit as end:
            return [end.code or 0, output.getvalue()]

lines = sys.stdin.read().splitlines()
if lines == ["help"]:
    commands = cmdline._get_commands_dict(get_project_settings(), inside_project())
    lines = ["", "-h", *(name + " -h" for name in commands)]
json.dump({line: execute(line.split()) for line in lines}, sys.stdout)
"""


def run_commands(python, folder, lines, settings_module=""):
    """Return the exit code and the output of each command."""
    done = subprocess.run(
        [python, "-P", "-c", COMMANDS],
        cwd=folder,
        env={"PATH": str(folder), "HOME": str(folder), "SCRAPY_SETTINGS_MODULE": settings_module},
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("place", ["empty", "settings", "checkout"])
def test_every_command_has_its_help_with_the_base_install(base_python, place, tmp_path):
    folder = ROOT if place == "checkout" else tmp_path
    results = run_commands(base_python, folder, ["help"], "crawler.settings" if place == "settings" else "")
    assert {f"{name} -h" for name in OUR_COMMANDS} <= set(results)
    assert {line: output for line, (code, output) in results.items() if code or "Usage" not in output} == {}


def test_a_command_names_the_extra_that_it_needs(base_python, tmp_path):
    (tmp_path / "page.html").write_text(STORY)
    more = "needs more packages: pip install"
    needs = {
        "batch page.html --out tables": f"scrapy batch {more} 'blocksieve[batch]' (",
        "batch page.html --out tables --engine ray": f"scrapy batch {more} 'blocksieve[cluster]' (",
        "import tables": f"scrapy import {more} 'blocksieve[batch]' (",
        "serve": f"scrapy serve {more} 'blocksieve[web]' (",
        "mcp": f"scrapy mcp {more} 'blocksieve[mcp]' (",
        "mine cluster": f"scrapy mine {more} 'blocksieve[mining]' (",
        "export blocks.parquet": "Parquet and tables need pyarrow: pip install 'blocksieve[parquet]' (",
        "explain page.html --method vce": "rendering needs scrapy-playwright, which is not installed: pip install "
        "'blocksieve[render]'",
        "status -s DATABASE_URL=postgresql+psycopg://127.0.0.1/x": "PostgreSQL needs a driver: pip install "
        "'blocksieve[postgres]' (",
        "crawl archive -s REPLAY=. -s METRICS=m.prom": "scrapy crawl: METRICS needs prometheus_client: pip install "
        "'blocksieve[metrics]'",
    }
    (tmp_path / "index.tsv").write_text("file\npage.html\n")
    results = run_commands(base_python, tmp_path, ["initdb", *needs], "crawler.settings")
    assert results.pop("initdb")[0] == 0
    unclear = {line: results[line] for line, message in needs.items() if message not in results[line][1]}
    assert unclear == {}
    assert all(code for code, _ in results.values())


def test_archives_are_crawled_and_pages_are_cleaned_with_the_base_install(base_python, tmp_path):
    (tmp_path / "page.html").write_text(STORY)
    (tmp_path / "index.tsv").write_text("file\npage.html\n")
    lines = ["compare page.html --methods default,pab", "explain page.html", "crawl archive -s REPLAY=."]
    results = run_commands(base_python, tmp_path, lines, "crawler.settings")
    assert {line: output for line, (code, output) in results.items() if code} == {}
    assert (tmp_path / "blocks.db").exists()


HOST_SPIDER = """
from scrapy import Spider

class Stories(Spider):
    name, start_urls = "stories", ["data:text/html,<title>A bridge</title>"]

    def parse(self, response):
        yield {"title": response.css("title::text").get()}
"""
HOST_PIPELINE = """
class Upper:
    def process_item(self, item):
        return {"title": item["title"].upper()}
"""


@pytest.fixture
def host_project(base_python, tmp_path):
    """Make a project with one package; return what runs the program `scrapy`, or `python -m scrapy`, in it."""

    def make(name, *, program, settings="", is_namespace=False):
        (tmp_path / "scrapy.cfg").write_text(f"[settings]\ndefault = {name}.settings\n")
        (tmp_path / name / "items").mkdir(parents=True)
        for folder in (tmp_path / name, tmp_path / name / "items"):
            if not is_namespace:
                (folder / "__init__.py").touch()
        (tmp_path / name / "settings.py").write_text(
            f"BOT_NAME, SPIDER_MODULES = 'host', ['{name}.stories']\n"
            f"ITEM_PIPELINES = {{'{name}.items.upper.Upper': 300}}\n{settings}\n"
        )
        (tmp_path / name / "stories.py").write_text(HOST_SPIDER)
        (tmp_path / name / "items" / "upper.py").write_text(HOST_PIPELINE)
        begin = [base_python, base_python.parent / "scrapy"] if program else [base_python, "-m", "scrapy"]

        def run_scrapy(*arguments):
            return subprocess.run(
                [*begin, *arguments],
                cwd=tmp_path,
                env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
                capture_output=True,
                text=True,
                check=False,
            )

        return run_scrapy

    return make


def _assert_works(run_scrapy, folder):
    listed = run_scrapy("list")
    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "stories\n", "")
    commands = run_scrapy()
    assert (commands.returncode, commands.stderr) == (0, "")
    assert "active project: host" in commands.stdout
    assert run_scrapy("settings", "--get", "BOT_NAME").stdout == "host\n"
    crawled = run_scrapy("crawl", "stories", "-O", "items.jsonl")
    assert (crawled.returncode, "Traceback" in crawled.stderr) == (0, False), crawled.stderr
    assert (folder / "items.jsonl").read_text() == '{"title": "A BRIDGE"}\n'


program_and_module = pytest.mark.parametrize("program", [True, False], ids=["scrapy", "python -m scrapy"])


@program_and_module
@pytest.mark.parametrize("name", ["crawler", "cleaning", "spiders", "pipelines"])
def test_a_project_whose_package_is_named_like_ours_works_as_without_ours(host_project, tmp_path, name, program):
    run_scrapy = host_project(name, program=program)
    _assert_works(run_scrapy, tmp_path)
    stored = run_scrapy("initdb")
    if name in {"spiders", "pipelines"}:
        assert stored.returncode == 0, stored.stderr
    else:
        assert (stored.returncode, stored.stdout) == (2, "")
        assert stored.stderr.startswith(f"scrapy: {tmp_path / name} hides Blocksieve's package {name!r}, so")
        assert stored.stderr.count("\n") == 1


@program_and_module
@pytest.mark.parametrize("name", ["crawler", "spiders"])
def test_a_project_s_package_needs_no_init(host_project, tmp_path, name, program):
    _assert_works(host_project(name, program=program, is_namespace=True), tmp_path)


@program_and_module
@pytest.mark.parametrize("name", ["crawler", "cleaning"])
def test_a_package_that_hides_ours_and_our_add_on_are_one_sentence(host_project, tmp_path, name, program):
    run_scrapy = host_project(name, program=program, settings="ADDONS = {'crawler.addon.Cleaning': 500}")
    crawled = run_scrapy("crawl", "stories")
    assert crawled.returncode == 2
    assert crawled.stderr.startswith(f"scrapy: {tmp_path / name} hides Blocksieve's package {name!r}, so")
    assert crawled.stderr.count("\n") == 1


PAGE = "data:text/html,<title>A bridge</title>"
LOADING_COMMANDS = {
    "shell": ("shell", PAGE, "-c", "response.css('title::text').get()"),
    "fetch": ("fetch", PAGE, "--nolog"),
    "parse": ("parse", "--spider", "stories", PAGE, "--nolog"),
    "runspider": ("runspider", "{name}/stories.py", "-O", "items.jsonl"),
    "check": ("check",),
}


@pytest.mark.parametrize("name", ["crawler", "cleaning"])
def test_each_command_that_loads_a_hidden_add_on_is_one_sentence(host_project, tmp_path, name):
    run_scrapy = host_project(name, program=True, settings="ADDONS = {'crawler.addon.Cleaning': 500}")
    for line in LOADING_COMMANDS.values():
        ended = run_scrapy(*(part.format(name=name) for part in line))
        assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1), ended.stderr
        assert ended.stderr.startswith(f"scrapy: {tmp_path / name} hides Blocksieve's package {name!r}, so")
    assert run_scrapy("settings", "--get", "BOT_NAME").stdout == "host\n"
    assert run_scrapy("list").stdout == "stories\n"
