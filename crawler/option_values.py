"""Values that options of a crawl are read into: allowed addresses, how to render, which responses are pages.

The address tables follow IANA's registries of special-purpose addresses. Python's own `is_global` is not used, because
its answers differ between Python versions.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from cleaning.blocks import PageType
from crawler.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from cleaning.blocks import CleanPage


_SPECIAL = {
    "unspecified": ("0.0.0.0/8", "::/128"),
    "loopback": ("127.0.0.0/8", "::1/128"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    "shared": ("100.64.0.0/10",),
    "link-local": ("169.254.0.0/16", "fe80::/10"),
    "multicast": ("224.0.0.0/4", "ff00::/8"),
    "documentation": ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    "reserved": ("192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4", "2001::/23"),
}
_SPECIAL_NETWORKS = [(ip_network(network), kind) for kind, networks in _SPECIAL.items() for network in networks]
# All that IANA gives to networks of version 6; the rest is reserved.
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCALHOST = (IPv4Address("127.0.0.1"), IPv6Address("::1"))


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses that a crawl may connect to: all public ones, and those of the `allowed` networks."""

    allowed: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        """Take networks and addresses with commas between them; an empty text allows none. Raises ValueError."""
        return cls(tuple(ip_network(word) for word in text.replace(",", " ").split()))

    def refusal(self, address: str | IPv4Address | IPv6Address) -> str | None:
        """Return an address that is not to be connected to, and why; None for one that may be.

        An address of version 6 that stands for one of version 4 (mapped, 6to4, NAT64) is judged as that one. Raises
        ValueError for what is no address.
        """
        outer = ip_address(address)
        inner = _embedded_ipv4(outer)
        if any(inner in network or outer in network for network in self.allowed):
            return None
        kind = _special_kind(inner)
        return kind and f"{outer} ({kind})"

    def host_refusal(self, host: str) -> str | None:
        """Return the refusal of a host that says itself where it is: an address or localhost; None for other names."""
        refusals = [self.refusal(address) for address in _literal_addresses(host)]
        return refusals[0] if refusals and all(refusals) else None


def _literal_addresses(host: str) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return the addresses that a host spells, in any way that resolvers take (`2130706433`, `0x7f.1`)."""
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return _LOCALHOST
    try:
        return (ip_address(host),)
    except ValueError:
        pass
    try:
        return (IPv4Address(socket.inet_aton(host)),)
    except (OSError, ValueError):
        return ()


def _embedded_ipv4(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or address


def _special_kind(address: IPv4Address | IPv6Address) -> str | None:
    for network, kind in _SPECIAL_NETWORKS:
        if address in network:
            return kind
    return "reserved" if isinstance(address, IPv6Address) and address not in _UNICAST else None


_MAX_PATTERNS = 100
_MAX_PATTERN_CHARS = 500
# A pattern that tries again and again takes longer on longer texts, and the URLs are not ours.
_MAX_URL_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class PageRule:
    """A URL that one of the patterns finds is a page's; so is a page of one of the types, where that is sure enough."""

    patterns: tuple[re.Pattern[str], ...]
    types: frozenset[str]
    least_confidence: float

    @classmethod
    def of(cls, patterns: Sequence[str], types: Sequence[str], least_confidence: float) -> Self:
        """Return the rule; without patterns and types it asks for articles.

        Raises ValueError for too many patterns, one that is too long, and one that is no regular expression.
        """
        if len(patterns) > _MAX_PATTERNS:
            raise ValueError(f"{len(patterns)} regular expressions; it takes {_MAX_PATTERNS} at most")
        wanted = frozenset(types) if patterns or types else frozenset({PageType.ARTICLE})
        return cls(tuple(_compile_pattern(text) for text in patterns), wanted, least_confidence)

    def takes_url(self, url: str) -> bool:
        """Tell whether what stands at this URL is a page; one of more than 2,000 characters is no page's."""
        return len(url) <= _MAX_URL_CHARS and any(pattern.search(url) for pattern in self.patterns)

    def takes_type(self, cleaned: CleanPage | None) -> bool:
        """Tell whether a cleaned page is of a type that is asked for."""
        if cleaned is None or cleaned.type is None:
            return False
        return cleaned.type in self.types and (cleaned.confidence or 0.0) >= self.least_confidence


