"""The add-ons `Blocksieve` and `Cleaning`, and the spider loader.

`Blocksieve` is for our own spiders and for projects whose spiders yield pages; `Cleaning` is for any other project.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.commands.shell import Command as ScrapyShell
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.downloadermiddlewares import cookies
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.spiderloader import SpiderLoader as ScrapySpiderLoader
from scrapy.utils.misc import load_object
from scrapy.utils.spider import DefaultSpider
from w3lib.url import file_uri_to_path

from blocksieve import HOME, hiding_place
from cleaning import METHODS
from cleaning._native import explain_missing_core
from cleaning.domains import public_suffixes
from crawler import settings as ours
from crawler.config import Config, read_setting, unknown_settings, use_database_settings
from crawler.config.names import alias_of, name_in_use, set_ours
from crawler.config.profiles import PROFILES
from crawler.config.values import given_value, in_host_project, is_on_command_line
from crawler.context import CrawlContext, context_of
from crawler.errors import ConfigError, RenderError, SetupError
from crawler.fetching.network import HttpHandler
from crawler.fetching.render.browser import MISSING_EXTRA, Browser
from crawler.fetching.render.rendering import Rendering
from crawler.fetching.replay import open_replay
from crawler.page import page_adapter
from crawler.storage.schema import read_settings
from crawler.teaching.site_models import site_model_reader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_RESPONSE_FILTER = "crawler.middlewares.ResponseFilterMiddleware"
_RESERVATIONS = "crawler.fetching.reservations.ReservationsMiddleware"
_CLEANING_MIDDLEWARE = "crawler.cleaning_middleware.CleaningMiddleware"
# Outermost: Scrapy and projects use orders from 100 on, so it sees each response as the spider does.
_CLEANING_MIDDLEWARE_ORDER = 10
_AUTO_THROTTLE = "crawler.fetching.throttling.AutoThrottle"
_STORE_PIPELINE = "pipelines.store.StorePipeline"
_HTTP_HANDLER = "crawler.fetching.network.HttpHandler"
_CSV_EXPORTER = "crawler.reading.exports.feeds.QuotedCsvItemExporter"
_COMPONENT_TABLES = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS")
# Settings without a use in the add-on Cleaning, and the values that switch them off.
_UNUSED_BY_CLEANING: dict[str, Any] = {"RENDER": False, "REPLAY": "", "ARCHIVE": ""}
# A replay contacts no site, so it needs no delays and no retries, and serves saved pages unchanged.
_REPLAY_SETTINGS: dict[str, Any] = {
    "AUTOTHROTTLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_SLOTS": {},
    "METAREFRESH_ENABLED": False,
    "RETRY_ENABLED": False,
}
# Scrapy's commands that call the callbacks of a spider; `shell`, `fetch` and `view` only show a response.
_CALLBACK_COMMANDS = frozenset({"check", "parse"})
_COMMANDS_PACKAGE = "scrapy.commands."


class Blocksieve:
    """Checks our settings, and adds our components and what follows from our settings to Scrapy's.

    The opened replay source goes into the context of the crawl. A command that only looks at pages, such as `scrapy
    shell`, gets no component that stores or writes anything.
    """

    def __init__(self, context: CrawlContext | None = None, looking: str | None = None) -> None:
        self.context = context or CrawlContext()
        self._looking = looking
        self.context.looks_only = looking is not None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(context_of(crawler), looking_command(crawler))

    def update_settings(self, settings: BaseSettings) -> None:
        """Raises ConfigError, ReplayError or RenderError, which stop the crawl; NotConfigured would skip the add-on."""
        check_packages(["pipelines"])
        config = _settle_method(settings, looks_only=self.context.looks_only)
        _add_components(settings)
        if self._looking is not None:
            _switch_to_looking(settings, config, calls_back=self._looking in _CALLBACK_COMMANDS)
        if config.contact:
            _name_contact(settings, config.contact)
        elif not config.replay:
            logger.info("CONTACT is not set: webmasters cannot reach you about this crawl")
        if config.page_max_bytes > settings.getint("DOWNLOAD_MAXSIZE"):
            _force(settings, "DOWNLOAD_MAXSIZE", config.page_max_bytes)
        if config.replay:
            self.context.replay = open_replay(Path(config.replay).expanduser(), config.page_max_bytes)
            _switch_to_replay(settings)
        if config.render:
            _switch_to_rendering(settings, config)
        elif not config.replay:
            _check_addresses(settings)
        if not self.context.looks_only:
            _warn_of_missing_core()
            _warn_of_unknown(settings)
            _check_feeds(settings)
            _check_pipelines(settings)
            if config.archive:
                _check_archive(settings, config)


class Cleaning:
    """Cleans and stores the pages of a host project, beside its own items, which do not change.

    PAGES_FROM and PAGES_OF_TYPES say which responses are pages; see docs/extend.md. A command that only looks at
    pages stores nothing.
    """

    def __init__(self, *, looks_only: bool = False) -> None:
        self._looks_only = looks_only

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(looks_only=looking_command(crawler) is not None)

    def update_settings(self, settings: BaseSettings) -> None:
        """Raises ConfigError, which stops the crawl; NotConfigured would skip the add-on."""
        _leave_to_project(settings)
        if Blocksieve in addons_in_use(settings):
            raise ConfigError("ADDONS has crawler.addon.Blocksieve and crawler.addon.Cleaning; remove one of them")
        config = Config.read(settings)
        _check_host_project(config, settings)
        if self._looks_only:
            return
        use_database_settings(settings, read_kept_settings(settings))
        _warn_of_missing_core()
        _warn_of_unknown(settings)
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", load_object(_CLEANING_MIDDLEWARE), _CLEANING_MIDDLEWARE_ORDER
        )


def addons_in_use(settings: BaseSettings) -> set[type]:
    """Return which of our two add-ons ADDONS has."""
    addons = {load_object(path) for path, order in settings.getdict("ADDONS").items() if order is not None}
    return addons & {Blocksieve, Cleaning}


def looking_command(crawler: Crawler) -> str | None:
    """Return the command of Scrapy that looks at pages with this crawler: shell, fetch, parse or check; else None.

    All but the shell give the spider a `start` of their own. The shell never calls `Crawler.crawl`, and its default
    settings have a priority that no project gives.
    """
    module: str = getattr(crawler.spidercls.start, "__module__", "")
    if module.startswith(_COMMANDS_PACKAGE):
        return module.removeprefix(_COMMANDS_PACKAGE)
    priorities = (crawler.settings.getpriority(name) for name in ScrapyShell.default_settings)
    is_shell = not crawler.crawling and SETTINGS_PRIORITIES["command"] in priorities
    return "shell" if is_shell or crawler.spidercls is DefaultSpider else None


def read_kept_settings(settings: BaseSettings) -> dict[str, Any]:
    """Return the settings that the database of a crawl keeps.

    {} in a host project that names no database: a file of that name in its folder may be anybody's. If the crawl stores
    there and its settings differ, it says so then.
    """
    if in_host_project(settings) and given_value("DATABASE_URL", settings) is None:
        return {}
    return read_settings(read_setting("DATABASE_URL", settings))


def _warn_of_missing_core() -> None:
    if (missing := explain_missing_core()) is not None:
        logger.warning("%s", missing)


def _warn_of_unknown(settings: BaseSettings) -> None:
    for sentence in unknown_settings(settings):
        logger.warning("%s", sentence)


def _settle_method(settings: BaseSettings, *, looks_only: bool) -> Config:
    """Return the settings, with RENDER for a method that needs it. Raises ConfigError if the method cannot work."""
    config = Config.read(settings)
    if not looks_only:
        config = config.with_database_settings(settings, read_kept_settings(settings))
    if config.profile in PROFILES:
        logger.info("This crawl repeats the system of a paper: %s", PROFILES[config.profile].paper)
    method, needs = config.cleaning_method, METHODS[config.cleaning_method].needs
    if needs == "template" and not config.keep_html:
        raise ConfigError(
            f"CLEANING_METHOD={method} learns from the stored pages of a site; KEEP_HTML=false stores none: unset it"
        )
    if needs != "layout" or config.render:
        return config
    if settings.get(name_in_use("RENDER", settings)) is not None:
        raise ConfigError(f"CLEANING_METHOD={method} needs the layout of pages from a browser: unset RENDER=false")
    set_ours(settings, "RENDER", value=True, priority="addon")
    return replace(config, render=True)


def _add_components(settings: BaseSettings) -> None:
    """Add the components in `crawler/settings.py` to a project with its own settings; the project's choices win."""
    # Scrapy would fetch the list of suffixes at the first cookie, and log each attempt where there is no network.
    cookies._split_domain = public_suffixes()  # noqa: SLF001 — Scrapy has no setting for it
    settings.set("DOWNLOADER", ours.DOWNLOADER, priority="addon")
    settings.set("REQUEST_FINGERPRINTER_CLASS", ours.REQUEST_FINGERPRINTER_CLASS, priority="addon")
    if settings.getpriority("RETRY_HTTP_CODES") == SETTINGS_PRIORITIES["default"]:
        settings.set("RETRY_HTTP_CODES", ours.RETRY_HTTP_CODES, priority="addon")
    if "csv" not in (exporters := settings.getdict("FEED_EXPORTERS")):
        priority = max(settings.getpriority("FEED_EXPORTERS") or 0, SETTINGS_PRIORITIES["addon"])
        settings.set("FEED_EXPORTERS", {**exporters, "csv": _CSV_EXPORTER}, priority)
    for table in _COMPONENT_TABLES:
        # A table given on the command line is used as it is.
        if (settings.getpriority(table) or 0) >= SETTINGS_PRIORITIES["cmdline"]:
            continue
        for path, order in getattr(ours, table).items():
            settings.setdefault_in_component_priority_dict(table, load_object(path), order)


