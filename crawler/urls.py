"""What a URL stands for: the key of its page, and its site."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

import tldextract
from w3lib.url import canonicalize_url
from xxhash import xxh64_hexdigest

MAX_CANONICAL = 2_048
# PostgreSQL indexes no text above 2,704 bytes.
MAX_KEY = 2_000
_UNWANTED = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_PORTS = {"http": 80, "https": 443}


def url_key(url: str, canonical: str | None = None) -> str:
    """Return the key under which a page is stored: one for all the URLs it is known by; never fetch it.

    It is the canonicalised form of `canonical`, the page's own rel=canonical, where that can be believed, otherwise
    of `url`. Believed is an http(s) URL within the page's own site, but not the site's root for a page elsewhere:
    templates that point every article at the home page are common, and would make all of them one page.
    Fragments, user names and passwords are left out, a key beyond `MAX_KEY` characters is cut and ends in a hash.
    """
    believed = canonical is not None and _is_believed(canonical, url)
    key = _canonicalised(canonical if believed and canonical is not None else url)
    return key if len(key) <= MAX_KEY else f"{key[: MAX_KEY - 17]}#{xxh64_hexdigest(key.encode())}"


def site(url: str) -> str:
    """Return the registered domain of a URL; "" for one without a host.

    For an IP address and a name without dots it is host:port; for a name whose end is not in the public suffix
    list, its last two labels. Domains below which anybody gets a name (`github.io`) part their users' sites.
    """
    parts = _split(url)
    if parts is None or not parts.hostname:
        return ""
    host = parts.hostname.rstrip(".")
    if _is_address(host) or "." not in host:
        shown = f"[{host}]" if ":" in host else host
        return f"{shown}:{parts.port or _PORTS.get(parts.scheme, 0)}"
    return _registered(_ascii(host))


def without_credentials(url: str) -> str:
    """Return the URL without user name and password; U+FFFD stands for control characters and lone surrogates."""
    return re.sub(r"^([^:/?#]+://)[^/?#]*@", r"\1", _UNWANTED.sub("\ufffd", url.strip()), count=1)


def _is_believed(canonical: str, url: str) -> bool:
    parts, own = _split(canonical), _split(url)
    if parts is None or own is None or len(canonical) > MAX_CANONICAL:
        return False
    if parts.scheme not in _PORTS or not site(canonical) or site(canonical) != site(url):
        return False
    return not _is_root(parts) or _is_root(own)


def _is_root(parts: SplitResult) -> bool:
    return parts.path in {"", "/"} and not parts.query


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url.strip())
        _ = parts.port  # parsed only when asked for
    except ValueError:
        return None
    return parts


def _canonicalised(url: str) -> str:
    plain = without_credentials(url)
    try:
        return canonicalize_url(plain)
    except ValueError:
        return plain.partition("#")[0]


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


@lru_cache(maxsize=1 << 14)
def _registered(host: str) -> str:
    found = _suffixes()(host)
    if found.suffix:
        return found.top_domain_under_public_suffix or host
    return ".".join(host.split(".")[-2:])


@cache
def _suffixes() -> tldextract.TLDExtract:
    # The bundled list, and nothing fetched or written: crawls of the same pages name the same sites.
    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
