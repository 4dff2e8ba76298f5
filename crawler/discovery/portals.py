"""The table of news sites that the spider `news` reads: its columns, and the files that its rows come from."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cleaning.declare import did_you_mean, pattern, web_url
from cleaning.methods import METHODS
from crawler.errors import ConfigError
from crawler.urls import host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ALL_PORTALS = "all"

_SHIPPED_TABLE = "portals.toml"
_PORTAL_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_ADDRESSES_MAX = 500
_DELAY_MAX = 3_600.0
_HOST = re.compile(r"(?:[\w-]+\.)*[\w-]+(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization"})


def _portal_column(read: Callable[[Any], Any], help_text: str, default: Any = MISSING, **more: Any) -> Any:
    """Declare a column. `read` converts a TOML value, or raises ValueError with a description of what it takes."""
    return field(default=default, metadata={"read": read, "help": help_text}, **more)


def _host(value: Any) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise ValueError("it takes a host name, with a port where it has one")
    return value.lower()


def _hosts(value: Any) -> tuple[str, ...]:
    return tuple(_host(name) for name in _list(value, "host names"))


def _address(value: Any) -> str:
    try:
        return web_url().read(value)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError("it takes an http or https URL") from error


def _addresses(value: Any) -> tuple[str, ...]:
    return tuple(_address(address) for address in _list(value, "http or https URLs"))


def _pattern(value: Any) -> re.Pattern[str]:
    if not isinstance(value, str) or not value:
        raise ValueError("it takes a regular expression")
    return pattern().read(value)


def _language(value: Any) -> str:
    if not isinstance(value, str) or not _LANGUAGE.fullmatch(value):
        raise ValueError("it takes a language tag like en or zh-CN")
    return value


def _delay(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _DELAY_MAX:
        raise ValueError(f"it takes seconds from 0 to {_DELAY_MAX:g}")
    return float(value)


def _headers(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("it takes a table of header names and their values")  # noqa: TRY004 — as the other columns
    for name, text in value.items():
        if not isinstance(text, str) or not _HEADER.fullmatch(name) or not text.isprintable() or not text.isascii():
            raise ValueError("it takes header names and their values, in ASCII")
        if name.lower() in _SECRET_HEADERS:
            raise ValueError(f"{name} is a secret, which is not stored: set it in a downloader middleware")
    return dict(value)


def _method(value: Any) -> str:
    if value not in METHODS:
        raise ValueError(f"it takes a method of cleaning; {did_you_mean(str(value), METHODS)}")
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("it takes true or false")  # noqa: TRY004 — as the other columns
    return value


def _evidence(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError("it takes a table of columns and their evidence")  # noqa: TRY004 — as the other columns
    return {
        name: tuple(_names([evidence] if isinstance(evidence, str) else evidence)) for name, evidence in value.items()
    }


def _list(value: Any, wanted: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > _ADDRESSES_MAX:
        raise ValueError(f"it takes a list of {wanted}, at most {_ADDRESSES_MAX}")
    return value


def _names(value: Any) -> list[str]:
    names = _list(value, "names of saved pages and documents")
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError("it takes names of saved pages and documents")
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Portal:
    """A news site. The spider finds sections, feeds and sitemaps by itself where a row names none."""

    name: str
    host: str = _portal_column(_host, "the host of its home page")
    home: str = _portal_column(_address, "its home page, by default `https://HOST/`", "")
    hosts: tuple[str, ...] = _portal_column(_hosts, "more hosts that its pages are on, or were", ())
    sections: tuple[str, ...] = _portal_column(
        _addresses, "listings that are read first, by default those that the home page links to", ()
    )
    feeds: tuple[str, ...] = _portal_column(
        _addresses, "RSS and Atom feeds, by default those that listings and the home page name", ()
    )
    sitemaps: tuple[str, ...] = _portal_column(
        _addresses, "sitemaps and sitemap indexes, by default those of robots.txt, or else `/sitemap.xml`", ()
    )
    articles: re.Pattern[str] | None = _portal_column(  # noqa: RUF009 — declares a field
        _pattern,
        "regular expression that matches the URLs of its articles and no others; by default articles are recognised",
        None,
    )
    language: str = _portal_column(_language, "the language of its articles", "")
    delay: float | None = _portal_column(
        _delay, "minimum seconds between two requests to its hosts, by default AutoThrottle's", None
    )
    headers: Mapping[str, str] = _portal_column(
        _headers, "headers of each request to it, such as the `Cookie` that opens its wall of consent", None
    )
    method: str = _portal_column(_method, "the method that cleans its pages, by default CLEANING_METHOD", "")
    render: bool = _portal_column(_flag, "true renders its pages in a browser", False)
    evidence: Mapping[str, tuple[str, ...]] = _portal_column(
        _evidence, "saved pages (`sites/bbc/16.html.gz`) and documents that prove each column", None
    )

    @property
    def start(self) -> str:
        """The address of the home page."""
        return self.home or f"https://{self.host}/"

    @property
    def cookie(self) -> str:
        """The Cookie of `headers`, "" without one: it is sent, but stored nowhere."""
        return next((value for name, value in self.headers.items() if name.lower() == "cookie"), "")

    @property
    def domains(self) -> frozenset[str]:
        """The sites that its pages are on, in the form of `crawler.urls.site_of`."""
        return frozenset(filter(None, map(_site_of, (self.start, *(f"https://{name}/" for name in self.hosts)))))

    @property
    def download_slots(self) -> frozenset[str]:
        """Its host names, in the form of Scrapy's download slots."""
        return frozenset(filter(None, (host_of(self.start), *(host_of(f"https://{name}/") for name in self.hosts))))

    def owns(self, url: str) -> bool:
        """Return True if a URL is on one of the portal's sites."""
        return _site_of("/".join(url.split("/", 3)[:3])) in self.domains


