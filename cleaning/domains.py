"""Registered domains: which site a URL belongs to, and which URLs of a page lead elsewhere."""

from __future__ import annotations

from functools import cache, lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tldextract import TLDExtract

_PORTS = {"http": 80, "https": 443}
_LONGEST_SCHEME = 20  # characters; a relative URL may hold another one in its query
_LONGEST_HOST = 253  # characters, RFC 1035; longer ones would fill the cache


def registered_domain(url: str) -> str | None:
    """Return the registered domain of a URL; None for one without a host or that cannot be read.

    For an IP address and a name without dots it is host:port; for a name whose end is not in the public suffix
    list, its last two labels. Domains below which anybody gets a name (`github.io`) part their users' sites.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port  # the port is parsed only when asked for
    except ValueError:
        return None
    if not 0 < len(host) <= _LONGEST_HOST:
        return None
    if _is_address(host) or "." not in host:
        shown = f"[{host}]" if ":" in host else host
        return f"{shown}:{port or _PORTS.get(parts.scheme, 0)}"
    return _registered(_ascii(host))


class PageLinks:
    """What the URLs on a page lead to; relative ones, `data:` and those of the page's own site are its own."""

    def __init__(self, url: str | None) -> None:
        self._own = registered_domain(url) if url else None
        self._scheme = "http" if url and url.lstrip()[:5].lower() == "http:" else "https"

    def are_foreign(self, url: str) -> bool:
        """Tell whether a URL is of another registered domain; never where the page's own is unknown."""
        domain = registered_domain(self._absolute(url))
        return None not in (domain, self._own) and domain != self._own

    def lead_to(self, url: str, hosts: frozenset[str]) -> bool:
        """Tell whether a URL is of one of these hosts or below it, and not of the page's own site."""
        absolute = self._absolute(url)
        known = any(name in hosts for name in _levels(_host(absolute)))
        return known and (self._own is None or registered_domain(absolute) != self._own)

    def _absolute(self, url: str) -> str:
        """Return a URL that names its host in full; "" for one that names none."""
        plain = url.strip()
        if plain[:2] == "//":
            return f"{self._scheme}:{plain}"
        return plain if "://" in plain[:_LONGEST_SCHEME] else ""


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _ascii(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host


def _host(url: str) -> str:
    if not url:
        return ""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""
    return host if len(host) <= _LONGEST_HOST else ""


def _levels(host: str) -> Iterator[str]:
    """Yield a host and the names above it."""
    while host:
        yield host
        host = host.partition(".")[2]


@lru_cache(maxsize=1 << 14)
def _registered(host: str) -> str:
    found = _suffixes()(host)
    if found.suffix:
        return found.top_domain_under_public_suffix or host
    return ".".join(host.split(".")[-2:])


@cache
def _suffixes() -> TLDExtract:
    # Lazily: it imports an HTTP client, which most methods never need. The list is the bundled one, and nothing is
    # fetched or written: the same pages always name the same sites, and `cleaning` opens no socket.
    from tldextract import TLDExtract  # noqa: PLC0415 — lazily, see above

    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