def _check_pipelines(settings: BaseSettings) -> None:
    """Raise ConfigError for a project's pipeline that would get visits where it expects items.

    StorePipeline turns visits into items. A pipeline before it says that it handles visits by its attribute
    `takes_visits`.
    """
    orders = {load_object(path): order for path, order in settings.getdict("ITEM_PIPELINES").items()}
    store_order = orders.get(load_object(_STORE_PIPELINE))
    ours_loaded = set(map(load_object, ours.ITEM_PIPELINES))
    for pipeline, order in orders.items():
        is_later = order is None or (store_order is not None and order > store_order)
        if is_later or pipeline in ours_loaded or getattr(pipeline, "takes_visits", False):
            continue
        name = f"{pipeline.__module__}.{pipeline.__qualname__}"
        if store_order is None:
            order_problem = f"runs {name} without {_STORE_PIPELINE}"
            remedy = "add that pipeline before it"
        else:
            order_problem = f"runs {name} (order {order}) before {_STORE_PIPELINE} (order {store_order})"
            remedy = f"give it an order above {store_order}"
        raise ConfigError(
            f"ITEM_PIPELINES {order_problem}, so it would get visits in place of items; {remedy}, or set "
            f"{pipeline.__name__}.takes_visits = True if it handles crawler.visit.Visit"
        )