@lru_cache(maxsize=1_000)
def _site_of(origin: str) -> str:
    """Return the site of an address without its path: a sitemap has 100,000 addresses of few hosts."""
    return site_of(origin)


PORTAL_COLUMNS = {column.name: column for column in fields(Portal) if column.name != "name"}


def read_portals(own: str = "", faults: dict[str, str] | None = None) -> dict[str, Portal]:
    """Return all portals by name: the shipped ones, and the ones of the user's own file, if there is one.

    A row of the user's file with the name of a shipped portal replaces the columns that it names. A sentence about each
    invalid row is added to `faults`, by its name. Raises ConfigError for an unreadable file, and without `faults` for
    an invalid row.
    """
    text = files("spiders").joinpath(_SHIPPED_TABLE).read_text("utf-8")
    rows = _parse_toml(text, _SHIPPED_TABLE)
    added = _user_rows(own) if own else {}
    where = dict.fromkeys(rows, _SHIPPED_TABLE) | dict.fromkeys(added, own)
    merged = {name: _merge_rows(rows.get(name), added.get(name)) for name in where}
    portals = {}
    for name, row in merged.items():
        try:
            portals[name] = _read_portal(name, row, where[name])
        except ConfigError as error:
            if faults is None:
                raise
            faults[name] = str(error)
    return portals


def select_portals(text: str, table: Mapping[str, Portal]) -> tuple[Portal, ...]:
    """Return the portals that a text lists: names separated by commas, `all`, or any hosts and home pages.

    Raises ValueError for a part that is neither a portal's name nor a host.
    """
    if text.strip().lower() == ALL_PORTALS:
        return tuple(table.values())
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError(f"it takes names of portals with commas between, {ALL_PORTALS!r}, or hosts")
    return tuple({portal.name: portal for portal in (_select_portal(name, table) for name in names)}.values())


