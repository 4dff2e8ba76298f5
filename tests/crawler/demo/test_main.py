"""The demo site as a program: `python -m crawler.demo`."""

import json
import re
import signal
import subprocess

import processes
import pytest


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_program_prints_one_line_and_exits_quietly_on_a_signal(program, stop):
    with processes.start(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.send_signal(stop)
        rest, errors = process.communicate(timeout=300)

    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", line)
    assert (rest, errors, process.returncode) == ("", "", 0)


def test_program_writes_the_ground_truth_and_serves_nothing(program, tmp_path, facts):
    path = tmp_path / "truth.json"

    done = processes.run([*program, "--truth", path], capture_output=True, text=True, check=True)

    assert done.stdout == ""
    assert json.loads(path.read_text("utf-8")) == facts
