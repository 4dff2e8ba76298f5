"""Twins of a page: the same article for another reader (AMP, print, mobile), told by the shape of its address.

A page that was fetched says with rel=canonical what it is a twin of, and is stored under that (`crawler.urls.url_key`).
Here the request is spared, where the article's own address is listed beside its twin's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Thing = TypeVar("Thing")

_HOSTS = re.compile(r"^(?:amp|m|mobile|wap|touch|print)\.", re.IGNORECASE)
_PARTS = frozenset({"amp", "amphtml", "print", "printable", "printfriendly"})
_WORDS = re.compile(r"^amp[_-]|[._-](?:amp|print)(?=\.|$)", re.IGNORECASE)
_QUERY = frozenset({"amp", "print", "printable", "print_friendly", "outputtype", "view_as", "mobile"})
_SAID = frozenset({"", "1", "true", "yes", "amp", "print"})


def original(url: str) -> str | None:
    """Return what the address of a twin is a twin of, without scheme and `www.`; None for one that looks like none."""
    bare = _bare(url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = _HOSTS.sub("", parts.netloc.lower())
    path = "/".join(_WORDS.sub("", part) for part in parts.path.split("/") if part.lower() not in _PARTS)
    query = [(name, said) for name, said in parse_qsl(parts.query, keep_blank_values=True) if not _asks(name, said)]
    found = _bare(urlunsplit((parts.scheme, host, path, urlencode(query), "")))
    return None if found == bare else found


def folded(things: Iterable[Thing], address: Callable[[Thing], str]) -> list[Thing]:
    """Return the things without those whose address is a twin of another one's among them."""
    known = list(things)
    own = {_bare(address(thing)) for thing in known}
    return [thing for thing in known if original(address(thing)) not in own]


def _asks(name: str, said: str) -> bool:
    return name.lower() in _QUERY and said.lower() in _SAID


def _bare(url: str) -> str:
    """Return an address as twins are compared by it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = urlencode(parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit(("", parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/"), query, ""))
