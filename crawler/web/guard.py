"""The rights of visitors and of answers in a browser: the host of a request, the token, and the headers of safety.

A page of another site cannot read an answer: a name that it points at this address is not among the hosts, and the
headers forbid frames and foreign scripts. Nor can it make the server work: what is no navigation is refused. Texts of
crawled pages are inert before they come here; the policy is the second wall.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from crawler.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TOKEN_CHARS_MIN = 16
_COOKIE = "blocksieve"
_METHODS = ("GET", "HEAD")
EDIT_PATH = "/edit/"
"""Where requests may change something, if the server was started so."""
FEED_PATH = "/changes.atom"
_FEED_KEY = "key"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Also what a sandboxed frame may do: nothing. Its own policy names the one style sheet.
FRAME_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; sandbox"
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers do not say where a form comes from
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow",
}


def _page_policy(nonce: str) -> str:
    """Return the policy of a page: its own style sheet, pictures, frames and answers, and scripts with the nonce."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


@dataclass(frozen=True, slots=True)
class Access:
    """The names under which the server may be asked, and the token that a reader must show, if any.

    With `any_address` every numeric address is one of its names: no other site can have it as its own. If it `edits`,
    forms of its own pages may change something; then there is a token.
    """

    hosts: frozenset[str]
    any_address: bool = False
    token: str | None = None
    edits: bool = False
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @classmethod
    def of(cls, host: str, token: str | None, *, edits: bool = False) -> Access:
        """Return the access to a server that listens at a host.

        Raises ConfigError for a short token, and without a token for a host that others reach and for editing.
        """
        if edits and token is None:
            raise ConfigError("--edit needs --token: other programs of this machine reach the server too")
        if token is not None and len(token) < _TOKEN_CHARS_MIN:
            raise ConfigError(f"--token has {len(token)} characters; it must have {_TOKEN_CHARS_MIN} or more")
        if is_loopback(host):
            return cls(_LOOPBACK | {host.lower()}, token=token, edits=edits)
        if token is None:
            raise ConfigError(
                f"--host {host!r} can be reached from other machines: add --token, so that only its owners get in"
            )
        own = {host, socket.gethostname(), socket.getfqdn()}
        return cls(_LOOPBACK | {name.lower() for name in own}, any_address=True, token=token, edits=edits)

    def knows(self, host: str) -> bool:
        """Return True if a Host header, with or without a port, names this server."""
        name = _without_port(host).lower().rstrip(".")
        return name in self.hosts or (self.any_address and _is_address(name))

    def proves(self, token: str | None) -> bool:
        """Return True if there is no token, or this is it."""
        return self.token is None or (token is not None and _equal(token, self.token))

    def pass_of(self, token: str) -> str:
        """Return what a browser keeps in place of the token; it is worth nothing once the server has ended."""
        return hmac.new(self._key, token.encode(), sha256).hexdigest()

    @property
    def form_key(self) -> str | None:
        """What each form of this server holds, and no page of another site can read; None if it does not edit."""
        return hmac.new(self._key, EDIT_PATH.encode(), sha256).hexdigest() if self.edits else None

    def proves_form(self, key: str) -> bool:
        """Return True if this is the key of the server's forms."""
        return self.form_key is not None and _equal(key, self.form_key)

    @property
    def feed_key(self) -> str | None:
        """What opens the feed, and nothing else, in an address: most readers of feeds send no token of their own.

        It is the same as long as the token is; None if there is no token.
        """
        return None if self.token is None else hmac.new(self.token.encode(), FEED_PATH.encode(), sha256).hexdigest()

    def admits(self, headers: Headers) -> bool:
        """Return True if a request shows the token, or the cookie that stands for it."""
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if self.proves(credentials.strip() if scheme.lower() == "bearer" else None):
            return True
        assert self.token is not None  # or everybody is admitted
        expected = self.pass_of(self.token)
        return any(_equal(value, expected) for name, value in _cookies(headers) if name == _COOKIE)


class Guard:
    """Lets a request through to the application, or answers it, and puts the headers of safety on every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {}).update(
            nonce=nonce,
            feed_key=self._access.feed_key,
            form_key=self._access.form_key,
            proves_form=self._access.proves_form,
        )
        refusal = self._refusal(scope)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", _page_policy(nonce))
                headers.setdefault("Cache-Control", "private, no-store")
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        await (self._app if refusal is None else refusal)(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that goes no further."""
        headers = Headers(scope=scope)
        changes = scope["method"] == "POST" and self._access.edits and scope["path"].startswith(EDIT_PATH)
        if scope["method"] not in _METHODS and not changes:
            return PlainTextResponse("this page is only read: GET and HEAD", 405, {"Allow": ", ".join(_METHODS)})
        if not self._access.knows(headers.get("host", "")):
            name = headers.get("host", "")[:100]
            return PlainTextResponse(f"this server is not {name!r}; start it with --host NAME", 421)
        if _is_part_of_other_page(headers) or (changes and not _is_of_own_page(headers)):
            return PlainTextResponse("a page of another site may lead here, but not load or change anything here", 403)
        if (token := _token_in(scope)) is not None and self._access.token is not None:
            return self._enter(scope, token)
        if not (self._opens_feed(scope) or self._access.admits(headers)):
            sentence = "a token is needed: open the address that `scrapy serve` printed"
            return PlainTextResponse(sentence, 401, {"WWW-Authenticate": "Bearer"})
        return None

    def _opens_feed(self, scope: Scope) -> bool:
        """Return True if the address is that of the feed with its key, which leaves the question."""
        key = self._access.feed_key
        if key is None or scope["path"] != FEED_PATH:
            return False
        parameters = _parameters(scope)
        rest = [(name, value) for name, value in parameters if name != _FEED_KEY]
        scope["query_string"] = urlencode(rest).encode("latin-1")
        return any(name == _FEED_KEY and _equal(value, key) for name, value in parameters)

    def _enter(self, scope: Scope, token: str) -> Response:
        """Exchange the token of an address for a cookie, so that the token leaves the address."""
        if not self._access.proves(token):
            return PlainTextResponse("the token is wrong: open the address that `scrapy serve` printed", 401)
        rest = [(name, value) for name, value in _parameters(scope) if name != "token"]
        # One slash: the browser would take two for another host.
        path = "/" + scope["path"].lstrip("/")
        answer = RedirectResponse(f"{path}?{urlencode(rest)}" if rest else path, 303)
        answer.set_cookie(_COOKIE, self._access.pass_of(token), httponly=True, samesite="strict")
        return answer


def _is_of_own_page(headers: Headers) -> bool:
    """Return True if a browser says that the request comes from a page of the same server."""
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    scheme, _, host = headers.get("origin", "").partition("://")
    return scheme in {"http", "https"} and host.lower() == headers.get("host", "").lower()


def _is_part_of_other_page(headers: Headers) -> bool:
    """Return True if a browser asks for something that a page of another origin embeds, fetches or loads in advance."""
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    return headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-dest") != "document"


def is_loopback(host: str) -> bool:
    """Return True for a name or address that only this machine reaches."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _parameters(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _token_in(scope: Scope) -> str | None:
    return next((value for name, value in _parameters(scope) if name == "token"), None)


def _cookies(headers: Headers) -> list[tuple[str, str]]:
    parts = [part.partition("=") for part in headers.get("cookie", "").split(";")]
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _equal(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode(), second.encode())
