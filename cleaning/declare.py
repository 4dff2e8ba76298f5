"""One way to declare an option: default, type with bounds, and help, as a field of a frozen dataclass.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        max_bytes: int = option(10_000_000, integer(1_000, 1_000_000_000), "Largest page that is read, in bytes.")

Cleaning options, settings and spider arguments are declared like this. Their checks, error messages, help texts and
docs/settings.md come from the declaration.
"""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, dataclass, field, fields
from datetime import date
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_MAX_PATTERN_CHARS = 500
_MAX_URL_CHARS = 2_000
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})
_SPACES_AND_COMMAS = re.compile(r"[\s,]+")

Value = TypeVar("Value")
_Default = TypeVar("_Default")
_Choice = TypeVar("_Choice", bound=str)


@dataclass(frozen=True, slots=True)
class OptionType(Generic[Value]):
    """The values that an option takes.

    `takes` completes the sentence "it takes …" of an error message. `convert` makes a value of what was given, often
    a text, and raises ValueError. `accepts` are the Python types of a value that needs no conversion.
    """

    name: str
    takes: str
    convert: Callable[[Any], Value]
    accepts: tuple[type, ...]
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None

    @property
    def allowed(self) -> str:
        """A short phrase for tables: the choices, the bounds, or else the name of the type."""
        if self.choices is not None:
            return ", ".join(self.choices)
        return self.name if self.low is None else f"{self.low} to {self.high}"

    def read(self, raw_value: object) -> Value:
        """Return the value of a text or of anything that converts. Raises ValueError, whose text begins "it takes"."""
        try:
            value = self.convert(raw_value)
        except (ValueError, TypeError) as error:
            detail = f" ({error})" if str(error) else ""
            raise ValueError(f"it takes {self.takes}{detail}") from error
        return self._within_bounds(value)

    def check(self, value: object) -> Value:
        """Return a value of the right type as it is: no text stands for a number. Raises ValueError like `read`."""
        is_bool = isinstance(value, bool)
        if not isinstance(value, self.accepts) or is_bool != (self.accepts == (bool,)):
            raise ValueError(f"it takes {self.takes}")
        if self.choices is not None:
            return self.read(value)
        return self._within_bounds(cast("Value", value))

    def _within_bounds(self, value: Value) -> Value:
        if self.low is not None and self.high is not None and not self.low <= cast("float", value) <= self.high:
            raise ValueError(f"it takes {self.takes}")
        return value


@dataclass(frozen=True, slots=True)
class Option:
    """An option as declared; `default` is MISSING where a value must be given."""

    name: str
    default: Any
    type: OptionType[Any]
    help: str

    @property
    def is_required(self) -> bool:
        return self.default is MISSING


def option(default: _Default, option_type: OptionType[Value], help_text: str) -> _Default | Value:
    """Declare an option. A default of None stands for an option that was not given."""
    metadata = {"default": default, "type": option_type, "help": help_text}
    if isinstance(default, dict):  # which a dataclass refuses as a shared default
        return cast("Value", field(default_factory=default.copy, metadata=metadata))
    declared: Value = field(default=cast("Value", default), metadata=metadata)
    return declared


def required(option_type: OptionType[Value], help_text: str) -> Value:
    """Declare an option that must be given."""
    declared: Value = field(metadata={"default": MISSING, "type": option_type, "help": help_text})
    return declared


def declared_options(owner: type[Any]) -> Mapping[str, Option]:
    """Return the options that a dataclass declares, by name, in order."""
    return _gather(cast("Any", owner))  # mypy holds no class for hashable


# `clean` asks for each page: without the cache, this would cost 0.1 ms of its 3.
@cache
def _gather(owner: Any) -> Mapping[str, Option]:
    return MappingProxyType({field.name: Option(field.name, **field.metadata) for field in fields(owner)})


def integer(low: int, high: int) -> OptionType[int]:
    """Whole numbers between two bounds, both allowed."""
    return OptionType("whole number", f"a whole number from {low} to {high}", _to_integer, (int,), low, high)


def number(low: float, high: float) -> OptionType[float]:
    """Numbers between two bounds, both allowed."""
    return OptionType("number", f"a number from {low} to {high}", _to_number, (int, float), low, high)


def switch() -> OptionType[bool]:
    """True or false, as a text also 1, yes, on and 0, no, off."""
    return OptionType("true or false", "true or false", _to_bool, (bool,))


def one_of(choices: tuple[_Choice, ...]) -> OptionType[_Choice]:
    """One of several words."""

    def convert(raw_value: object) -> _Choice:
        for choice in choices:
            if choice == str(raw_value):
                return choice
        raise ValueError(_suggestion(str(raw_value), choices))

    return OptionType("word", f"one of {', '.join(choices)}", convert, (str,), choices=choices)


