"""What a URL stands for: the key of its page, and its site."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

from w3lib.url import canonicalize_url
from xxhash import xxh64_hexdigest

from cleaning.domains import registered_domain

MAX_CANONICAL = 2_048
# PostgreSQL indexes no text above 2,704 bytes.
MAX_KEY = 2_000
_UNWANTED = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


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
    """Return the registered domain of a URL (see `registered_domain`); "" for one without a host."""
    return registered_domain(url) or ""


def host(url: str) -> str:
    """Return the host name of a URL, as Scrapy's download slots have it; "" where there is none."""
    parts = _split(url)
    return (parts.hostname or "") if parts else ""


def without_credentials(url: str) -> str:
    """Return the URL without user name and password; U+FFFD stands for control characters and lone surrogates."""
    return re.sub(r"^([^:/?#]+://)[^/?#]*@", r"\1", _UNWANTED.sub("\ufffd", url.strip()), count=1)


def _is_believed(canonical: str, url: str) -> bool:
    parts, own = _split(canonical), _split(url)
    if parts is None or own is None or len(canonical) > MAX_CANONICAL:
        return False
    if parts.scheme not in {"http", "https"} or not site(canonical) or site(canonical) != site(url):
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


@lru_cache(maxsize=1 << 12)
def _canonicalised(url: str) -> str:
    plain = without_credentials(url)
    try:
        return canonicalize_url(plain)
    except ValueError:
        return plain.partition("#")[0]
