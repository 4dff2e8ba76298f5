"""The names of our settings: each has an alias that no other project uses, and misspelt ones are noticed.

`BLOCKSIEVE_ARCHIVE` is the alias of `ARCHIVE`. If it is set, it counts and the plain name does not, so that a project
may have a setting `ARCHIVE` of its own.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES

from crawler.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from scrapy.settings import BaseSettings

ALIAS_PREFIX = "BLOCKSIEVE_"

# Settings of earlier versions, and what a user does instead. A value that is still set changes nothing.
REMOVED = {
    "ALERT_SECONDS": "an alert may take 10 seconds; a command that needs longer goes on by itself (nohup, &)",
    "BOILERPLATE_MIN_SHARE": "the share is a tenth of the site's pages; BOILERPLATE_MIN_PAGES says how many at least",
    "DATABASE_SLOW_SECONDS": "the limit is 5 seconds; the alert `slow_database` changes no exit code",
    "HOST_REFUSED_SHARE": "the share is a half; HOST_PAUSE_SECONDS says how long a host is paused",
    "MAX_VANISHED_SHARE": "the share is a half; `scrapy status` names the sites whose pages vanish",
    "MIN_TEXT_SHARE": "the share is a half; `scrapy status` names the sites that give less text",
    "PAGES_MIN_CONFIDENCE": "the confidence is 0.5; PAGES_FROM names pages by their addresses",
    "QUIET_INTERVALS": "the number is 5; the alert `no_new_text` changes no exit code",
}

# A name is misspelt if it is at most one edit in six characters away: DEDUP_SCOP is, PAGE_SIZE is not.
_CHARS_PER_EDIT = 6


def alias_of(name: str) -> str:
    """Return the alias of one of our settings."""
    return ALIAS_PREFIX + name


def name_in_use(name: str, settings: BaseSettings) -> str:
    """Return the name whose value counts: the alias of one of our settings if it is set, its plain name otherwise."""
    alias = alias_of(name)
    return name if settings.get(alias) is None else alias


def set_ours(settings: BaseSettings, name: str, value: Any, priority: int | str) -> None:
    """Set one of our settings under the name in use."""
    settings.set(name_in_use(name, settings), value, priority)


def find_removed(settings: BaseSettings) -> list[str]:
    """Return a sentence for each setting that was taken away and is still set."""
    return [
        describe_removed(name)
        for plain_name in REMOVED
        for name in (plain_name, alias_of(plain_name))
        if settings.get(name) is not None
    ]


def describe_removed(name: str) -> str:
    """Return what a user does in place of a setting that was taken away."""
    return f"{name} is no longer a setting of Blocksieve: {REMOVED[name.removeprefix(ALIAS_PREFIX)]}"


def find_misspelt(settings: BaseSettings, known: Collection[str]) -> list[str]:
    """Return a sentence for each setting of the command line whose name is nearly one of ours, the `known` ones.

    Other unknown names may be settings of the project or of its packages. Raises ConfigError for an unknown name with
    our prefix.
    """
    return [
        f"{name} is not a setting of Blocksieve; did you mean {nearest}?"
        for name in _unknown_names(settings, known)
        if (nearest := _find_nearest(name, known)) is not None
    ]


def check_aliases(settings: BaseSettings, known: Collection[str]) -> None:
    """Raise ConfigError for a name with our prefix that is not an alias of a setting."""
    for name in settings:
        if not isinstance(name, str) or not name.startswith(ALIAS_PREFIX):
            continue
        if name.removeprefix(ALIAS_PREFIX) not in (*known, *REMOVED):
            nearest = _find_nearest(name, [alias_of(setting) for setting in known])
            hint = f"did you mean {nearest}?" if nearest else "`scrapy settings --explain` lists all"
            raise ConfigError(f"there is no setting {name}; {hint}")


def _unknown_names(settings: BaseSettings, known: Collection[str]) -> Iterator[str]:
    from scrapy.settings import default_settings  # noqa: PLC0415 — read once at the start of a crawl

    project = sys.modules.get(os.environ.get("SCRAPY_SETTINGS_MODULE", ""))
    command_line = SETTINGS_PRIORITIES["cmdline"]
    for name in settings:
        is_ours = isinstance(name, str) and name.removeprefix(ALIAS_PREFIX) in (*known, *REMOVED)
        is_declared = is_ours or hasattr(default_settings, str(name)) or hasattr(project, str(name))
        if not is_declared and settings.getpriority(name) == command_line:
            yield str(name)


def _find_nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that is the fewest edits away, None if all are too many."""
    most_edits = len(name) // _CHARS_PER_EDIT
    edits = {other: _count_edits(name, other) for other in known if abs(len(name) - len(other)) <= most_edits}
    nearest = min(edits, key=lambda other: (edits[other], other), default=None)
    return nearest if nearest is not None and edits[nearest] <= most_edits else None


def _count_edits(first: str, second: str) -> int:
    """Return how many insertions, deletions, replacements and swaps of neighbours make one text of the other."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for place, char in enumerate(first):
        earlier = before
        before = row
        row = [place + 1]
        for column, other in enumerate(second):
            cost = min(row[column] + 1, before[column + 1] + 1, before[column] + (char != other))
            if place and column and char == second[column - 1] and other == first[place - 1]:
                cost = min(cost, earlier[column - 1] + 1)
            row.append(cost)
    return row[-1]
