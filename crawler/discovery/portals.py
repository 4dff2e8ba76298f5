"""The table of news sites that the spider `news` reads: its columns, and the files that its rows come from."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cleaning.methods import METHODS
from cleaning.options import nearest
from crawler.arguments import read_pattern, read_url
from crawler.errors import ConfigError
from crawler.urls import host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_ADDRESSES_MAX = 500
_DELAY_MAX = 3_600.0
_HOST = re.compile(r"(?:[\w-]+\.)*[\w-]+(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# What the frontier stores of no request belongs into no table either.
_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


def portal_column(read: Callable[[Any], Any], help_text: str, default: Any = MISSING, **more: Any) -> Any:
    """Declare a column; `read` turns what TOML has into a value or raises ValueError with what it takes instead."""
    return field(default=default, metadata={"read": read, "help": help_text}, **more)


def _host(value: Any) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        raise ValueError("it takes a host name, with a port where it has one")
    return value.lower()


def _hosts(value: Any) -> tuple[str, ...]:
    return tuple(_host(one) for one in _several(value, "host names"))


def _address(value: Any) -> str:
    try:
        return read_url(value)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError("it takes an http or https URL") from error


def _addresses(value: Any) -> tuple[str, ...]:
    return tuple(_address(one) for one in _several(value, "http or https URLs"))


def _pattern(value: Any) -> re.Pattern[str]:
    if not isinstance(value, str) or not value:
        raise ValueError("it takes a regular expression")
    return read_pattern(value)


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
        raise ValueError("it takes a table of header names and their values")  # noqa: TRY004 — as all others
    for name, text in value.items():
        if not isinstance(text, str) or not _HEADER.fullmatch(name) or not text.isprintable() or not text.isascii():
            raise ValueError("it takes header names and their values, in ASCII")
        if name.lower() in _SECRET_HEADERS:
            raise ValueError(f"{name} is a secret, which is not stored: set it in a downloader middleware")
    return dict(value)


def _method(value: Any) -> str:
    if value not in METHODS:
        raise ValueError(f"it takes a method of cleaning; {nearest(str(value), METHODS)}")
    if METHODS[value].needs == "template":
        raise ValueError("it takes a method that cleans one page at a time")
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("it takes true or false")  # noqa: TRY004 — as all others
    return value


def _evidence(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError("it takes a table of columns and what each rests on")  # noqa: TRY004 — as all others
    return {name: tuple(_texts([found] if isinstance(found, str) else found)) for name, found in value.items()}


def _several(value: Any, wanted: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > _ADDRESSES_MAX:
        raise ValueError(f"it takes a list of {wanted}, at most {_ADDRESSES_MAX}")
    return value


def _texts(value: Any) -> list[str]:
    texts = _several(value, "names of saved pages and documents")
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise ValueError("it takes names of saved pages and documents")
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Portal:
    """A site; where nothing is said of its sections, feeds or sitemaps, discovery finds them."""

    name: str
    host: str = portal_column(_host, "the host of its home page")
    home: str = portal_column(_address, "its home page; `https://HOST/` where nothing is said", "")
    hosts: tuple[str, ...] = portal_column(_hosts, "further hosts under whose domains its pages are or were", ())
    sections: tuple[str, ...] = portal_column(
        _addresses, "listings that are read first; found from the home page if none", ()
    )
    feeds: tuple[str, ...] = portal_column(
        _addresses, "RSS and Atom; found from listings and the home page if none", ()
    )
    sitemaps: tuple[str, ...] = portal_column(_addresses, "sitemaps and their indexes; those of robots.txt if none", ())
    articles: re.Pattern[str] | None = portal_column(  # noqa: RUF009 — declares a field
        _pattern,
        "regular expression that is found in the URLs of its articles and of nothing else; they are recognised if none",
        None,
    )
    language: str = portal_column(_language, "the language of its articles", "")
    delay: float | None = portal_column(
        _delay, "least seconds between two requests to its hosts; AutoThrottle's if none", None
    )
    headers: Mapping[str, str] = portal_column(_headers, "headers of each request to it", None)
    method: str = portal_column(_method, "the method that cleans its pages; CLEANING_METHOD if none", "")
    render: bool = portal_column(_flag, "render its pages in a browser", False)
    evidence: Mapping[str, tuple[str, ...]] = portal_column(
        _evidence, "what each column rests on: saved pages (`sites/bbc/16.html.gz`) and documents", None
    )

    @property
    def start(self) -> str:
        """The home page's address."""
        return self.home or f"https://{self.host}/"

    @property
    def domains(self) -> frozenset[str]:
        """The sites, as `crawler.urls.site_of` has them, whose pages are this portal's."""
        return frozenset(filter(None, (site_of(self.start), *(site_of(f"https://{name}/") for name in self.hosts))))

    @property
    def download_slots(self) -> frozenset[str]:
        """The names of its hosts, as Scrapy's download slots have them."""
        return frozenset(filter(None, (host_of(self.start), *(host_of(f"https://{name}/") for name in self.hosts))))

    def owns(self, url: str) -> bool:
        """Tell whether an address is of one of the portal's sites."""
        return site_of(url) in self.domains


