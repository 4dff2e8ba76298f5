"""Real crawls for tests: `scrapy` in a process of its own, against a loopback server made for the test.

And real databases: tests that need PostgreSQL make databases of their own on the server at BLOCKSIEVE_POSTGRES.
"""

import atexit
import gc
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path

import cluster
import hypothesis
import processes
import psycopg
import pytest
import scrapy.core.downloader.contextfactory  # noqa: F401 — its import looks at all modules; few are there yet
from sqlalchemy.engine import make_url

from crawler.config import declared_settings

ROOT = Path(__file__).parents[1]
# Each crawl asks for this file. Servers list the request only if a test has put the file there.
TDMREP_PATH = "/.well-known/tdmrep.json"
SUPPORT = Path(__file__).parent / "support"
SERVER = make_url(os.environ.get("BLOCKSIEVE_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres"))
# Nobody is to be spared on the loopback address.
HURRY = {
    "ALLOW_ADDRESSES": "127.0.0.0/8",
    "AUTOTHROTTLE_ENABLED": "0",
    "ITEM_PIPELINES": '{"collect.Collect": 1}',
    "PROGRESS": "off",
    "RETRY_TIMES": "0",
}


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background jobs ignore Ctrl-C, and all that they start does.
    signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(os.environ.get("BLOCKSIEVE_DATA", ROOT.parent / "shared" / "data")).absolute()
if "BLOCKSIEVE_DATA" in os.environ:
    os.environ["BLOCKSIEVE_DATA"] = str(DATA)  # for programs that are run in other folders
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


SETTINGS = frozenset(declared_settings())

# The files whose tests take a minute or more, or have one that waits long.
LONGEST = (
    "test_shared_database.py",
    "test_frontier_kills.py",
    "test_wheel.py",
    "cleaning/methods/test_contract.py",
    "crawler/workers/test_crawl.py",
    "test_docs.py",
    "cleaning/adapters/test_tables.py",
    "crawler/batch/test_engine.py",
    "crawler/fetching/render/test_handler.py",
    "crawler/commands/test_compare.py",
    "test_broken_setup.py",
    "crawler/fetching/render/test_browser.py",
    "spiders/test_news.py",
    "crawler/fetching/test_throttling_crawl_delay.py",
    "crawler/commands/test_recrawl.py",
    "crawler/web/test_browser.py",
    "crawler/frontier/test_pauses.py",
    "examples/test_mining.py",
)

# What `make check` does not install, and the tests that need it. Without it they are left out,
# and the end of a run says so.
EXTRAS = {
    "datatrove": ("cleaning/adapters/test_datatrove.py", "crawler/reading/exports/test_corpora.py"),
    "haystack": ("crawler/loaders/test_haystack.py",),
    "langchain_core": ("crawler/loaders/test_langchain.py",),
    "llama_index": ("crawler/loaders/test_llama_index.py",),
    "mcp": ("crawler/commands/serving/test_mcp.py", "crawler/mcp"),
    "pandas": (
        "cleaning/adapters/test_tables.py",
        "crawler/mining",
        "examples/test_export.py",
        "examples/test_mining.py",
    ),
    "playwright": (
        "crawler/editing/test_browser.py",
        "crawler/fetching/render",
        "crawler/reports/test_browser.py",
        "crawler/web/test_browser.py",
        "test_render.py",
    ),
    "polars": ("crawler/reading/test_corpus.py",),
    "pyarrow": (
        "crawler/batch",
        "crawler/commands/archives/test_batch.py",
        "crawler/commands/test_archives_agree.py",
        "crawler/reading/exports/test_dataset.py",
        "crawler/reading/exports/test_formats.py",
        "crawler/reading/exports/test_job_tables.py",
        "crawler/recrawl/test_ways.py",
        "crawler/storage/test_page_columns.py",
    ),
    "scipy": ("crawler/reports/test_scoring.py",),
    "trafilatura": ("cleaning/adapters/test_extract.py", "crawler/reports/test_peers.py"),
}
LEFT_OUT = {
    Path(__file__).parent / place: package
    for package, places in EXTRAS.items()
    if find_spec(package) is None
    for place in places
}

# Fixtures and modules that start processes, browsers or servers, or read the shared data.
SLOW_FIXTURES = set("chromium crawl data either_world lasting_world new_database private_server server world".split())
SLOW_MODULES = ("multiprocessing", "processes", "subprocess")
# A property takes 40 examples, one that compares a compiled kernel with its pure one 100.
hypothesis.settings.register_profile("full", deadline=None, max_examples=40)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=20)


def pytest_addoption(parser):
    parser.addoption("--regenerate", action="store_true", help="rewrite the kept blocks of the golden pages")
    parser.addoption("--quick", action="store_true", help="run only tests that start no process and need no server")


