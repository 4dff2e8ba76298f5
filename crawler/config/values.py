"""The value of one setting: as it was given, as it counts, and who set it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES

from crawler.config.names import alias_of, name_in_use
from crawler.config.profiles import PROFILE, is_overridden, merge_with_profile, profile_settings
from crawler.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from cleaning.declare import Option

_COMMAND_LINE = SETTINGS_PRIORITIES["cmdline"]
# Above a default, and below everything that a project or a user sets.
DATABASE_PRIORITY = (SETTINGS_PRIORITIES["command"] + SETTINGS_PRIORITIES["addon"]) // 2
# Settings whose default is the environment variable of the same name.
_FROM_ENVIRONMENT = frozenset({"DATABASE_URL"})
_OUR_SPIDER_LOADER = "crawler.addon.SpiderLoader"
_SET_BY = {"cmdline": "command line", "command": "this command", "addon": "add-on"}


def is_on_command_line(settings: BaseSettings, name: str) -> bool:
    """Return True if a setting was given with `-s`."""
    return (settings.getpriority(name_in_use(name, settings)) or 0) >= _COMMAND_LINE


def given_value(name: str, settings: BaseSettings) -> Any:
    """Return a setting as it was given, by its alias or its name, None if it was not."""
    names = (alias_of(name), name)
    values = [settings.get(names[0]), settings.get(names[1])]
    if name in _FROM_ENVIRONMENT:
        values = [settings.get(names[0]), os.environ.get(names[0]), settings.get(names[1]), os.environ.get(names[1])]
    return next((value for value in values if value is not None), None)


def read_value(setting: Option, settings: BaseSettings) -> Any:
    """Return the value of a setting. Raises ConfigError for a value that it does not take."""
    name = setting.name.upper()
    profile = profile_settings(settings)
    raw_value = given_value(name, settings)
    if name in profile and is_overridden(name, settings):
        return profile[name]
    if raw_value is None:
        return setting.default
    try:
        value = setting.type.read(raw_value)
    except ValueError as error:
        raise ConfigError(
            f"{name_in_use(name, settings)} is {raw_value!r}; {error}{_clash_hint(name, settings)}"
        ) from error
    try:
        return merge_with_profile(name, value, profile) if name in profile else value
    except ValueError as error:
        raise ConfigError(
            f"{PROFILE}={given_value(PROFILE, settings)} means {name}={_shown(profile[name])}, but {name} is "
            f"{_shown(value)} (set by {set_by(name, settings)}); leave out one of them"
        ) from error


def _clash_hint(name: str, settings: BaseSettings) -> str:
    """Return what to do if the bad value of a plain name belongs to the host project, "" elsewhere."""
    is_plain = name_in_use(name, settings) == name
    if not (is_plain and in_host_project(settings)) or is_on_command_line(settings, name):
        return ""
    return f"; if {name} is a setting of the project's own, set {alias_of(name)}, which counts in its place"


def _shown(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def in_host_project(settings: BaseSettings) -> bool:
    """Return True in a project whose settings do not come from crawler/settings.py."""
    return str(settings.get("SPIDER_LOADER_CLASS")) != _OUR_SPIDER_LOADER


def set_by(name: str, settings: BaseSettings) -> str:
    """Return who set a setting: default, environment, database, add-on, project, spider or command line."""
    used_name = name_in_use(name, settings)
    if settings.get(used_name) is None:
        return "default" if given_value(name, settings) is None else "environment"
    priority = settings.getpriority(used_name) or 0
    names = {number: word for word, number in SETTINGS_PRIORITIES.items()} | {DATABASE_PRIORITY: "database"}
    word = names.get(priority, f"priority {priority}")
    place = _SET_BY.get(word, word)
    return place if used_name == name else f"{place} ({used_name})"
