"""The key of a URL's page, its site and its host."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, urlsplit

from w3lib.url import canonicalize_url
from xxhash import xxh64_hexdigest

from cleaning.domains import has_public_suffix, registered_domain
from cleaning.tracking import without_tracking
from crawler.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_CANONICAL_CHARS = 2_048
# PostgreSQL cannot index texts above 2,704 bytes.
_MAX_KEY_CHARS = 2_000
_UNWANTED = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# What `canonicalize_url` returns as it is, after 40 microseconds. Nearly all addresses of sitemaps are like that.
_CANONICAL = re.compile(
    r"https?://[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*(?::[1-9][0-9]{0,3})?(?:/(?!\.)[A-Za-z0-9._~-]*)+"
)
_SPELLING = re.compile(r"https?://(?:www\.)?", re.IGNORECASE)


# Top-level domain `invalid` never exists (RFC 2606). The demo's site is at an http address below it.
_HOST_FOLDER = re.compile(r"[\w-]+(?:\.[\w-]+)+(?::[0-9]+)?")
_MIRRORED_SIGNS = "/?&=%+:;,@!$'()*~"  # all that the path and query of a URL may have
_PLACEHOLDER = re.compile(r"https://[^/?#]*\.invalid(?=[/?#]|$)", re.IGNORECASE)


def placeholder_url(site: str, file: str) -> str:
    """Return the URL under which a saved page is stored whose address is unknown: `https://SITE.invalid/FILE`."""
    return f"https://{quote(site) or 'replay'}.invalid/{quote(file)}"


def saved_url(parts: Sequence[str], folder: str = "") -> str:
    """Return the URL of a saved page by the parts of its path in a folder, which may be named after the host.

    >>> saved_url(("mirror", "docs.example.org", "use", "page.html?id=7"))
    'https://docs.example.org/use/page.html?id=7'
    >>> saved_url(("saved", "page.html"))
    'https://saved.invalid/page.html'

    A mirror, as `wget -r` writes it, has a folder for each host. Any other page has a placeholder for its host.
    """
    for number, part in enumerate((folder, *parts[:-1])):
        if _HOST_FOLDER.fullmatch(part) and has_public_suffix(part.partition(":")[0]):
            return f"https://{part.lower()}/{quote('/'.join(parts[number:]), _MIRRORED_SIGNS)}"
    site, *rest = parts if len(parts) > 1 else ("", *parts)
    return placeholder_url(site, "/".join(rest))


def known_url(url: str) -> str | None:
    """Return the URL as the address that a page's links are compared with; None for a placeholder.

    Compared with a placeholder, all absolute links of a page would lead to other sites.
    """
    return None if _PLACEHOLDER.match(url.strip()) else url


def url_key(url: str, canonical: str | None = None) -> str:
    """Return the key under which a page is stored: one key for all URLs of the page. Do not fetch it.

    >>> url_key("HTTP://a.example/news?utm_source=x&b=2&a=1#top")
    'http://a.example/news?a=1&b=2'
    >>> url_key("http://a.example/news?page=1", canonical="http://a.example/news")
    'http://a.example/news'

    It is the canonical form of `canonical`, the page's own rel=canonical, if that is credible, otherwise of `url`.
    Credible is an http(s) URL within the page's own site, except the site's root for a page elsewhere: many templates
    point every article at the home page, which would make all of them one page. A store also compares what it has
    (`crawler.storage.addresses`). Fragments, user names, passwords, session ids and tracking parameters are left out; a
    fragment that begins with `!` names a page of its own and stays. A key beyond `_MAX_KEY_CHARS` is cut and ends in a
    hash.
    """
    key = _canonicalise(canonical if canonical is not None and _is_credible(canonical, url) else url)
    return key if len(key) <= _MAX_KEY_CHARS else f"{key[: _MAX_KEY_CHARS - 17]}#{xxh64_hexdigest(key.encode())}"


def is_respelled(key: str, other: str) -> bool:
    """Return True if two URL keys differ only in http or https, and in a leading `www.`."""
    return _SPELLING.sub("", key, count=1) == _SPELLING.sub("", other, count=1)


def spellings(key: str) -> tuple[str, ...]:
    """Return a URL key with http and https, each with and without a leading `www.`: sites redirect one to another."""
    rest = _SPELLING.sub("", key, count=1)
    return tuple(f"{scheme}://{prefix}{rest}" for scheme in ("http", "https") for prefix in ("", "www."))


def is_root(url: str) -> bool:
    """Return True for the home page of a host."""
    parts = _split(url)
    return parts is not None and _is_root(parts)


def has_own_fragment(url: str) -> bool:
    """Return True if the fragment of a URL names a page of its own, as `#!/news/1`: a script shows that page."""
    fragment = url.partition("#")[2].strip()
    return fragment.startswith("!") and fragment != "!"


def without_fragment(url: str) -> str:
    """Return the URL without its fragment, unless that names a page of its own."""
    return url if has_own_fragment(url) else url.partition("#")[0]


def site_of(url: str) -> str:
    """Return the registered domain of a URL (see `registered_domain`); "" for a URL without a host.

    >>> site_of("https://news.bbc.co.uk/1")
    'bbc.co.uk'
    """
    return registered_domain(url) or ""


def parse_site(text: str) -> str:
    """Return the site that a user names: a registered domain, host:port, or any URL of the site. Raises QueryError."""
    if not (site := site_of(text if "://" in text else f"http://{text}")):
        raise QueryError(f"the site {text!r} is unknown; name a registered domain, host:port, or any URL of the site")
    return site


def host_of(url: str) -> str:
    """Return the host name of a URL, in the form of Scrapy's download slots; "" if it has none."""
    parts = _split(url)
    return (parts.hostname or "") if parts else ""


