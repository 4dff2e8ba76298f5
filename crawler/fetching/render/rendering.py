"""How pages are rendered, and the options of Chromium that follow: command line, context and content policy."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crawler.errors import RenderError
from crawler.fetching.addresses import Addresses

if TYPE_CHECKING:
    from typing import Self

    from crawler.config import Config

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

    @classmethod
    def of(cls, config: Config) -> Self:
        """Return the rendering of a crawl with these settings; a replay denies the browser the network."""
        return cls(
            executable=config.chromium,
            sandbox=config.chromium_sandbox,
            javascript=config.render_javascript,
            network=not config.replay,
            seconds=config.render_seconds,
            max_bytes=config.page_max_bytes,
            addresses=Addresses.read(config.allow_addresses),
        )

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
        program = shutil.which(os.path.expanduser(executable))  # noqa: PTH111 — a program name, not a path
        if program is None:
            raise RenderError(f"CHROMIUM is {executable!r}, which is not an executable program")
        return program
    return next(filter(None, map(shutil.which, _CHROMIUM_NAMES)), None)
