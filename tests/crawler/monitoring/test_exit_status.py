"""The end of a crawl: which reasons are failures, the exit codes, and counts that balance."""

import signal

import pytest

from crawler.monitoring.exit_status import (
    _FAILURE_REASONS,
    FAILED_ITEMS_STAT,
    FIRST_FAILURE_STAT,
    STOP_SIGNAL_STAT,
    ExitStatus,
    FinishReason,
    find_exit_status,
    find_imbalances,
    find_storing_status,
    queued_requests,
    stored_counters,
)

SLOWER = "crawl more slowly (DOWNLOAD_DELAY), and name yourself (CONTACT)"
STORED = {"finish_reason": "finished", "visit/page": 9, "visit/captcha": 1}


def end(**stats):
    """The exit status of a crawl that stored pages, with these stats changed."""
    return find_exit_status(STORED | stats, 0.5)


def test_a_crawl_that_stored_pages_is_0():
    assert end() == ExitStatus(0)


def test_a_crawl_in_which_nothing_changed_is_0():
    assert end(**{"visit/page": 0, "visit/not_modified": 9}) == ExitStatus(0)


@pytest.mark.parametrize(
    "reason", ["closespider_timeout", "closespider_itemcount", "closespider_pagecount", "cancelled", "enough"]
)
def test_a_limit_that_the_user_set_is_not_a_failure(reason):
    assert end(finish_reason=reason) == ExitStatus(0)


def test_a_limit_reached_without_a_page_is_a_failure():
    assert end(**{"finish_reason": "closespider_timeout", "visit/page": 0, "visit/captcha": 0}).exit_code == 1


@pytest.mark.parametrize("reason", _FAILURE_REASONS)
def test_a_failure_is_1_even_if_pages_were_stored(reason):
    assert end(finish_reason=reason) == ExitStatus(1, _FAILURE_REASONS[reason])


def test_our_own_reasons_are_failures_except_deferred():
    assert set(FinishReason) - set(_FAILURE_REASONS) == {FinishReason.DEFERRED}


@pytest.mark.parametrize(
    ("number", "code", "problem"),
    [
        (signal.SIGINT, 130, "SIGINT stopped the crawl before its end; the same command continues it"),
        (signal.SIGTERM, 143, "SIGTERM stopped the crawl before its end; the same command continues it"),
    ],
)
def test_a_stopped_crawl_has_the_exit_code_of_its_signal(number, code, problem):
    assert end(**{"finish_reason": "shutdown", STOP_SIGNAL_STAT: int(number)}) == ExitStatus(code, problem)


def test_a_crawl_stopped_without_a_signal_is_1():
    assert end(finish_reason="shutdown") == ExitStatus(
        1, "the crawl was stopped before its end; the same command continues it"
    )


def test_a_crawl_without_a_finish_reason_counts_as_stopped():
    assert find_exit_status({"visit/page": 9, STOP_SIGNAL_STAT: 2}, 0.5).exit_code == 130


def test_a_failed_database_is_reported_even_if_the_crawl_was_stopped():
    ending = end(**{"finish_reason": "shutdown", STOP_SIGNAL_STAT: 2, "store/error": "the disk is full"})
    assert ending == ExitStatus(130, "SIGINT stopped the crawl before its end; the database failed: the disk is full")


def test_more_refusals_than_allowed_are_1():
    ending = find_exit_status(STORED, 0.05)
    assert ending == ExitStatus(1, "1 of 10 visits were refused, more than MAX_REFUSED_SHARE=0.05; " + SLOWER)


def test_a_crawl_without_a_visit_is_1():
    assert find_exit_status({"finish_reason": "finished"}, 0.5) == ExitStatus(
        1, "no page was stored (nothing was visited)"
    )


def test_a_process_that_joins_a_crawl_with_all_pages_fetched_has_not_failed():
    joined = {"finish_reason": "finished", "frontier/resumed": 1}
    assert find_exit_status(joined, 0.5) == ExitStatus(0)
    assert find_exit_status(joined | {"visit/section": 1, "visit/http_error": 2}, 0.5) == ExitStatus(0)
    assert find_exit_status(joined | {"visit/not_found": 2}, 0.5) == ExitStatus(0)


