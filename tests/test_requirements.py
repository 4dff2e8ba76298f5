"""The lock files in requirements/: complete, with hashes, and up to date with pyproject.toml."""

import json
import re
import stat
import sys
import tomllib
from pathlib import Path

import audit
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCKS = {"run.txt": ("metrics", "postgres", "web"), "dev.txt": ("dev",), "full.txt": ("full",)}


def read_lock(name):
    return (ROOT / "requirements" / name).read_text("utf-8")


def pins(name):
    """Return the pinned versions by the name of their package, of which there are several for several platforms."""
    versions = {}
    for line in re.findall(r"^[a-z0-9].*(?= \\$)", read_lock(name), re.MULTILINE):
        pin = Requirement(line)
        (version,) = pin.specifier
        versions.setdefault(canonicalize_name(pin.name), set()).add(version.version)
    return versions


def required(extras):
    """Yield what pyproject.toml names for an installation with these extras, and for building it."""
    yield from PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["build"]
    yield from required_by_extras(extras)


def required_by_extras(extras):
    for requirement in (Requirement(text) for extra in extras for text in EXTRAS[extra]):
        if requirement.name == "blocksieve":
            yield from required_by_extras(requirement.extras)
        else:
            yield str(requirement)


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_a_version_of_every_requirement_that_it_takes(name):
    pinned = pins(name)
    for requirement in map(Requirement, required(LOCKS[name])):
        versions = pinned[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(version) for version in versions), f"make lock: {requirement}"


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_hashes_and_no_lock_names_a_place(name):
    text = read_lock(name)
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) > 50
    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in text


@pytest.mark.parametrize("name", ["run.txt", "dev.txt"])
def test_all_locks_have_the_same_versions(name):
    full = pins("full.txt")
    assert {package: versions for package, versions in pins(name).items() if versions != full.get(package)} == {}


def test_the_loop_of_a_change_needs_no_large_package():
    assert not pins("dev.txt").keys() & {"haystack-ai", "llama-index-core", "pandas", "playwright", "pyarrow", "ray"}


def test_what_the_image_installs_is_in_the_lock():
    dockerfile = (ROOT / "docs" / "deploy" / "Dockerfile").read_text("utf-8")
    assert "--require-hashes --requirement requirements/run.txt" in dockerfile
    assert "!requirements" in (ROOT / "docs" / "deploy" / "Dockerfile.dockerignore").read_text("utf-8").split()


KNOWN = {"name": "known", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}
CLEAN = {"name": "clean", "version": "2.0", "vulns": []}
UNKNOWN = {"name": "unknown", "skip_reason": "not found"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (json.dumps({"dependencies": [KNOWN, CLEAN]}), 1, "known 1.0: PYSEC-1, fixed in 1.1\n2 packages audited"),
        (json.dumps({"dependencies": [CLEAN, UNKNOWN]}), 0, "1 packages audited, 1 unknown: 0 vulnerabilities"),
        (json.dumps({"dependencies": [UNKNOWN]}), 0, "were not audited"),
        ("", 0, "were not audited"),
    ],
)
def test_an_audit_fails_for_a_vulnerability_and_says_if_it_cannot_know(
    answer, code, says, monkeypatch, tmp_path, capsys
):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n", "utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(program))
    assert audit.main(["requirements/run.txt"]) == code
    assert says in capsys.readouterr().out
