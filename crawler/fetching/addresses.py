"""The addresses that a crawl may connect to: public ones, and the ones that ALLOW_ADDRESSES names.

The tables follow IANA's registries of special-purpose addresses. Python's own `is_global` is not used, because its
answers differ between Python versions.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from crawler.config import read_networks

if TYPE_CHECKING:
    from typing import Self

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


@dataclass(frozen=True, slots=True)
class Addresses:
    """All public addresses, and the addresses of the `allowed` networks."""

    allowed: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the value of a comma-separated list of networks and addresses. Raises ValueError for a bad one."""
        return cls(read_networks(text))

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
