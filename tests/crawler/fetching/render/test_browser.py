"""A browser starts or raises, survives bad pages and crashes, and leaves nothing behind."""

import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import psutil
import pytest

from crawler.errors import RenderError
from crawler.fetching.render.browser import Browser

HANG = "<p>Before.<script>for (;;) {}</script>"


def text(page):
    return " ".join(page.root.find("body").text_content().split())


def processes():
    return {process for process in psutil.Process().children(recursive=True) if is_browser(process)}


def is_browser(process):
    with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
        return "chrom" in process.name()
    return False


def runs(process):
    """Return True if a process runs: one that has ended and whose exit code nobody has read does not."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def own(chromium, temporary):
    """Return a browser that waits for seconds, and its processes."""
    with alone(chromium, temporary, 5) as browser_and_processes:
        yield browser_and_processes


@pytest.fixture
def patient(chromium, temporary):
    """Return one that waits for longer than a busy machine takes to notice that a process is gone."""
    with alone(chromium, temporary, 60) as browser_and_processes:
        yield browser_and_processes


@contextmanager
def alone(chromium, temporary, seconds):
    """Give a browser and its processes; all of them, and Playwright's folders, are gone in the end."""
    before = processes()
    with Browser(executable=chromium, javascript=True, seconds=seconds) as browser:
        yield browser, processes() - before
    assert not any(map(runs, processes() - before))
    # A browser that is killed leaves one of its own behind.
    assert [path.name for path in temporary.iterdir() if not path.name.startswith("org.chromium.")] == []


def test_a_browser_leaves_no_process_and_no_folder(own, temporary):
    browser, own_processes = own
    browser.render("<p>A lake.")
    assert own_processes
    assert list(temporary.iterdir())


def test_a_page_that_hangs_ends_at_the_time_limit_and_the_next_is_rendered(own):
    browser, own_processes = own
    begin = time.monotonic()
    with pytest.raises(RenderError, match="not rendered within 5 seconds"):
        browser.render(HANG, "http://lake.example/")
    assert time.monotonic() - begin < 120
    assert not any(map(runs, own_processes))
    assert text(browser.render("<p>A lake.")) == "A lake."


@contextmanager
def killed(find):
    """Kill what `find` returns, again and again until the end of the block: the page may get its renderer late."""
    over = threading.Event()
    killing = threading.Thread(target=_kill, args=[find, over])
    killing.start()
    try:
        yield
    finally:
        over.set()
        killing.join()


def _kill(find, over):
    while not over.wait(1.5):
        for process in find():
            with suppress(psutil.NoSuchProcess):
                process.kill()


def test_a_browser_that_is_killed_is_one_failed_page(patient):
    browser, own_processes = patient
    with (
        killed(lambda: own_processes),
        pytest.raises(RenderError, match=r"the browser failed on http://lake\.example/"),
    ):
        browser.render(HANG, "http://lake.example/")
    assert text(browser.render("<p>A lake.")) == "A lake."


def test_a_renderer_that_crashes_is_one_failed_page(patient):
    browser, own_processes = patient
    with killed(lambda: renderers(own_processes)), pytest.raises(RenderError, match="the browser failed on the page"):
        browser.render(HANG)
    assert text(browser.render("<p>A lake.")) == "A lake."


def renderers(processes):
    renderer_processes = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            renderer_processes |= {
                child for child in (process, *process.children(recursive=True)) if "--type=renderer" in child.cmdline()
            }
    return renderer_processes


@pytest.mark.parametrize("executable", ["/bin/true", "/bin/cat"])
def test_a_program_that_is_not_a_browser_raises(chromium, executable):
    with (
        pytest.raises(RenderError, match=f"{executable} .* exited at once"),
        Browser(executable=executable, seconds=120),
    ):
        pass


@pytest.mark.parametrize("executable", ["/nowhere/at/all", "/", "no-such-browser"])
def test_a_missing_program_raises(executable):
    with pytest.raises(RenderError, match=f"CHROMIUM is '{executable}'"), Browser(executable=executable):
        pass


def test_a_browser_that_hangs_at_its_start_raises(tmp_path):
    hanging = tmp_path / "hanging"
    hanging.write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
    hanging.chmod(0o755)
    with (
        pytest.raises(RenderError, match="did not start within 1 seconds"),
        Browser(executable=str(hanging), seconds=1),
    ):
        pass


def test_no_browser_at_all_raises(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(RenderError, match="no browser was found: install chromium"), Browser():
        pass


def test_a_missing_extra_raises():
    program = (
        "import sys; sys.modules['playwright'] = None\n"
        "from crawler.fetching.render.browser import Browser\nBrowser().__enter__()"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'blocksieve[render]'" in finished.stderr


def test_the_sandbox_is_off_for_root_or_where_it_is_switched_off(chromium, tmp_path):
    """A browser of ours that writes its command line down, and ends."""
    arguments_file = tmp_path / "asked"
    browser = tmp_path / "browser"
    browser.write_text(f'#!{shutil.which("sh")}\necho "$@" >> {arguments_file}\n', "utf-8")
    browser.chmod(0o755)
    for sandbox in ("on", "off", "auto"):
        with pytest.raises(RenderError), Browser(executable=str(browser), sandbox=sandbox, seconds=120):
            pass
    lines = arguments_file.read_text("utf-8").splitlines()
    assert ["--no-sandbox" in line for line in lines] == [False, True, os.geteuid() == 0]
