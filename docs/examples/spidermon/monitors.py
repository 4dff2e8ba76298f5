"""What is checked when a crawl has ended: pages and refusals, its finish reason, errors in its log."""

from spidermon import MonitorSuite, monitors
from spidermon.contrib.scrapy.monitors import BaseStatMonitor, ErrorCountMonitor, FinishReasonMonitor
from spidermon.contrib.scrapy.monitors.base import BaseScrapyMonitor

from crawler.visit import REFUSAL_OUTCOMES


@monitors.name("Pages")
class PageMonitor(BaseStatMonitor):
    stat_name = "visit/page"
    threshold_setting = "LEAST_PAGES"
    assert_type = ">="


@monitors.name("Refusals")
class RefusalMonitor(BaseScrapyMonitor):
    @monitors.name("Sites refused no more than MOST_REFUSED_SHARE of the visits")
    def test_refused_share(self) -> None:
        visits = {name: count for name, count in self.data.stats.items() if name.startswith("visit/")}
        refused = sum(visits.get(f"visit/{outcome}", 0) for outcome in REFUSAL_OUTCOMES)
        most = self.data.crawler.settings.getfloat("MOST_REFUSED_SHARE") * sum(visits.values())
        self.assertLessEqual(refused, most)  # noqa: PT009 — a monitor is a unittest.TestCase


class CrawlSuite(MonitorSuite):
    monitors = [PageMonitor, RefusalMonitor, FinishReasonMonitor, ErrorCountMonitor]  # noqa: RUF012 — as Spidermon has it

    # Spidermon's actions tell of it: mail, Slack, Sentry, ...
    monitors_failed_actions = []  # noqa: RUF012