def _read_portal(name: str, row: Any, where: str) -> Portal:
    """Return a row of a table. Raises ConfigError with the row, the column, its value and what the column takes."""
    if not _PORTAL_NAME.fullmatch(name) or name == ALL_PORTALS:
        raise ConfigError(
            f"{where}: {name!r} is not a valid name of a portal; it takes small letters, digits and hyphens, and "
            f"{ALL_PORTALS!r} is reserved"
        )
    return _read_columns(name, row, where)


def _read_columns(name: str, row: Any, where: str) -> Portal:
    if not isinstance(row, dict):
        raise ConfigError(f"{where}: {name!r} is {row!r}; a portal is a table of columns, [{name}]")
    values: dict[str, Any] = {"headers": {}, "evidence": {}}
    for column, value in row.items():
        if column not in PORTAL_COLUMNS:
            raise ConfigError(
                f"{where}: the portal {name!r} has no column {column!r}; {did_you_mean(column, PORTAL_COLUMNS)}"
            )
        try:
            values[column] = PORTAL_COLUMNS[column].metadata["read"](value)
        except ValueError as error:
            raise ConfigError(f"{where}: {column!r} of the portal {name!r} is {value!r}: {error}") from error
    if "host" not in values:
        needed = PORTAL_COLUMNS["host"].metadata["help"]
        raise ConfigError(f"{where}: the portal {name!r} needs the column 'host': {needed}")
    portal = Portal(name=name, **values)
    _check_portal(portal, where)
    return portal


def _check_portal(portal: Portal, where: str) -> None:
    """Raise ConfigError for columns that contradict each other."""
    for column in ("home", "sections"):
        addresses = getattr(portal, column)
        for url in [addresses] if isinstance(addresses, str) else addresses:
            if url and not portal.owns(url):
                raise ConfigError(
                    f"{where}: {column!r} of the portal {portal.name!r} has {url!r}, which is on none of its hosts; "
                    "name the host in 'hosts'"
                )
    if portal.method and METHODS[portal.method].needs == "layout" and not portal.render:
        raise ConfigError(
            f"{where}: the portal {portal.name!r} has the method {portal.method!r}, which needs a browser: "
            "render = true"
        )
    if unknown := portal.evidence.keys() - PORTAL_COLUMNS.keys():
        name = min(unknown)
        raise ConfigError(
            f"{where}: the portal {portal.name!r} has evidence for {name!r}, which is not a column; "
            f"{did_you_mean(name, PORTAL_COLUMNS)}"
        )


def _select_portal(name: str, table: Mapping[str, Portal]) -> Portal:
    if name.lower() in table:
        return table[name.lower()]
    home = name if "://" in name else f"https://{name}/"
    if "." not in name and ":" not in name:
        raise ValueError(f"there is no portal {name!r} and no such host; {did_you_mean(name.lower(), table)}")
    try:
        known = next((portal for portal in table.values() if _netloc(home) == _netloc(portal.start)), None)
        row = {"host": _netloc(home), "home": web_url().read(home)}
        return known or _read_columns(_netloc(home), row, "the argument 'site'")
    except ConfigError as error:
        raise ValueError(str(error)) from error


def _netloc(url: str) -> str:
    return urlsplit(url).netloc.lower()


def _user_rows(path: str) -> dict[str, Any]:
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"PORTALS is {path!r}, which cannot be read: {error}") from error
    return _parse_toml(text, path)


def _parse_toml(text: str, where: str) -> dict[str, Any]:
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not valid TOML: {error}") from error
    return rows


def _merge_rows(shipped: Any, own: Any) -> Any:
    """Return the shipped row with the user's columns. A replaced column loses its shipped evidence."""
    if shipped is None or not isinstance(own, dict):
        return shipped if own is None else own
    kept = {name: names for name, names in shipped.get("evidence", {}).items() if name not in own}
    own_evidence = own.get("evidence", {})
    return {**shipped, **own, "evidence": {**kept, **own_evidence} if isinstance(own_evidence, dict) else own_evidence}
