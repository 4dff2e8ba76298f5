"""Which ends of a crawl are failures, and with which exit code."""

import signal

import pytest

from crawler.monitoring.exit_status import FAILURE_REASONS, STOP_SIGNAL_STAT, ExitStatus, FinishReason, find_exit_status

STORED = {"finish_reason": "finished", "visit/page": 9, "visit/captcha": 1}


def end(**stats):
    return find_exit_status(STORED | stats, 0.5)


def test_a_crawl_that_stored_pages_is_0():
    assert end() == ExitStatus(0)


def test_a_crawl_in_which_nothing_changed_is_0():
    assert end(**{"visit/page": 0, "visit/not_modified": 9}) == ExitStatus(0)


@pytest.mark.parametrize(
    "reason", ["closespider_timeout", "closespider_itemcount", "closespider_pagecount", "cancelled", "enough"]
)
def test_a_limit_that_was_asked_for_is_no_failure(reason):
    assert end(finish_reason=reason) == ExitStatus(0)


def test_a_limit_that_was_reached_without_a_page_is_one():
    assert end(**{"finish_reason": "closespider_timeout", "visit/page": 0, "visit/captcha": 0}).exit_code == 1


@pytest.mark.parametrize("reason", FAILURE_REASONS)
def test_a_failure_is_1_whatever_was_stored_before(reason):
    assert end(finish_reason=reason) == ExitStatus(1, FAILURE_REASONS[reason])


def test_our_own_reasons_are_failures_but_for_the_one_that_is_gone_on_with():
    assert set(FinishReason) - set(FAILURE_REASONS) == {FinishReason.DEFERRED}


@pytest.mark.parametrize(
    ("number", "code", "problem"),
    [
        (signal.SIGINT, 130, "SIGINT stopped the crawl before its end"),
        (signal.SIGTERM, 143, "SIGTERM stopped the crawl before its end"),
    ],
)
def test_a_stopped_crawl_has_the_exit_code_of_its_signal(number, code, problem):
    assert end(**{"finish_reason": "shutdown", STOP_SIGNAL_STAT: int(number)}) == ExitStatus(code, problem)


def test_a_crawl_that_was_stopped_otherwise_is_1():
    assert end(finish_reason="shutdown") == ExitStatus(1, "the crawl was stopped before its end")


def test_a_crawl_that_was_broken_off_without_a_reason_counts_as_stopped():
    assert find_exit_status({"visit/page": 9, STOP_SIGNAL_STAT: 2}, 0.5).exit_code == 130


def test_a_failed_database_is_told_even_of_a_stopped_crawl():
    ending = end(**{"finish_reason": "shutdown", STOP_SIGNAL_STAT: 2, "store/error": "the disk is full"})
    assert ending == ExitStatus(1, "the database failed: the disk is full")


def test_more_refusals_than_allowed_are_1():
    ending = find_exit_status(STORED, 0.05)
    assert ending == ExitStatus(1, "1 of 10 visits were refused, more than MAX_REFUSED_SHARE=0.05")


def test_a_crawl_without_a_visit_is_1():
    assert find_exit_status({"finish_reason": "finished"}, 0.5) == ExitStatus(
        1, "no page was stored (nothing was visited)"
    )


def test_who_joins_a_crawl_that_others_have_done_has_not_failed():
    joined = {"finish_reason": "finished", "frontier/resumed": 1}
    assert find_exit_status(joined, 0.5) == ExitStatus(0)
    assert find_exit_status(joined | {"visit/section": 1, "visit/http_error": 2}, 0.5) == ExitStatus(0)
    assert find_exit_status(joined | {"visit/not_found": 2}, 0.5) == ExitStatus(0)


def test_who_began_a_crawl_whose_pages_others_have_fetched_has_not_failed():
    begun = {"finish_reason": "finished", "frontier/pages_found": 1}
    assert find_exit_status(begun, 0.5) == ExitStatus(0)
    assert find_exit_status(begun | {"visit/section": 3}, 0.5) == ExitStatus(0)


def test_who_joins_a_crawl_and_sees_nothing_but_failures_has_failed():
    joined = {"finish_reason": "finished", "frontier/resumed": 1, "visit/http_error": 2, "visit/download_failed": 1}
    assert find_exit_status(joined, 0.5) == ExitStatus(1, "no page was stored (http_error 2, download_failed 1)")