def _compile_pattern(text: str) -> re.Pattern[str]:
    if len(text) > _MAX_PATTERN_CHARS:
        raise ValueError(f"a regular expression of {len(text)} characters; it takes {_MAX_PATTERN_CHARS} at most")
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{text!r} is no regular expression ({error})") from error


SANDBOXES = ("auto", "on", "off")
# Boxes are compared between pages and runs: all see the same window, language and clock.
_WINDOW = {"width": 1280, "height": 1024}
_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET_FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# Beneath the page's requests, which are answered or refused one by one: no name resolves, the only way out is a proxy
# whose name does not resolve either, and nothing goes past it.
_OFFLINE_FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://denied.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--dns-prefetch-disable",
)
# No frames, workers and plug-ins: what they show is not in the page's tree. The sandbox keeps a page from opening
# windows and dialogs, sending forms and starting downloads.
_POLICY = (
    "frame-src 'none'; worker-src 'none'; object-src 'none'; webrtc 'block'; sandbox allow-scripts allow-same-origin"
)
_OFFLINE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "img-src data:; font-src data:"
)
# Styles, scripts and images make the layout; sockets, films and fonts are not asked for.
_ONLINE_POLICY = "connect-src http: https:; media-src 'none'; font-src data:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """How pages are rendered.

    `executable` is the browser's path or name, "" for one of the usual names, or Playwright's own. `sandbox` is on,
    off, or auto: on unless the process is root's, under which Chromium has none. `network` allows a page to load its
    styles, scripts and images, by way of `proxy` where there is one; hosts that say themselves where they are must be
    at one of `addresses`. `seconds` is the longest time for the browser's start, and for a page. `max_bytes` bounds
    the page before and after it is rendered.
    """

    executable: str = ""
    sandbox: str = "auto"
    javascript: bool = False
    network: bool = False
    seconds: float = 20.0
    max_bytes: int = 10_000_000
    user_agent: str | None = None
    addresses: Addresses = field(default_factory=Addresses)
    proxy: str | None = None

    def launch_options(self) -> dict[str, Any]:
        """Return Playwright's options for a start. Raises RenderError where `executable` is no program."""
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        return {
            "executable_path": _find_chromium(self.executable),
            "chromium_sandbox": self.sandbox == "on" or (self.sandbox == "auto" and not root),
            "args": [*_QUIET_FLAGS, *(() if self.network else _OFFLINE_FLAGS)],
            "timeout": self.seconds * 1000,
            # Ctrl-C is the crawl's business: it closes the browser when the last page is done.
            "handle_sigint": False,
            "handle_sigterm": False,
            "handle_sighup": False,
        }

    def context_options(self) -> dict[str, Any]:
        """Return Playwright's options for the context of one page, which shares nothing with another's."""
        return {
            "accept_downloads": False,
            "java_script_enabled": self.javascript,
            "locale": "en-US",
            "proxy": {"server": self.proxy} if self.proxy else None,
            "reduced_motion": "reduce",
            "service_workers": "block",
            "timezone_id": "UTC",
            "user_agent": self.user_agent,
            "viewport": _WINDOW,
        }

    def content_policy(self) -> str:
        """Return the value of the header Content-Security-Policy under which a page is shown."""
        return f"{_ONLINE_POLICY if self.network else _OFFLINE_POLICY}; {_POLICY}"


def _find_chromium(executable: str) -> str | None:
    if executable:
        found = shutil.which(os.path.expanduser(executable))  # noqa: PTH111 — a name on PATH is no path
        if found is None:
            raise RenderError(f"CHROMIUM is {executable!r}, which is no program that can be run")
        return found
    return next(filter(None, map(shutil.which, _CHROMIUM_NAMES)), None)
