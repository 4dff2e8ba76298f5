"""The links, pieces of Python and SQL, tables and messages of README.md and docs/ are right."""

import ast
import doctest
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from documented import PAGES, blocks
from exported import fill
from news_pages import LANGUAGES
from sqlalchemy import inspect, text

from cleaning import METHODS, Reason, clean
from crawler.discovery.portals import PORTAL_COLUMNS
from crawler.errors import ConfigError
from crawler.page import PageItem
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.visit import Outcome

ROOT = Path(__file__).parents[1]
LINKED = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "cleaning/README.md"))]
SHOWN = {"ini", "message", "python", "sh", "shell", "sql", "sql postgresql", "sql sqlite", "text", "toml"}
# Chapters whose pieces of Python are run by tests of their own.
PYTHON_ELSEWHERE = {
    ("export.md", "Export"): "examples/test_export.py",
    ("export.md", "Mine"): "crawler/mining/test_classification.py",
    ("extend.md", "In any Scrapy project"): "test_wheel.py",
    ("extend.md", "In another pipeline"): "cleaning/adapters/test_tables.py",
}
OF_EXTRAS = ("cleaning.adapters.datatrove", "crawler.batch.job")
SCRIPTS = {"export.md": "examples/test_export.py"}
CRAWL = (ROOT / "docs" / "crawl.md").read_text("utf-8")
DATABASE = (ROOT / "docs" / "database.md").read_text("utf-8")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request, tmp_path_factory):
    """A database of some pages, of either kind; it is only read."""
    url = f"sqlite:///{tmp_path_factory.mktemp('docs') / 'blocks.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("new_database")()
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
        fill(engine)
        yield engine


def anchors(path):
    """Return what links to a page's headings end in."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_api_is_what_the_packages_export():
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    listed = re.findall(r"^::: ([\w.]+)\.(\w+)$", page, re.MULTILINE)
    # What needs an extra is looked up by the test of the site.
    shown = {getattr(import_module(module), name) for module, name in listed if module not in OF_EXTRAS}
    public = {
        getattr(import_module(package), name)
        for package in ("cleaning", "crawler.reading")
        for name in import_module(package).__all__
        if name != "METHODS"  # a table: its type and `register` are listed
    }
    assert {item.__qualname__ for item in public - shown} == set()
    of_cleaning = {item for item in shown - public if item.__module__.startswith("cleaning.")}
    assert {item.__qualname__ for item in of_cleaning} == {
        "Method",
        "extract",
        "clean_batch",
        "clean_frame",
        "register",
    }


@pytest.mark.parametrize("path", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target


def test_the_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [path.name for path in PAGES[1:] if f"(docs/{path.name})" not in readme] == []


def test_each_block_says_what_it_holds_and_a_script_has_its_test():
    assert {block.language for block in blocks()} <= SHOWN
    assert {block.page for block in blocks("sh")} == set(SCRIPTS)
    assert all((ROOT / "tests" / place).exists() for place in [*SCRIPTS.values(), *PYTHON_ELSEWHERE.values()])


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, marks=pytest.mark.slow if "run_batch" in block.text else ())
        for block in blocks("python")
        if (block.page, block.chapter) not in PYTHON_ELSEWHERE
    ],
)
def test_a_piece_of_python_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with opened_engine("sqlite:///blocks.db") as engine:
        schema.prepare_schema(engine)
        fill(engine)
    exec(block.text, {"html": LANGUAGES["english"].page})


def piece(page, word):
    """Return the names that a piece of Python in a page gives, the piece with this word in it."""
    (code,) = (block.text for block in blocks("python", page) if word in block.text)
    names = {"__name__": "shown"}
    exec(code, names)
    return names


def test_the_method_of_the_documentation_keeps_the_article_and_loses_no_text(monkeypatch):
    names = piece("extend.md", "def decide")
    language = LANGUAGES["english"]
    monkeypatch.setitem(METHODS, "prose", names["PROSE"])
    cleaned = clean(language.page, method="prose")
    default = clean(language.page)
    assert set(language.paragraphs) <= {block.text for block in cleaned.kept}
    assert {Reason.KEPT, Reason.LINKS, Reason.SHORT} == {decision.reason for decision in cleaned.decisions}
    assert [decision.block.text for decision in cleaned.decisions] == [
        decision.block.text for decision in default.decisions
    ]


def test_the_arguments_of_the_documentation_are_checked():
    spider = piece("extend.md", "NotesArguments")["Notes"]
    assert spider(url="https://news.example.org/notes", limit="3").arguments.limit == 3
    with pytest.raises(ConfigError) as raised:
        spider()
    assert f"`{raised.value}`" in (ROOT / "docs" / "extend.md").read_text("utf-8")


def test_crawling_tells_of_every_outcome():
    section = CRAWL.split("## What is refused, and counted\n")[1].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(Outcome)


def test_the_columns_of_the_table_of_sites_are_those_of_the_code():
    section = CRAWL.split("### The table of sites\n")[1].partition("\n### ")[0]
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)) == {
        name: column.metadata["help"] for name, column in PORTAL_COLUMNS.items()
    }


def test_every_query_runs(engine):
    queries = [*blocks("sql"), *blocks(f"sql {engine.dialect.name}")]
    assert len(queries) >= 8
    with engine.connect() as connection:
        for query in queries:
            connection.execute(text(query.text.rstrip().rstrip(";"))).fetchall()


def test_the_views_have_the_columns_of_the_tables_in_the_page(engine):
    for view in ("informative_block", "page_text"):
        section = DATABASE.split(f"### `{view}`\n")[1].partition("\n#")[0]
        rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
        named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
        assert named == {column["name"] for column in inspect(engine).get_columns(view)}


def test_the_tables_have_the_columns_that_the_page_names(engine):
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (`.+) \|$", DATABASE, re.MULTILINE)
    assert len(rows) == 25
    for table, columns in rows:
        known = {column["name"] for column in inspect(engine).get_columns(table)}
        assert set(re.findall(r"`(\w+)`", columns)) - {"block"} <= known, table


def test_every_table_is_named(engine):
    tables = {name for name in inspect(engine).get_table_names() if not name.startswith(("block_fts", "alembic"))}
    assert tables <= set(re.findall(r"`(\w+)`", DATABASE))


@cache
def sentences():
    """Return the texts in the source, with `…` for what is filled in."""
    texts = set()
    for source in [*ROOT.glob("c*/**/*.py"), *ROOT.glob("spiders/*.py")]:
        for node in ast.walk(ast.parse(source.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                texts.add("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(re.sub(r"%(?:\.\d)?[a-z]", "…", node.value))
    return frozenset(texts)


@pytest.mark.parametrize("message", [line for block in blocks("message") for line in block.text.splitlines()])
def test_a_message_stands_in_the_source(message):
    parts = [part for part in message.split("…") if re.search(r"\w", part)]
    assert parts
    assert any(all(part in sentence for part in parts) for sentence in sentences())


def test_the_fields_of_feeds_are_documented():
    table = CRAWL.partition("## Feeds")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == list(PageItem.fields)


WITH_CALLS = [
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for package in ("cleaning", "crawler", "pipelines", "spiders")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", WITH_CALLS)
def test_the_calls_in_docstrings_give_what_they_show(name):
    result = doctest.testmod(import_module(name))
    assert (result.failed, result.attempted > 0) == (0, True)
