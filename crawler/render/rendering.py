"""How pages are rendered, and what that means to Chromium: its path, command line, context and content policy."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import Any

from crawler.errors import RenderError
from crawler.network.addresses import Addresses

SANDBOXES = ("auto", "on", "off")
# Boxes are compared between pages and runs: all see the same window, language and clock.
_WINDOW = {"width": 1280, "height": 1024}
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
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
_OFFLINE = (
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
            "executable_path": _find(self.executable),
            "chromium_sandbox": self.sandbox == "on" or (self.sandbox == "auto" and not root),
            "args": [*_QUIET, *(() if self.network else _OFFLINE)],
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


def _find(executable: str) -> str | None:
    if executable:
        found = shutil.which(os.path.expanduser(executable))  # noqa: PTH111 — a name on PATH is no path
        if found is None:
            raise RenderError(f"CHROMIUM is {executable!r}, which is no program that can be run")
        return found
    return next(filter(None, map(shutil.which, _NAMES)), None)
