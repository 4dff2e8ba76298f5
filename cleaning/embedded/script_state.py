"""The state that scripts carry for a program in the browser: JSON and JavaScript literals, read and never run."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lxml.html import HtmlElement

_MAX_SCRIPTS = 300
_MAX_CHARS = 8_000_000  # of all scripts together
_MAX_TOKENS = 400_000  # of one literal
_MAX_LEVELS = 100
_MAX_STATES = 20
_MAX_ASSIGNMENTS = 50  # of a script
# The names under which frameworks leave their state: `__NUXT__`, `__APOLLO_STATE__`, `REDUX_STATE`.
_ASSIGNMENT = re.compile(
    r"(?:\b(?:window|self|globalThis|global)\s{0,9}(?:\.|\[)\s{0,9}[\"']?|\b(?:var|let|const)\s{1,9}|^|[;\n{}])\s{0,9}"
    r"(?P<name>[A-Za-z_$][\w$.-]{0,80})(?:[\"']\s{0,9}\])?\s{0,9}=(?!=)\s{0,99}",
)
_STATE_NAME = re.compile(
    r"__|STATE|state$|State$|DATA|Data$|data$|STORE|Store$|PROPS|Props$|CONTEXT|Context$|CACHE|CONTENT"
)
_VALUE_START = re.compile(r"[{\[(]|JSON\.parse\b|decodeURIComponent\b|!?function\b")
_JSON_TYPE = re.compile(r"(?:^|/)(?:json|[\w.-]+\+json)$", re.IGNORECASE)
_CODE_TYPES = frozenset({"", "text/javascript", "application/javascript", "module"})
_LINKED_DATA = "ld+json"
_FLIGHT = re.compile(r"\b__next_f\.push\(\s*\[\s*1\s*,")  # a part of what React's server components sent
_DEVALUED_ID = "__NUXT_DATA__"
_DECODER = json.JSONDecoder(strict=False)

_TOKEN = re.compile(
    r"\s*+(?://[^\n]*+\n\s*+|/\*.{0,2000}?\*/\s*+){0,20}+"
    r"(?P<sign>\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|`(?:[^`\\]|\\.)*+`|[{}\[\]:,()]|[^\s{}\[\]:,()\"'`]++)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", "v": " ", "0": "", "\n": "", "\r\n": ""}
_SPACE = re.compile(r"[\s\ufeff]*+")
_FUNCTION = re.compile(r"[(!]*\s*function\s*\w{0,40}\s*\((?P<names>[\w$,\s]{0,100000})\)\s*\{")
_RETURN = re.compile(r"\breturn\s*(?=[{\[])")
_MAX_CODE_POINT = 0x10FFFF


_FLIGHT_ROW = re.compile(rb"\s*(?P<name>[0-9a-f]{1,8}):(?:T(?P<size>[0-9a-f]{1,8}),)?")
_FLIGHT_REFERENCE = re.compile(r"\$[L@]?([0-9a-f]{1,8})")


class _BrokenLiteralError(ValueError):
    """The text is not a literal, or one beyond the bounds."""


def read_states(root: HtmlElement) -> Iterator[Any]:
    """Yield the states in a page's scripts as JSON values, in reading order; broken ones are skipped."""
    left, states, flight = _MAX_CHARS, 0, []
    for script in islice(root.iter("script"), _MAX_SCRIPTS):
        text, kind = script.text or "", (script.get("type") or "").partition(";")[0].strip().lower()
        if not text or kind.endswith(_LINKED_DATA) or len(text) > left:
            continue
        left -= len(text)
        flight += [part for push in _FLIGHT.finditer(text) if isinstance(part := _json_value(text, push.end()), str)]
        for state in _states_of(script, text, kind):
            yield state
            states += 1
            if states == _MAX_STATES:
                return
    if flight:
        yield _Flight("".join(flight).encode("utf-8", "surrogatepass")).rows()


