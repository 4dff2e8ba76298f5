"""`scrapy settings`: Scrapy's command, with `--explain` for the settings of Blocksieve.

0    the settings were printed, even if the value of one would stop a crawl
1    the output cannot be written
2    there is no such setting
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rich.text import Text
from scrapy.commands.settings import Command as ScrapySettings
from scrapy.exceptions import UsageError

from crawler.config import explain_setting, explain_settings
from crawler.errors import ConfigError
from crawler.terminal import make_console, make_table, print_error, print_json, printable

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from crawler.config import ExplainedSetting

_ALL = "all"
_COLUMNS = ("name", "value", "set by", "default", "allowed")


class SettingsCommand(ScrapySettings):
    def syntax(self) -> str:
        return "[options] [--explain [NAME] [--json]]"

    def short_desc(self) -> str:
        return "Get settings values, or explain Blocksieve's settings"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--explain",
            nargs="?",
            const=_ALL,
            metavar="NAME",
            help="explain a setting of Blocksieve: its type, limits, default and value, and where the value was set; "
            "without NAME, all of them",
        )
        parser.add_argument("--json", action="store_true", help="with --explain: print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.explain is None:
            super().run(args, opts)
            return
        assert self.settings is not None  # set by scrapy.cmdline
        try:
            _show(opts.explain, self.settings, as_json=opts.json)
            sys.stdout.flush()
        except ConfigError as error:
            raise UsageError(printable(error), print_help=False) from error
        except OSError as error:
            # The reader stopped early, or the disk is full. Discard the rest, which the interpreter flushes on exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                print_error(f"the output cannot be written: {error.strerror}")
                self.exitcode = 1


def _show(name: str, settings: BaseSettings, *, as_json: bool) -> None:
    if name == _ALL:
        found = explain_settings(settings)
        if as_json:
            print_json(found)
        else:
            make_console().print(make_table("Settings", _COLUMNS, [_row(one) for one in found]))
        return
    one = explain_setting(name, settings)
    if as_json:
        print_json(one)
    else:
        _print(one)


def _row(one: ExplainedSetting) -> list[object]:
    present = Text(_text(one.value), style="bold" if one.set_by != "default" else "")
    if one.problem:
        present = Text(f"{_text(one.value)} (not allowed)", style="red")
    return [one.name, present, one.set_by, _text(one.default), one.allowed]


def _print(one: ExplainedSetting) -> None:
    out = make_console()
    out.print(Text(one.name, style="bold"))
    out.print(Text(f"{one.help}\n"))
    for label, said in (
        ("type", one.type),
        ("allowed", one.allowed),
        ("default", _text(one.default)),
        ("value", f"{_text(one.value)}, set by: {one.set_by}"),
    ):
        out.print(Text(f"{label:<8} {said}"))
    if one.problem:
        out.print(Text(f"\nA crawl would stop: {printable(one.problem)}"))


def _text(value: object) -> str:
    """Return a value as it is written on the command line, "-" for an empty one."""
    if isinstance(value, tuple):
        return printable(" ".join(value)) or "-"
    return printable(value) if value not in (None, "", {}) else "-"
