"""`scrapy settings`: Scrapy's command, with `--explain` for Blocksieve's settings and `--spider` for spider arguments.

0    the settings were printed, even if the value of one would stop a crawl
1    the output cannot be written
2    there is no such setting or spider
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy.commands.settings import Command as ScrapySettings
from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from cleaning.declare import declared_options, did_you_mean
from crawler.addon import check_packages, read_kept_settings
from crawler.commands.crawl import OUTSIDE
from crawler.config import themes, use_database_settings
from crawler.config.arguments import FRESH, ArgumentSpider
from crawler.config.explanation import explain_setting, explain_settings, set_declared_default
from crawler.errors import ConfigError, SetupError
from crawler.terminal import cut_text, make_console, make_table, print_error, print_json, printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from crawler.config.explanation import ExplainedSetting

_ALL = "all"
_VALUE_CELLS = 14
_HELP_CELLS = 24
_ARGUMENT_COLUMNS = ("argument", "type", "default", "allowed", "what it does")


class SettingsCommand(ScrapySettings):
    def syntax(self) -> str:
        return "[options] [--explain [NAME] | --spider NAME] [--json]"

    def short_desc(self) -> str:
        return "Get settings values, or explain Blocksieve's settings and spider arguments"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--explain",
            nargs="?",
            const=_ALL,
            metavar="NAME",
            help="explain a setting of Blocksieve: its type, limits, default and value, and where the value was set; "
            "without NAME, all of them with a line each",
        )
        parser.add_argument("--spider", metavar="NAME", help="list the arguments (-a) of a spider")
        parser.add_argument("--json", action="store_true", help="with --explain or --spider: print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None  # set by scrapy.cmdline
        try:
            if opts.explain is None and opts.spider is None:
                for name in filter(None, (opts.get, opts.getbool, opts.getint, opts.getfloat, opts.getlist)):
                    set_declared_default(name, self.settings)
                super().run(args, opts)
            elif opts.spider is not None:
                _show_arguments(opts.spider, self.settings, as_json=opts.json)
            else:
                use_database_settings(self.settings, read_kept_settings(self.settings))
                _show(opts.explain, self.settings, as_json=opts.json)
            sys.stdout.flush()
        except (ConfigError, SetupError) as error:
            raise UsageError(printable(error), print_help=False) from error
        except OSError as error:
            # The reader stopped early, or the disk is full. Discard the rest, which the interpreter flushes on exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                print_error(f"the output cannot be written: {error.strerror}")
                self.exitcode = 1


def _show(name: str, settings: BaseSettings, *, as_json: bool) -> None:
    if name == _ALL:
        explained = explain_settings(settings)
        if as_json:
            print_json(explained)
        else:
            _print_groups(explained)
        return
    setting = explain_setting(name, settings)
    if as_json:
        print_json(setting)
    else:
        _print(setting)


def _show_arguments(name: str, settings: BaseSettings, *, as_json: bool) -> None:
    arguments = _explain_arguments(_load_spider(name, settings))
    if as_json:
        print_json(arguments)
        return
    rows = [
        (
            argument.name,
            argument.type,
            "required" if argument.is_required else _text(argument.default),
            argument.allowed,
            argument.help,
        )
        for argument in arguments
    ]
    make_console().print(make_table(f"Arguments of the spider {name}", _ARGUMENT_COLUMNS, rows))


def _load_spider(name: str, settings: BaseSettings) -> type[Spider]:
    if "spiders" in settings.getlist("SPIDER_MODULES"):
        check_packages()
    loader = get_spider_loader(settings)
    if not loader.list():
        raise ConfigError(f"there is no spider {name!r}: {OUTSIDE}")
    if name not in loader.list():
        raise ConfigError(f"there is no spider {name!r}; {did_you_mean(name, loader.list())}")
    return loader.load(name)


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument of a spider as declared; `default` is None where a value must be given."""

    name: str
    type: str
    default: Any
    is_required: bool
    allowed: str
    help: str


_FRESH_ARGUMENT = _Argument(
    name=FRESH,
    type="true or false",
    default=False,
    is_required=False,
    allowed="true or false",
    help="Start a new crawl even if an unfinished one has the same arguments.",
)


def _explain_arguments(spider: type[Spider]) -> list[_Argument]:
    """Return the arguments that a spider declares: required ones first, FRESH last."""
    declared = declared_options(spider.Arguments) if issubclass(spider, ArgumentSpider) else {}
    arguments = [
        _Argument(
            name=option.name,
            type=option.type.name,
            default=None if option.is_required else option.default,
            is_required=option.is_required,
            allowed=option.type.allowed,
            help=option.help,
        )
        for option in sorted(declared.values(), key=lambda option: not option.is_required)
    ]
    return [*arguments, _FRESH_ARGUMENT]


def _print_groups(explained: Sequence[ExplainedSetting]) -> None:
    """Print the settings theme by theme, a line for each: its name, its value and what it is about."""
    out, settings = make_console(), {setting.name: setting for setting in explained}
    name_cells = max(map(len, settings)) + 2
    for theme in themes():
        out.print(Text(theme.title, "bold"))
        for name in declared_options(theme):
            out.print(_group_line(settings[name.upper()], name_cells, out.width), soft_wrap=True)
        out.print()
    out.print(Text("scrapy settings --explain NAME explains one of them; bold values are not the default."))


def _group_line(setting: ExplainedSetting, name_cells: int, width: int) -> Text:
    line = Text(f"  {setting.name:<{name_cells}}")
    line.append_text(_present_value(setting))
    line.append(" " * max(1, name_cells + 2 + _VALUE_CELLS - line.cell_len))
    return line.append(cut_text(setting.help, max(_HELP_CELLS, width - line.cell_len)), "dim")


def _present_value(setting: ExplainedSetting) -> Text:
    if setting.problem:
        return Text(f"{_text(setting.value)} (not allowed)", "red")
    if setting.set_by == "default":
        return Text(cut_text(_text(setting.value), _VALUE_CELLS - 1))
    return Text(f"{_text(setting.value)} ({setting.set_by})", "bold")


def _print(setting: ExplainedSetting) -> None:
    out = make_console()
    out.print(Text(setting.name, style="bold"))
    out.print(Text(f"{setting.help}\n"))
    for label, said in (
        ("type", setting.type),
        ("allowed", setting.allowed),
        ("default", _text(setting.default)),
        ("value", f"{_text(setting.value)}, set by: {setting.set_by}"),
    ):
        out.print(Text(f"{label:<8} {said}"))
    if setting.problem:
        out.print(Text(f"\nA crawl would stop: {printable(setting.problem)}"))


def _text(value: object) -> str:
    """Return a value as it is written on the command line, "-" for an empty one."""
    if isinstance(value, tuple):
        return printable(" ".join(value)) or "-"
    return printable(value) if value not in (None, "", {}) else "-"
