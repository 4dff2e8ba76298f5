"""The metrics as text, and a text that the next crawl continues."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from crawler.monitoring.exit_status import ExitStatus
from crawler.monitoring.exposition import COUNTERS, GAUGES, CrawlTiming, Exposition

LABELS = {"spider": "section", "file": 'a "quoted" one'}
RUNNING = CrawlTiming(now=110.0, started=100.0)


def samples(text):
    """Return the value by metric and own label."""
    families = text_string_to_metric_families(text.decode())
    return {
        (sample.name, *(value for name, value in sample.labels.items() if name not in LABELS)): sample.value
        for family in families
        for sample in family.samples
    }


def after(earlier, stats, moment):
    return Exposition(LABELS, earlier.decode()).text(stats, moment)


def test_every_metric_has_a_description_and_a_valid_name():
    text = Exposition(LABELS).text({}, CrawlTiming(110.0, 100.0, ExitStatus(0)))
    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    assert set(families) == {f"blocksieve_{metric}" for metric in [*(counter.name for counter in COUNTERS), *GAUGES]}
    assert {family.type for family in families.values()} == {"counter", "gauge"}
    assert all(family.documentation and family.samples for family in families.values())
    assert all(sample.labels.items() >= LABELS.items() for family in families.values() for sample in family.samples)


def test_stats_are_counted_under_their_label():
    values = samples(Exposition(LABELS).text({"visit/captcha": 3, "store/pages_new": 7, "retry/count": 2}, RUNNING))
    assert values["blocksieve_visits_total", "captcha"] == 3
    assert values["blocksieve_visits_total", "page"] == 0
    assert values["blocksieve_pages_total", "new"] == 7
    assert values[("blocksieve_retries_total",)] == 2


def test_the_queue_is_enqueued_minus_dequeued_requests():
    values = samples(Exposition(LABELS).text({"scheduler/enqueued": 9, "scheduler/dequeued": 4}, RUNNING))
    assert values[("blocksieve_queue",)] == 5


def test_the_queue_in_the_database_is_the_number_counted_there():
    values = samples(Exposition(LABELS).text({"frontier/queued": 12, "scheduler/dequeued": 4}, RUNNING))
    assert values[("blocksieve_queue",)] == 12


def test_a_counter_continues_from_the_previous_crawl():
    first = Exposition(LABELS).text({"visit/page": 5}, RUNNING)
    second = after(first, {"visit/page": 3}, RUNNING)
    assert samples(second)["blocksieve_visits_total", "page"] == 8
    assert samples(after(second, {}, RUNNING))["blocksieve_visits_total", "page"] == 8


def test_a_counter_never_falls():
    exposition = Exposition(LABELS)
    exposition.text({"visit/page": 5}, RUNNING)
    assert samples(exposition.text({"visit/page": 4}, RUNNING))["blocksieve_visits_total", "page"] == 5


def test_there_is_no_end_before_a_crawl_has_ended():
    values = samples(Exposition(LABELS).text({}, RUNNING))
    assert values[("blocksieve_crawl_running",)] == 1
    assert ("blocksieve_crawl_finished_timestamp_seconds",) not in values
    assert ("blocksieve_crawl_exit_code",) not in values


def test_the_last_end_stays_while_the_next_crawl_runs():
    ended = Exposition(LABELS).text({}, CrawlTiming(120.0, 100.0, ExitStatus(0)))
    values = samples(after(ended, {}, CrawlTiming(210.0, 200.0)))
    assert values[("blocksieve_crawl_running",)] == 1
    assert values[("blocksieve_crawl_started_timestamp_seconds",)] == 200
    assert values[("blocksieve_crawl_finished_timestamp_seconds",)] == 120


def test_a_failure_does_not_move_the_last_success():
    succeeded = Exposition(LABELS).text({}, CrawlTiming(120.0, 100.0, ExitStatus(0)))
    values = samples(after(succeeded, {}, CrawlTiming(220.0, 200.0, ExitStatus(1, "no page was stored"))))
    assert values[("blocksieve_crawl_running",)] == 0
    assert values[("blocksieve_crawl_finished_timestamp_seconds",)] == 220
    assert values[("blocksieve_crawl_succeeded_timestamp_seconds",)] == 120
    assert values[("blocksieve_crawl_exit_code",)] == 1


def test_samples_of_another_spider_are_left_out():
    other = Exposition({"spider": "ezine", "file": "all"}).text({"visit/page": 5}, RUNNING)
    assert samples(after(other, {}, RUNNING))["blocksieve_visits_total", "page"] == 0


@pytest.mark.parametrize("content", ["a diary, not metrics\n", "node_load1 0.5\n", "blocksieve_queue{"])
def test_content_that_is_not_ours_is_rejected(content):
    with pytest.raises(ValueError, match=r"."):
        Exposition(LABELS, content)
