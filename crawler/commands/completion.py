"""`scrapy completion`: a script that completes commands, spiders, options and their values in a shell.

0    the script was printed
2    there is no such shell
"""

from __future__ import annotations

import argparse
import logging
import sys
from typing import TYPE_CHECKING, Any

from scrapy.cmdline import _get_commands_dict  # Scrapy has no public list of its commands
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.project import inside_project

from cleaning import METHODS
from cleaning.declare import declared_options
from crawler.addon import check_packages
from crawler.commands import lazy
from crawler.commands.base import BlocksieveCommand
from crawler.commands.crawl import LOG_LEVELS
from crawler.config.arguments import FRESH, ArgumentSpider
from crawler.config.explanation import explain_settings
from crawler.errors import CrawlerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy import Spider
    from scrapy.settings import Settings

_SHELLS = ("bash", "zsh", "fish")
# Commands whose argument is the name of a spider; that of most others is a file, a URL or nothing.
_TAKE_SPIDER = frozenset({"check", "crawl", "edit"})


class CompletionCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "|".join(_SHELLS)

    def short_desc(self) -> str:
        return "Print a script that completes commands, spiders and options in a shell"

    def long_desc(self) -> str:
        return (
            "Print a completion script. Write it to ~/.local/share/bash-completion/completions/scrapy for bash, to a "
            "file _scrapy in a folder of fpath for zsh, or to ~/.config/fish/completions/scrapy.fish for fish. It "
            "knows the commands and spiders of the project where it was made; make it again when they change."
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's
        if len(args) != 1 or args[0] not in _SHELLS:
            raise UsageError(f"name one shell: {', '.join(_SHELLS)}", print_help=False)
        import shtab  # noqa: PLC0415 — its help needs no library

        assert self.settings is not None  # set by scrapy.cmdline
        sys.stdout.write(shtab.complete(_make_parser(self.settings, shtab.FILE), shell=args[0]))


def _make_parser(settings: Settings, files: object) -> argparse.ArgumentParser:
    """Return a parser of all commands as subcommands of `scrapy`; it only serves to be described.

    An argument whose attribute `complete` is `files` stands for a file.
    """
    spiders = _load_spiders(settings)
    values = _option_values(settings, spiders)
    parser = argparse.ArgumentParser(prog="scrapy")
    subcommands = parser.add_subparsers()
    for name, command in sorted(_get_commands_dict(settings, inside_project()).items()):
        command.settings = settings
        own = subcommands.add_parser(
            name, help=command.short_desc(), description=command.long_desc(), conflict_handler="resolve"
        )
        command.add_options(own)
        for action in own._actions:  # noqa: SLF001 — argparse has no public list of what was declared
            if action.choices is None and action.dest in values:
                action.choices = values[action.dest]
        if name in _TAKE_SPIDER:
            own.add_argument("name", nargs="?", choices=sorted(spiders))
        elif isinstance(command, lazy.completion):
            own.add_argument("shell", choices=_SHELLS)
        else:
            own.add_argument("names", nargs="*").complete = files  # type: ignore[attr-defined] # shtab's
    return parser


def _load_spiders(settings: Settings) -> dict[str, type[Spider]]:
    """Return the spiders of the project by name; none if they cannot be loaded, which `scrapy crawl` reports."""
    try:
        if "spiders" in settings.getlist("SPIDER_MODULES"):
            check_packages()
        loader = get_spider_loader(settings)
        return {name: loader.load(name) for name in loader.list()}
    except CrawlerError as error:
        logging.getLogger(__name__).warning("%s", error)
        return {}


def _option_values(settings: Settings, spiders: Mapping[str, type[Spider]]) -> dict[str, list[str]]:
    """Return the values of options by the attribute that argparse gives each."""
    ours = [setting.name for setting in explain_settings(settings)]
    every = sorted({*ours, *(name for name in settings if isinstance(name, str) and name.isupper())})
    return {
        "method": list(METHODS),
        "methods": list(METHODS),
        "spider": sorted(spiders),
        "loglevel": list(LOG_LEVELS),
        "explain": ours,
        "get": every,
        "set": [f"{name}=" for name in ours],
        "spargs": [f"{name}=" for name in _argument_names(spiders.values())],
    }


def _argument_names(spiders: Iterable[type[Any]]) -> list[str]:
    declared = (declared_options(spider.Arguments) for spider in spiders if issubclass(spider, ArgumentSpider))
    return sorted({FRESH, *(name for options in declared for name in options)})
