"""What there is to say about a setting: what it is for, what it may be, what it is now and who says so."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from cleaning.options import nearest
from crawler.config import Config
from crawler.declared import allowed, given, value
from crawler.errors import ConfigError
from crawler.redact import REDACTED, looks_secret, redact_arguments, redact_text

if TYPE_CHECKING:
    from dataclasses import Field

_KINDS = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    tuple: "texts",
    type(None): "mapping",
}
_WORDS = {"cmdline": "command line", "command": "this command", "addon": "add-on", "default": "default"}


@dataclass(frozen=True, slots=True)
class Explained:
    """A setting of ours: as declared, and as it stands; `problem` says why its present value would stop a crawl.

    `low`, `high` and `choices` are None where there is no such limit. `value` is without secrets, and `set_by` names
    what has set it: default, environment, add-on, project, spider or command line.
    """

    name: str
    type: str
    default: Any
    low: float | None
    high: float | None
    choices: tuple[str, ...] | None
    allowed: str
    help: str
    value: Any
    set_by: str
    problem: str | None = None


def explain(name: str, settings: BaseSettings) -> Explained:
    """Return what there is to say about one of our settings, in capitals or not.

    Raises ConfigError for a name that is none of them, and names the nearest.
    """
    declared = {field.name.upper(): field for field in fields(Config)}
    if name.upper() in declared:
        return _explained(declared[name.upper()], settings)
    if name in settings:
        raise ConfigError(
            f"{name} is none of Blocksieve's settings but Scrapy's or another package's, now "
            f"{_shown(name, settings[name])!r}, set by {_set_by(name, settings)}"
        )
    raise ConfigError(f"there is no setting {name!r}; {nearest(name.upper(), declared)}")


def explain_all(settings: BaseSettings) -> list[Explained]:
    """Return all of our settings, in the order of their declaration."""
    return [_explained(field, settings) for field in fields(Config)]


def _explained(declared: Field[Any], settings: BaseSettings) -> Explained:
    name, limits = declared.name.upper(), declared.metadata
    present, problem = given(name, settings), None
    try:
        present = value(declared, settings)
        Config.read(BaseSettings({name: present}))  # what no single limit says
    except ConfigError as error:
        problem = redact_text(str(error))
    return Explained(
        name=name,
        type=_KINDS[type(declared.default)],
        default=declared.default,
        low=limits.get("low"),
        high=limits.get("high"),
        choices=limits.get("choices"),
        allowed=allowed(limits, declared.default),
        help=limits["help"],
        value=_shown(name, present),
        set_by=_set_by(name, settings),
        problem=problem,
    )


def _set_by(name: str, settings: BaseSettings) -> str:
    priority = settings.getpriority(name)
    if settings.get(name) is None:
        return "environment" if given(name, settings) is not None else "default"
    named = {number: word for word, number in SETTINGS_PRIORITIES.items()}
    word = named.get(priority or 0, f"priority {priority}")
    return _WORDS.get(word, word)


def _shown(name: str, present: Any) -> Any:
    if looks_secret(name):
        return REDACTED
    if isinstance(present, str):
        return redact_text(present)
    return redact_arguments({"value": present})["value"] if isinstance(present, dict) else present
