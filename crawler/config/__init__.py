"""Settings: declared once, checked when a crawl starts, explained and documented from there.

An option is declared as `cleaning/declare.py` shows. Each theme has a dataclass of its settings, and `Config` joins
them. `crawler/settings.py` holds the values of Scrapy's own settings. `arguments.py` checks the arguments of spiders.

`python -m crawler.config > docs/settings.md` writes the reference page; a test compares it with the declarations.
`profiles.py` declares the papers' systems as settings.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, ClassVar

from xxhash import xxh64_intdigest

from cleaning import METHODS, Options
from cleaning.blocks import PageType
from cleaning.declare import (
    declared_options,
    integer,
    mapping,
    number,
    one_of,
    option,
    switch,
    text,
    texts,
    web_url,
    words_of,
)
from cleaning.fingerprint import WEIGHTINGS, Weighting
from cleaning.page_fingerprint import Fingerprinter
from crawler.config.names import check_aliases, find_misspelt, find_removed, name_in_use
from crawler.config.profiles import NO_PROFILE, PROFILE, PROFILES, profile_settings
from crawler.config.values import DATABASE_PRIORITY, is_on_command_line, read_value
from crawler.context import context_of
from crawler.errors import ConfigError
from crawler.schedule import RevisitBounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Network, IPv6Network

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from cleaning.declare import Option, OptionType

_DEDUP_SCOPES = ("all", "site", "page", "off")

DIRECTIVE_SETTINGS = ("OBEY_NOINDEX", "OBEY_NOFOLLOW", "OBEY_NOARCHIVE", "OBEY_NOAI", "OBEY_TDM_RESERVATION")
PAGE_SETTINGS = (
    PROFILE,
    "CLEANING_METHOD",
    "CLEANING_OPTIONS",
    "RENDER",
    "RENDER_JAVASCRIPT",
    "STRUCTURE",
    "KEEP_HTML",
    "PAGE_MAX_BYTES",
    *DIRECTIVE_SETTINGS,
)
"""The settings by which a crawl reads pages. They are stored with each page and section, and re-crawls use them."""

CLEANING_SETTINGS = (PROFILE, "CLEANING_METHOD", "CLEANING_OPTIONS", "STRUCTURE")
"""The part of PAGE_SETTINGS that `scrapy reclean` uses. A page that no crawl can visit again has only these."""

REVISIT_BOUNDS = ("REVISIT_MIN_SECONDS", "REVISIT_MAX_SECONDS")
"""The settings that are checked together, by `check_revisits`."""

_DAY = 86_400.0
_YEAR = 365 * _DAY
_MAX_PATTERNS = 100
_MAX_PATTERN_CHARS = 500


def read_networks(listed: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of a comma-separated list of networks and addresses. Raises ValueError for a bad one."""
    return tuple(ip_network(word) for word in listed.replace(",", " ").split())


