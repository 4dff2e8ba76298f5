"""Where the rows come from: the table beside the spider `news`, and the user's own."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cleaning.options import nearest
from crawler.arguments import read_url
from crawler.errors import ConfigError
from crawler.portals.portal import Portal, read_row

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHIPPED = "portals.toml"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
ALL = "all"


def read_table(own: str = "") -> dict[str, Portal]:
    """Return all portals by name: the shipped ones, and those of the user's own file, if there is one.

    A row there that has the name of a shipped one replaces the columns that it names. Raises ConfigError for a file
    that cannot be read, and for a row that says what cannot be.
    """
    text = files("spiders").joinpath(_SHIPPED).read_text("utf-8")
    rows = _parse(text, _SHIPPED)
    added = _own_rows(own) if own else {}
    where = dict.fromkeys(rows, _SHIPPED) | dict.fromkeys(added, own)
    merged = {name: _merged(rows.get(name), added.get(name)) for name in where}
    return {name: read_row(name, row, where[name]) for name, row in merged.items()}


def chosen(text: str, table: Mapping[str, Portal]) -> tuple[Portal, ...]:
    """Return the portals that a text names: names with commas, `all`, and hosts or home pages that are in no table.

    Raises ValueError for a name that is neither.
    """
    if text.strip().lower() == ALL:
        return tuple(table.values())
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError(f"it takes names of portals with commas between, {ALL!r}, or hosts")
    return tuple({portal.name: portal for portal in (_one(name, table) for name in names)}.values())


def _one(name: str, table: Mapping[str, Portal]) -> Portal:
    if name.lower() in table:
        return table[name.lower()]
    home = name if "://" in name else f"https://{name}/"
    if "." not in name and ":" not in name:
        raise ValueError(f"there is no portal {name!r} and no such host; {nearest(name.lower(), table)}")
    try:
        known = next((portal for portal in table.values() if _netloc(home) == _netloc(portal.start)), None)
        row = {"host": _netloc(home), "home": read_url(home)}
        return known or read_row(_netloc(home), row, "the argument 'site'")
    except ConfigError as error:
        raise ValueError(str(error)) from error


def _netloc(url: str) -> str:
    return urlsplit(url).netloc.lower()


def _own_rows(path: str) -> dict[str, Any]:
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"PORTALS is {path!r}, which cannot be read: {error}") from error
    return _parse(text, path)


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is no TOML: {error}") from error
    for name in rows:
        if not _NAME.fullmatch(name) or name == ALL:
            raise ConfigError(
                f"{where}: {name!r} is no name of a portal; it takes small letters, digits and hyphens, and not {ALL!r}"
            )
    return rows


def _merged(shipped: Any, own: Any) -> Any:
    """Return a row with the user's columns in place of the shipped ones, which their evidence goes with."""
    if shipped is None or not isinstance(own, dict):
        return shipped if own is None else own
    kept = {name: found for name, found in shipped.get("evidence", {}).items() if name not in own}
    given = own.get("evidence", {})
    return {**shipped, **own, "evidence": {**kept, **given} if isinstance(given, dict) else given}
