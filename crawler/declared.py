"""A declared setting and its value: taken from Scrapy's settings, converted and held against its limits."""

from __future__ import annotations

import json
import os
import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

from cleaning.options import nearest
from crawler.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import Field

    from scrapy.settings import BaseSettings

_FALSE = frozenset({"0", "false", "no", "off", ""})
_TRUE = frozenset({"1", "true", "yes", "on"})
_COMMAND_LINE = 40  # scrapy.settings.SETTINGS_PRIORITIES["cmdline"]
# Settings that an environment variable of the same name gives where nothing else does.
_FROM_ENVIRONMENT = frozenset({"DATABASE_URL"})
_SPACES = re.compile(r"\s+")
_SPACES_AND_COMMAS = re.compile(r"[\s,]+")


def setting(default: Any, help_text: str, **limits: Any) -> Any:
    """Declare a setting; `low` and `high` bound a number, `choices` lists the words allowed."""
    return field(default=default, metadata={"help": help_text, **limits})


def value(declared: Field[Any], settings: BaseSettings) -> Any:
    """Return the value of a setting, of its declared type. Raises ConfigError for one that it cannot have."""
    name = declared.name.upper()
    found = given(name, settings)
    if declared.name == "cleaning_options":
        return _mapping(name, found)
    if found is None:
        return declared.default
    converted = _convert(name, found, declared)
    _check_limits(name, converted, declared.metadata)
    return converted


def allowed(limits: Mapping[str, Any], default: Any) -> str:
    """Return a phrase that says which values a setting takes; `limits` is the metadata of its field."""
    if "choices" in limits:
        return ", ".join(limits["choices"])
    if "low" in limits:
        return f"{limits['low']} to {limits['high']}"
    return {bool: "true, false", tuple: "texts", type(None): "mapping"}.get(type(default), "text")


def given(name: str, settings: BaseSettings) -> Any:
    """Return a setting as it was given, None where it was not."""
    found = settings.get(name)
    return os.environ.get(name) if found is None and name in _FROM_ENVIRONMENT else found


def check_names(settings: BaseSettings, ours: set[str]) -> None:
    """Raise ConfigError for a setting given on the command line whose name is nearly one of ours, or of Scrapy's."""
    known = ours | set(_scrapy_names())
    for name in settings:
        if isinstance(name, str) and settings.getpriority(name) == _COMMAND_LINE and name not in known:
            hint = nearest(name, known)
            if hint.startswith("did you mean"):
                raise ConfigError(f"unknown setting {name}; {hint}")


def _scrapy_names() -> list[str]:
    from scrapy.settings import default_settings  # noqa: PLC0415 — only checked once a start

    return [name for name in dir(default_settings) if name.isupper()]


def _mapping(name: str, found: Any) -> dict[str, Any]:
    if isinstance(found, str):
        try:
            found = json.loads(found or "{}")
        except json.JSONDecodeError as error:
            raise ConfigError(f"{name} is {found!r}: not JSON ({error})") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{name} is {found!r}; it takes a mapping of option names to values")
    return cast("dict[str, Any]", found)


def _convert(name: str, found: Any, declared: Field[Any]) -> Any:
    kind: Any = type(declared.default)
    if kind is bool:
        word = str(found).strip().lower()
        if word not in _TRUE | _FALSE:
            raise ConfigError(f"{name} is {found!r}; it takes true or false")
        return word in _TRUE
    if kind is tuple:
        return _several(name, found, _SPACES_AND_COMMAS if "choices" in declared.metadata else _SPACES)
    try:
        return kind(found)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} is {found!r}; it takes a value of type {kind.__name__}") from error


def _several(name: str, found: Any, between: re.Pattern[str]) -> tuple[str, ...]:
    """Return the texts of a list, or of one text with separators; commas stand in regular expressions too."""
    texts = between.split(found) if isinstance(found, str) else found
    if not isinstance(texts, list | tuple | set | frozenset) or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"{name} is {found!r}; it takes a text or a list of texts")
    return tuple(text for text in texts if text)


def _check_limits(name: str, converted: Any, limits: Mapping[str, Any]) -> None:
    choices = limits.get("choices")
    for word in converted if isinstance(converted, tuple) else (converted,):
        if choices is not None and word not in choices:
            raise ConfigError(f"{name} is {word!r}; {nearest(str(word), choices)}")
    if "low" in limits and not limits["low"] <= converted <= limits["high"]:
        raise ConfigError(f"{name} is {converted!r}; it must lie between {limits['low']} and {limits['high']}")
