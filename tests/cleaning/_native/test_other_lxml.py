"""The compiled core works with another lxml 6 than the one that it was built with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OTHER = os.environ.get("BLOCKSIEVE_OTHER_LXML", "")
FOLDER = Path(__file__).parent
VERSION = "from lxml import etree; print(etree.__version__)"


@pytest.mark.slow
@pytest.mark.skipif(not OTHER, reason="BLOCKSIEVE_OTHER_LXML: it names no folder with another lxml")
def test_the_core_reads_the_trees_of_another_lxml_as_pure_python_does():
    environment = os.environ | {"PYTHONPATH": OTHER, "BLOCKSIEVE_PURE": ""}
    own, other = (
        subprocess.run(
            [sys.executable, "-c", VERSION], env=variables, capture_output=True, text=True, check=True
        ).stdout
        for variables in (os.environ, environment)
    )
    assert own != other
    tests = [FOLDER / "test_elements.py", FOLDER / "test_leaf_table.py"]
    chosen = "any_page or any_tree or ready_made or character"
    pytest_run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *tests]
    ran = subprocess.run(
        pytest_run, env=environment, cwd=FOLDER.parents[2], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert "skipped" not in ran.stdout
