"""From fetch to database through a browser; and what a crawl says that cannot be rendered."""

import sqlite3
import subprocess

import processes
import pytest

from crawler.demo.run import crawl_command, crawl_environment, run_site


@pytest.fixture(scope="module")
def demo():
    with run_site() as address:
        yield address


def run(demo, folder, settings):
    """Crawl a part of the demo, with its log on stderr."""
    arguments = {"category": "Computers-and-Technology", "pages": "1"}
    line = crawl_command(folder / "blocks.db", arguments, {"LOG_FILE": "", "PROGRESS": "off"} | settings)
    return processes.run(line, env=crawl_environment(demo), cwd=folder, capture_output=True, text=True)


# Three properties that differ, as the paper asks for, are rare on the demo's pages.
EASY = {"CLEANING_METHOD": "vce", "CLEANING_OPTIONS": '{"vce_threshold": 1}'}
FEW = {"CONCURRENT_REQUESTS": "1", "CLOSESPIDER_ITEMCOUNT": "2"}


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_crawl_cleans_by_the_layout_of_its_pages(demo, tmp_path, chromium, processes):
    settings = {"RENDER": "true", "CHROMIUM": chromium, "CLEANING_PROCESSES": processes}
    finished = run(demo, tmp_path, settings | EASY | FEW)
    assert finished.returncode == 0, finished.stderr
    with sqlite3.connect(tmp_path / "blocks.db") as database:
        pages = database.execute("select url, method from page").fetchall()
        texts = database.execute("select text from page_text").fetchall()
    database.close()
    assert {method for _, method in pages} == {"vce"}
    assert texts
    assert "cleaning_failed" not in finished.stderr


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"CLEANING_METHOD": "vce", "RENDER": "false"}, "unset RENDER=false"),
        ({"CLEANING_METHOD": "ce", "KEEP_HTML": "false"}, "unset it"),
        ({"PROFILE": "vce", "RENDER": "false"}, "PROFILE=vce means RENDER=True"),
        ({"RENDER": "true", "CHROMIUM": "/nowhere/at/all"}, "CHROMIUM is '/nowhere/at/all'"),
        ({"RENDER": "true", "CHROMIUM": "/bin/true"}, "the browser /bin/true (setting CHROMIUM) did not start"),
        ({"RENDER": "true", "CHROMIUM_SANDBOX": "of"}, "did you mean 'off'"),
        ({"RENDER": "true", "HTTPCACHE_ENABLED": "true"}, "HTTPCACHE_ENABLED"),
    ],
)
def test_what_cannot_be_rendered_is_one_sentence_and_exit_code_2(demo, tmp_path, settings, says):
    finished = run(demo, tmp_path, settings)
    assert finished.returncode == 2, finished.stderr
    assert says in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "blocks.db").exists()


def test_a_browser_that_hangs_at_its_start_stops_the_crawl(demo, tmp_path):
    hanging = tmp_path / "hanging"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
    hanging.chmod(0o755)
    finished = run(demo, tmp_path, {"RENDER": "true", "CHROMIUM": str(hanging), "RENDER_SECONDS": "1"})
    assert finished.returncode == 2, finished.stderr
    assert "did not start within 1 seconds" in finished.stderr


def test_a_missing_extra_stops_the_crawl(demo, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['playwright'] = None\n", "utf-8")
    line = crawl_command(
        tmp_path / "blocks.db", {"category": "Computers-and-Technology"}, {"LOG_FILE": "", "RENDER": "true"}
    )
    finished = subprocess.run(
        line, env=crawl_environment(demo) | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2, finished.stderr
    assert "pip install 'blocksieve[render]'" in finished.stderr