def words_of(choices: tuple[str, ...], *, may_be_empty: bool = True) -> OptionType[tuple[str, ...]]:
    """Several words of a choice, each once: a list, or a text with spaces or commas between them."""

    def convert(raw_value: object) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(word.lower() for word in _texts(raw_value, _SPACES_AND_COMMAS)))
        for word in words:
            if word not in choices:
                raise ValueError(f"{word!r} is not one of them{_suggestion(word, choices, before='; ')}")
        if not (words or may_be_empty):
            raise ValueError
        return words

    takes = f"words out of {', '.join(choices)}, with commas between them"
    return OptionType("list of words", takes, convert, (list, tuple), choices=choices)


def text(check: Callable[[str], object] | None = None, takes: str = "a text") -> OptionType[str]:
    """A text; `check` raises ValueError for one that is not allowed."""

    def convert(raw_value: object) -> str:
        if isinstance(raw_value, bool | dict | list | tuple | set):
            raise ValueError(f"a {type(raw_value).__name__} is not a text")  # noqa: TRY004 — as for every bad value
        if check is not None:
            check(str(raw_value))
        return str(raw_value)

    return OptionType("text", takes, convert, (str,))


def texts(check: Callable[[tuple[str, ...]], object], takes: str) -> OptionType[tuple[str, ...]]:
    """Several texts: a list, or one text with spaces between them. `check` raises ValueError."""

    def convert(raw_value: object) -> tuple[str, ...]:
        values = _texts(raw_value, re.compile(r"\s+"))
        check(values)
        return values

    return OptionType("list of texts", takes, convert, (list, tuple))


def mapping(check: Callable[[dict[str, Any]], object], takes: str) -> OptionType[Mapping[str, Any]]:
    """A mapping or its JSON; `check` raises ValueError."""

    def convert(raw_value: object) -> Mapping[str, Any]:
        value = _from_json(raw_value or "{}") if isinstance(raw_value, str) else raw_value
        if not isinstance(value, dict):
            raise TypeError
        check(value)
        return cast("Mapping[str, Any]", value)

    return OptionType("mapping", takes, convert, (dict,))


def web_url() -> OptionType[str]:
    """An absolute URL of the web."""
    return OptionType("URL", f"an http or https URL of at most {_MAX_URL_CHARS} characters", _to_url, (str,))


def day() -> OptionType[date]:
    """A day."""
    return OptionType("date", "a date like 2024-05-31", _to_day, (date,))


def pattern() -> OptionType[re.Pattern[str]]:
    """A regular expression."""
    takes = f"a regular expression of at most {_MAX_PATTERN_CHARS} characters"
    return OptionType("regular expression", takes, _to_pattern, (re.Pattern,))


def parsed(name: str, takes: str, convert: Callable[[str], Value]) -> OptionType[Value]:
    """The value that a function makes of a text; it raises ValueError, whose text becomes part of the message."""
    return OptionType(name, takes, lambda raw_value: convert(str(raw_value)), ())


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like another one; None if no name is like it."""
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a phrase that suggests the known name most like an unknown one, or else lists them all."""
    names = sorted(known)
    nearest = closest(name, names)
    return f"did you mean {nearest!r}?" if nearest else f"known: {', '.join(names)}"


def _suggestion(name: str, known: Iterable[str], before: str = "") -> str:
    nearest = closest(name, known)
    return f"{before}did you mean {nearest!r}?" if nearest else ""


def _to_integer(raw_value: object) -> int:
    """Return a whole number: 1e6 and 20.0 are whole, 2.7 and True are not."""
    try:
        return int(str(raw_value))
    except ValueError:
        value = _to_number(raw_value)
    if not value.is_integer():
        raise ValueError
    return int(value)


def _to_number(raw_value: object) -> float:
    try:
        return float(str(raw_value))
    except ValueError:
        # Python's own text speaks of conversions, not of options.
        raise ValueError from None


def _to_bool(raw_value: object) -> bool:
    word = str(raw_value).strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError
    return word in _TRUE


def _to_url(raw_value: object) -> str:
    url = str(raw_value).strip()
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or len(url) > _MAX_URL_CHARS:
        raise ValueError
    return url


def _to_day(raw_value: object) -> date:
    try:
        return date.fromisoformat(str(raw_value).strip())
    except ValueError:
        raise ValueError from None


def _to_pattern(raw_value: object) -> re.Pattern[str]:
    expression = str(raw_value)
    if len(expression) > _MAX_PATTERN_CHARS:
        raise ValueError
    try:
        return re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from error


def _texts(raw_value: object, separators: re.Pattern[str]) -> tuple[str, ...]:
    values = separators.split(raw_value) if isinstance(raw_value, str) else raw_value
    if not isinstance(values, list | tuple | set | frozenset) or not all(isinstance(value, str) for value in values):
        raise TypeError
    return tuple(value for value in values if value)


def _from_json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
