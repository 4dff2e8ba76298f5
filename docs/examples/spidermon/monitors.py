"""Checks at the end of a crawl: its pages and refusals, its finish reason, and errors in its log."""

from spidermon import MonitorSuite, monitors
from spidermon.contrib.scrapy.monitors import BaseStatMonitor, ErrorCountMonitor, FinishReasonMonitor
from spidermon.contrib.scrapy.monitors.base import BaseScrapyMonitor

from crawler.visit import REFUSAL_OUTCOMES


@monitors.name("Pages")
class PageMonitor(BaseStatMonitor):
    stat_name = "visit/page"
    threshold_setting = "PAGES_MIN"
    assert_type = ">="


@monitors.name("Refusals")
class RefusalMonitor(BaseScrapyMonitor):
    @monitors.name("Sites refused no more than REFUSED_SHARE_MAX of the visits")
    def test_refused_share(self) -> None:
        visits = {name: count for name, count in self.data.stats.items() if name.startswith("visit/")}
        refused = sum(visits.get(f"visit/{outcome}", 0) for outcome in REFUSAL_OUTCOMES)
        most = self.data.crawler.settings.getfloat("REFUSED_SHARE_MAX") * sum(visits.values())
        self.assertLessEqual(refused, most)  # noqa: PT009 — a monitor is a unittest.TestCase


class CrawlSuite(MonitorSuite):
    monitors = [PageMonitor, RefusalMonitor, FinishReasonMonitor, ErrorCountMonitor]  # noqa: RUF012 — as Spidermon has it

    # Add Spidermon actions here: mail, Slack, Sentry, ...
    monitors_failed_actions = []  # noqa: RUF012
