"""Spider arguments (`-a NAME=VALUE`): declared by a spider, checked when it starts."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from scrapy import Spider

from cleaning.declare import declared_options, did_you_mean
from crawler.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FRESH = "fresh"
"""Argument of every spider: `-a fresh=1` starts a new crawl even if an unfinished one has the same arguments."""

RECRAWL = "_recrawl"
"""Argument that `scrapy recrawl` adds: the crawl starts with stored pages, not with the spider's start requests."""

REMOVED_ARGUMENTS = {
    ("ezine", "empty"): "leave it out: the crawl ends after 5 articles in a row without a title or a text",
    ("news", "seconds"): "-s CLOSESPIDER_TIMEOUT=SECONDS stops a crawl, and the same command continues it",
}
"""Arguments of earlier versions, and what a user does instead."""

Arguments = TypeVar("Arguments")


class ArgumentSpider(Spider):
    """A spider whose arguments are the fields of the dataclass `Arguments`; `arguments` holds their values.

    Raises ConfigError for an unknown name (and suggests the nearest), a missing argument and a bad value.
    """

    Arguments: ClassVar[type[Any]]

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self.arguments = read_arguments(type(self).Arguments, arguments, self.name)

    def sections(self) -> Sequence[str]:
        """Return the URLs that the crawl is of; none by default."""
        return ()


def read_arguments(declared: type[Arguments], values_by_name: Mapping[str, Any], spider: str) -> Arguments:
    """Return the arguments with the given values.

    The frontier reads FRESH itself. Names that begin with `_` belong to other programs, such as scrapyd.
    """
    known = declared_options(declared)
    values: dict[str, Any] = {}
    for name, value in values_by_name.items():
        if name.startswith("_") or name == FRESH:
            continue
        if name not in known:
            if (spider, name) in REMOVED_ARGUMENTS:
                raise ConfigError(
                    f"{name!r} is no longer an argument of the spider {spider!r}; {REMOVED_ARGUMENTS[spider, name]}"
                )
            raise ConfigError(f"the spider {spider!r} has no argument {name!r}; {did_you_mean(name, known)}")
        try:
            values[name] = known[name].type.read(value)
        except ValueError as error:
            raise ConfigError(f"the argument {name!r} of the spider {spider!r} is {value!r}; {error}") from error
    for name, argument in known.items():
        if argument.is_required and name not in values:
            raise ConfigError(f"the spider {spider!r} needs the argument {name!r}: {argument.help}")
    return declared(**values)


def given_arguments(spider: Spider) -> dict[str, str]:
    """Return a spider's arguments as they were given, secrets included: Scrapy sets them as attributes.

    Names that begin with `_` are left out, because scrapyd gives each job another `_job`, which would make it another
    crawl. RECRAWL is kept, because it is meant to make another crawl.
    """
    arguments = {name: value for name, value in vars(spider).items() if isinstance(value, str) and name != "name"}
    return {name: value for name, value in arguments.items() if name == RECRAWL or not name.startswith("_")}


def describe_arguments(arguments: Mapping[str, Any]) -> str:
    """Return a crawl's arguments in a line, "" without any; the value of RECRAWL means nothing to a reader."""
    pairs = [f"{name}={value}" for name, value in arguments.items() if not name.startswith("_")]
    return ", ".join([*pairs, *["recrawl"] * (RECRAWL in arguments)])


def resume_command(spider: str, arguments: Mapping[str, Any], settings: Mapping[str, str]) -> str:
    """Return the shell command that continues a crawl, with the settings of its last command line."""
    words = ["recrawl", "--due"]
    if RECRAWL not in arguments:
        words = ["crawl", spider, *_options("-a", arguments)]
    return shlex.join(["scrapy", *words, *_options("-s", settings)])


def _options(option: str, values: Mapping[str, Any]) -> list[str]:
    return [word for name, value in values.items() for word in (option, f"{name}={value}")]
