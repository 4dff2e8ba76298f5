"""Blocksieve's own settings, each declared once: type, default, bounds and help.

`crawler/settings.py` holds Scrapy's side. docs/settings.md is made from this table, and a test compares them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from xxhash import xxh64_intdigest

from cleaning import METHODS, Options
from cleaning.blocks import PageType
from cleaning.errors import OptionError
from cleaning.fingerprint import WEIGHTINGS, Weighting
from crawler.declared import check_names, setting, value
from crawler.errors import ConfigError
from crawler.option_values import SANDBOXES, Addresses, PageRule, Rendering
from crawler.schedule import RevisitBounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

DEDUP_SCOPES = ("all", "site", "page", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All of Blocksieve's settings; a field's name in capitals is the setting's name."""

    database_url: str = setting(
        "sqlite:///blocks.db",
        "SQLAlchemy URL of the database: `sqlite:///FILE` or `postgresql+psycopg://USER:PASSWORD@HOST/NAME`; the "
        "environment variable of this name is its default",
    )
    database_wait_seconds: float = setting(
        300.0, "longest time a crawl waits for a PostgreSQL server that went away", low=0.0, high=86_400.0
    )
    cleaning_method: str = setting("default", "method of `cleaning` that decides on blocks", choices=tuple(METHODS))
    cleaning_options: Mapping[str, Any] = setting(None, "options of the method, as JSON or a mapping")
    cleaning_processes: int = setting(
        0, "processes beside the crawl's own that clean pages; with 0 the crawl's own does", low=0, high=256
    )
    cleaning_seconds: float = setting(
        30.0,
        "longest time for one page, after which its cleaning is killed; only with CLEANING_PROCESSES of at least 1",
        low=0.05,
        high=3600.0,
    )
    dedup_scope: str = setting(
        "all",
        "what a block may be a duplicate of: all stored blocks, its site's, its page's, none",
        choices=DEDUP_SCOPES,
    )
    dedup_distance: int = setting(3, "most bits between the fingerprints of near-duplicates", low=0, high=3)
    fingerprint_weighting: Weighting = setting(  # noqa: RUF009 — a field, like the others; ruff knows not the type
        "modified",
        "what a term counts in a fingerprint: nearness to the terms after it, its frequency, or nearness to the terms "
        "before and after; a database holds fingerprints of one kind",
        choices=WEIGHTINGS,
    )
    fingerprint_min_terms: int = setting(
        20, "unique terms below which a block matches only word for word, within its site", low=1, high=1000
    )
    boilerplate_min_pages: int = setting(
        3,
        "pages of a site that a text stands on to be template, which is stored but left out of the views; 0 keeps all",
        low=0,
        high=1_000_000,
    )
    boilerplate_min_share: float = setting(
        0.10, "share of its site's pages that a text stands on to be template", low=0.0, high=1.0
    )
    keep_html: bool = setting(True, "store each page's HTML, compressed, so that it can be cleaned again")
    store_batch_pages: int = setting(
        10, "pages written in one transaction; four visits without one count as much", low=1, high=10
    )
    store_batch_seconds: float = setting(2.0, "longest time a visit waits for its transaction", low=0.05, high=60.0)
    frontier_lease_seconds: float = setting(
        60.0,
        "time after which a request that a process took and did not end, nor renewed, is given to another",
        low=1.0,
        high=86_400.0,
    )
    frontier_max_attempts: int = setting(
        3, "times that a request is begun whose callback fails, or whose process dies", low=1, high=100
    )
    frontier_wait_seconds: float = setting(
        600.0,
        "longest time a crawl waits when all that is left is for hosts that want to be left alone",
        low=0.0,
        high=86_400.0,
    )
    host_pause_seconds: float = setting(
        60.0,
        "how long a host is left alone that asks for it by a quota or CAPTCHA page; twice as long each time in a row",
        low=0.0,
        high=86_400.0,
    )
    host_pause_most_seconds: float = setting(
        21_600.0, "longest time that a host is left alone", low=1.0, high=2_592_000.0
    )
    crawl_delay_most: float = setting(
        120.0,
        "longest time between two requests to a host, in seconds, that its robots.txt gets when it asks for one "
        "(Crawl-delay, Request-rate); 0 takes no notice",
        low=0.0,
        high=86_400.0,
    )
    conditional: bool = setting(
        True,
        "ask for a stored page only if it has changed (If-None-Match, If-Modified-Since), and do not read one again "
        "whose body is the stored one; where its callback yields more than the page, it is fetched and read anyway",
    )
    revisit_least_seconds: float = setting(
        3_600.0, "least time between two visits to a page by `scrapy recrawl`", low=1.0, high=31_536_000.0
    )
    revisit_most_seconds: float = setting(
        2_592_000.0, "most time between two visits to a page by `scrapy recrawl`", low=1.0, high=31_536_000.0
    )
    revisit_budget: int = setting(
        0, "most visits that `scrapy recrawl` makes in 24 hours; 0 sets no limit", low=0, high=1_000_000_000
    )
    page_max_bytes: int = setting(10_000_000, "largest page that is read, in bytes", low=1_000, high=1_000_000_000)
    render: bool = setting(False, "render pages in a browser before they are read; needs the extra `render`")
    render_javascript: bool = setting(True, "run the scripts of rendered pages")
    render_seconds: float = setting(
        20.0, "longest time for the browser to start, and for one page to be rendered", low=1.0, high=600.0
    )
    chromium: str = setting("", "the browser's path or name; where empty, one of the usual names, or Playwright's own")
    chromium_sandbox: str = setting(
        "auto", "the browser's sandbox: auto is on unless the process is root's", choices=SANDBOXES
    )
    replay: str = setting("", "folder with index.tsv, or WARC file, that answers all requests instead of the network")
    archive: str = setting(
        "",
        "WARC file, `NAME.warc.gz`, to which all that is fetched is added as it came, without secrets; one process's",
    )
    allow_addresses: str = setting(
        "",
        "networks and addresses that a crawl may connect to beside public ones, with commas between them: "
        "`127.0.0.0/8,::1`; others (loopback, private, link-local and more) are refused. A proxy's own address is not "
        "checked, and it resolves names itself",
    )
    portals: str = setting(
        "",
        "file of news sites, in TOML, that adds rows to the table of the spider `news` and replaces columns of others",
    )
    contact: str = setting("", "mail address or URL for webmasters, sent in the User-Agent")
    pages_from: tuple[str, ...] = setting(
        (),
        "add-on `Cleaning`: regular expressions, a list or a text with spaces between them; a response is a page where "
        "one of them is found in its URL",
    )
    pages_of_types: tuple[str, ...] = setting(
        (),
        "add-on `Cleaning`: types of pages, a list or a text with spaces or commas between them; a response of one of "
        "them is a page, whatever its URL; `article` where PAGES_FROM is empty too",
        choices=tuple(kind.value for kind in PageType),
    )
    pages_least_confidence: float = setting(
        0.5, "add-on `Cleaning`: least confidence in the type of a page that PAGES_OF_TYPES asks for", low=0.0, high=1.0
    )
    max_refused_share: float = setting(
        0.5, "share of visits refused by sites above which a crawl's exit code is not 0", low=0.0, high=1.0
    )
    max_refusals_in_a_row: int = setting(
        10, "refusals without a page in between after which the crawl stops", low=1, high=10_000
    )
    progress: str = setting(
        "auto", "progress line on stderr: auto shows it on a terminal", choices=("auto", "on", "off")
    )
    summary: str = setting("", "file to which each crawl adds a line of JSON on how it went; `-` is stdout")
    metrics: str = setting(
        "", "file of metrics for Prometheus, `NAME.prom`, one for each crawl that may run; needs the extra `metrics`"
    )
    metrics_seconds: float = setting(15.0, "time between two writes of METRICS", low=0.1, high=3600.0)

    @classmethod
    def read(cls, settings: BaseSettings) -> Config:
        """Return the configuration that Scrapy's settings hold.

        Raises ConfigError for a value of the wrong type, out of bounds or not among the choices, and for a setting
        given on the command line whose name is nearly one of ours.
        """
        check_names(settings, {declared.name.upper() for declared in fields(cls)})
        values = {declared.name: value(declared, settings) for declared in fields(cls)}
        config = cls(**values)
        try:
            Options.read(config.cleaning_options)
        except OptionError as error:
            raise ConfigError(f"CLEANING_OPTIONS: {error}") from error
        try:
            Addresses.read(config.allow_addresses)
        except ValueError as error:
            raise ConfigError(
                f"ALLOW_ADDRESSES is {config.allow_addresses!r}; it takes networks and addresses: {error}"
            ) from error
        try:
            config.page_rule  # noqa: B018 — raises
        except ValueError as error:
            raise ConfigError(f"PAGES_FROM: {error}") from error
        try:
            config.revisits  # noqa: B018 — raises
        except ValueError as error:
            raise ConfigError(f"REVISIT_LEAST_SECONDS and REVISIT_MOST_SECONDS: {error}") from error
        return config

    @property
    def revisits(self) -> RevisitBounds:
        """The least and the most time between two visits to a page."""
        return RevisitBounds(self.revisit_least_seconds, self.revisit_most_seconds)

    @property
    def options_hash(self) -> int:
        """What tells whether two crawls clean pages with the same options."""
        return xxh64_intdigest(json.dumps(self.cleaning_options, sort_keys=True, default=str).encode())

    @property
    def addresses(self) -> Addresses:
        """Where the crawl may connect to."""
        return Addresses.read(self.allow_addresses)

    @property
    def page_rule(self) -> PageRule:
        """Which responses are pages, in a project with the add-on `Cleaning`."""
        return PageRule.of(self.pages_from, self.pages_of_types, self.pages_least_confidence)

    @property
    def rendering(self) -> Rendering:
        """How pages are rendered: those of a replay with the network denied."""
        return Rendering(
            executable=self.chromium,
            sandbox=self.chromium_sandbox,
            javascript=self.render_javascript,
            network=not self.replay,
            seconds=self.render_seconds,
            max_bytes=self.page_max_bytes,
            addresses=self.addresses,
        )
