"""The context that the components of one crawl share. It imports no component, so each component can import it.

A component registers itself in the `CrawlContext` of its crawler when it is created, and reads it only when it needs a
neighbour. Scrapy creates the components in this order:

1. the add-on `Blocksieve`, which opens the replay source (`replay`)
2. the extensions, among them `ArchiveRecorder` (`archive`)
3. the downloader with its handlers, among them `RenderHandler` (`renderer`), and its middlewares, among them
   `ReservationsMiddleware` (`reservations`)
4. the spider middlewares
5. the item pipelines; `StorePipeline` opens the database (`store_thread`)
6. the scheduler `Frontier` (`frontier`), if there is a `store_thread`; otherwise Scrapy's own scheduler
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


@dataclass(slots=True)
class CrawlContext:
    """The shared components of one crawl; None for those that it does not have.

    They are typed `Any` because this module must not import their classes: a reader annotates the variable.
    """

    config: Any = None
    """`crawler.config.Config`: the settings of the crawl, for `crawler.config.config_of`."""
    command_settings: dict[str, str] | None = None
    """The settings given with `-s`, for `scrapy retry`; None without a command of ours."""
    replay: Any = None
    """`crawler.fetching.replay.ReplaySource`: the saved pages that answer all requests, with the setting REPLAY."""
    archive: Any = None
    """`crawler.fetching.archive.ArchiveRecorder`: writes all responses to a file, with the setting ARCHIVE."""
    renderer: Any = None
    """`crawler.fetching.render.handler.RenderHandler`: the handler for http and https, with the setting RENDER."""
    reservations: Any = None
    """`crawler.fetching.reservations.Reservations`: the tdmrep.json of each host, with OBEY_TDM_RESERVATION."""
    store_thread: Any = None
    """`crawler.processing.StoreThread`: the one thread that uses the database, if the crawl stores visits."""
    templates: Any = None
    """`crawler.processing.SiteTemplates`: the templates by which this crawl cleans pages."""
    frontier: Any = None
    """`crawler.frontier.scheduler.Frontier`: the requests, if they are kept in the database."""
    cleaned_pages: WeakKeyDictionary[Any, Any] = field(default_factory=WeakKeyDictionary)
    """The `CleanPage` of each response that the add-on Cleaning has cleaned, as long as the response is in use."""
    looks_only: bool = False
    """True for Scrapy's commands that look at single responses, such as `scrapy shell`: nothing is stored."""


def context_of(crawler: Crawler) -> CrawlContext:
    """Return the context of a crawler, created by the first call and kept as its attribute `blocksieve_context`.

    It needs no add-on, so each component also works alone, in a project that uses only some of them.
    """
    context: CrawlContext = vars(crawler).setdefault("blocksieve_context", CrawlContext())
    return context
