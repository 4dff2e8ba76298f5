"""Write docs/settings.md, the reference page of all settings, spider arguments and cleaning options."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from cleaning import Options
from cleaning.declare import declared_options
from crawler.config import themes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cleaning.declare import Option

_SETTINGS_HEAD = """# Settings

<!-- `python -m crawler.config > docs/settings.md` writes this page. Do not edit it by hand. -->

Set these settings like Scrapy's: in a settings module or with `-s NAME=VALUE` on the command line. A bad value stops
the crawl before it starts; the message names the setting, its value and what it takes. A name on the command line that
is nearly one of these gets a warning, and all others belong to the project or its packages.

Each setting has an alias with the prefix `BLOCKSIEVE_`, such as `BLOCKSIEVE_ARCHIVE`. The alias counts in place of the
plain name, so that a project can have an `ARCHIVE` of its own. An unknown name with this prefix stops the crawl.

Scrapy's own settings keep their meaning, and `crawler/settings.py` shows the values that Blocksieve
gives them. `scrapy settings --explain NAME` prints a setting with its present value and where it was set.
"""
_ARGUMENTS_HEAD = """
## Spider arguments

Give an argument with `-a NAME=VALUE`. `-a fresh=1` works with every spider: it starts a new crawl even if an earlier
one with the same arguments has not finished.
"""
_OPTIONS_HEAD = """
## Cleaning options

Give an option as `cleaning.clean(page, NAME=VALUE)`, as `python -m cleaning --option NAME=VALUE`, or in the setting
`CLEANING_OPTIONS`. An option of one method begins with the method's name.
"""


def reference(spiders: Mapping[str, type[Any]]) -> str:
    """Return the reference page of all settings, the arguments of the given spiders, and all cleaning options."""
    settings = [f"\n## {theme.title}\n{_table(theme, upper=True)}" for theme in themes()]
    arguments = [f"\n### `{name}`\n{_table(declared)}" for name, declared in spiders.items()]
    return "".join([_SETTINGS_HEAD, *settings, _ARGUMENTS_HEAD, *arguments, _OPTIONS_HEAD, _table(Options)])


def _table(owner: type[Any], *, upper: bool = False) -> str:
    rows = ["", "| name | default | allowed | what it does |", "| --- | --- | --- | --- |"]
    for option in sorted(declared_options(owner).values(), key=lambda option: not option.is_required):
        name = option.name.upper() if upper else option.name
        rows.append(f"| `{name}` | {_shown_default(option)} | {_shown_allowed(option)} | {option.help} |")
    return "\n".join(rows) + "\n"


def _shown_default(option: Option) -> str:
    if option.is_required:
        return "required"
    if option.default in (None, "", (), {}):
        return ""
    default = ",".join(option.default) if isinstance(option.default, tuple) else str(option.default)
    return f"`{default.lower() if isinstance(option.default, bool) else default}`"


def _shown_allowed(option: Option) -> str:
    choices = option.type.choices
    return option.type.allowed if choices is None else ", ".join(f"`{choice}`" for choice in choices)


def _shipped_spiders() -> dict[str, type[Any]]:
    from scrapy.spiderloader import get_spider_loader  # noqa: PLC0415 — for this page alone
    from scrapy.utils.project import get_project_settings  # noqa: PLC0415

    loader = get_spider_loader(get_project_settings())
    declared = {name: getattr(loader.load(name), "Arguments", None) for name in sorted(loader.list())}
    return {name: arguments for name, arguments in declared.items() if arguments and declared_options(arguments)}


if __name__ == "__main__":
    sys.stdout.write(reference(_shipped_spiders()))
