"""Replace secrets in what is stored and printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


REDACTED = "***"
_SECRET_PARTS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "credential", "webhook")
_SECRET_WORDS = frozenset(
    {"auth", "authentication", "authorisation", "authorization", "cookie", "cookies", "jwt", "key", "keys"}
    | {"pass", "pwd", "session", "sessionid", "sig", "signature"}
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
_PARAMETER = re.compile(r"(?<=[?&;])([^=&;#\s]{1,100})=([^&;#\s]+)")


def looks_secret(name: str) -> bool:
    """Return True for a name that announces a secret value, such as `api_key` or `accessToken`."""
    joined = re.sub(r"[^a-z]", "", name.lower())
    words = {word.lower() for word in _WORDS.findall(name)}
    return any(part in joined for part in _SECRET_PARTS) or not _SECRET_WORDS.isdisjoint(words)


def redact_text(text: str) -> str:
    """Return the text with `***` for user:password@ and for secret-looking parameters in its URLs."""
    return _PARAMETER.sub(_redact_parameter, _USER_INFO.sub(f"{REDACTED}@", text))


def redact_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with `***` for every secret, at any depth."""
    return {
        str(name): REDACTED if looks_secret(str(name)) else _redact_value(value) for name, value in arguments.items()
    }


def _redact_parameter(match: re.Match[str]) -> str:
    name, value = match.groups()
    return f"{name}={REDACTED if looks_secret(name) else value}"


def _redact_value(value: Any) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return redact_arguments(value)
    if isinstance(value, list | tuple):
        return [_redact_value(item) for item in value]
    return value if isinstance(value, int | float | None) else redact_text(str(value))