PORTAL_COLUMNS = {one.name: one for one in fields(Portal) if one.name != "name"}


def read_portal(name: str, row: Any, where: str) -> Portal:
    """Return a row of a table. Raises ConfigError that names the row, the column, its value and what it takes."""
    if not isinstance(row, dict):
        raise ConfigError(f"{where}: {name!r} is {row!r}; a portal is a table of columns, [{name}]")
    values: dict[str, Any] = {"headers": {}, "evidence": {}}
    for given, value in row.items():
        if given not in PORTAL_COLUMNS:
            raise ConfigError(f"{where}: the portal {name!r} has no column {given!r}; {nearest(given, PORTAL_COLUMNS)}")
        try:
            values[given] = PORTAL_COLUMNS[given].metadata["read"](value)
        except ValueError as error:
            raise ConfigError(f"{where}: {given!r} of the portal {name!r} is {value!r}: {error}") from error
    if "host" not in values:
        raise ConfigError(
            f"{where}: the portal {name!r} needs the column 'host': {PORTAL_COLUMNS['host'].metadata['help']}"
        )
    portal = Portal(name=name, **values)
    _check_portal(portal, where)
    return portal


def _check_portal(portal: Portal, where: str) -> None:
    """Raise ConfigError for columns that do not go together."""
    for given in ("home", "sections"):
        addresses = getattr(portal, given)
        for url in [addresses] if isinstance(addresses, str) else addresses:
            if url and not portal.owns(url):
                raise ConfigError(
                    f"{where}: {given!r} of the portal {portal.name!r} has {url!r}, which is on none of its hosts; "
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
            f"{where}: the portal {portal.name!r} has evidence of {name!r}, which is no column; "
            f"{nearest(name, PORTAL_COLUMNS)}"
        )


_SHIPPED_TABLE = "portals.toml"
_PORTAL_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
ALL_PORTALS = "all"


def read_portals(own: str = "") -> dict[str, Portal]:
    """Return all portals by name: the shipped ones, and those of the user's own file, if there is one.

    A row there that has the name of a shipped one replaces the columns that it names. Raises ConfigError for a file
    that cannot be read, and for a row that says what cannot be.
    """
    text = files("spiders").joinpath(_SHIPPED_TABLE).read_text("utf-8")
    rows = _parse_toml(text, _SHIPPED_TABLE)
    added = _user_rows(own) if own else {}
    where = dict.fromkeys(rows, _SHIPPED_TABLE) | dict.fromkeys(added, own)
    merged = {name: _merge_rows(rows.get(name), added.get(name)) for name in where}
    return {name: read_portal(name, row, where[name]) for name, row in merged.items()}


def select_portals(text: str, table: Mapping[str, Portal]) -> tuple[Portal, ...]:
    """Return the portals that a text names: names with commas, `all`, and hosts or home pages that are in no table.

    Raises ValueError for a name that is neither.
    """
    if text.strip().lower() == ALL_PORTALS:
        return tuple(table.values())
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError(f"it takes names of portals with commas between, {ALL_PORTALS!r}, or hosts")
    return tuple({portal.name: portal for portal in (_select_portal(name, table) for name in names)}.values())


def _select_portal(name: str, table: Mapping[str, Portal]) -> Portal:
    if name.lower() in table:
        return table[name.lower()]
    home = name if "://" in name else f"https://{name}/"
    if "." not in name and ":" not in name:
        raise ValueError(f"there is no portal {name!r} and no such host; {nearest(name.lower(), table)}")
    try:
        known = next((portal for portal in table.values() if _netloc(home) == _netloc(portal.start)), None)
        row = {"host": _netloc(home), "home": read_url(home)}
        return known or read_portal(_netloc(home), row, "the argument 'site'")
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
        raise ConfigError(f"{where} is no TOML: {error}") from error
    for name in rows:
        if not _PORTAL_NAME.fullmatch(name) or name == ALL_PORTALS:
            raise ConfigError(
                f"{where}: {name!r} is no name of a portal; it takes small letters, digits and hyphens, and not "
                f"{ALL_PORTALS!r}"
            )
    return rows


def _merge_rows(shipped: Any, own: Any) -> Any:
    """Return a row with the user's columns in place of the shipped ones, which their evidence goes with."""
    if shipped is None or not isinstance(own, dict):
        return shipped if own is None else own
    kept = {name: found for name, found in shipped.get("evidence", {}).items() if name not in own}
    given = own.get("evidence", {})
    return {**shipped, **own, "evidence": {**kept, **given} if isinstance(given, dict) else given}
