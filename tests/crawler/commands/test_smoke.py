"""Every command starts as a program."""

import subprocess
import sys

import processes
import pytest

COMMANDS = (
    "compare completion crawl dedup duplicates explain export history initdb portals prune reclean recrawl retry "
    "search settings status upgrade"
).split()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_its_help(name, tmp_path, environment):
    finished = processes.run(
        [sys.executable, "-m", "scrapy", name, "--help"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    assert f"scrapy {name}" in finished.stdout
