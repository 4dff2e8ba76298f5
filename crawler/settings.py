"""The values of Scrapy's own settings: which components run, in which order. `crawler/config/` declares ours.

In a checkout, scrapy.cfg names this module. Elsewhere, set the environment variable
SCRAPY_SETTINGS_MODULE=crawler.settings.
"""

from importlib.metadata import version

BOT_NAME = "blocksieve"
SPIDER_MODULES = ["spiders"]
NEWSPIDER_MODULE = "spiders"
SPIDER_LOADER_CLASS = "crawler.addon.SpiderLoader"
COMMANDS_MODULE = "crawler.commands.project"

# The add-on checks our settings, adds CONTACT to the User-Agent, and switches to REPLAY and RENDER.
ADDONS = {"crawler.addon.Blocksieve": 100}

# A response is filtered and parsed, becomes one visit with the callback's output, and is cleaned, fingerprinted and
# stored.
SCHEDULER = "crawler.frontier.scheduler.Frontier"
REQUEST_FINGERPRINTER_CLASS = "crawler.frontier.serialize.PageFingerprinter"
DOWNLOADER = "crawler.fetching.throttling.Downloader"
DOWNLOADER_MIDDLEWARES = {
    "crawler.middlewares.ResponseFilterMiddleware": 10,
    "crawler.fetching.redirects.RedirectGuard": 20,
    "crawler.fetching.throttling.RobotsMiddleware": 100,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "crawler.fetching.reservations.ReservationsMiddleware": 110,
    "crawler.fetching.redirects.RefreshMiddleware": 580,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "crawler.fetching.compression.CompressionMiddleware": 590,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
}
# Only http and https, and only to public addresses and those in ALLOW_ADDRESSES.
DOWNLOAD_HANDLERS = {
    "http": "crawler.fetching.network.HttpHandler",
    "https": "crawler.fetching.network.HttpHandler",
    "data": "crawler.fetching.network.SchemeHandler",
    "file": "crawler.fetching.network.SchemeHandler",
    "ftp": "crawler.fetching.network.SchemeHandler",
    "s3": "crawler.fetching.network.SchemeHandler",
}
SPIDER_MIDDLEWARES = {"crawler.middlewares.VisitMiddleware": 10}
# Below zero, because the pipelines of a project have orders from 0 to 1000: they come later and get items, not visits.
ITEM_PIPELINES = {
    "pipelines.clean.CleanPipeline": -300,
    "pipelines.dedup.DedupPipeline": -200,
    "pipelines.store.StorePipeline": -100,
}
# The last four are only active with SUMMARY, METRICS, ARCHIVE, and ALERT_WEBHOOK or ALERT_COMMAND.
EXTENSIONS = {
    "scrapy.extensions.throttle.AutoThrottle": None,
    "crawler.fetching.throttling.AutoThrottle": 0,
    "crawler.reclean.TemplateExtension": 490,
    "crawler.monitoring.progress.ProgressLine": 500,
    "crawler.monitoring.summary.EndTable": 505,
    "crawler.monitoring.summary.SummaryExtension": 510,
    "crawler.monitoring.metrics.MetricsExtension": 520,
    "crawler.fetching.archive.ArchiveRecorder": 530,
    "crawler.health.alerts.AlertExtension": 540,
}

# Politeness: identification, robots.txt, and the rate of requests.
USER_AGENT = f"blocksieve/{version('blocksieve')}"
ROBOTSTXT_OBEY = True
ROBOTSTXT_USER_AGENT = "blocksieve"
COOKIES_ENABLED = False
CONCURRENT_REQUESTS_PER_DOMAIN = 2
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 2.0
AUTOTHROTTLE_MAX_DELAY = 60.0

# Without 429 and 503: their host is paused first.
RETRY_HTTP_CODES = [500, 502, 504, 522, 524, 408]
RETRY_TIMES = 2
DOWNLOAD_TIMEOUT = 60
# Scrapy starts this many tasks for each response, whatever its callback yields. With the default of 100 they cost as
# much CPU as fetching a small page.
CONCURRENT_ITEMS = 8
# The add-on raises this to PAGE_MAX_BYTES if that is higher.
DOWNLOAD_MAXSIZE = 20_000_000
DOWNLOAD_WARNSIZE = 0
# News pages reload themselves every minute or so. Following such a reload would lose the page to the duplicate filter.
METAREFRESH_MAXDELAY = 5

TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
LOG_LEVEL = "INFO"
