"""A time limit interrupts Python code, in the main thread and in others, and leaves no trace."""

import contextlib
import re
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from crawler import time_limit as limits
from crawler.errors import TimeLimitError
from crawler.time_limit import time_limit


def here(job):
    return job()


def in_a_thread(job):
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(job).result()


# The interruption may come in a callback of garbage collection, where Python ignores it. It is repeated.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

in_threads = pytest.mark.parametrize("run", [here, in_a_thread])


def spin(seconds=1_000.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100))


@in_threads
def test_a_block_that_takes_too_long_is_ended(run):
    def job():
        with pytest.raises(TimeLimitError, match=r"more than 0.1 seconds .setting CLEANING_SECONDS"), time_limit(0.1):
            spin()

    began = time.monotonic()
    run(job)
    assert time.monotonic() - began < 300


@in_threads
def test_a_block_within_its_time_is_left_alone_and_so_is_what_comes_after_it(run):
    def job():
        with time_limit(0.2):
            spin(0.01)
        spin(0.8)
        return "done"

    assert run(job) == "done"


@in_threads
def test_a_limit_that_ends_with_the_block_never_reaches_what_comes_after_it(run):
    def job():
        ended = 0
        for number in range(100):
            try:
                with time_limit(0.002):
                    spin(0.001 + number * 0.00002)
            except TimeLimitError:
                ended += 1
        spin(0.01)
        return ended

    assert run(job) in range(101)


@in_threads
def test_a_clock_that_rings_all_the_time_ends_the_block_once(run, monkeypatch):
    """It rings again while the block's exception is on its way out, as it does on a busy machine."""
    monkeypatch.setattr(limits, "_REPEAT_SECONDS", 0.0001)

    def job():
        for _ in range(300):
            with pytest.raises(TimeLimitError), time_limit(0.001):
                spin()
        spin(0.01)

    run(job)


def test_a_clock_that_rings_faster_than_the_stack_is_searched_ends_the_block_once(monkeypatch):
    monkeypatch.setattr(limits, "_REPEAT_SECONDS", 0.00005)

    def job(depth):
        if depth:
            job(depth - 1)
            return
        for _ in range(300):
            with pytest.raises(TimeLimitError), time_limit(0.001):
                spin()

    job(700)


@in_threads
def test_a_limit_that_ends_while_the_block_begins_leaves_no_clock(run):
    def job():
        for number in range(2_000):
            with contextlib.suppress(TimeLimitError), time_limit((1 + number % 100) * 1e-6):
                pass
        spin(0.01)

    run(job)


@in_threads
def test_a_broad_except_in_the_block_only_delays_the_end(run):
    def swallow():
        try:
            spin()
        except BaseException:  # noqa: BLE001 — as some libraries do
            spin()

    def job():
        with pytest.raises(TimeLimitError), time_limit(0.05):
            swallow()

    began = time.monotonic()
    run(job)
    assert time.monotonic() - began < 300


@in_threads
def test_an_error_of_the_block_passes(run):
    def job():
        with pytest.raises(ZeroDivisionError), time_limit(5):
            print(1 / 0)

    run(job)


def test_a_regular_expression_is_interrupted_in_the_main_thread():
    began = time.monotonic()
    with pytest.raises(TimeLimitError), time_limit(0.1):
        re.match(r"(a|a)*b", "a" * 40)
    assert time.monotonic() - began < 300


def test_the_alarm_of_the_program_around_goes_on():
    heard = []
    former = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with time_limit(5):
            pass
        spin(0.5)
    finally:
        signal.signal(signal.SIGALRM, former)
    assert heard == [1]


def test_limits_of_several_threads_do_not_meet():
    results = []

    def job(seconds):
        try:
            with time_limit(seconds):
                spin(0.5)
            results.append((seconds, "done"))
        except TimeLimitError:
            results.append((seconds, "ended"))

    threads = [threading.Thread(target=job, args=(seconds,)) for seconds in (0.05, 5.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(0.05, "ended"), (5.0, "done")]


AFTER_A_LIMIT = """
import sys, threading, time
from crawler.time_limit import time_limit

def limited(seconds):
    with time_limit(seconds):
        time.sleep(0.1)

def job():
    limited(5)
    try:
        limited(0.02)
    except Exception as error:
        print(error)

def called():
    return 1

thread = threading.Thread(target=job)
thread.start()
thread.join()
sys.setprofile(lambda *_: None)
print(called())
"""


@pytest.mark.slow
def test_a_profiler_works_after_limits_in_a_thread():
    import subprocess  # noqa: PLC0415 — a module that imports it has slow tests only

    done = subprocess.run(
        [sys.executable, "-c", AFTER_A_LIMIT], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.splitlines() == ["it takes more than 0.02 seconds (setting CLEANING_SECONDS)", "1"]
