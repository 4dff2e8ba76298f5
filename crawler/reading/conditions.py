"""RowConditions on the columns of a row, as people write them on the command line.

    conditions = read_conditions(["words>=50", "language=en", "!duplicate_of"], {"words": "int32", ...})
    conditions.first_broken(row)    # None, or the condition that the row does not meet

`NAME` alone asks for a value, and `!NAME` for none. A row without a value meets no comparison but `!=` and `!~`.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawler.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

CONDITION_HELP = (
    "a condition on a column, such as 'words>=50', 'language=en', 'url~/news/', 'author' (it has a value) or "
    "'!author' (it has none); operators: = != < <= > >= ~ !~ (may be given several times)"
)

_FORM = re.compile(r"\s*(!?)\s*(\w+)\s*(?:(!=|<=|>=|!~|=|<|>|~)(.*))?", re.DOTALL)
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "~": lambda text, pattern: pattern.search(text) is not None,
    "!~": lambda text, pattern: pattern.search(text) is None,
}
_MET_WITHOUT_VALUE = frozenset({"!=", "!~"})
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A comparison of the column `name` with a value; an `operator` of `set` or `unset` asks whether it has one."""

    text: str
    name: str
    operator: str
    value: Any = None

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Return True if a row meets the condition."""
        value = row[self.name]
        if self.operator in {"set", "unset"}:
            return (value is None) == (self.operator == "unset")
        if value is None:
            return self.operator in _MET_WITHOUT_VALUE
        return _OPERATORS[self.operator](value, self.value)


@dataclass(frozen=True, slots=True)
class RowConditions:
    """RowConditions that a row must all meet; none of them are met by every row."""

    conditions: tuple[RowCondition, ...] = ()

    def first_broken(self, row: Mapping[str, Any]) -> str | None:
        """Return the text of the first condition that a row does not meet; None if it meets all."""
        return next((condition.text for condition in self.conditions if not condition.holds(row)), None)


def read_conditions(texts: Iterable[str], kinds: Mapping[str, str]) -> RowConditions:
    """Return the conditions that some texts state, given the Arrow type of each column.

    Raises QueryError for another form, an unknown column, or a value that the column cannot have.
    """
    return RowConditions(tuple(_read_condition(text, kinds) for text in texts))


def _read_condition(text: str, kinds: Mapping[str, str]) -> RowCondition:
    form = _FORM.fullmatch(text)
    if form is None or (form[1] and form[3]):
        raise QueryError(f"--where is {text!r}; it takes {CONDITION_HELP}")
    _, name, sign, written = form.groups()
    if name not in kinds:
        raise QueryError(f"--where is {text!r}, but there is no column {name}; the columns are {', '.join(kinds)}")
    if sign is None:
        return RowCondition(text, name, "unset" if form[1] else "set")
    try:
        value = re.compile(written.strip()) if sign.endswith("~") else _read_value(written.strip(), kinds[name])
    except (ValueError, re.error) as error:
        raise QueryError(f"--where is {text!r}, but {error}") from error
    if sign.endswith("~") and kinds[name] != "string":
        raise QueryError(f"--where is {text!r}, but {name} is no text; ~ and !~ are for texts")
    return RowCondition(text, name, sign, value)


def _read_value(text: str, kind: str) -> Any:
    if kind == "string":
        return text
    if kind == "bool":
        if text.lower() not in _FLAGS:
            raise ValueError(f"{text!r} is neither true nor false")
        return _FLAGS[text.lower()]
    if kind.startswith("timestamp"):
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if kind.startswith(("int", "double", "float")):
        try:
            return float(text)
        except ValueError as error:
            raise ValueError(f"{text!r} is no number") from error
    raise ValueError(f"a column of the type {kind} is not compared")
