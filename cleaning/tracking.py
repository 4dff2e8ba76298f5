"""What of an address says nothing about the page: tracking parameters and session ids."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

# Parameters that identify a session. On some sites `sid` is a story's number, so a short name counts only with a long
# value of letters and digits.
_SESSION = re.compile(
    r"jsessionid|phpsessid|aspsessionid\w*|asp\.net_sessionid|cftoken|sessionid|session_id", re.IGNORECASE
)
_SHORT_SESSION = re.compile(r"(?:sid|sess|zenid|oscsid)=(?=\w*\d)(?=\w*[a-z])\w{16,}", re.IGNORECASE)
_SESSION_IN_PATH = re.compile(r";jsessionid=[^/?#;]*|(?<=/)\([SF]\(\w{20,}\)\)/", re.IGNORECASE)


@cache
def _tracking_names() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of the parameters that only track readers, and the beginnings of further names."""
    lines = resources.files("cleaning").joinpath("data", "tracking-parameters.txt").read_text("utf-8").splitlines()
    names = {line for line in lines if line and not line.startswith("#")}
    prefixes = {name for name in names if name.endswith("*")}
    return frozenset(names - prefixes), tuple(prefix[:-1] for prefix in sorted(prefixes))


def _is_tracking_parameter(parameter: str) -> bool:
    """Return True for a query parameter (`name=value`) that only tracks readers or identifies a session."""
    name = parameter.partition("=")[0]
    small = name.lower()
    names, prefixes = _tracking_names()
    return (
        name in names
        or small in names
        or small.startswith(prefixes)
        or _SESSION.fullmatch(name) is not None
        or _SHORT_SESSION.fullmatch(parameter) is not None
    )


def without_tracking(url: str) -> str:
    """Return the URL without session ids and tracking parameters; a URL without any is returned unchanged."""
    address, mark, fragment = _SESSION_IN_PATH.sub("", url).partition("#")
    path, _, query = address.partition("?")
    kept = [parameter for parameter in query.split("&") if not _is_tracking_parameter(parameter)]
    if len(kept) < query.count("&") + 1:
        address = f"{path}?{'&'.join(kept)}" if kept else path
    return f"{address}{mark}{fragment}"