def compile_patterns(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Return regular expressions. Raises ValueError for too many, for a long one and for an invalid one."""
    if len(patterns) > _MAX_PATTERNS:
        raise ValueError(f"{len(patterns)} regular expressions; the maximum is {_MAX_PATTERNS}")
    return tuple(map(_compile_pattern, patterns))


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    if len(pattern) > _MAX_PATTERN_CHARS:
        raise ValueError(f"a regular expression of {len(pattern)} characters; the maximum is {_MAX_PATTERN_CHARS}")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression ({error})") from error


def _check_webhook(url: str) -> None:
    """Raise ValueError for a URL that takes no POST; "" means no webhook."""
    if url:
        web_url().read(url)


def _method_name() -> OptionType[str]:
    """Return the type of a method's name, also of a method that is registered later."""
    known = one_of(tuple(METHODS))

    def convert(value: object) -> str:
        name = str(value) if str(value) in METHODS else known.convert(value)
        METHODS.find(name)
        return name

    return replace(known, convert=convert)


class Theme:
    """Settings that belong together, under a common title in docs/settings.md."""

    title: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class DatabaseSettings(Theme):
    title = "Database"

    database_url: str = option(
        "sqlite:///blocks.db",
        text(),
        "SQLAlchemy URL of the database: `sqlite:///FILE` or `postgresql+psycopg://USER:PASSWORD@HOST/NAME`. If it is "
        "not set, the environment variable `DATABASE_URL` is used.",
    )
    database_wait_seconds: float = option(
        300.0,
        number(0.0, _DAY),
        "How long a crawl waits for a PostgreSQL server that cannot be reached or does not answer.",
    )
    keep_html: bool = option(
        True, switch(), "Store the compressed HTML of each page, so that `scrapy reclean` can clean it again."
    )
    store_batch_pages: int = option(
        40, integer(1, 100), "Number of pages written in one transaction. Four visits without a page count as one page."
    )
    store_batch_seconds: float = option(
        2.0, number(0.05, 60.0), "How long a visit waits at most until it is written with others."
    )


@dataclass(frozen=True, kw_only=True)
class CleaningSettings(Theme):
    title = "Cleaning"

    profile: str = option(
        NO_PROFILE,
        one_of((NO_PROFILE, *PROFILES)),
        "The system of a paper: it sets the method with its options, de-duplication and what the database holds, "
        "see [the papers' systems](methods.md#the-papers-systems). A setting that contradicts it is refused, unless "
        "its priority is lower.",
    )
    cleaning_method: str = option("default", _method_name(), "Cleaning method that decides on blocks.")
    cleaning_options: Mapping[str, Any] = option(
        {},
        mapping(Options.read, "a mapping of option names to values, or its JSON"),
        "Options of the cleaning method, see [Cleaning options](#cleaning-options): a mapping or its JSON.",
    )
    site_models: str = option(
        "",
        text(),
        "File with the models of sites that readers have taught, as `scrapy correct --export-models` writes it. If it "
        "is not set, the models in the database are used, see [the page on teaching a site](explain.md#teach-a-site).",
    )
    structure: bool = option(
        False,
        switch(),
        "Store the main text of each page as Markdown, and where each block stands: headings, lists, tables, code, "
        "links. [The page on structure](structure.md#in-a-crawl) says how to read it and what it costs.",
    )
    cleaning_processes: int = option(
        0, integer(0, 256), "Number of extra processes that clean pages. 0 cleans in the process of the crawl."
    )
    cleaning_seconds: float = option(
        30.0,
        number(0.05, 3600.0),
        "Time limit for reading a page or feed, and for cleaning a page. With `CLEANING_PROCESSES` a process that "
        "takes longer for a page is killed.",
    )
    page_max_bytes: int = option(10_000_000, integer(1_000, 1_000_000_000), "Largest page that is read, in bytes.")


@dataclass(frozen=True, kw_only=True)
class DuplicateSettings(Theme):
    title = "Duplicates and boilerplate"

    dedup_scope: str = option(
        "all",
        one_of(_DEDUP_SCOPES),
        "Which blocks a block is compared with: `all` stored blocks, those of its `site`, those of its `page`, or none "
        "(`off`).",
    )
    dedup_distance: int = option(
        3, integer(0, 3), "Largest number of bits in which the fingerprints of two near-duplicates differ."
    )
    fingerprint_weighting: Weighting = option(
        "modified",
        one_of(WEIGHTINGS),
        "Weight of a term in a fingerprint: how near the terms after it are (`modified`, TWC-PFM), its frequency "
        "(`plain`), or how near the terms before and after it are (`symmetric`). All fingerprints of a database have "
        "the same weighting.",
    )
    fingerprint_min_terms: int = option(
        20,
        integer(1, 1000),
        "A block with fewer unique terms is a duplicate only of a block with the same terms.",
    )
    boilerplate_min_pages: int = option(
        3,
        integer(0, 1_000_000),
        "Number of pages of a site that must have a text before it counts as boilerplate; a tenth of the site's pages "
        "must have it too. Boilerplate is stored, but the views leave it out. 0 disables it.",
    )


DATABASE_SETTINGS = tuple(name.upper() for name in declared_options(DuplicateSettings))
"""The settings that all pages of a database share, because texts of different pages are compared and counted.

The database keeps the values of its last writer. They take the place of defaults.
"""


@dataclass(frozen=True, kw_only=True)
class FrontierSettings(Theme):
    title = "Frontier"

    frontier_lease_seconds: float = option(
        60.0,
        number(1.0, _DAY),
        "How long a process holds a request without renewing its lease. After that, another process may take it.",
    )
    frontier_max_attempts: int = option(
        3,
        integer(1, 100),
        "How often a request is tried if its callback fails, its process dies, or its host is paused. A host that has "
        "refused after this number of pauses in a row is given up.",
    )
    frontier_wait_seconds: float = option(
        600.0, number(0.0, _DAY), "How long a crawl waits if all its remaining requests are for paused hosts."
    )


@dataclass(frozen=True, kw_only=True)
class PolitenessSettings(Theme):
    title = "Politeness and network"

    contact: str = option("", text(), "Mail address or URL for webmasters, sent in the User-Agent header.")
    crawl_delay_max: float = option(
        120.0,
        number(0.0, _DAY),
        "Longest delay in seconds between two requests to a host that its robots.txt can ask for with Crawl-delay or "
        "Request-rate. 0 ignores both.",
    )
    host_pause_seconds: float = option(
        60.0,
        number(0.0, _DAY),
        "How long a host is paused at its first 429 or 503 without `Retry-After`, if its robots.txt answers with a "
        "server error, and if it answers half of the requests with quota or CAPTCHA pages. The pause "
        "doubles each time in a row.",
    )
    host_pause_max_seconds: float = option(
        21_600.0,
        number(1.0, 30 * _DAY),
        "Longest pause of a host. If a host asks for more with `Retry-After`, its requests end as `refused`.",
    )
    max_refusals_in_a_row: int = option(
        10, integer(1, 10_000), "The crawl stops after this many refusals by sites without a page in between."
    )
    max_refused_share: float = option(
        0.5, number(0.0, 1.0), "The exit code is not 0 if sites refuse a larger share of the visits than this."
    )
    allow_addresses: str = option(
        "",
        text(read_networks, "networks and addresses with commas between them"),
        "Networks and addresses that a crawl may connect to besides public ones, with commas between them: "
        "`127.0.0.0/8,::1`. All other loopback, private, link-local and reserved addresses are refused. The address of "
        "a proxy is not checked, and a proxy resolves names itself.",
    )


@dataclass(frozen=True, kw_only=True)
class DirectiveSettings(Theme):
    title = "Directives of pages"

    obey_noindex: bool = option(
        True,
        switch(),
        "Store no page that says `noindex` or `none`, or whose `unavailable_after` has passed, in its `X-Robots-Tag` "
        "header or its robots `meta` element. Its links are followed.",
    )
    obey_nofollow: bool = option(
        True, switch(), "Follow no link of a page that says `nofollow` or `none`, also of a section."
    )
    obey_noarchive: bool = option(
        True, switch(), "Keep no HTML of a page that says `noarchive` or `nocache`. Its blocks are stored."
    )
    obey_noai: bool = option(True, switch(), "Store no page that says `noai`. Its links are followed.")
    obey_tdm_reservation: bool = option(
        True,
        switch(),
        "Store no page whose rights for text and data mining are reserved: by its `tdm-reservation` header or `meta` "
        "element, or by the file `/.well-known/tdmrep.json` of its host, which is requested once. Its links are "
        "followed.",
    )


@dataclass(frozen=True, kw_only=True)
class RevisitSettings(Theme):
    title = "Re-crawls"

    conditional: bool = option(
        True,
        switch(),
        "Request stored pages with If-None-Match and If-Modified-Since, and skip a page whose body has not changed. "
        "Pages whose callback yields more than the page itself are always fetched and parsed.",
    )
    revisit_min_seconds: float = option(
        3_600.0, number(1.0, _YEAR), "Shortest time between two visits of `scrapy recrawl` to a page."
    )
    revisit_max_seconds: float = option(
        2_592_000.0, number(1.0, _YEAR), "Longest time between two visits of `scrapy recrawl` to a page."
    )
    gone_after_seconds: float = option(
        86_400.0,
        number(0.0, _YEAR),
        "How long the address of a stored page or section answers that nothing is there (404) until it is gone. It is "
        "requested three times meanwhile. With 0 the first 404 is enough; a 410 always is.",
    )
    revisit_budget: int = option(
        0, integer(0, 1_000_000_000), "Largest number of visits of `scrapy recrawl` in 24 hours. 0 sets no limit."
    )
    sites_file: str = option(
        "sites.toml",
        text(),
        "File of sites for `scrapy sites`, see [the page on deployment](deploy.md#a-file-of-sites).",
    )
    parallel_crawls: int = option(
        8,
        integer(1, 100),
        "Largest number of crawls that `scrapy recrawl` and `scrapy sites crawl` run at the same time. Crawls of the "
        "same host, or with the same `ARCHIVE`, `METRICS` or feed (`-o`, `-O`; not jsonl), run one after the other, "
        "and so do crawls with `RENDER`. "
        "The crawls at one time share `CLEANING_PROCESSES`; each has at least one.",
    )


@dataclass(frozen=True, kw_only=True)
class RenderSettings(Theme):
    title = "Rendering"

    render: bool = option(
        False, switch(), "Render pages in a browser before they are parsed. Needs the extra `render`."
    )
    render_javascript: bool = option(True, switch(), "Run the scripts of rendered pages.")
    render_seconds: float = option(
        20.0, number(1.0, 600.0), "Time limit for the start of the browser and for rendering one page."
    )
    chromium: str = option(
        "",
        text(),
        "Path or name of the browser. By default Chromium or Chrome on the PATH is used, then Playwright's own.",
    )
    chromium_sandbox: str = option(
        "auto", one_of(("auto", "on", "off")), "The browser's sandbox. `auto` is on unless the process runs as root."
    )


@dataclass(frozen=True, kw_only=True)
class ArchiveSettings(Theme):
    title = "Archive and replay"

    archive: str = option(
        "",
        text(),
        "WARC file, `NAME.warc.gz`, to which every response is appended as it was received, without secrets. Each "
        "process needs a file of its own.",
    )
    replay: str = option(
        "", text(), "Folder of saved pages, or WARC file, that answers all requests in place of the network."
    )


@dataclass(frozen=True, kw_only=True)
class FeedSettings(Theme):
    title = "Feeds"

    feed_unchanged: bool = option(
        False,
        switch(),
        "Send pages that were not modified to feeds (`-o`, `-O`, `FEEDS`) too, as they are stored. Otherwise a feed "
        "gets only new pages and those that were read again, so `-O` overwrites a file with few of them or none.",
    )


@dataclass(frozen=True, kw_only=True)
class NewsSettings(Theme):
    title = "News portals"

    portals: str = option(
        "",
        text(),
        "TOML file of news sites for the spider `news`. It adds rows to the built-in table and replaces columns of "
        "existing rows.",
    )


@dataclass(frozen=True, kw_only=True)
class HostProjectSettings(Theme):
    title = "Add-on `Cleaning` in other projects"

    pages_from: tuple[str, ...] = option(
        (),
        texts(
            compile_patterns,
            "regular expressions: a list, or one text with spaces between them",
        ),
        "Regular expressions, as a list or with spaces between them. A response is a page if one of them matches in "
        "its URL.",
    )
    pages_of_types: tuple[str, ...] = option(
        (),
        words_of(tuple(page_type.value for page_type in PageType)),
        "Page types, as a list or with commas between them. A response of one of these types is a page, whatever its "
        "URL. The default is `article` if `PAGES_FROM` is empty too.",
    )


@dataclass(frozen=True, kw_only=True)
class MonitoringSettings(Theme):
    title = "Monitoring"

    progress: str = option(
        "auto", one_of(("auto", "on", "off")), "Progress line on stderr. `auto` shows it on a terminal."
    )
    summary: str = option(
        "", text(), "File to which each crawl appends its summary as a line of JSON. `-` stands for stdout."
    )
    metrics: str = option(
        "",
        text(),
        "File of metrics for Prometheus, `NAME.prom`. Crawls that run at the same time need a file each. Needs the "
        "extra `metrics`.",
    )
    metrics_seconds: float = option(15.0, number(0.1, 3600.0), "Time between two updates of the file `METRICS`.")
    alert_webhook: str = option(
        "",
        text(_check_webhook, "an http or https URL"),
        "URL to which a crawl posts JSON at its end about each new condition of a site, and once when it is over. See "
        "[the page on watching a crawl](serve.md#alerts).",
    )
    alert_command: str = option(
        "",
        text(shlex.split, "a command as a shell reads it, with quotes in pairs"),
        "Command that gets the same JSON on its standard input. It is run without a shell.",
    )


@dataclass(frozen=True, kw_only=True)
class Config(
    DatabaseSettings,
    CleaningSettings,
    DuplicateSettings,
    FrontierSettings,
    PolitenessSettings,
    DirectiveSettings,
    RevisitSettings,
    RenderSettings,
    ArchiveSettings,
    FeedSettings,
    NewsSettings,
    HostProjectSettings,
    MonitoringSettings,
):
    """All of Blocksieve's settings. A field's name in capitals is the name of the setting.

    Each base is one theme; docs/settings.md shows them in this order.
    """

    @classmethod
    def read(cls, settings: BaseSettings) -> Config:
        """Return the configuration that Scrapy's settings hold.

        Raises ConfigError for a value that a setting does not take, for a shortest time between visits above the
        longest, and for an unknown name that begins with BLOCKSIEVE_.
        """
        check_aliases(settings, declared_settings())
        check_revisits(settings)
        return cls(**{setting.name: read_value(setting, settings) for setting in declared_settings().values()})

    def with_database_settings(self, settings: BaseSettings, kept: Mapping[str, Any]) -> Config:
        """Return this configuration with the values that the database keeps; `settings` get them too."""
        use_database_settings(settings, kept)
        return replace(self, **{name.lower(): read_setting(name, settings) for name in DATABASE_SETTINGS})

    @property
    def revisits(self) -> RevisitBounds:
        """The shortest and the longest time between two visits to a page."""
        return RevisitBounds(self.revisit_min_seconds, self.revisit_max_seconds, self.gone_after_seconds)

    @property
    def fingerprinter(self) -> Fingerprinter:
        """How blocks and pages are fingerprinted, and how many bits apart blocks of one page are duplicates."""
        max_distance = None if self.dedup_scope == "off" else self.dedup_distance
        return Fingerprinter(self.fingerprint_weighting, self.fingerprint_min_terms, max_distance)

    @property
    def page_settings(self) -> dict[str, Any]:
        """The values of PAGE_SETTINGS, as JSON can store them."""
        return {name: _as_json(getattr(self, name.lower())) for name in PAGE_SETTINGS}

    @property
    def database_settings(self) -> dict[str, Any]:
        """The values of DATABASE_SETTINGS."""
        return {name: getattr(self, name.lower()) for name in DATABASE_SETTINGS}

    @property
    def options_hash(self) -> int:
        """A hash of the cleaning options; two crawls with the same options have the same one."""
        return hash_options(self.cleaning_options)


def config_of(crawler: Crawler) -> Config:
    """Return the configuration of a crawl, which is read once its settings can no longer change. Raises ConfigError."""
    context = context_of(crawler)
    config: Config = context.config or Config.read(crawler.settings)
    if crawler.settings.frozen:
        context.config = config
    return config


def hash_options(options: Mapping[str, Any]) -> int:
    """Return the hash of cleaning options that is stored with each page."""
    return xxh64_intdigest(json.dumps(dict(options), sort_keys=True, default=str).encode())


def _as_json(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def command_line_settings(config: Config, settings: BaseSettings) -> dict[str, Any]:
    """Return the settings of the command line, and of its profile, that decide how pages are read."""
    values = config.page_settings
    names = {name for name in values if is_on_command_line(settings, name)}
    if PROFILE in names:
        names |= profile_settings(settings).keys() & values.keys()
    return {name: value for name, value in values.items() if name in names}


def changed_settings(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new settings that differ from a page's stored ones.

    PROFILE=none is added if they end the profile of the page's last visit.
    """
    changes = {name: value for name, value in wanted.items() if stored.get(name) != value}
    profile = PROFILES.get(stored.get(PROFILE, NO_PROFILE))
    ends = profile is not None and PROFILE not in wanted and not changes.keys().isdisjoint(profile.settings)
    return changes | {PROFILE: NO_PROFILE} if ends else changes


def use_database_settings(settings: BaseSettings, kept: Mapping[str, Any]) -> None:
    """Give the settings in DATABASE_SETTINGS the values that the database keeps, unless something else sets them."""
    for name in DATABASE_SETTINGS:
        if name in kept and settings.get(name_in_use(name, settings)) is None:
            settings.set(name, kept[name], DATABASE_PRIORITY)


def themes() -> tuple[type[Theme], ...]:
    return Config.__bases__


def declared_settings() -> dict[str, Option]:
    """Return the declared settings by their names in capitals, theme by theme."""
    return {setting.name.upper(): setting for theme in themes() for setting in declared_options(theme).values()}


def read_setting(name: str, settings: BaseSettings) -> Any:
    """Return the value of one of our settings. Raises ConfigError for a value that it does not take."""
    return read_value(declared_settings()[name], settings)


def check_revisits(settings: BaseSettings) -> None:
    """Raise ConfigError if the shortest time between visits is above the longest."""
    shortest, longest = (read_setting(name, settings) for name in REVISIT_BOUNDS)
    try:
        RevisitBounds(shortest, longest)
    except ValueError as error:
        raise ConfigError(
            f"REVISIT_MIN_SECONDS is {shortest} and REVISIT_MAX_SECONDS is {longest}; the first must not be larger"
        ) from error


def unknown_settings(settings: BaseSettings) -> list[str]:
    """Return a sentence for each setting that was taken away, and for each whose name is nearly one of ours."""
    return [*find_removed(settings), *find_misspelt(settings, declared_settings())]
