"""The compiled core and pure Python make the same of every page: decisions, metadata, structure and fingerprints."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cleaning._native import load_compiled

PROGRAM = Path(__file__).parents[2] / "support" / "twin_pages.py"
OTHER_LXML = os.environ.get("BLOCKSIEVE_OTHER_LXML", "")
DATA = Path(os.environ.get("BLOCKSIEVE_DATA", PROGRAM.parents[3] / "shared" / "data"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(load_compiled("words") is None, reason="COMPILER: it was installed without its compiled core"),
]


def made(**environment):
    """Return the digests of what is made of each page, by the page's name."""
    command = [sys.executable, str(PROGRAM), *([str(DATA)] if DATA.is_dir() else [])]
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.fixture(scope="module")
def compiled():
    return made(BLOCKSIEVE_PURE="")


def test_pure_python_makes_the_same_of_every_page(compiled):
    pure = made(BLOCKSIEVE_PURE="1")
    assert len(compiled) > 200
    assert {name: what for name, what in compiled.items() if what != pure[name]} == {}


@pytest.mark.skipif(not OTHER_LXML, reason="BLOCKSIEVE_OTHER_LXML: it names no folder with another lxml")
def test_the_core_reads_the_trees_of_another_lxml(compiled):
    of_other = made(BLOCKSIEVE_PURE="", PYTHONPATH=OTHER_LXML)
    assert {name: what for name, what in compiled.items() if what != of_other[name]} == {}
