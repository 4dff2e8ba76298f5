"""Settings explained, for `scrapy settings --explain`, the web pages and completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cleaning.declare import did_you_mean
from crawler.config import REVISIT_BOUNDS, check_revisits, declared_settings
from crawler.config.names import ALIAS_PREFIX, REMOVED, describe_removed
from crawler.config.profiles import PROFILE, is_overridden, profile_settings
from crawler.config.values import given_value, read_value, set_by
from crawler.errors import ConfigError
from crawler.redact import REDACTED, looks_secret, redact_arguments, redact_text

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from cleaning.declare import Option


@dataclass(frozen=True, slots=True)
class ExplainedSetting:
    """A setting as declared and its present value.

    `low`, `high` and `choices` are None if there is no such limit. `value` has its secrets replaced. `set_by` is
    default, environment, database, add-on, project, spider, command line or a profile. `problem` says why the value
    would stop a crawl.
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


def explain_setting(name: str, settings: BaseSettings) -> ExplainedSetting:
    """Return the explanation of one of our settings; its name may be in lower case.

    Raises ConfigError for any other name, and suggests the nearest.
    """
    known = declared_settings()
    plain_name = name.upper().removeprefix(ALIAS_PREFIX)
    if plain_name in known:
        return _explained(known[plain_name], settings)
    if plain_name in REMOVED:
        raise ConfigError(describe_removed(plain_name))
    if name in settings:
        raise ConfigError(
            f"{name} is a setting of Scrapy or another package, not of Blocksieve; it is "
            f"{_without_secrets(name, settings[name])!r}, set by {set_by(name, settings)}"
        )
    raise ConfigError(f"there is no setting {name!r}; {did_you_mean(name.upper(), known)}")


def set_declared_default(name: str, settings: BaseSettings) -> None:
    """Set one of our settings that has no value here to the one that a crawl would use; do nothing for any other.

    Raises ConfigError for a value of the environment that the setting does not take.
    """
    setting = declared_settings().get(name.removeprefix(ALIAS_PREFIX))
    if setting is not None and settings.get(name) is None:
        settings.set(name, read_value(setting, settings), "default")


def explain_settings(settings: BaseSettings) -> list[ExplainedSetting]:
    """Return the explanations of all our settings, in the order of their declaration."""
    return [_explained(setting, settings) for setting in declared_settings().values()]


def _explained(setting: Option, settings: BaseSettings) -> ExplainedSetting:
    name = setting.name.upper()
    value, problem = given_value(name, settings), None
    by_profile = name in profile_settings(settings) and is_overridden(name, settings)
    try:
        value = read_value(setting, settings)
        if name in REVISIT_BOUNDS:
            check_revisits(settings)
    except ConfigError as error:
        problem = redact_text(str(error))
    return ExplainedSetting(
        name=name,
        type=setting.type.name,
        default=setting.default,
        low=setting.type.low,
        high=setting.type.high,
        choices=setting.type.choices,
        allowed=setting.type.allowed,
        help=setting.help,
        value=_without_secrets(name, value),
        set_by=f"{PROFILE}={given_value(PROFILE, settings)}" if by_profile else set_by(name, settings),
        problem=problem,
    )


def _without_secrets(name: str, value: Any) -> Any:
    if looks_secret(name):
        return REDACTED if value else value
    if isinstance(value, str):
        return redact_text(value)
    return redact_arguments({"value": value})["value"] if isinstance(value, dict) else value
