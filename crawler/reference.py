"""The reference page of Blocksieve's settings and cleaning options, made from their declarations.

python -m crawler.reference > docs/settings.md
"""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from cleaning import Options
from crawler.config import Config
from crawler.declared import allowed

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEAD = """# Settings

Made by `python -m crawler.reference` from `crawler/config.py` and `cleaning/options.py`; do not edit it by hand.

Blocksieve's settings are set like Scrapy's: in a settings module or with `-s NAME=VALUE`. A value out of bounds, or a
name on the command line that is nearly one of these, stops the crawl with a sentence that says so. Scrapy's own
settings keep Scrapy's meaning; `crawler/settings.py` shows the values that Blocksieve gives them.
`scrapy settings --explain NAME` tells the same of one setting, with its present value and who has set it.
"""
_OPTIONS_HEAD = """
## Cleaning options

For `cleaning.clean(…, NAME=VALUE)`, `python -m cleaning --option NAME=VALUE` and the setting `CLEANING_OPTIONS`.
"""


def reference() -> str:
    """Return the page as Markdown."""
    return _HEAD + _table(Config, upper=True) + _OPTIONS_HEAD + _table(Options, upper=False)


def _table(declared: type[Any], *, upper: bool) -> str:
    rows = ["", "| name | default | allowed | what it does |", "| --- | --- | --- | --- |"]
    for entry in fields(declared):
        name = entry.name.upper() if upper else entry.name
        default = "" if entry.default in (None, "", ()) else f"`{entry.default}`"
        rows.append(f"| `{name}` | {default} | {_allowed(entry.metadata, entry.default)} | {entry.metadata['help']} |")
    return "\n".join(rows) + "\n"


def _allowed(limits: Mapping[str, Any], default: Any) -> str:
    if "choices" in limits:
        return ", ".join(f"`{choice}`" for choice in limits["choices"])
    return allowed(limits, default)


if __name__ == "__main__":
    sys.stdout.write(reference())
