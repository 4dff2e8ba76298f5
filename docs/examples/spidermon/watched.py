"""Blocksieve's settings with Spidermon, for SCRAPY_SETTINGS_MODULE=watched. docs/watching.md shows how to run it."""

from crawler.settings import *  # noqa: F403 — all that a crawl needs

# The add-on puts Blocksieve's own extensions beside it.
EXTENSIONS = {"spidermon.contrib.scrapy.extensions.Spidermon": 600}
SPIDERMON_ENABLED = True
SPIDERMON_SPIDER_CLOSE_MONITORS = ("monitors.CrawlSuite",)

# Spidermon's own monitors. One whose setting is missing raises an error.
SPIDERMON_EXPECTED_FINISH_REASONS = ["finished"]
SPIDERMON_MAX_ERRORS = 0

# Ours, in monitors.py; -s LEAST_PAGES=500 overrides.
LEAST_PAGES = 50
MOST_REFUSED_SHARE = 0.1
