"""Workers that work, fail, hang, die and do not start."""

import asyncio
import os
import signal
from contextlib import contextmanager

import psutil
import pytest
from scrapy.utils.test import get_crawler
from shifts import Shift

from cleaning.methods import METHODS
from cleaning.page_fingerprint import Fingerprinter
from crawler.errors import SetupError, WorkerError, WorkerLostError, WorkerTimeoutError
from crawler.workers.pool import WorkerPool
from crawler.workers.tasks import CleanTask, PageToClean
from crawler.workers.worker import ANSWER_HEAD, AnswerKind

pytestmark = pytest.mark.slow

LONG = 300.0


@pytest.fixture
def stats():
    return get_crawler().stats


@pytest.fixture
def pool(stats):
    """Start a pool whose workers do what a page says; it is closed at the end of the block."""

    @contextmanager
    def start(count=1, seconds=LONG, begin="ready"):
        started = WorkerPool.start(count, Shift(seconds, begin), stats)
        try:
            yield started
        finally:
            started.close()

    return start


def page(what):
    return PageToClean(what.encode(), "https://town.example.org/library", "utf-8")


def run(pool, *whats):
    """Run these pages at the same time; return the id of the process that did each, or its exception."""

    async def gather():
        return await asyncio.gather(*(pool.run(page(what)) for what in whats), return_exceptions=True)

    return asyncio.run(gather())


def own_children():
    return psutil.Process().children(recursive=True)


def test_a_method_that_only_this_process_knows_stops_the_start(stats, monkeypatch):
    monkeypatch.setitem(METHODS, "registered", METHODS["pab"])
    task = CleanTask(("registered",), Fingerprinter(), LONG)
    with pytest.raises(SetupError, match="cannot use the method 'registered': unknown method 'registered'"):
        WorkerPool.start(1, task, stats)


def test_pages_are_distributed_to_all_workers(pool):
    with pool(2) as started:
        assert len(set(run(started, *["nothing"] * 6))) == 2


def test_a_page_that_never_ends_is_killed_while_others_are_cleaned(pool, stats):
    with pool(2, seconds=10) as started:  # enough for `nothing` on a busy machine
        done = run(started, "endless", *["nothing"] * 20)
    assert isinstance(done[0], WorkerTimeoutError)
    assert "10 seconds" in str(done[0])
    assert "CLEANING_SECONDS" in str(done[0])
    assert all(isinstance(result, int) for result in done[1:])
    assert stats.get_value("clean/retries") is None


def test_a_page_that_hangs_in_a_library_is_killed_too(pool):
    with pool(seconds=0.3) as started:
        assert isinstance(run(started, "hang")[0], WorkerTimeoutError)


def test_a_worker_that_was_killed_for_its_page_is_replaced(pool, stats):
    with pool(seconds=10) as started:
        first, late, second = run(started, "nothing", "endless", "nothing")
    assert isinstance(late, WorkerTimeoutError)
    assert first != second
    assert stats.get_value("clean/restarts") == 1


def test_a_page_whose_worker_dies_is_cleaned_by_another(pool, stats, tmp_path, caplog):
    with pool() as started:
        first, second = run(started, "nothing", f"killed-once {tmp_path / 'marker'}")
    assert isinstance(second, int)
    assert first != second
    assert stats.get_value("clean/retries") == 1
    assert "https://town.example.org/library: its process has died (SIGKILL)" in caplog.text


def test_a_page_that_two_workers_die_of_fails(pool):
    with pool(2) as started:
        lost, *others = run(started, "killed", "nothing", "nothing")
    assert isinstance(lost, WorkerLostError)
    assert "SIGKILL" in str(lost)
    assert all(isinstance(result, int) for result in others)


def test_killing_an_idle_worker_uses_up_no_page_s_retry(pool, stats):
    with pool() as started:
        (first,) = run(started, "nothing")
        os.kill(first, signal.SIGKILL)
        psutil.wait_procs([child for child in own_children() if child.pid == first])
        (second,) = run(started, "nothing")
    assert isinstance(second, int)
    assert first != second
    assert stats.get_value("clean/retries") is None


def test_sigterm_for_the_whole_unit_does_not_end_a_worker(pool, stats):
    with pool() as started:
        (first,) = run(started, "nothing")
        os.kill(first, signal.SIGTERM)
        (second,) = run(started, "nothing")
    assert first == second
    assert stats.get_value("clean/restarts") is None


def test_an_exception_arrives_as_text_with_its_traceback(pool):
    with pool() as started:
        failed, other = run(started, "fail this", "nothing")
    assert isinstance(failed, WorkerError)
    assert "ValueError('this')" in str(failed)
    assert "shifts.py" in failed.__notes__[0]
    assert isinstance(other, int)


@pytest.mark.parametrize(
    "sent",
    [
        ANSWER_HEAD.pack(AnswerKind.RESULT, 2**63),
        ANSWER_HEAD.pack(9, 1) + b"\x00",
        ANSWER_HEAD.pack(AnswerKind.RESULT, 4) + b"text",
        ANSWER_HEAD.pack(AnswerKind.RESULT, 2) + b"\xa1x",
        ANSWER_HEAD.pack(AnswerKind.PAGE_ERROR, 1) + b"\x00",
    ],
    ids=["endless", "no-kind", "no-messagepack", "another-type", "no-error"],
)
def test_an_answer_that_no_worker_sends_costs_a_worker_and_is_never_believed(pool, stats, sent):
    with pool(2) as started:
        lost, other = run(started, f"send {sent.hex()}", "nothing")
    assert isinstance(lost, WorkerLostError)
    assert "has sent an answer that cannot be read" in str(lost)
    assert isinstance(other, int)
    assert stats.get_value("clean/retries") == 1


def test_the_answer_for_a_cancelled_page_is_not_read_as_the_next_page_s(pool):
    async def cancel(started):
        await started.run(page("nothing"))
        first = asyncio.ensure_future(started.run(page("endless")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await started.run(page("nothing"))

    with pool() as started:
        assert isinstance(asyncio.run(cancel(started)), int)


def test_no_process_is_left_when_the_pool_is_closed(pool):
    before = own_children()
    with pool(3):
        assert len(own_children()) == len(before) + 3
    assert own_children() == before


@pytest.mark.parametrize(
    ("begin", "says"), [("no-room", "there is no room for the model"), ("dies-at-once", "exit code 3")]
)
def test_a_worker_that_cannot_start_is_a_setup_error_and_none_is_left(pool, begin, says):
    before = own_children()
    with pytest.raises(SetupError, match=says), pool(2, begin=begin):
        pass
    assert own_children() == before


def test_if_no_worker_can_be_restarted_all_pages_fail(pool, stats, tmp_path):
    with pool(begin=f"ready-once {tmp_path / 'marker'}") as started:
        first, *others = run(started, "nothing", "killed", "nothing", "nothing")
    assert isinstance(first, int)
    assert [str(error) for error in others] == ["there is no room for the model"] * 3
    assert {type(error) for error in others} == {SetupError}
    assert stats.get_value("clean/restarts") == 1
