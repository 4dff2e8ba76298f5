"""Scrapy's side of the settings; Blocksieve's own are declared in `crawler/config.py`.

`scrapy` finds this module through scrapy.cfg in the checkout, and elsewhere through the environment variable
SCRAPY_SETTINGS_MODULE=crawler.settings.
"""

BOT_NAME = "blocksieve"
SPIDER_MODULES = ["spiders"]
NEWSPIDER_MODULE = "spiders"
SPIDER_LOADER_CLASS = "crawler.addon.SpiderLoader"
COMMANDS_MODULE = "crawler.commands"

# The add-on checks Blocksieve's settings, adds CONTACT to the User-Agent and switches to REPLAY.
ADDONS = {"crawler.addon.Blocksieve": 100}

# What happens to a response, in order: judged and parsed, drained into one visit, cleaned, compared, stored.
SCHEDULER = "crawler.frontier.scheduler.Frontier"
DOWNLOADER = "crawler.fetching.throttling.Downloader"
DOWNLOADER_MIDDLEWARES = {
    "crawler.middlewares.ResponseFilterMiddleware": 10,
    "crawler.fetching.throttling.RobotsMiddleware": 100,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
}
# Only http and https, and only to public addresses and those of ALLOW_ADDRESSES.
DOWNLOAD_HANDLERS = {
    "http": "crawler.fetching.network.HttpHandler",
    "https": "crawler.fetching.network.HttpHandler",
    "data": "crawler.fetching.network.SchemeHandler",
    "file": "crawler.fetching.network.SchemeHandler",
    "ftp": "crawler.fetching.network.SchemeHandler",
    "s3": "crawler.fetching.network.SchemeHandler",
}
SPIDER_MIDDLEWARES = {"crawler.middlewares.VisitMiddleware": 10}
ITEM_PIPELINES = {
    "pipelines.clean.CleanPipeline": 300,
    "pipelines.dedup.DedupPipeline": 400,
    "pipelines.store.StorePipeline": 500,
}
# How a crawl is watched and kept: the last three only where SUMMARY, METRICS and ARCHIVE say where to.
EXTENSIONS = {
    "crawler.monitoring.progress.ProgressLine": 500,
    "crawler.monitoring.summary.SummaryExtension": 510,
    "crawler.monitoring.metrics.MetricsExtension": 520,
    "crawler.fetching.archive.ArchiveRecorder": 530,
}

# A guest on other people's sites: who we are, what we leave alone, how fast we come.
USER_AGENT = "blocksieve/0.1.0"
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "blocksieve"
COOKIES_ENABLED = False
CONCURRENT_REQUESTS_PER_DOMAIN = 2
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 2.0
AUTOTHROTTLE_MAX_DELAY = 60.0

# 429 is left out: asking again at once is not what "too many requests" calls for.
RETRY_HTTP_CODES = [500, 502, 503, 504, 522, 524, 408]
RETRY_TIMES = 2
DOWNLOAD_TIMEOUT = 60
# Scrapy starts so many tasks for each response, whatever its callback yields; 100, its default, cost as much CPU as
# fetching a small page does.
CONCURRENT_ITEMS = 8
# Raised by the add-on where PAGE_MAX_BYTES is higher.
DOWNLOAD_MAXSIZE = 20_000_000
DOWNLOAD_WARNSIZE = 0
# News pages reload themselves every minute or more; following that would lose them to the duplicate filter.
METAREFRESH_MAXDELAY = 5

TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
LOG_LEVEL = "INFO"
