"""The loader uses a compiled module only if it was built, fits the installed lxml and is not forbidden."""

import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace

import pytest
from lxml import etree

from cleaning import _native
from cleaning._native import COMPILED_NAMES, _is_stale, check_reading, check_structures, load_compiled
from cleaning.leaf_table import Column, build_leaf_table
from cleaning.leaves import walk
from cleaning.metadata.elements import pure_find_elements


def build_table(root):
    return build_leaf_table(walk(root))


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def import_of_the_core(monkeypatch):
    """Let the loader import this object, or fail with this error; forget the modules that it has loaded."""

    def replace(outcome):
        def import_module(name):
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setenv("BLOCKSIEVE_PURE", "")
        monkeypatch.setattr(_native, "import_module", import_module)
        monkeypatch.setattr(_native, "_is_stale", lambda _: False)
        load_compiled.cache_clear()

    yield replace
    monkeypatch.undo()
    load_compiled.cache_clear()


def test_another_size_of_a_structure_of_lxml_is_an_error():
    size = etree._Element.__basicsize__
    check_structures({"_Element": size}, "6.0.0")
    with pytest.raises(
        ImportError, match=rf"lxml.etree._Element has {size} bytes in lxml .* and {size + 8} in lxml 6.0.0"
    ):
        check_structures({"_Element": size + 8}, "6.0.0")


def test_another_reading_of_a_tree_is_an_error():
    check_reading(build_table, build_table)
    for other in (lambda root: build_table(root[1][2]), lambda root: build_table(root).head(1)):
        with pytest.raises(ImportError, match="otherwise than pure Python"):
            check_reading(other, build_table)


def test_probe_has_everything_that_the_compiled_modules_read():
    root = etree.fromstring(_native._PROBE, etree.XMLParser(resolve_entities=False, strip_cdata=False))
    assert all(pure_find_elements(root))
    table = build_table(root)
    assert len(table.blocks) == 6
    assert {block.text[:3] for block in table.blocks} > {"Two", "Thr", "fou"}
    assert any("-unseen" in tokens and "author" in tokens for tokens in table.node_tokens)
    assert table.counts[:, Column.LINKS].any()
    assert table.counts[:, Column.BOLD_CHARS].any()


@pytest.mark.parametrize(
    "error", [ImportError("_Element has 48 bytes"), RuntimeWarning("_Element size changed"), TypeError("signature")]
)
def test_module_that_does_not_fit_is_not_used_and_a_warning_says_so(error, import_of_the_core, caplog):
    import_of_the_core(error)
    assert load_compiled("leaf_table") is None
    assert f"does not fit and is not used; install Blocksieve again: {error}" in caplog.text


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


def test_build_is_stale_beside_a_newer_declaration_that_modules_share(tmp_path):
    build, source = tmp_path / f"words{EXTENSION_SUFFIXES[0]}", tmp_path / "words.pyx"
    for path, time in (source, 1_000), (build, 1_001), (tmp_path / "memory.pxd", 1_000):
        path.touch()
        os.utime(path, (time, time))
    assert not _is_stale("words", tmp_path)
    (tmp_path / "simhash.pxd").touch()
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
    code = f"from cleaning._native import load_compiled; print(*map(load_compiled, {COMPILED_NAMES}))"
    assert run(code).split() == ["None"] * len(COMPILED_NAMES)


def test_without_the_core_the_pure_version_is_used(monkeypatch):
    monkeypatch.setenv("BLOCKSIEVE_PURE", "1")
    code = "from cleaning import parse; from cleaning.leaf_table import read_leaf_table; "
    assert run(code + "print(read_leaf_table(parse('<p>x').root).tags)") == "['body', 'p']\n"


def test_the_map_of_pure_and_compiled_versions_names_what_exists():
    source = "".join(
        path.read_text("utf-8")
        for path in sorted(Path(_native.__file__).parents[1].rglob("*.py*"))
        if path.suffix != ".pyc"
    )
    rows = re.findall(r"^`.*`", _native.__doc__, re.MULTILINE)
    names = {name.rpartition(".")[2] for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    assert len(rows) == 8
    assert {name for name in names if not re.search(rf"\b{name}\b", source)} == set()
    assert {name for name in COMPILED_NAMES if name not in _native.__doc__} == set()
