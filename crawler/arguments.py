"""Spider arguments (`-a NAME=VALUE`): declared once as the fields of a dataclass, checked before the crawl starts."""

from __future__ import annotations

import re
from dataclasses import MISSING, field, fields
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from scrapy import Spider

from cleaning.options import nearest
from crawler.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FRESH = "fresh"
"""The argument of every spider that begins a crawl anew, although one of the same arguments has not come to its end."""

RECRAWL = "_recrawl"
"""The argument that `scrapy recrawl` adds: such a crawl begins with what is stored, not with the spider's start."""

_LONGEST_PATTERN = 500
_LONGEST_URL = 2_000
_MOST_PAGES = 100_000

Declared = TypeVar("Declared")


def argument(read: Callable[[str], Any], help_text: str, default: Any = MISSING) -> Any:
    """Declare an argument; `read` turns its text into a value or raises ValueError with what it takes instead."""
    return field(default=default, metadata={"read": read, "help": help_text})


class ArgumentSpider(Spider):
    """A spider whose arguments are the fields of `Arguments`; their values stand in `asked`.

    Raises ConfigError for an unknown name (and says which one is nearest), a missing argument and a bad value.
    """

    Arguments: ClassVar[type[Any]]

    def __init__(self, name: str | None = None, **given: Any) -> None:
        super().__init__(name, **given)
        self.asked = read_arguments(type(self).Arguments, given, self.name)


def read_arguments(declared: type[Declared], given: Mapping[str, Any], spider: str) -> Declared:
    """Return the arguments with the given values.

    Names that begin with `_` are other programs' business (scrapyd), FRESH is the frontier's.
    """
    known = {entry.name: entry for entry in fields(declared)}  # type: ignore[arg-type] # a dataclass
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name.startswith("_") or name == FRESH:
            continue
        if name not in known:
            raise ConfigError(f"the spider {spider!r} has no argument {name!r}; {nearest(name, known)}")
        try:
            values[name] = known[name].metadata["read"](str(text))
        except ValueError as error:
            raise ConfigError(f"the argument {name!r} of {spider!r} is {str(text)!r}: {error}") from error
    missing = [name for name, entry in known.items() if entry.default is MISSING and name not in values]
    if missing:
        raise ConfigError(
            f"the spider {spider!r} needs the argument {missing[0]!r}: {known[missing[0]].metadata['help']}"
        )
    return declared(**values)


def given(spider: Spider) -> dict[str, str]:
    """Return the arguments as they were given, secrets and all: what Scrapy put on the spider as plain texts.

    Names that begin with `_` are left out: scrapyd gives each job another `_job`, and it would be another crawl. Only
    RECRAWL is kept, which is to make it another one.
    """
    texts = {name: value for name, value in vars(spider).items() if isinstance(value, str) and name != "name"}
    return {name: value for name, value in texts.items() if name == RECRAWL or not name.startswith("_")}


def read_url(text: str) -> str:
    """Return an absolute http or https URL."""
    parts = urlsplit(text.strip())
    if parts.scheme not in {"http", "https"} or not parts.hostname or len(text) > _LONGEST_URL:
        raise ValueError(f"it takes an http or https URL of at most {_LONGEST_URL} characters")
    return text.strip()


def read_count(text: str) -> int:
    """Return a whole number of listing pages."""
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= _MOST_PAGES:
        raise ValueError(f"it takes a whole number from 1 to {_MOST_PAGES}")
    return int(text)


def read_day(text: str) -> date:
    """Return an ISO date."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ValueError("it takes a date like 2024-05-31") from error


def read_pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression."""
    if len(text) > _LONGEST_PATTERN:
        raise ValueError(f"it takes a regular expression of at most {_LONGEST_PATTERN} characters")
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression ({error})") from error
