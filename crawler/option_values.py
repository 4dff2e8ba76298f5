"""Values that options are read into: allowed addresses, which responses are pages, how pages are rendered.

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
# IANA assigns all public IPv6 networks within this range; the rest is reserved.
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCALHOST = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
_MAX_PATTERNS = 100
_MAX_PATTERN_CHARS = 500
# A pattern that backtracks takes longer on longer texts, and the URLs are not under our control.
_MAX_URL_CHARS = 2_000

SANDBOXES = ("auto", "on", "off")

# Boxes are compared between pages and runs, so every page gets the same window, language and time zone.
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
# A second barrier below the handling of each request: no name resolves, all connections go to a proxy whose name does
# not resolve either, and nothing bypasses that proxy.
_OFFLINE_FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://denied.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--dns-prefetch-disable",
)
# No frames, workers and plug-ins, because their content is not in the page's tree. The sandbox keeps a page from
# opening windows and dialogs, sending forms and starting downloads.
_POLICY = (
    "frame-src 'none'; worker-src 'none'; object-src 'none'; webrtc 'block'; sandbox allow-scripts allow-same-origin"
)
_OFFLINE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "img-src data:; font-src data:"
)
# Styles, scripts and images determine the layout; videos and fonts are not loaded.
_ONLINE_POLICY = "connect-src http: https:; media-src 'none'; font-src data:"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses that a crawl may connect to: all public ones, and those of the `allowed` networks."""

    allowed: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the value of a comma-separated list of networks and addresses. Raises ValueError for a bad one."""
        return cls(tuple(ip_network(word) for word in text.replace(",", " ").split()))

    def refusal(self, address: str | IPv4Address | IPv6Address) -> str | None:
        """Return the address and the reason why a crawl may not connect to it; None if it may.

        An IPv6 address that embeds an IPv4 address (mapped, 6to4, NAT64) is treated as that one. Raises ValueError for
        a text that is not an address.
        """
        outer = ip_address(address)
        inner = _embedded_ipv4(outer)
        if any(inner in network or outer in network for network in self.allowed):
            return None
        kind = _special_kind(inner)
        return kind and f"{outer} ({kind})"

    def host_refusal(self, host: str) -> str | None:
        """Return the refusal of a host that is an address or localhost; None for an allowed one and for other names."""
        refusals = [self.refusal(address) for address in _literal_addresses(host)]
        return refusals[0] if refusals and all(refusals) else None


def _literal_addresses(host: str) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return the addresses that a host spells out, in any form that resolvers accept (`2130706433`, `0x7f.1`)."""
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


@dataclass(frozen=True, slots=True)
class PageRule:
    """Which responses of a host project are pages: by a pattern found in the URL, or by page type and confidence."""

    patterns: tuple[re.Pattern[str], ...]
    types: frozenset[str]
    min_confidence: float

    @classmethod
    def of(cls, patterns: Sequence[str], types: Sequence[str], min_confidence: float) -> Self:
        """Return the rule; without patterns and types it takes articles.

        Raises ValueError for too many patterns, a pattern that is too long, and an invalid regular expression.
        """
        if len(patterns) > _MAX_PATTERNS:
            raise ValueError(f"{len(patterns)} regular expressions; the maximum is {_MAX_PATTERNS}")
        wanted = frozenset(types) if patterns or types else frozenset({PageType.ARTICLE})
        return cls(tuple(_compile_pattern(text) for text in patterns), wanted, min_confidence)

    def takes_url(self, url: str) -> bool:
        """Return True if the URL is that of a page; a URL of more than 2,000 characters is not."""
        return len(url) <= _MAX_URL_CHARS and any(pattern.search(url) for pattern in self.patterns)

    def takes_type(self, cleaned: CleanPage | None) -> bool:
        """Return True if a cleaned page has one of the types, with enough confidence."""
        if cleaned is None or cleaned.type is None:
            return False
        return cleaned.type in self.types and (cleaned.confidence or 0.0) >= self.min_confidence


def _compile_pattern(text: str) -> re.Pattern[str]:
    if len(text) > _MAX_PATTERN_CHARS:
        raise ValueError(f"a regular expression of {len(text)} characters; the maximum is {_MAX_PATTERN_CHARS}")
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a regular expression ({error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """How pages are rendered.

    `executable` is the browser's path or name; if it is empty, one of the usual names is tried, then Playwright's own.
    `sandbox` is on, off or auto: on unless the process runs as root, where Chromium has no sandbox. `network` allows a
    page to load its styles, scripts and images, through `proxy` if there is one; a host given as an address must be in
    `addresses`. `seconds` limits the start of the browser and the time for a page. `max_bytes` limits the page before
    and after rendering.
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
        """Return Playwright's launch options. Raises RenderError if `executable` is not a program."""
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        return {
            "executable_path": _find_chromium(self.executable),
            "chromium_sandbox": self.sandbox == "on" or (self.sandbox == "auto" and not root),
            "args": [*_QUIET_FLAGS, *(() if self.network else _OFFLINE_FLAGS)],
            "timeout": self.seconds * 1000,
            # The crawl handles Ctrl-C: it closes the browser after the last page.
            "handle_sigint": False,
            "handle_sigterm": False,
            "handle_sighup": False,
        }

    def context_options(self) -> dict[str, Any]:
        """Return Playwright's options for the context of one page; contexts share nothing."""
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
        """Return the Content-Security-Policy header for a page."""
        return f"{_ONLINE_POLICY if self.network else _OFFLINE_POLICY}; {_POLICY}"


def _find_chromium(executable: str) -> str | None:
    if executable:
        found = shutil.which(os.path.expanduser(executable))  # noqa: PTH111 — a program name, not a path
        if found is None:
            raise RenderError(f"CHROMIUM is {executable!r}, which is not an executable program")
        return found
    return next(filter(None, map(shutil.which, _CHROMIUM_NAMES)), None)
