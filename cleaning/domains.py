"""Registered domains: the site of a URL, and whether a page's links lead to other sites."""

from __future__ import annotations

from functools import cache, lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tldextract import TLDExtract

_PORTS = {"http": 80, "https": 443}
_RESERVED_SUFFIXES = frozenset({"example", "test"})  # RFC 2606
_MAX_SCHEME_CHARS = 20  # a relative URL may contain another URL in its query
_MAX_HOST_CHARS = 253  # RFC 1035; longer hosts would fill the cache


def registered_domain(url: str) -> str | None:
    """Return the registered domain of a URL; None for a URL that is malformed or has no host.

    The result is host:port for an IP address or a name without dots, and the last two labels for a name that ends in
    no public suffix. Below a domain that gives names to anybody (`github.io`), each user's name is a site.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port  # `port` raises ValueError too
    except ValueError:
        return None
    if not 0 < len(host) <= _MAX_HOST_CHARS:
        return None
    if (domain := _domain_of(host)) is not None:
        return domain
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port or _PORTS.get(parts.scheme, 0)}"


def has_public_suffix(host: str) -> bool:
    """Return True for a name below a public suffix, or below one that is reserved for examples and tests."""
    suffix = host.rpartition(".")[2].lower()
    return "." in host and (
        suffix in _RESERVED_SUFFIXES or bool(public_suffixes()(_ascii(host)).top_domain_under_public_suffix)
    )


class PageLinks:
    """Tells where a page's URLs lead. Relative URLs and `data:` URLs belong to the page's own site."""

    def __init__(self, url: str | None) -> None:
        self._own = registered_domain(url) if url else None
        self._scheme = "http" if url and url.lstrip()[:5].lower() == "http:" else "https"

    def is_foreign(self, url: str) -> bool:
        """Return True if a URL has another registered domain; False if the page's own domain is unknown."""
        domain = registered_domain(self._absolute(url))
        return None not in (domain, self._own) and domain != self._own

    def leads_to(self, url: str, hosts: frozenset[str]) -> bool:
        """Return True if a URL leads to one of these hosts, or to a host below one, and not to the page's own site."""
        absolute = self._absolute(url)
        known = any(name in hosts for name in _levels(_host(absolute)))
        return known and (self._own is None or registered_domain(absolute) != self._own)

    def _absolute(self, url: str) -> str:
        """Return the URL with its scheme; "" for a URL without a host."""
        plain = url.strip()
        if plain[:2] == "//":
            return f"{self._scheme}:{plain}"
        return plain if "://" in plain[:_MAX_SCHEME_CHARS] else ""


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
    return host if len(host) <= _MAX_HOST_CHARS else ""


def _levels(host: str) -> Iterator[str]:
    """Yield a host and its parent domains."""
    while host:
        yield host
        host = host.partition(".")[2]


@lru_cache(maxsize=1 << 14)
def _domain_of(host: str) -> str | None:
    """Return the registered domain of a host; None for an IP address and a name without dots."""
    return None if _is_address(host) or "." not in host else _registered(_ascii(host))


def _registered(host: str) -> str:
    domain = public_suffixes()(host)
    if domain.suffix:
        return domain.top_domain_under_public_suffix or host
    return ".".join(host.split(".")[-2:])


@cache
def public_suffixes() -> TLDExtract:
    """Return what splits hosts by the list of public suffixes."""
    # Imported at the first use: it imports an HTTP client, which most methods never need. It uses the bundled list and
    # fetches or writes nothing: the same URLs always give the same sites, and `cleaning` opens no socket.
    from tldextract import TLDExtract  # noqa: PLC0415 — see above

    return TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
