"""The structure that docs/architecture.md describes: sizes, names and the glossary."""

import ast
import io
import pkgutil
import re
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
import scrapy
import sqlalchemy

ROOT = Path(__file__).parents[1]
PACKAGES = ("cleaning", "crawler", "pipelines", "spiders")
MAX_MODULES = 15
# The seven layers of the storage are only read together.
MAX_MODULES_OF = {"crawler/storage": 25}
MAX_FUNCTION_LINES = 50
MIN_LINES = 60
# Modules without a test file of their own.
UNTESTED = {
    "crawler/storage/migrations/env.py",  # alembic's; test_schema.py runs the migrations
}
# A variable says what it holds, and a function what it does; these words do not.
PRONOUNS = frozenset("found one each some shown made asked given settled its past it at p r".split())
# Words of modules' names that mean here what they mean elsewhere; each letter begins a line.
PLAIN_WORDS = frozenset(
    """
    ablation adapters addon addresses alerts annotate annotations answers api app arc arguments article author
    authors
    backend base blocks blocksieve board browser build
    calibration candidates card changes check chunks class classification classifier clustering columns compare
    comparison completion config context
    copies corpora corpus correct counts
    database dataset datatrove date decide decisions default demo descriptions detection diff discovery documents
    domains draft drafts draw dropped
    editing elements embedded env errors exit explain explanation export exports exposition extract
    facets failures feed feedback feeds fetch fetching fields file files filter filters finish fit folds footnotes
    form formats forms formulas fragment
    grid ground guard
    handler haystack
    index initdb inline input inputs
    jobs
    labels langchain language languages lazy limit live llama load loaders locks
    many markdown markup masking mcp members metrics middlewares migrations mine mining model models monitoring
    names native network
    options output overview
    parallel pauses peers plan postgresql preview processing progress prose proxy prune
    quality queries query quotes
    reading record records redact redirects regression render rendering reports requests response retry revalidation
    results routes rows run
    schedule scheduler scoring search segments serialize serve server serving shipped sources sqlite states status step
    steps storage summary
    tables teaching term terminal throttling title titles training trends truth
    upgrade urls
    values views visibility
    warc web word work worker workers writers
    """.split()
)
# Fields and arguments that a user or a stored request names.
ALLOWED_PRONOUNS = {
    ("crawler/fetching/answers.py", "at"),
    ("crawler/visit.py", "at"),
    ("spiders/news.py", "asked"),
}