def pytest_ignore_collect(collection_path):
    return True if collection_path in LEFT_OUT else None


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Skip a test, in a file of others, that imports a package which is left out."""
    try:
        return (yield)
    except Exception as error:
        cause = error
        while cause is not None:
            if isinstance(cause, ModuleNotFoundError) and cause.name.partition(".")[0] in LEFT_OUT.values():
                pytest.skip(f"{cause.name} is not installed; `make test` installs it")
            cause = cause.__cause__ or cause.__context__
        raise


def pytest_terminal_summary(terminalreporter):
    if LEFT_OUT:
        packages = ", ".join(sorted(set(LEFT_OUT.values())))
        terminalreporter.write_line(f"left out, because `make test` installs what they need: tests of {packages}")


def pytest_make_parametrize_id(config, val, argname):
    """Name binary values by their parameter: packed ones state the time, and workers must agree on the names."""
    return argname if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


def pytest_configure(config):
    quick = config.getoption("--quick")
    hypothesis.settings.load_profile("quick" if quick else "full")
    hypothesis.settings.register_profile("kernel", deadline=None, max_examples=20 if quick else 100)
    if quick:
        guard = ProcessGuard()
        config.pluginmanager.register(guard)
        sys.addaudithook(guard.audit)
    elif config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        processes.share_server()


class ProcessGuard:
    """Fails a test of a quick run that starts a process, so that quick runs stay quick."""

    def __init__(self):
        self.test = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.test = item
        try:
            return (yield)
        finally:
            self.test = None

    def audit(self, event, _arguments):
        if self.test is not None and event in {"subprocess.Popen", "os.fork", "os.posix_spawn"}:
            raise AssertionError(f"{self.test.nodeid} starts a process ({event}): mark it with pytest.mark.slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for garbage neither while tests are collected, which takes a third longer with it, nor later in what is."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)  # duckdb reports what is not collected at the end of the interpreter


def pytest_collection_modifyitems(config, items):
    """Put the longest files first, so that no worker ends late, then the tests of whole programs.

    A quick run leaves out what starts processes.
    """
    folder = Path(__file__).parent
    ranks = {folder / file: rank for rank, file in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks) + (item.path.parent != folder)))
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=[item for item in items if _is_slow(item)])
        items[:] = [item for item in items if not _is_slow(item)]


def _is_slow(item):
    fixtures = chain.from_iterable(item._fixtureinfo.name2fixturedefs.values())
    sources = [
        vars(item.module),
        *(vars(sys.modules[fixture.func.__module__]) for fixture in fixtures if "/" in fixture.baseid),
    ]
    if any(names.get(name) is sys.modules.get(name, ()) for names in sources for name in SLOW_MODULES):
        return True
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    marks = {mark.name for mark in item.iter_markers()}
    return bool(
        SLOW_FIXTURES & set(item.fixturenames) or {"postgresql", "slow"} & marks or "postgresql" in map(str, parameters)
    )


@pytest.fixture(scope="session", autouse=True)
def working_folder(tmp_path_factory):
    """Run all tests in an empty folder, with an empty home and no settings from the environment.

    A checkout in which somebody works has a database, a proxy, a scrapy.cfg.
    """
    folder, home = tmp_path_factory.mktemp("working"), tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            plain = name.upper()
            if plain.startswith("SCRAPY_") or plain.endswith("_PROXY") or plain.removeprefix("BLOCKSIEVE_") in SETTINGS:
                patch.delenv(name)
        for name, place in {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}.items():
            patch.setenv(name, str(place))
        patch.chdir(folder)
        yield folder


@pytest.fixture(autouse=True)
def _working_folder_stays_empty(working_folder):
    """Fail a test that writes where all tests run: another one could read it."""
    yield
    left = [path.name for path in working_folder.iterdir()]
    for path in working_folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not left, f"left in the folder of all tests: {left}"


@pytest.fixture(scope="session")
def data():
    """Return the folder of the shared data; the test is skipped where there is none."""
    if not DATA.is_dir():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {DATA}")
    return DATA


# For each page a newer Chromium also draws two pages of its own, the suggestions below an address that nobody types.
# They take two thirds of its CPU. Of two options `--disable-features` it obeys the last, so these join Playwright's.
BROWSER = """#!/bin/sh
for option in "$@"; do
    case "$option" in
        --disable-features=*) option="$option,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup" ;;
    esac
    set -- "$@" "$option"
    shift