def _remove_components(settings: BaseSettings, *, calls_back: bool) -> None:
    """Remove our components that store or decide what is stored; without callbacks, also the ones that clean pages."""
    removed = {*ours.EXTENSIONS, _RESERVATIONS} - {_AUTO_THROTTLE}
    if not calls_back:
        removed |= {_RESPONSE_FILTER, *ours.SPIDER_MIDDLEWARES, *ours.ITEM_PIPELINES}
    for table in _COMPONENT_TABLES:
        for path in removed.intersection(getattr(ours, table)):
            settings.set_in_component_priority_dict(table, load_object(path), None)


def _name_contact(settings: BaseSettings, contact: str) -> None:
    if not (contact.isascii() and contact.isprintable()) or set(contact) & set("()\\"):
        raise ConfigError(f"CONTACT is {contact!r}; it must be a mail address or URL in ASCII, without parentheses")
    agent = settings["USER_AGENT"]
    if contact not in agent:
        priority = settings.getpriority("USER_AGENT") or 0
        settings.set("USER_AGENT", f"{agent} (+{contact})", priority=priority)


def _check_addresses(settings: BaseSettings) -> None:
    """Replace Scrapy's own download handler by ours, which checks addresses; a project's other handlers stay."""
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    theirs = {scheme: load_object(handlers[scheme]) for scheme in ("http", "https") if handlers.get(scheme)}
    checked = {scheme: _HTTP_HANDLER for scheme, handler in theirs.items() if handler is HTTP11DownloadHandler}
    priority = max(settings.getpriority("DOWNLOAD_HANDLERS") or 0, SETTINGS_PRIORITIES["addon"])
    settings.set("DOWNLOAD_HANDLERS", settings.getdict("DOWNLOAD_HANDLERS") | checked, priority=priority)
    for scheme, handler in theirs.items():
        if handler not in {HTTP11DownloadHandler, HttpHandler}:
            logger.warning(
                "DOWNLOAD_HANDLERS has %s for %s, which connects to any address: ALLOW_ADDRESSES does not apply there",
                handler.__qualname__,
                scheme,
            )


def _check_archive(settings: BaseSettings, config: Config) -> None:
    """Raise ConfigError if some responses would not reach the archive."""
    if config.replay:
        raise ConfigError("ARCHIVE stores fetched responses, but with REPLAY nothing is fetched; unset one of them")
    if settings.getbool("HTTPCACHE_ENABLED"):
        raise ConfigError("HTTPCACHE_ENABLED serves pages that are not fetched; switch it off, or unset ARCHIVE")
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    for scheme in () if config.render else ("http", "https"):
        handler = load_object(handlers[scheme]) if handlers.get(scheme) else None
        if handler is not None and not issubclass(handler, HttpHandler):
            raise ConfigError(
                f"DOWNLOAD_HANDLERS has {handler.__qualname__} for {scheme}, which does not write to the "
                "archive; remove it, or unset ARCHIVE"
            )