def modules():
    """Return the source files by module name; packages stand for their `__init__.py`."""
    paths = {"blocksieve": ROOT / "blocksieve.py"}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "versions" not in path.parts:
                paths[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return paths


@pytest.fixture(scope="module")
def files():
    """The syntax trees of all Python files of the repository, its tests and its documentation, by path."""
    folders = (*PACKAGES, "docs", "tests")
    paths = [*ROOT.glob("*.py"), *(path for folder in folders for path in (ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8")) for path in sorted(paths)}


@pytest.fixture(scope="module")
def trees(files):
    return {name: files[path.relative_to(ROOT).as_posix()] for name, path in modules().items()}


def imports(tree, known):
    """Return the project's modules that a module imports, for types too."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & known


def test_a_folder_has_at_most_15_modules():
    counts = Counter(
        path.parent.relative_to(ROOT).as_posix() for path in modules().values() if path.name != "__init__.py"
    )
    too_many = {folder: count for folder, count in counts.items() if count > MAX_MODULES_OF.get(folder, MAX_MODULES)}
    assert too_many == {}


def test_a_function_has_at_most_50_lines(files):
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in files.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= MAX_FUNCTION_LINES
    ]
    assert long == []


def test_a_public_class_name_occurs_once(trees):
    places = defaultdict(list)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: homes for name, homes in places.items() if len(homes) > 1} == {}


def test_a_short_module_has_several_importers(trees):
    known = set(trees)
    importers = Counter(imported for name, tree in trees.items() for imported in imports(tree, known - {name}))
    short = [
        name
        for name, path in modules().items()
        if importers[name] == 1
        and not path.name.startswith("__")
        and len(path.read_text("utf-8").splitlines()) < MIN_LINES
    ]
    assert short == []


def test_each_module_has_a_test_file_of_its_name():
    """`tests/a/test_b.py` tests `a/b.py`; of several files, each adds its subject: `test_b_subject.py`."""
    paths = {path.relative_to(ROOT) for path in modules().values() if path.name != "__init__.py"}
    untested = {
        path.as_posix()
        for path in paths
        if not any(_tests(test, path, paths) for test in (ROOT / "tests" / path.parent).glob("test_*.py"))
    }
    assert untested == UNTESTED


def _tests(test, path, paths):
    """Return True if the longest name of a module in the folder that begins the name of this test is that of `path`."""
    names = {other.stem.strip("_") for other in paths if other.parent == path.parent}
    subject = test.stem.removeprefix("test_")
    named = [name for name in names if subject == name or subject.startswith(f"{name}_")]
    return path.stem.strip("_") == max(named, key=len, default=None)


def test_every_library_that_an_installation_brings_is_imported_by_our_code(trees):
    """A library that only others use is no dependency of ours."""
    listed = tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]
    named = {re.match(r"[\w-]+", requirement)[0].lower().replace("-", "_") for requirement in listed}
    imported = {
        name.partition(".")[0] for tree in trees.values() for node in ast.walk(tree) for name in _imported(node)
    }
    assert named - imported == set()


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "find_spec" and isinstance(node.args[0], ast.Constant):
        return [node.args[0].value]  # a file of the package is read
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def test_variables_and_functions_are_named_by_nouns_and_verbs(files):
    used = {(path, name, line) for path, tree in files.items() for name, line in bound_names(tree) if name in PRONOUNS}
    assert sorted(row for row in used if row[:2] not in ALLOWED_PRONOUNS) == []
    assert {row[:2] for row in used} >= ALLOWED_PRONOUNS  # no exception without a use


def test_helpers_and_programs_of_the_tests_have_names_of_their_own():
    folders = [ROOT / "tests" / name for name in ("support", "bench", "research")]  # all are on the path of a test
    names = Counter(path.stem for folder in folders for path in folder.glob("*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_cpu_time_is_bounded_in_one_place():
    """A bound of its own in a test fails on a busy machine."""
    programs = {ROOT / "tests" / "bench", ROOT / "tests" / "research"}
    paths = [path for path in (ROOT / "tests").rglob("*.py") if programs.isdisjoint(path.parents)]
    users = {path.name for path in paths if "process_time" in path.read_text("utf-8")}
    assert users == {"cpu_time.py", Path(__file__).name}


def test_names_of_the_compiled_core_are_nouns():
    sources = sorted((ROOT / "cleaning" / "_native").glob("*.p[xy][dx]"))
    assert len(sources) > 10
    used = [(path.name, *row) for path in sources for row in read_names(path.read_text("utf-8")) if row[0] in PRONOUNS]
    assert used == []


def read_names(source):
    """Return the names in a source of Cython, without attributes, each with its line."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    names = [last for before, last in pairwise(tokens) if last.type == tokenize.NAME and before.string != "."]
    return [(token.string, token.start[0]) for token in names]


def test_a_pronoun_is_told_in_the_compiled_core():
    source = "cdef Py_ssize_t at = 0  # found\nrow.some = table[<int?> each]\n"
    assert [name for name, _ in read_names(source) if name in PRONOUNS] == ["at", "each"]


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "found: int = 1",
        "first, (one, *rest) = row",
        "for each in rows: pass",
        "{key: value for key, (value, some) in rows}",
        "print(shown := 1)",
        "def read(made, /): pass",
        "def read(*asked): pass",
        "async def read(*, given=None): pass",
        "lambda **settled: 1",
        "with open(path) as its: pass",
        "try:\n    pass\nexcept OSError as past:\n    pass",
        "match row:\n    case [*it]: pass",
        "match row:\n    case {'key': 1, **at}: pass",
        "match row:\n    case int() as p: pass",
        "from crawler.web import records as r",
        "class Row:\n    found: int",
        "async def shown(): pass",
    ],
)
def test_a_pronoun_is_told_wherever_it_is_bound(source):
    assert PRONOUNS & {name for name, _ in bound_names(ast.parse(source))}


def test_a_line_assigns_from_one_call(files):
    assert [f"{path}:{line}" for path, tree in files.items() for line in lines_with_two_calls(tree)] == []


@pytest.mark.parametrize("source", ["first, last = f(a), g(b)", "row.a, row[1], c = 1, await f(), x.g().h()"])
def test_two_calls_in_an_assignment_are_told(source):
    assert list(lines_with_two_calls(ast.parse(source))) == [1]


def bound_names(tree):
    """Yield the name and line of each variable, parameter, field, function, class and import's alias."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno


def lines_with_two_calls(tree):
    """Yield the lines that assign to several targets from several calls at once."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            calls = [value for value in node.value.elts if isinstance(value, ast.Call | ast.Await)]
            if len(calls) > 1:
                yield node.lineno


def test_each_word_of_a_modules_name_is_common_or_plain_or_in_the_glossary():
    common = words(sys.stdlib_module_names) | words(_names_in(scrapy)) | words(_names_in(sqlalchemy))
    explained = words(re.findall(r"^\*\*(.+?)\*\*", read("docs/glossary.md"), re.MULTILINE))
    used = {word: name for name in modules() for word in words(name.split("."))}
    assert {word: name for word, name in used.items() if word not in common | explained | PLAIN_WORDS} == {}
    assert used.keys() >= PLAIN_WORDS
    assert PLAIN_WORDS.isdisjoint(explained)


def test_contributing_names_files_that_exist():
    named = re.findall(r"`((?:cleaning|crawler|docs|pipelines|spiders|tests)/[\w./-]*)`", read("CONTRIBUTING.md"))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def read(path):
    return (ROOT / path).read_text("utf-8")


def words(names):
    """Return the words of names, in lower case."""
    return {word.lower() for name in names for word in re.split(r"[\W_]+", name) if word}


def _names_in(package):
    return {name for module in pkgutil.walk_packages(package.__path__) for name in module.name.split(".")}