def _states_of(script: HtmlElement, text: str, kind: str) -> Iterator[Any]:
    if _JSON_TYPE.search(kind):
        state = _json_value(text, 0)
        if script.get("id") == _DEVALUED_ID and isinstance(state, list):
            yield _Devalued(state).value()
        elif state is not None:
            yield state
    elif kind in _CODE_TYPES:
        for assignment in islice(_ASSIGNMENT.finditer(text), _MAX_ASSIGNMENTS):
            if _VALUE_START.match(text, assignment.end()) and _STATE_NAME.search(assignment["name"]):
                state = _value_at(text, assignment.end())
                if isinstance(state, dict | list):
                    yield state


def _json_value(text: str, start: int) -> Any:
    try:
        return _DECODER.raw_decode(text, _start_of_value(text, start))[0]
    except (ValueError, RecursionError):
        return None


def _start_of_value(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return space.end() if space else start


def _value_at(text: str, start: int) -> Any:
    if text[start : start + 1] in "{[" and (state := _json_value(text, start)) is not None:
        return state
    try:
        if function := _FUNCTION.match(text, start):
            return _result_of(text, function)
        return _Literal(text, start, {}).value()
    except _BrokenLiteralError:
        return None


def _result_of(text: str, function: re.Match[str]) -> Any:
    """Return the result of a function that is called in place: a literal with parameters, as Nuxt writes its state."""
    returned = _RETURN.search(text, function.end())
    if returned is None:
        raise _BrokenLiteralError
    first = _Literal(text, returned.end(), {})
    first.value()
    call = re.compile(r"[\s;]*\}\s*\)?\s*\(").match(text, first.place)
    if call is None:
        return _Literal(text, returned.end(), {}).value()
    values = _Literal(text, call.end() - 1, {}).arguments()
    names = [name.strip() for name in function["names"].split(",")]
    return _Literal(text, returned.end(), dict(zip(names, values, strict=False))).value()


class _Literal:
    """A reading of one literal: `place` is where it ends. What is code in it becomes None."""

    def __init__(self, text: str, start: int, names: Mapping[str, Any]) -> None:
        self.place = start
        self._text = text
        self._names = names
        self._tokens_left = _MAX_TOKENS

    def value(self, level: int = 0) -> Any:
        """Return the value that begins here. Raises _BrokenLiteralError."""
        sign = self._next()
        if level > _MAX_LEVELS:
            raise _BrokenLiteralError
        if sign == "{":
            return self._object(level)
        if sign == "[":
            return self._list("]", level)
        if sign[0] in "\"'`":
            return _unescaped(sign)
        return self._word(sign, level)

    def arguments(self) -> list[Any]:
        """Return the values between the parentheses that begin here. Raises _BrokenLiteralError."""
        if self._next() != "(":
            raise _BrokenLiteralError
        return self._list(")", 0)

    def _next(self) -> str:
        sign = self._peek()
        self._tokens_left -= 1
        if self._tokens_left < 0:
            raise _BrokenLiteralError
        self.place = self._end
        return sign

    def _peek(self) -> str:
        match = _TOKEN.match(self._text, self.place)
        if match is None:
            raise _BrokenLiteralError
        self._end = match.end()
        return match["sign"]

    def _object(self, level: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while (sign := self._next()) != "}":
            if sign == ",":
                continue
            key = _unescaped(sign) if sign[0] in "\"'`" else sign
            if self._next() != ":":
                raise _BrokenLiteralError
            values[key] = self.value(level + 1)
            self._skip_code("}")
        return values

    def _list(self, end: str, level: int) -> list[Any]:
        values: list[Any] = []
        while (sign := self._peek()) != end:
            if sign == ",":
                self._next()
                continue
            values.append(self.value(level + 1))
            self._skip_code(end)
        self._next()
        return values

    def _word(self, word: str, level: int) -> Any:
        if word in {"}", "]", ")", ",", ":"}:
            raise _BrokenLiteralError
        if word == "(":
            return self._list(")", level)
        if word in {"JSON.parse", "decodeURIComponent"} and self._peek() == "(":
            inner = next((value for value in self.arguments() if isinstance(value, str)), "")
            return unquote(inner) if word == "decodeURIComponent" else _json_value(inner, 0)
        if word.lstrip("-")[:1].isdigit():
            return 0  # no text; the number itself is never asked for
        return self._names.get(word)

    def _skip_code(self, end: str) -> None:
        """Go to the next comma or to the end of what holds the value."""
        open_signs = 0
        while open_signs or self._peek() not in {",", end}:
            sign = self._next()
            open_signs += (sign in {"(", "[", "{"}) - (sign in {")", "]", "}"})
            if open_signs < 0:
                raise _BrokenLiteralError


def _unescaped(sign: str) -> str:
    if "\\" not in sign:
        return sign[1:-1]
    text = _ESCAPE.sub(_escaped_character, sign[1:-1])
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two escapes can be one character


def _escaped_character(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _PLAIN_ESCAPES.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number <= _MAX_CODE_POINT else ""


class _Devalued:
    """A state in which objects and lists hold the places of their values in one list."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values
        self._left = _MAX_TOKENS

    def value(self, place: Any = 0, level: int = 0) -> Any:
        """Return the value at a place; None beyond the bounds."""
        self._left -= 1
        inside = isinstance(place, int) and not isinstance(place, bool) and 0 <= place < len(self._values)
        if not inside or level > _MAX_LEVELS or self._left < 0:
            return None
        value = self._values[place]
        if isinstance(value, dict):
            return {key: self.value(inner, level + 1) for key, inner in value.items()}
        if isinstance(value, list):
            places = value[1:] if value and isinstance(value[0], str) else value  # ["Reactive", 1]
            return [self.value(inner, level + 1) for inner in places]
        return value


class _Flight:
    """The rows that server components of React send: an id in hexadecimal, and JSON or a text of so many bytes.

    An element is `["$", tag, key, properties]`; "$L1f" stands for the row 1f.
    """

    def __init__(self, sent: bytes) -> None:
        self._rows: dict[str, Any] = {}
        self._seen: set[str] = set()
        self._left = _MAX_TOKENS
        place = 0
        while (row := _FLIGHT_ROW.match(sent, place)) is not None:
            if row["size"]:
                place = row.end() + int(row["size"], 16)
                value: Any = sent[row.end() : place].decode("utf-8", "replace")
            else:
                end = sent.find(b"\n", row.end())
                place = len(sent) if end < 0 else end + 1
                line = sent[row.end() : place].decode("utf-8", "replace")
                value = _json_value(line, 0) if line[:1] in '[{"' else None
            self._rows[row["name"].decode()] = value

    def rows(self) -> list[Any]:
        """Return the values of the rows, each in the place where it is named first."""
        return [self._row(name) for name in self._rows]

    def _row(self, name: str, level: int = 0) -> Any:
        if name in self._seen:
            return None
        self._seen.add(name)
        return self._value(self._rows.get(name), level)

    def _value(self, value: Any, level: int) -> Any:
        self._left -= 1
        if self._left < 0 or level > _MAX_LEVELS:
            return None
        if isinstance(value, str):
            reference = _FLIGHT_REFERENCE.fullmatch(value)
            return self._row(reference[1], level + 1) if reference else value
        if isinstance(value, dict):
            return {key: self._value(inner, level + 1) for key, inner in value.items()}
        if not isinstance(value, list):
            return value
        if len(value) > 3 and value[0] == "$" and isinstance(value[3], dict):  # noqa: PLR2004 — an element
            return {"type": value[1], **{key: self._value(inner, level + 1) for key, inner in value[3].items()}}
        return [self._value(inner, level + 1) for inner in value]
