"""The loader uses a compiled module only if it was built, fits the installed lxml and is not forbidden."""

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from types import SimpleNamespace

import pytest
from lxml import etree

from cleaning import _native
from cleaning._native import _fits, _is_stale, load_compiled

MODULES = ["features", "leaf_table", "trees", "words"]


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def import_of_the_core(monkeypatch):
    """Let the loader import this object, or fail with this error; forget the modules that it has loaded."""

    def replace(found):
        def import_module(name):
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setenv("BLOCKSIEVE_PURE", "")
        monkeypatch.setattr(_native, "import_module", import_module)
        monkeypatch.setattr(_native, "_is_stale", lambda _: False)
        load_compiled.cache_clear()

    yield replace
    monkeypatch.undo()
    load_compiled.cache_clear()


@pytest.mark.parametrize(("version", "fits"), [(etree.__version__, True), ("1.0.0", False), ("66.1", False)])
def test_core_fits_the_lxml_that_it_was_compiled_for(version, fits):
    assert _fits(version) is fits


def test_module_for_another_lxml_is_not_used_and_a_warning_says_so(import_of_the_core, caplog):
    import_of_the_core(SimpleNamespace(LXML_VERSION="1.0.0"))
    assert load_compiled("leaf_table") is None
    assert "is for lxml 1.0.0 and is not used" in caplog.text


def test_module_that_cannot_be_imported_is_not_used_and_a_warning_says_so(import_of_the_core, caplog):
    import_of_the_core(ValueError("lxml.etree._Element size changed"))
    assert load_compiled("leaf_table") is None
    assert "does not fit and is not used; install Blocksieve again: lxml.etree._Element size changed" in caplog.text


def test_module_older_than_its_source_is_not_used_and_a_warning_says_so(import_of_the_core, monkeypatch, caplog):
    import_of_the_core(SimpleNamespace())
    monkeypatch.setattr(_native, "_is_stale", lambda name: name == "words")
    assert load_compiled("words") is None
    assert load_compiled("trees") is not None
    assert "_native.words is older than its source and is not used; run make to build it" in caplog.text


def test_build_is_stale_only_beside_a_newer_source(tmp_path):
    build, source = tmp_path / f"words{EXTENSION_SUFFIXES[0]}", tmp_path / "words.pyx"
    assert not _is_stale("words", tmp_path)
    source.touch()
    assert not _is_stale("words", tmp_path)
    build.touch()
    os.utime(source, (1_000, 1_000))
    assert not _is_stale("words", tmp_path)
    os.utime(build, (999, 999))
    assert _is_stale("words", tmp_path)


def test_module_that_was_not_built_is_silently_replaced(import_of_the_core, caplog):
    import_of_the_core(ModuleNotFoundError("No module", name="cleaning._native.trees"))
    assert load_compiled("trees") is None
    assert caplog.text == ""


def test_missing_dependency_of_a_module_is_an_error(import_of_the_core):
    import_of_the_core(ModuleNotFoundError("No module named 'numpy'", name="numpy"))
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        load_compiled("trees")


@pytest.mark.parametrize("pure", ["1", "yes"])
def test_environment_can_forbid_the_core(pure, monkeypatch):
    monkeypatch.setenv("BLOCKSIEVE_PURE", pure)
    code = f"from cleaning._native import load_compiled; print(*map(load_compiled, {MODULES}))"
    assert run(code) == "None None None None\n"


def test_without_the_core_the_pure_version_is_used(monkeypatch):
    monkeypatch.setenv("BLOCKSIEVE_PURE", "1")
    code = "from cleaning import parse; from cleaning.leaf_table import read_leaf_table; "
    assert run(code + "print(read_leaf_table(parse('<p>x').root).tags)") == "['body', 'p']\n"
