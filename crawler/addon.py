"""The add-ons `Blocksieve` and `Cleaning`, and the loader of our spiders."""

from __future__ import annotations

import importlib.util
import logging
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.spiderloader import SpiderLoader as ScrapySpiderLoader
from scrapy.utils.conf import closest_scrapy_cfg
from scrapy.utils.misc import load_object

from cleaning import METHODS
from crawler import settings as ours
from crawler.config import Config
from crawler.errors import ConfigError, RenderError, SetupError
from crawler.fetching.network import HttpHandler
from crawler.fetching.render.browser import MISSING_EXTRA, Browser
from crawler.fetching.replay import open_replay

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawler.fetching.render.handler import RenderHandler
    from crawler.fetching.replay import ReplaySource
    from crawler.frontier.scheduler import Frontier
    from crawler.processing import StoreThread


_HOME = Path(__file__).resolve().parent.parent
_OUR_PACKAGES = ("spiders", "pipelines")


class SpiderLoader(ScrapySpiderLoader):
    """Raises SetupError where a foreign package hides `spiders` or `pipelines`; Scrapy would show no spider at all."""

    def _load_all_spiders(self) -> None:
        if "spiders" in self.spider_modules:
            check_packages()
        super()._load_all_spiders()


def prefer_project() -> None:
    """Let a project's own packages `spiders` and `pipelines` be found before ours.

    The program `scrapy` puts a project's folder last on the path, behind all that is installed.
    """
    config = closest_scrapy_cfg()
    folder = Path(config).resolve().parent if config else _HOME
    if folder != _HOME and any(PathFinder.find_spec(name, [str(folder)]) for name in _OUR_PACKAGES):
        sys.path.insert(0, str(folder))


def check_packages() -> None:
    """Raise SetupError where `spiders` or `pipelines` would not be imported from beside `crawler`."""
    for name in _OUR_PACKAGES:
        found = _import_location(name)
        if found is None:
            raise SetupError(f"the package {name!r} is missing beside {_HOME / 'crawler'}: install blocksieve again")
        if found != _HOME / name:
            raise SetupError(
                f"{found} hides our package {_HOME / name}: uninstall what brought it, rename it, "
                f"or put {_HOME} first on PYTHONPATH"
            )


def _import_location(name: str) -> Path | None:
    """Return the folder, or the file of a lone module, from which a name is imported."""
    module = sys.modules.get(name)
    spec = module.__spec__ if module is not None else importlib.util.find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin else None


logger = logging.getLogger(__name__)

_CLEANING_MIDDLEWARE = "crawler.cleaning_middleware.CleaningMiddleware"
# Outermost, beyond all that Scrapy and a project put in order from 100 on: it sees what the spider is given.
_CLEANING_MIDDLEWARE_ORDER = 10
_HTTP_HANDLER = "crawler.fetching.network.HttpHandler"
_COMPONENT_TABLES = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "EXTENSIONS")
# A replay contacts no site: nobody is to be spared, and what was saved is as it was saved.
_REPLAY_SETTINGS: dict[str, Any] = {
    "AUTOTHROTTLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_SLOTS": {},
    "METAREFRESH_ENABLED": False,
    "RETRY_ENABLED": False,
}


class Blocksieve:
    """Checks the settings and completes Scrapy's with them.

    `replay` is the opened source, None on the network. Those that set themselves when they are built: `renderer`, the
    one download handler for rendered pages; `writer`, the thread that stores; `frontier`, where it is in the database.
    """

    def __init__(self) -> None:
        self.replay: ReplaySource | None = None
        self.renderer: RenderHandler | None = None
        self.writer: StoreThread | None = None
        self.frontier: Frontier | None = None

    def update_settings(self, settings: BaseSettings) -> None:
        """Raises ConfigError, ReplayError or RenderError, which stop the crawl; NotConfigured would leave us out."""
        config = Config.read(settings)
        _check_method(config)
        _add_components(settings)
        if config.contact:
            _name_contact(settings, config.contact)
        elif not config.replay:
            logger.info("CONTACT is not set: webmasters who wonder about this crawl cannot reach you")
        if config.page_max_bytes > settings.getint("DOWNLOAD_MAXSIZE"):
            _force(settings, "DOWNLOAD_MAXSIZE", config.page_max_bytes)
        if config.replay:
            self.replay = open_replay(Path(config.replay).expanduser(), config.page_max_bytes)
            _switch_to_replay(settings)
        if config.render:
            _switch_to_rendering(settings, config)
        elif not config.replay:
            _check_addresses(settings)
        if config.archive:
            _check_archive(settings, config)


