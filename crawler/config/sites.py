"""The file of sites (setting SITES_FILE): what `scrapy sites` crawls, how, and how often.

    [sites.example]
    sections = ["https://example.com/news/"]
    interval = "6h"
    arguments = { pages = 2 }
    settings = { DOWNLOAD_DELAY = 5 }

docs/deploy.md explains the file.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from cleaning.declare import declared_options, did_you_mean, mapping, option, parsed, text, texts, web_url
from crawler.config import REVISIT_BOUNDS, Config
from crawler.config.arguments import read_arguments
from crawler.errors import ConfigError
from crawler.schedule import RevisitBounds
from crawler.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from scrapy import Spider
    from scrapy.spiderloader import SpiderLoaderProtocol

_MAX_FILE_BYTES = 10_000_000
_TABLE = "sites"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_INTERVAL = re.compile(r"(\d+(?:\.\d+)?)\s*(m|h|d)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_SHORTEST = timedelta(minutes=1)
_LONGEST = timedelta(days=365)
_METHOD = "CLEANING_METHOD"
_SHORTEST_SETTING, _LONGEST_SETTING = REVISIT_BOUNDS
# One process crawls all sites into one database, with one log.
_SHARED_PREFIXES = ("LOG_", "SPIDER_", "TWISTED_", "ASYNCIO_", "DATABASE_", "ALERT_")
_SHARED_NAMES = frozenset({"ADDONS", "BOT_NAME", "COMMANDS_MODULE", "PARALLEL_CRAWLS", "PROGRESS", "SITES_FILE"})


def _check_sections(addresses: Sequence[str]) -> None:
    for address in addresses:
        try:
            web_url().read(address)
        except ValueError as error:
            raise ValueError(f"{address!r}: {error}") from error


def _read_interval(value: str) -> timedelta:
    match = _INTERVAL.fullmatch(value.strip())
    if match is None:
        raise ValueError
    interval = float(match[1]) * _UNITS[match[2]]
    if not _SHORTEST <= interval <= _LONGEST:
        raise ValueError
    return interval


@dataclass(frozen=True, kw_only=True)
class SiteEntry:
    """A site of the file."""

    sections: tuple[str, ...] = option(
        (), texts(_check_sections, "addresses, each an http or https URL"), "Addresses of sections, a crawl for each."
    )
    spider: str = option("section", text(), "Name of the spider.")
    arguments: Mapping[str, Any] = option({}, mapping(bool, "a table of arguments"), "Arguments of the spider.")
    settings: Mapping[str, Any] = option({}, mapping(bool, "a table of settings"), "Settings for this site alone.")
    interval: timedelta | None = option(
        None,
        parsed("interval", "a number of minutes, hours or days from 1m to 365d, such as 30m, 6h or 2d", _read_interval),
        "How long after a visit the sections are visited again, and at the earliest the pages. Without it the schedule "
        "decides.",
    )
    method: str = option("", text(), "Cleaning method; the same as the setting CLEANING_METHOD.")

    @property
    def crawl_arguments(self) -> list[dict[str, str]]:
        """The arguments of each crawl: one a section, or a single one without sections."""
        arguments = {name: _argument(value) for name, value in self.arguments.items()}
        return [arguments | {"url": section} for section in self.sections] or [arguments]

    @property
    def crawl_settings(self) -> dict[str, Any]:
        """The settings of its crawls, with the cleaning method, and the interval as the shortest one of pages."""
        settings = {_METHOD: self.method} if self.method else {}
        bounds = {}
        if self.interval is not None:
            seconds = self.interval.total_seconds()
            bounds = {_SHORTEST_SETTING: seconds}
            if seconds > RevisitBounds().max_seconds:
                bounds[_LONGEST_SETTING] = seconds
        return bounds | dict(self.settings) | settings


def _argument(value: Any) -> str:
    """Return the value of an argument as the command line would give it."""
    if isinstance(value, list):
        return ",".join(map(_argument, value))
    return str(int(value)) if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class SitesFile:
    """The sites by name, the sentences about what is wrong, and those about what may be."""

    sites: Mapping[str, SiteEntry]
    faults: tuple[str, ...]
    warnings: tuple[str, ...]


def read_sites(path: Path, loader: SpiderLoaderProtocol, settings: BaseSettings) -> SitesFile:
    """Return the sites of a file, checked completely.

    Raises ConfigError if the file cannot be read, or is not TOML.
    """
    sites: dict[str, SiteEntry] = {}
    faults: list[str] = []
    document = _read_document(path)
    faults += [f"unknown table or key {name!r}; {did_you_mean(name, [_TABLE])}" for name in document if name != _TABLE]
    tables = document.get(_TABLE, {})
    if not isinstance(tables, dict) or not tables:
        faults.append(f"there is no site; a table [{_TABLE}.NAME] describes one")
        tables = {}
    for name, table in tables.items():
        entry_faults: list[str] = []
        entry = _read_entry(name, table, entry_faults)
        if entry is not None:
            entry_faults += _find_faults(entry, loader, settings)
            sites[name] = entry
        faults += [f"{name}: {fault}" for fault in entry_faults]
    faults += _find_duplicates(sites)
    return SitesFile(sites, tuple(faults), tuple(_find_overlaps(sites)))


def _read_document(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ConfigError(f"SITES_FILE {path} has more than {_MAX_FILE_BYTES:,} bytes")
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}; -s SITES_FILE=PATH names the file of sites") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"SITES_FILE {path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"SITES_FILE {path} is not TOML: {error}") from error


def _read_entry(name: str, table: Any, faults: list[str]) -> SiteEntry | None:
    """Return the entry with its valid values, and add a sentence for each other one."""
    if not _NAME.fullmatch(name):
        faults.append("the name of a site has letters, digits, dots, hyphens and underscores, 100 at most")
    if not isinstance(table, dict):
        faults.append(f"it is {table!r}; it must be a table [{_TABLE}.{name}]")
        return None
    known = declared_options(SiteEntry)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            faults.append(f"unknown key {key!r}; {did_you_mean(key, known)}")
            continue
        try:
            values[key] = known[key].type.read(value)
        except ValueError as error:
            faults.append(f"{key} is {value!r}; {error}")
    return SiteEntry(**values)


def _find_faults(entry: SiteEntry, loader: SpiderLoaderProtocol, settings: BaseSettings) -> Iterator[str]:
    if entry.spider not in loader.list():
        yield f"there is no spider {entry.spider!r}; {did_you_mean(entry.spider, loader.list())}"
    else:
        yield from _find_argument_faults(entry, loader.load(entry.spider))
    if entry.method and _METHOD in entry.settings:
        yield f"method is {entry.method!r}, but settings has {_METHOD}; leave out one of them"
    for name in entry.settings:
        if name in _SHARED_NAMES or name.startswith(_SHARED_PREFIXES):
            yield f"the setting {name} cannot differ between sites; give it on the command line or in the project"
    crawl_settings = entry.crawl_settings
    # One by one, so that each fault is said, and then together: some are wrong only beside another.
    faults = [
        fault
        for name in crawl_settings
        if (fault := _find_setting_fault({name: crawl_settings[name]}, settings)) is not None
    ]
    together = None if faults else _find_setting_fault(crawl_settings, settings)
    yield from faults
    if together is not None:
        yield together


def _find_setting_fault(changes: Mapping[str, Any], settings: BaseSettings) -> str | None:
    """Return why a crawl would refuse these settings if they stood on the command line; None if it would not."""
    copy = settings.copy()
    copy.update(changes, priority=SETTINGS_PRIORITIES["cmdline"])
    try:
        Config.read(copy)
    except ConfigError as error:
        return str(error)
    return None


def _find_argument_faults(entry: SiteEntry, spider: type[Spider]) -> Iterator[str]:
    declared = getattr(spider, "Arguments", None)
    if "url" in entry.arguments and entry.sections:
        yield "arguments has 'url'; sections name the addresses"
    if declared is None:
        return
    if entry.sections and "url" not in declared_options(declared):
        yield f"the spider {entry.spider!r} has no argument 'url' for sections; use arguments"
        return
    try:
        read_arguments(declared, entry.crawl_arguments[0], entry.spider)
    except ConfigError as error:
        missing = MISSING if "url" not in declared_options(declared) else declared_options(declared)["url"].default
        needs_section = missing is MISSING and not entry.sections and "'url'" in str(error)
        yield "there are no sections; sections = [ADDRESS, …] names them" if needs_section else str(error)


def _find_duplicates(sites: Mapping[str, SiteEntry]) -> Iterator[str]:
    first: dict[tuple[str, str], str] = {}
    for name, key, what in _crawl_keys(sites):
        if key in first:
            where = "twice" if first[key] == name else f"as in {first[key]}"
            yield f"{name}: {what} is crawled by the spider {key[0]!r} {where}"
        first.setdefault(key, name)


def _crawl_keys(sites: Mapping[str, SiteEntry]) -> Iterator[tuple[str, tuple[str, str], str]]:
    for name, entry in sites.items():
        for arguments in entry.crawl_arguments:
            key = crawl_identity(entry.spider, arguments)
            yield name, key, arguments.get("url", "the same")


def crawl_identity(spider: str, arguments: Mapping[str, str]) -> tuple[str, str]:
    """Return what a crawl keeps when its other arguments change: its spider and section, or else all arguments."""
    url = arguments.get("url")
    return spider, url_key(url) if url else repr(sorted(arguments.items()))


def _find_overlaps(sites: Mapping[str, SiteEntry]) -> Iterator[str]:
    """Yield a sentence for each section that lies under another one: a page may be found by both."""
    sections = [(section.rstrip("/"), name) for name, entry in sites.items() for section in entry.sections]
    for section, name in sections:
        for other, other_name in sections:
            if section != other and section.startswith(f"{other}/"):
                yield f"{name}: the section {section} lies under {other} of {other_name}; both may find the same pages"


def select_sites(sites: Mapping[str, SiteEntry], names: Iterable[str]) -> dict[str, SiteEntry]:
    """Return the sites with these names, or all if no name is given. Raises ConfigError for an unknown one."""
    chosen = {}
    for name in names:
        if name not in sites:
            raise ConfigError(f"there is no site {name!r} in the file of sites; {did_you_mean(name, sites)}")
        chosen[name] = sites[name]
    return chosen or dict(sites)
