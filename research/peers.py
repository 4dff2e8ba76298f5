"""The public extractors of `crawler/reports/peers.py` whose figures the docs have."""

from __future__ import annotations

from crawler.reports.peers import PEERS as KNOWN
from crawler.reports.peers import part

__all__ = ["PEERS", "attempt", "load", "missing", "part"]

PEERS = {
    name: KNOWN[name]
    for name in (
        "trafilatura",
        "trafilatura, no comments",
        "trafilatura, precision",
        "readability-lxml",
        "resiliparse",
    )
}


def attempt(extract, body):
    """Return a peer's text of a page; an empty one where it finds nothing or fails."""
    try:
        return extract(body) or ""
    except Exception:  # noqa: BLE001 — whatever a peer raises is its failure, and counted
        return ""


def missing():
    """Return the distributions that are not installed."""
    return sorted({peer.package for peer in PEERS.values() if not peer.is_installed})


def load(names=None):
    """Return the call of each peer by its name; raises ModuleNotFoundError where one is not installed."""
    return {name: peer.load() for name, peer in PEERS.items() if names is None or name in names}
