"""The workflows in .github: what runs for a change and for a release."""

import re
from pathlib import Path

import pytest
import yaml

WORKFLOWS = Path(__file__).parents[1] / ".github" / "workflows"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def read_jobs(name):
    return yaml.safe_load((WORKFLOWS / name).read_text("utf-8"))["jobs"]


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.stem)
def test_foreign_actions_are_pinned_by_commit(path):
    actions = re.findall(r"uses:\s*(\S+)", path.read_text("utf-8"))
    assert actions
    assert [action for action in actions if not action.startswith("./") and not PINNED.fullmatch(action)] == []


def test_a_change_is_checked_on_every_python_and_on_macos():
    matrix = read_jobs("tests.yml")["check"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert [row["system"].partition("-")[0] for row in matrix["include"]] == ["macos"]
    assert {"run": "make check"} in read_jobs("tests.yml")["check"]["steps"]


def test_a_change_passes_every_test_once():
    assert {"run": ".ci/run"} in read_jobs("tests.yml")["full"]["steps"]


def test_a_release_needs_the_tests():
    jobs = read_jobs("release.yml")
    assert jobs["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert "tests" in jobs["publish"]["needs"]
