"""What the packages promise of themselves: dependencies that are used, and documents that name real files."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("cleaning", "crawler", "pipelines", "spiders")


def test_every_dependency_is_imported():
    """A library that only others use is no dependency of ours."""
    listed = tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]
    named = {re.match(r"[\w-]+", requirement)[0].lower().replace("-", "_") for requirement in listed}
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    imported = {
        name.partition(".")[0]
        for path in paths
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in imported_modules(node)
    }
    assert named - imported == set()


def imported_modules(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "find_spec" and isinstance(node.args[0], ast.Constant):
        return [node.args[0].value]  # a file of the package is read
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def test_contributing_names_files_that_exist():
    named = re.findall(
        r"`((?:cleaning|crawler|docs|pipelines|research|spiders|tests)/[\w./-]*)`", read("CONTRIBUTING.md")
    )
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def read(path):
    return (ROOT / path).read_text("utf-8")