def test_a_process_whose_pages_others_have_fetched_has_not_failed():
    begun = {"finish_reason": "finished", "frontier/pages_found": 1}
    assert find_exit_status(begun, 0.5) == ExitStatus(0)
    assert find_exit_status(begun | {"visit/section": 3}, 0.5) == ExitStatus(0)


def test_a_process_that_joins_a_crawl_and_only_sees_failures_has_failed():
    joined = {"finish_reason": "finished", "frontier/resumed": 1, "visit/http_error": 2, "visit/download_failed": 1}
    problem = "no page was stored (http_error 2, download_failed 1); the site answered with errors; try again later"
    assert find_exit_status(joined, 0.5) == ExitStatus(1, problem)


TLS = "https://a.example/: TLS: wrong version number"
UNKNOWN = "https://a.example/: DNS lookup failed: no results for hostname lookup: a.example."
LOOPBACK = "http://127.0.0.1/: 127.0.0.1 leads to 127.0.0.1 (loopback)"
HTTP = "http://a.example/: Connection was refused by other side"


@pytest.mark.parametrize(
    ("visits", "failure", "says"),
    [
        ({"section": 1}, None, "docs/crawl.md, Manuals"),
        ({"section": 1, "not_found": 3}, None, "open one in a browser"),
        ({"download_failed": 1}, TLS, f"{TLS}; if the site has no https, ask for it by http://"),
        ({"download_failed": 1}, UNKNOWN, UNKNOWN),
        ({"download_failed": 1}, HTTP, HTTP),
        ({"address": 1}, LOOPBACK, f"{LOOPBACK}; -s ALLOW_ADDRESSES=NETWORK allows a network, such as 10.0.0.0/8"),
        ({"section": 3, "noindex": 1}, None, "-s OBEY_NOINDEX=false stores them, if you have the right to"),
        ({"section": 1, "noai": 2}, None, "-s OBEY_NOAI=false stores them, if you have the right to"),
        (
            {"tdm_reserved": 2, "noindex": 1},
            None,
            "-s OBEY_TDM_RESERVATION=false stores the pages, if you have the right to",
        ),
        ({"page": 0, "section": 2, "forbidden": 2}, None, "docs/crawl.md, Manuals"),
    ],
)
def test_a_crawl_without_a_page_says_what_to_do(visits, failure, says):
    stats = {f"visit/{outcome}": count for outcome, count in visits.items()} | {"finish_reason": "finished"}
    ending = find_exit_status(stats | {FIRST_FAILURE_STAT: failure} if failure else stats, 0.5)
    assert ending.problem.endswith(says)


def test_a_crawl_whose_links_must_not_be_followed_names_the_setting():
    stats = {"visit/section": 1, "directives/nofollow_links": 30, "finish_reason": "finished"}
    assert find_exit_status(stats, 0.5).problem == (
        "no page was stored (section 1); 30 links were not followed because their page says nofollow; "
        "-s OBEY_NOFOLLOW=false follows them, if you may"
    )


def test_a_failure_that_is_not_the_most_frequent_outcome_is_not_the_cause():
    stats = {"visit/not_found": 5, "visit/download_failed": 1, "finish_reason": "finished", FIRST_FAILURE_STAT: TLS}
    assert TLS not in find_exit_status(stats, 0.5).problem


BALANCED = {
    "clean/pages": 3,
    "store/pages_new": 2,
    "store/pages_unchanged": 1,
    "blocks/seen": 11,
    "blocks/kept": 7,
    "blocks/links": 4,
    "store/blocks_new": 3,
    "store/blocks_refreshed": 1,
    "dedup/exact": 1,
    "dedup/near": 1,
    "dedup/boilerplate": 1,
}


def test_counts_that_balance_are_not_reported():
    assert list(find_imbalances(BALANCED)) == []


def test_a_block_without_a_reason_is_reported():
    (sentence,) = find_imbalances(BALANCED | {"blocks/seen": 12})
    assert sentence == "12 blocks were seen, but 11 kept or dropped for a reason"


