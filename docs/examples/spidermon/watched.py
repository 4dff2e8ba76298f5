"""Blocksieve's settings with Spidermon, for SCRAPY_SETTINGS_MODULE=watched. docs/serve.md shows how to run it."""

from crawler.settings import *  # noqa: F403 — everything that a crawl needs

# The add-on adds Blocksieve's own extensions.
EXTENSIONS = {"spidermon.contrib.scrapy.extensions.Spidermon": 600}
SPIDERMON_ENABLED = True
SPIDERMON_SPIDER_CLOSE_MONITORS = ("monitors.CrawlSuite",)

# Spidermon's own monitors. One whose setting is missing raises an error.
SPIDERMON_EXPECTED_FINISH_REASONS = ["finished"]
SPIDERMON_MAX_ERRORS = 0

# Ours, in monitors.py; -s PAGES_MIN=500 overrides.
PAGES_MIN = 50
REFUSED_SHARE_MAX = 0.1
