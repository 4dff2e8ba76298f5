"""A crawl's counts add up, or it is said."""

from crawler.monitoring.exit_status import find_imbalances, queued_requests, stored_counters

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


def test_counts_that_add_up_are_not_mentioned():
    assert list(find_imbalances(BALANCED)) == []


def test_a_block_without_a_reason_is_mentioned():
    (sentence,) = find_imbalances(BALANCED | {"blocks/seen": 12})
    assert sentence == "12 blocks were seen, but 11 kept or dropped for a reason"


def test_a_page_that_went_missing_is_mentioned():
    (sentence,) = find_imbalances(BALANCED | {"store/pages_new": 1})
    assert "3 pages were cleaned, but 2 stored, failed or lost" in sentence


def test_a_kept_block_that_went_missing_is_mentioned():
    (sentence,) = find_imbalances(BALANCED | {"dedup/near": 0})
    assert "7 blocks were kept, but 6" in sentence


def test_blocks_of_pages_that_the_database_refused_are_not_missing():
    assert (
        list(find_imbalances(BALANCED | {"store/blocks_new": 0, "store/pages_new": 0, "store/pages_failed": 2})) == []
    )


def test_only_our_own_counters_are_kept_with_the_crawl():
    assert stored_counters({"visit/page": 2, "log_count/INFO": 7, "store/error": "full"}) == {
        "visit/page": 2,
        "store/error": "full",
    }


def test_what_is_of_the_moment_is_not_kept_to_be_added_up():
    assert stored_counters({"store/crawl_id": 7, "frontier/queued": 3, "frontier/resumed": 1}) == {
        "frontier/resumed": 1
    }


def test_the_queue_is_the_database_s_where_there_is_one():
    in_memory = {"scheduler/enqueued": 9, "scheduler/dequeued": 4}
    assert queued_requests({}) == 0
    assert queued_requests(in_memory) == 5
    assert queued_requests(in_memory | {"frontier/queued": 0}) == 0
    assert queued_requests({"frontier/queued": 12, "scheduler/dequeued": 4}) == 12