done
exec {} "$@"
"""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """Return the path of a browser; the test is skipped where there is none."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"CHROMIUM: none of {', '.join(BROWSERS)} is installed")
    path = tmp_path_factory.mktemp("browser") / "chromium"
    path.write_text(BROWSER.replace("{}", shlex.quote(browser)), "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def spark(monkeypatch):
    """Let this process and those that it starts import pyspark; return what runs a program with it in a folder.

    The test is skipped if there is none. Spark's own process keeps the working folder in which it was started.
    """
    folder = os.environ.get("BLOCKSIEVE_SPARK")
    if not folder:
        pytest.skip("BLOCKSIEVE_SPARK: it names no folder with pyspark")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", folder)
    monkeypatch.setattr(sys, "path", [*sys.path, folder])

    def run(program, folder):
        return subprocess.run(
            [sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    return run


@pytest.fixture
def temporary(monkeypatch):
    """Return the folder in which a browser puts its own; pytest's would make its sockets' paths too long."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


@pytest.fixture(scope="session")
def server():
    """A connection to the PostgreSQL server."""
    try:
        connection = psycopg.connect(SERVER.render_as_string(hide_password=False), autocommit=True, connect_timeout=60)
    except psycopg.OperationalError as error:
        pytest.skip(f"no server answers at BLOCKSIEVE_POSTGRES, {SERVER}: {error}")
    with connection:
        yield connection


@pytest.fixture(scope="session")
def private_server():
    """A server of the tests' own, which they may stop, freeze and start."""
    try:
        cluster.programs()
    except SystemExit as error:
        pytest.skip(f"{error}; the server at BLOCKSIEVE_POSTGRES is not ours to stop or freeze")
    private = cluster.Cluster(tempfile.mkdtemp(prefix="blocksieve-"))
    private.create()
    yield private
    private.remove()


@pytest.fixture(scope="session")
def new_database(server):
    """Create an empty database and return its URL; it is dropped at the end."""
    numbers = count(1)
    names = []

    def create(template="template0"):
        names.append(f"blocksieve_test_{os.getpid()}_{next(numbers)}")
        server.execute(f"CREATE DATABASE {names[-1]} ENCODING 'UTF8' TEMPLATE {template}")
        return SERVER.set(drivername="postgresql", database=names[-1]).render_as_string(hide_password=False)

    yield create
    for name in names:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@dataclass
class Crawled:
    """What came of a crawl: exit code, log, the visits and items in order, and the stats."""

    code: int
    log: str
    visits: list = field(default_factory=list)
    items: list = field(default_factory=list)
    stats: dict = field(default_factory=dict)

    def outcomes(self):
        """Return outcome by path and query."""
        return {"/" + visit["url"].split("/", 3)[3]: visit["outcome"] for visit in self.visits}


@pytest.fixture
def crawl(tmp_path):
    """Run `scrapy crawl NAME`, or `scrapy runspider FILE` for a path."""

    def run(spider, arguments=None, settings=None, *, folder=None, environment=None):
        verb = "runspider" if str(spider).endswith(".py") else "crawl"
        command = [sys.executable, "-m", "scrapy", verb, str(spider)]
        for name, value in (arguments or {}).items():
            command += ["-a", f"{name}={value}"]
        for name, value in (HURRY | (settings or {})).items():
            command += ["-s", f"{name}={value}"]
        collected = tmp_path / "collected.jsonl"
        paths = os.pathsep.join([str(ROOT), str(SUPPORT)])
        environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environ |= {"COLLECT_TO": str(collected), "PYTHONPATH": paths, "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
        finished = processes.run(command, cwd=folder, env=environ | (environment or {}), capture_output=True, text=True)
        return read(Crawled(finished.returncode, finished.stderr), collected)

    return run


def read(crawled, collected):
    for line in collected.read_text("utf-8").splitlines() if collected.exists() else ():
        for kind, value in json.loads(line).items():
            if kind == "stats":
                crawled.stats = value
            else:
                getattr(crawled, f"{kind}s").append(value)
    return crawled


@dataclass
class Answer:
    """What the server sends."""

    body: bytes | str = b""
    status: int = 200
    headers: dict = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})


@pytest.fixture
def answer():
    return Answer


@pytest.fixture
def serve():
    """Start a server that answers each path and query with its Answer, or 404; the address, and what was asked for."""
    servers = []

    def start(answers):
        server = Server(("127.0.0.1", 0), Handler)
        server.answers, server.requests = answers, []
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}", server.requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = False  # closing the server waits for its connections, so that none is left open

    def handle_error(self, _request, _client_address):
        """Keep quiet about clients that go away."""


class Handler(BaseHTTPRequestHandler):
    timeout = 10
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        if not self.path.endswith(TDMREP_PATH) or self.path in self.server.answers:
            self.server.requests.append((self.path, dict(self.headers)))
        reply = self.server.answers.get(self.path, Answer("not here", 404))
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            for item in value if isinstance(value, list) else [value]:
                self.send_header(name, item)
        if reply.status not in {204, 304}:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if reply.status not in {204, 304}:
            self.wfile.write(body)

    def log_message(self, *_arguments):
        pass