def _check_feeds(settings: BaseSettings) -> None:
    """Raise ConfigError for a feed in a file that cannot be written; Scrapy would log a traceback for each item."""
    for uri in map(str, settings.getdict("FEEDS")):
        path = Path(file_uri_to_path(uri) if uri.startswith("file:") else uri)
        if "%" in uri or (":" in uri and not uri.startswith("file:")):
            continue  # named by the crawl, or not a file
        is_new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
            if is_new:
                path.unlink()
        except OSError as error:
            raise ConfigError(f"the feed {uri} cannot be written ({error.strerror}); name another file") from error


def _switch_to_replay(settings: BaseSettings) -> None:
    _switch_handlers(settings, "crawler.fetching.replay.ReplayHandler")
    for name, value in _REPLAY_SETTINGS.items():
        _force(settings, name, value)


def _switch_to_rendering(settings: BaseSettings, config: Config) -> None:
    """Raise RenderError if the browser does not start: here, not at the first page."""
    if settings.getbool("HTTPCACHE_ENABLED"):
        raise ConfigError("HTTPCACHE_ENABLED stores pages without their layout; switch it off, or switch off RENDER")
    if find_spec("scrapy_playwright") is None:
        raise RenderError(MISSING_EXTRA)
    rendering = Rendering.of(config)
    with Browser(rendering):
        logger.info("Pages are rendered by a browser; JavaScript is %s", "on" if config.render_javascript else "off")
    _switch_handlers(settings, "crawler.fetching.render.handler.RenderHandler")
    _force(settings, "PLAYWRIGHT_LAUNCH_OPTIONS", rendering.launch_options())
    # The handler itself restarts a lost browser, and counts that.
    _force(settings, "PLAYWRIGHT_RESTART_DISCONNECTED_BROWSER", False)


def _switch_to_looking(settings: BaseSettings, config: Config, *, calls_back: bool) -> None:
    _remove_components(settings, calls_back=calls_back)
    _force(settings, name_in_use("CLEANING_PROCESSES", settings), 0)
    _force(settings, name_in_use("ARCHIVE", settings), "")
    if calls_back:
        adapter = page_adapter(config, site_model_reader(config))
        ItemAdapter.ADAPTER_CLASSES = [adapter, *ItemAdapter.ADAPTER_CLASSES]


def _switch_handlers(settings: BaseSettings, handler: str) -> None:
    handlers = settings.getdict("DOWNLOAD_HANDLERS") | {"http": handler, "https": handler}
    _force(settings, "DOWNLOAD_HANDLERS", handlers)


def _force(settings: BaseSettings, name: str, value: Any) -> None:
    """Override a setting with a value that follows from one of our settings."""
    settings.set(name, value, priority=SETTINGS_PRIORITIES["cmdline"])


def _leave_to_project(settings: BaseSettings) -> None:
    """Switch off our settings that Cleaning cannot use where a project has its own under their plain names."""
    for name, off in _UNUSED_BY_CLEANING.items():
        value = settings.get(name_in_use(name, settings))
        if name_in_use(name, settings) == name and value is not None and not is_on_command_line(settings, name):
            settings.set(alias_of(name), off, priority="addon")
            logger.info("%s is %r; the add-on Cleaning takes it for a setting of the project's own", name, value)


def _check_host_project(config: Config, settings: BaseSettings) -> None:
    for name in _UNUSED_BY_CLEANING:
        if value := getattr(config, name.lower()):
            raise ConfigError(
                f"{name_in_use(name, settings)} is {value!r}, but the add-on Cleaning uses the pages that the project "
                "itself fetches: unset it"
            )
    method = config.cleaning_method
    if METHODS[method].needs is not None:
        raise ConfigError(
            f"CLEANING_METHOD={method} needs a page's {METHODS[method].needs}, which the add-on Cleaning does not have"
        )
    if method != "default" and (config.pages_of_types or not config.pages_from):
        raise ConfigError(
            f"CLEANING_METHOD={method} does not determine page types, so PAGES_OF_TYPES cannot be used; "
            "set PAGES_FROM alone"
        )


class SpiderLoader(ScrapySpiderLoader):
    """Raises SetupError if another package hides `spiders` or `pipelines`; Scrapy would only list no spiders."""

    def _load_all_spiders(self) -> None:
        if "spiders" in self.spider_modules:
            check_packages()
        super()._load_all_spiders()


def check_packages(names: Iterable[str] = ("spiders", "pipelines")) -> None:
    """Raise SetupError unless packages of ours are imported from the folder that contains `crawler`."""
    for name in names:
        if not (HOME / name).exists():
            raise SetupError(f"the package {name!r} is missing beside {HOME / 'crawler'}: install blocksieve again")
        if (place := hiding_place(name)) is not None:
            raise SetupError(
                f"{place} hides our package {HOME / name}: uninstall the distribution it belongs to, rename it, "
                f"or put {HOME} first on PYTHONPATH"
            )