def without_credentials(url: str) -> str:
    """Return the URL without user name, password and line ends, with U+FFFD for control characters and surrogates."""
    return re.sub(r"^([^:/?#]+://)[^/?#]*@", r"\1", _UNWANTED.sub(_storable, url.strip()), count=1)


def _storable(unwanted: re.Match[str]) -> str:
    return "" if unwanted[0] in "\t\r\n" else "\ufffd"  # browsers, and `Request`, leave these three out


def plain_url(url: str) -> str:
    """Return the URL without credentials, session ids and tracking parameters: equal ones lead to one page.

    The keys of pages and those of requests are both made of it.
    """
    return without_tracking(without_credentials(url))


def page_address(url: str, canonical: str | None = None) -> str:
    """Return the address under which a page is stored: the URL, or its rel=canonical if both have one key.

    >>> page_address("https://a.example/1?utm_source=rss#comments")
    'https://a.example/1'
    """
    is_own = canonical is not None and _is_credible(canonical, url) and url_key(canonical) == url_key(url)
    return without_fragment(plain_url(canonical if canonical is not None and is_own else url))


def _is_credible(canonical: str, url: str) -> bool:
    parts = _split(canonical)
    own = _split(url)
    if parts is None or own is None or len(canonical) > _MAX_CANONICAL_CHARS:
        return False
    site = site_of(canonical)
    if parts.scheme not in {"http", "https"} or not site or site != site_of(url):
        return False
    return not _is_root(parts) or _is_root(own)


def _is_root(parts: SplitResult) -> bool:
    return parts.path in {"", "/"} and not parts.query and not parts.fragment.startswith("!")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url.strip())
        _ = parts.port  # raises for a bad port; parsed on access only
    except ValueError:
        return None
    return parts


@lru_cache(maxsize=1 << 12)
def _canonicalise(url: str) -> str:
    if _CANONICAL.fullmatch(url):
        return url
    plain = plain_url(url)
    try:
        return canonicalize_url(plain, keep_fragments=has_own_fragment(plain))
    except ValueError:
        return plain.partition("#")[0]