def test_a_missing_page_is_reported():
    (sentence,) = find_imbalances(BALANCED | {"store/pages_new": 1})
    assert "3 pages were cleaned, but 2 stored, failed or lost" in sentence


def test_a_missing_kept_block_is_reported():
    (sentence,) = find_imbalances(BALANCED | {"dedup/near": 0})
    assert "7 blocks were kept, but 6" in sentence


def test_blocks_of_pages_that_could_not_be_stored_are_not_missing():
    assert (
        list(find_imbalances(BALANCED | {"store/blocks_new": 0, "store/pages_new": 0, "store/pages_failed": 2})) == []
    )


def test_only_our_own_counters_are_stored_with_the_crawl():
    assert stored_counters({"visit/page": 2, "log_count/INFO": 7, "store/error": "full"}) == {
        "visit/page": 2,
        "store/error": "full",
    }


def test_current_values_are_not_stored_as_counters():
    assert stored_counters({"store/crawl_id": 7, "frontier/queued": 3, "frontier/resumed": 1}) == {
        "frontier/resumed": 1
    }


def test_the_database_s_queue_is_counted_if_there_is_one():
    in_memory = {"scheduler/enqueued": 9, "scheduler/dequeued": 4}
    assert queued_requests({}) == 0
    assert queued_requests(in_memory) == 5
    assert queued_requests(in_memory | {"frontier/queued": 0}) == 0
    assert queued_requests({"frontier/queued": 12, "scheduler/dequeued": 4}) == 12


@pytest.mark.parametrize(("failed", "scraped", "exit_code"), [(1, 9, 0), (5, 5, 0), (6, 4, 1), (9, 0, 1)])
def test_a_crawl_fails_if_pipelines_failed_for_most_items(failed, scraped, exit_code):
    ending = end(**{FAILED_ITEMS_STAT: failed, "item_scraped_count": scraped})
    assert ending.exit_code == exit_code
    if exit_code:
        total = failed + scraped
        assert ending.problem == f"a pipeline of the project raised errors for {failed} of {total} items: see the log"


@pytest.mark.parametrize(
    ("stats", "problem"),
    [
        ({}, None),
        ({"visit/page": 0, "visit/not_found": 9}, None),
        ({"finish_reason": "shutdown"}, None),
        ({"visit/cleaning_failed": 9}, None),
        ({"visit/cleaning_failed": 9, "visit/pipeline_failed": 1}, "cleaning or storing failed for 10 of 19 pages"),
        ({"store/error": "the disk is full"}, "the database failed: the disk is full"),
        ({"finish_reason": "store_failed"}, "the database failed"),
        ({"finish_reason": "workers_failed"}, "a cleaning process"),
    ],
)
def test_the_crawl_of_a_host_project_fails_only_if_its_pages_were_not_stored(stats, problem):
    ending = find_storing_status(STORED | stats)
    assert ending.exit_code == (problem is not None)
    assert (ending.problem or "").startswith(problem or "")


def test_addresses_that_were_too_long_are_a_reason():
    status = find_exit_status({"finish_reason": "finished", "urllength/request_ignored_count": 1}, 0.5)
    assert status.problem == (
        "no page was stored (nothing was visited); 1 address is longer than URLLENGTH_LIMIT and was not requested"
    )
    status = find_exit_status({"finish_reason": "finished", "urllength/request_ignored_count": 2}, 0.5)
    assert status.problem.endswith("; 2 addresses are longer than URLLENGTH_LIMIT and were not requested")


def test_requests_that_a_host_refused_unasked_count_as_refused():
    assert end(**{"frontier/refused": 9}).exit_code == 1
    assert end(**{"frontier/refused": 3}).exit_code == 0


def test_a_redirect_loop_is_explained_by_its_first_failure():
    stats = {
        "finish_reason": "finished",
        "visit/redirect_loop": 1,
        FIRST_FAILURE_STAT: "https://a.example/: it leads back",
    }
    assert (
        find_exit_status(stats, 0.5).problem
        == "no page was stored (redirect_loop 1); https://a.example/: it leads back"
    )