class Cleaning:
    """Has the pages of a project of others cleaned and stored beside its own items, which stay as they are.

    Which responses are pages, PAGES_FROM and PAGES_OF_TYPES say; docs/any-project.md has the whole.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:  # noqa: ARG003 — Scrapy's
        """Called before spiders are loaded."""
        prefer_project()

    def update_settings(self, settings: BaseSettings) -> None:
        """Raises ConfigError, which stops the crawl; NotConfigured would leave us out."""
        addons = [load_object(path) for path, order in settings.getdict("ADDONS").items() if order is not None]
        if Blocksieve in addons:
            raise ConfigError("ADDONS has crawler.addon.Blocksieve and crawler.addon.Cleaning; take one of them out")
        _check_host_project(Config.read(settings))
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", load_object(_CLEANING_MIDDLEWARE), _CLEANING_MIDDLEWARE_ORDER
        )


def _check_host_project(config: Config) -> None:
    for name, given in (("RENDER", config.render), ("REPLAY", config.replay), ("ARCHIVE", config.archive)):
        if given:
            raise ConfigError(
                f"{name} is {given!r}, but the add-on Cleaning takes pages as the project itself fetches them: unset it"
            )
    method = config.cleaning_method
    if METHODS[method].needs is not None:
        raise ConfigError(f"CLEANING_METHOD={method} needs a page's {METHODS[method].needs}, which the add-on has not")
    if method != "default" and config.page_rule.types:
        raise ConfigError(
            f"CLEANING_METHOD={method} does not tell pages' types, so PAGES_OF_TYPES has none to choose from; "
            "set PAGES_FROM alone"
        )


def _check_method(config: Config) -> None:
    needs = METHODS[config.cleaning_method].needs
    if needs == "layout" and not config.render:
        raise ConfigError(
            f"CLEANING_METHOD={config.cleaning_method} needs to know where a browser puts a page's elements; "
            "set RENDER=true"
        )
    if needs == "template":
        raise ConfigError(
            f"CLEANING_METHOD={config.cleaning_method} learns from several pages of a site at once, which a crawl does "
            "not have: it is for `scrapy compare`"
        )


def _check_archive(settings: BaseSettings, config: Config) -> None:
    """Raises ConfigError where not all that is fetched would come by the archive."""
    if config.replay:
        raise ConfigError("ARCHIVE keeps what is fetched, and with REPLAY nothing is; unset one of them")
    if settings.getbool("HTTPCACHE_ENABLED"):
        raise ConfigError("HTTPCACHE_ENABLED gives pages that are not fetched; switch it off, or unset ARCHIVE")
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    for scheme in () if config.render else ("http", "https"):
        handler = load_object(handlers[scheme]) if handlers.get(scheme) else None
        if handler is not None and not issubclass(handler, HttpHandler):
            raise ConfigError(
                f"DOWNLOAD_HANDLERS has {handler.__qualname__} for {scheme}, which keeps no archive; take it out, or "
                "unset ARCHIVE"
            )


def _add_components(settings: BaseSettings) -> None:
    """Add what `crawler/settings.py` lists to a project that has its own settings; a project's own choice wins."""
    settings.set("DOWNLOADER", ours.DOWNLOADER, priority="addon")
    for table in _COMPONENT_TABLES:
        # A table given on the command line is meant as it stands.
        if (settings.getpriority(table) or 0) >= SETTINGS_PRIORITIES["cmdline"]:
            continue
        for path, order in getattr(ours, table).items():
            settings.setdefault_in_component_priority_dict(table, load_object(path), order)


def _check_addresses(settings: BaseSettings) -> None:
    """Put our download handler in the place of Scrapy's own; a project's other handlers stay."""
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    theirs = {scheme: load_object(handlers[scheme]) for scheme in ("http", "https") if handlers.get(scheme)}
    checked = {scheme: _HTTP_HANDLER for scheme, handler in theirs.items() if handler is HTTP11DownloadHandler}
    priority = max(settings.getpriority("DOWNLOAD_HANDLERS") or 0, SETTINGS_PRIORITIES["addon"])
    settings.set("DOWNLOAD_HANDLERS", settings.getdict("DOWNLOAD_HANDLERS") | checked, priority=priority)
    for scheme, handler in theirs.items():
        if handler not in {HTTP11DownloadHandler, HttpHandler}:
            logger.warning(
                "DOWNLOAD_HANDLERS has %s for %s, which connects to any address: ALLOW_ADDRESSES has no effect there",
                handler.__qualname__,
                scheme,
            )


def _name_contact(settings: BaseSettings, contact: str) -> None:
    if not (contact.isascii() and contact.isprintable()) or set(contact) & set("()\\"):
        raise ConfigError(f"CONTACT is {contact!r}; it takes a mail address or URL, in ASCII and without brackets")
    agent = settings["USER_AGENT"]
    if contact not in agent:
        priority = settings.getpriority("USER_AGENT") or 0
        settings.set("USER_AGENT", f"{agent} (+{contact})", priority=priority)


def _switch_to_replay(settings: BaseSettings) -> None:
    _switch_handlers(settings, "crawler.fetching.replay_handler.ReplayHandler")
    for name, value in _REPLAY_SETTINGS.items():
        _force(settings, name, value)


def _switch_to_rendering(settings: BaseSettings, config: Config) -> None:
    """Raises RenderError for a browser that does not start: now, not at the first page."""
    if settings.getbool("HTTPCACHE_ENABLED"):
        raise ConfigError("HTTPCACHE_ENABLED keeps pages without their layout; switch it off, or RENDER")
    if find_spec("scrapy_playwright") is None:
        raise RenderError(MISSING_EXTRA)
    with Browser(config.rendering):
        logger.info("Pages are rendered by a browser; JavaScript is %s", "on" if config.render_javascript else "off")
    _switch_handlers(settings, "crawler.fetching.render.handler.RenderHandler")
    _force(settings, "PLAYWRIGHT_LAUNCH_OPTIONS", config.rendering.launch_options())
    # The handler starts a lost browser itself, and counts it.
    _force(settings, "PLAYWRIGHT_RESTART_DISCONNECTED_BROWSER", False)


def _switch_handlers(settings: BaseSettings, handler: str) -> None:
    handlers = settings.getdict("DOWNLOAD_HANDLERS") | {"http": handler, "https": handler}
    _force(settings, "DOWNLOAD_HANDLERS", handlers)


def _force(settings: BaseSettings, name: str, value: Any) -> None:
    """Set what follows from one of our settings, over whatever was set before."""
    settings.set(name, value, priority=SETTINGS_PRIORITIES["cmdline"])
