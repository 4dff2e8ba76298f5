"""Decide whether a response is a page: the rules, as tables, and the order in which they are applied.

    status → size → emptiness → content type → can it be parsed → what the page says

If cleaning processes parse the page anyway, it is only decoded here, unless it may be rejected for what parsing finds.

A page is rejected for what it says only if it has no content of its own: an article about CAPTCHAs, or one with a
CAPTCHA in its comment form, is an article. `notices.py` knows what missing pages and challenges say in many languages.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from lxml import etree
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.selector import Selector

from cleaning.blocks import ParseWarning
from cleaning.errors import PageError
from cleaning.parse import decode, parse
from crawler.errors import TimeLimitError
from crawler.fetching.notices import confirms, suspect_notice
from crawler.fetching.walls import confirm_wall, suspect_wall
from crawler.time_limit import time_limit
from crawler.urls import host_of, known_url
from crawler.visit import OUTCOME_BY_FAULT, Outcome, UnparsedPage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from lxml.html import HtmlElement
    from scrapy.http import Response

    from cleaning.blocks import Page
    from crawler.config import Config

RENDERED_FLAG = "rendered"
"""The flag of a response whose body and tree come from a browser."""

EMPTY_PAGE = "no element and no text"
"""Why a page is empty that has bytes."""

_REJECTED_FLAG = "refused/"

_OUTCOME_BY_STATUS = {
    304: Outcome.NOT_MODIFIED,
    401: Outcome.FORBIDDEN,
    403: Outcome.FORBIDDEN,
    404: Outcome.NOT_FOUND,
    410: Outcome.NOT_FOUND,
    429: Outcome.REFUSED,
    451: Outcome.FORBIDDEN,
    503: Outcome.REFUSED,
}
"""Outcomes by HTTP status; every other status outside 200 to 299 is HTTP_ERROR, and so is 206, a part of a page."""
# Statuses with which sites send a challenge.
_CHALLENGE_STATUSES = frozenset({401, 403, 429, 503})
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_VAGUE_TYPES = frozenset({"", "text/xml", "application/xml", "application/octet-stream"})
# Plain text and MHTML archives; parsing refuses other files that are sent as one of them.
_OTHER_PAGE_TYPES = frozenset({"text/plain", "multipart/related", "message/rfc822", "application/x-mimearchive"})

# Possessive: the start of a page is read once, however many comments it has.
_MARKUP_START = rb"\s*+(?:<\?xml[^>]{0,200}\?>\s*+)?+(?:(?><!--.{0,500}?-->)\s*+){0,5}+"
_HTML_START = re.compile(
    _MARKUP_START + rb"<(?:!doctype\s+html|html|head|body|title|meta|article|main|section|div|table|p|h1)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_START = re.compile(
    _MARKUP_START + rb"(?:<(?:rss|feed|urlset|sitemapindex|svg)[\s>]|[\[{]\s*[\"\[{])", re.IGNORECASE | re.DOTALL
)
_SNIFFED_BYTES = 1024
# Parsing refuses a page for its elements above this size, and for the attributes of a tag above this length.
_MAX_UNPARSED_BYTES = 1_000_000
_LONG_TAG_BYTES = 50_000
# The part of a page that is searched for hints and phrases; challenge and quota pages are small.
_SEARCHED_BYTES = 50_000
_SEARCHED_CHARS = 20_000
# A page with this many words in runs of prose has content. Known rejection pages have 10 to 60.
_CONTENT_WORDS = 120
_RUN_WORDS = 8
_MAX_WIDGETS = 10
# Input fields for a visitor; hidden fields and buttons also occur in challenges.
_ASKING_TYPES = frozenset({"text", "email", "password", "search", "url", "tel"})
_NOT_PROSE = frozenset(
    {"script", "style", "noscript", "template", "head", "a", "form", "nav", "footer", "header", "aside", "button"}
)
# In scripts without spaces each character counts as a word; a real word has about two.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a response is not a page: the outcome of its visit, and the detail that shows it.

    It travels from the downloader side to the spider side as a flag of the response.
    """

    outcome: Outcome
    detail: str

    def mark(self, response: Response) -> None:
        """Add the rejection to the response's flags, which Scrapy also logs."""
        response.flags.append(f"{_REJECTED_FLAG}{self.outcome}: {self.detail}")

    @classmethod
    def read(cls, response: Response) -> Self | None:
        """Return the rejection of a response, None if it was not rejected."""
        for flag in response.flags:
            if flag.startswith(_REJECTED_FLAG):
                outcome, _, detail = flag.removeprefix(_REJECTED_FLAG).partition(": ")
                return cls(Outcome(outcome), detail)
        return None


class ResponseRejected(IgnoreRequest):
    """The response is not a page; the request's errback receives this exception, which has the response."""

    def __init__(self, rejection: Rejection, response: Response) -> None:
        super().__init__(f"{rejection.outcome}: {rejection.detail}")
        self.response = response


@dataclass(frozen=True, slots=True)
class RejectionRule:
    """Rejects a page without content that has one of the elements, or one of the phrases in its text.

    The rule is only checked if one of the lower-case `hints` occurs in the raw bytes. Most pages have none, so they
    cost only this search.
    """

    outcome: Outcome
    hints: tuple[bytes, ...]
    elements: str | None = None
    phrases: tuple[str, ...] = ()


_REJECTION_RULES = (
    RejectionRule(
        Outcome.CAPTCHA,
        hints=(b"captcha", b"turnstile", b"cf-chl", b"cf_chl", b"challenge-form"),
        elements=(
            "//iframe[contains(@src, 'captcha') or contains(@src, 'challenges.cloudflare.com')]"
            "|//*[contains(@class, 'g-recaptcha') or contains(@class, 'h-captcha') or contains(@class, 'cf-turnstile')]"
            "|//*[@id='px-captcha' or @id='challenge-form' or @id='challenge-running' or @id='challenge-error-title']"
            "|//script[contains(., '_cf_chl_opt')]"
        ),
    ),
    RejectionRule(
        Outcome.QUOTA,
        hints=(b"excessive", b"daily connections"),
        phrases=("excessive amount", "maximum allowed daily connections"),
    ),
)


def filter_response(
    response: Response, config: Config, *, parse_later: bool = False, asked: str | None = None
) -> Rejection | Page | UnparsedPage:
    """Return the page of a response, or why it is not a page. The status is not considered.

    With `parse_later` most pages are not parsed. `asked` is the URL that was redirected to the response.
    """
    try:
        with time_limit(config.cleaning_seconds):
            return read_page(response, config.page_max_bytes, parse_later=parse_later, asked=asked)
    except TimeLimitError as error:
        return Rejection(Outcome.CLEANING_TIMEOUT, f"reading it: {error}")


def read_page(
    response: Response, max_bytes: int, *, parse_later: bool = False, asked: str | None = None
) -> Rejection | Page | UnparsedPage:
    """Return the page of a response, or why it is not a page, without a time limit; see `filter_response`."""
    declared = content_type(response)
    if rejection := reject_body(response.body, declared, max_bytes):
        return rejection
    if parse_later and not isinstance(response, PageResponse) and _is_plain(response.body):
        unparsed = _decode_page(response, declared)
        body = response.body
        if not (suspect_notice(body, unparsed.encoding) or suspect_wall(body, unparsed.url, asked)):
            return unparsed
    return _parse_page(response, declared, max_bytes, asked)


def reject_status(status: int, body: bytes) -> Rejection | None:
    """Return the rejection of a response by its status, None for 200 to 299 except 206."""
    if 200 <= status < 300 and status != HTTPStatus.PARTIAL_CONTENT:  # noqa: PLR2004 — the range of success
        return None
    if status in _CHALLENGE_STATUSES and _has_challenge(body):
        return Rejection(Outcome.CAPTCHA, f"HTTP status {status} with a challenge")
    return Rejection(_OUTCOME_BY_STATUS.get(status, Outcome.HTTP_ERROR), f"HTTP status {status}")


def reject_body(body: bytes, content_type: str | None, max_bytes: int) -> Rejection | None:
    """Return the rejection of a body before it is parsed, None if it may be HTML."""
    if len(body) > max_bytes:
        return Rejection(Outcome.TOO_LARGE, f"{len(body)} bytes, more than PAGE_MAX_BYTES={max_bytes}")
    if not body[:_SNIFFED_BYTES].strip() and not body.strip():
        return Rejection(Outcome.EMPTY, "no body")
    declared = (content_type or "").partition(";")[0].strip().lower()
    start = body[:_SNIFFED_BYTES].replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")
    if declared in _HTML_TYPES:
        return Rejection(Outcome.NOT_HTML, "neither HTML nor XHTML") if _OTHER_START.match(start) else None
    if declared in _OTHER_PAGE_TYPES or (declared in _VAGUE_TYPES and _HTML_START.match(start)):
        return None
    return Rejection(Outcome.NOT_HTML, f"Content-Type {declared or 'missing'}")


def reject_page(page: Page, body: bytes, asked: str | None = None) -> Rejection | None:
    """Return the rejection of a page by its own words, None for a page with content.

    A wall may have the words of its terms: what it has not is other content.
    """
    suspected = _suspect(body)
    notice = suspect_notice(body, page.encoding or "utf-8")
    if suspect_wall(body, page.url, asked) and (shown := confirm_wall(page, asked)):
        return Rejection(Outcome.WALL, shown)
    if notice is not None and notice.outcome is Outcome.WALL:
        return Rejection(Outcome.WALL, f"the page says {notice.text!r}") if confirms(notice, page, 0) else None
    if not (suspected or notice) or has_content(page.root):
        return None
    evidence = ((rule.outcome, _evidence(rule, page.root)) for rule in suspected)
    rejection = next((Rejection(outcome, detail) for outcome, detail in evidence if detail), None)
    if rejection is None and notice is not None and confirms(notice, page, _count_words(page.root)):
        return Rejection(notice.outcome, f"the page says {notice.text!r}")
    return rejection


def _count_words(root: HtmlElement) -> int:
    return sum(len(_WORD.findall(text)) for text in _prose(root))


def has_content(root: HtmlElement) -> bool:
    """Return True if a page has an article: a container that the site marks as such, or enough words of prose."""
    needed = _RUN_WORDS if root.find(".//*[@id='article-content']") is not None else _CONTENT_WORDS
    words = 0
    for text in _prose(root):
        count = len(_WORD.findall(text))
        words += count if count >= _RUN_WORDS else 0
        if words >= needed:
            return True
    return False


class PageResponse(HtmlResponse):
    """An HtmlResponse that carries its page, parsed at most once; its selectors read the same tree.

    `encoding` is the one in which the page was decoded.
    """

    __slots__ = ("_base", "_source")

    def __init__(self, *args: Any, source: Page | UnparsedPage | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._source = source
        self._base: str | None = None

    @classmethod
    def of(cls, response: Response, source: Page | UnparsedPage) -> PageResponse:
        """Return the response with its page."""
        return response.replace(cls=cls, encoding=source.encoding, source=source)

    @property
    def source(self) -> Page | UnparsedPage:
        """The page, parsed or not yet. Raises PageError if a replaced body cannot be parsed."""
        if self._source is None:
            self._source = parse(self.body, known_url(self.url), self._encoding or content_type(self))
        return self._source

    @property
    def tree(self) -> Page:
        """The parsed page; never edit it. Raises PageError if a replaced body cannot be parsed."""
        source = self.source
        return source.tree if isinstance(source, UnparsedPage) else source

    @property
    def selector(self) -> Selector:
        if self._cached_selector is None:
            # Selector(response) would parse the text again, so it gets the tree, and the response afterwards.
            self._cached_selector = Selector(root=self.tree.root, type="html")
            self._cached_selector.response = self
        return self._cached_selector

    def urljoin(self, url: str) -> str:
        """Return a link of this page as an absolute URL."""
        if self._base is None:
            self._base = self._base_url()  # cached: it is needed for each link of a page
        return urljoin(self._base, url)

    def _base_url(self) -> str:
        base = self.tree.root.find(".//base[@href]")
        if base is None:
            return self.url
        try:
            url = urljoin(self.url, str(base.get("href")).strip())
        except ValueError:
            return self.url
        return url if host_of(url) else self.url  # browsers ignore a base that is no URL

    def replace(self, *args: Any, cls: type[Any] | None = None, **kwargs: Any) -> Any:
        """Return a copy with these changes; it keeps the tree unless body or encoding change."""
        source = self._source if kwargs.keys().isdisjoint({"body", "encoding"}) else None
        if source is not None and issubclass(cls or type(self), PageResponse):
            url = known_url(kwargs.get("url", self.url))
            moved = source.at(url) if isinstance(source, UnparsedPage) else dataclasses.replace(source, url=url)
            kwargs.setdefault("source", moved)
        return super().replace(*args, cls=cls, **kwargs)


def content_type(response: Response) -> str | None:
    """Return the value of the Content-Type header, None if it is missing."""
    value = response.headers.get("Content-Type")
    return value.decode("latin-1") if value else None


def _is_plain(body: bytes) -> bool:
    """Return True if the bytes of a page show that parsing cannot reject it."""
    return (
        len(body) <= _MAX_UNPARSED_BYTES
        and body[:_SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
        and 0 not in body
        and not _has_long_tag(body)
        and not _suspect(body)
    )


def _has_long_tag(body: bytes) -> bool:
    """Return True if a stretch of the bytes, as long as a tag that parsing may refuse, has no end of a tag."""
    start = 0
    while start + _LONG_TAG_BYTES < len(body):
        end = body.rfind(b">", start, start + _LONG_TAG_BYTES)
        if end < 0:
            return True
        start = end + 1
    return False


def _suspect(body: bytes) -> list[RejectionRule]:
    """Return the rules that may reject a page by its own words."""
    prefix = body[:_SEARCHED_BYTES].lower()
    return [rule for rule in _REJECTION_RULES if any(hint in prefix for hint in rule.hints)]


def _decode_page(response: Response, declared: str | None) -> UnparsedPage:
    url = known_url(response.url)
    decoded = decode(response.body, declared, url)
    return UnparsedPage(response.body, url, declared, decoded.encoding, decoded.parse_warnings)


def _parse_page(response: Response, declared: str | None, max_bytes: int, asked: str | None) -> Rejection | Page:
    try:
        known = response.tree if isinstance(response, PageResponse) else None
        page = known or parse(response.body, known_url(response.url), declared, max_bytes=max_bytes)
    except PageError as error:
        return Rejection(OUTCOME_BY_FAULT[error.cause], str(error))
    if ParseWarning.EMPTY in page.parse_warnings:
        return Rejection(Outcome.EMPTY, EMPTY_PAGE)
    return reject_page(page, response.body, asked) or page


def _evidence(rule: RejectionRule, root: HtmlElement) -> str | None:
    """Return what on the page matches a rule, as text for the log; None if nothing does."""
    if rule.elements and any(not _belongs_to_form(widget) for widget in root.xpath(rule.elements)[:_MAX_WIDGETS]):
        return "a challenge and no content"
    if not rule.phrases:
        return None
    text = " ".join(" ".join(_prose(root))[:_SEARCHED_CHARS].lower().split())
    return next((f"the page says {phrase!r}" for phrase in rule.phrases if phrase in text), None)


def _belongs_to_form(widget: HtmlElement) -> bool:
    """Return True if a CAPTCHA protects a form of the page (comments, log-in), not the page itself."""
    form = next(widget.iterancestors("form"), None)
    if form is None:
        return False
    for field in form.iter("input", "textarea", "select"):
        of_captcha = "captcha" in (field.get("name") or "") + (field.get("class") or "")
        if not of_captcha and (field.tag != "input" or field.get("type", "text").lower() in _ASKING_TYPES):
            return True
    return False


def _has_challenge(body: bytes) -> bool:
    prefix = body[:_SEARCHED_BYTES].lower()
    return any(hint in prefix for rule in _REJECTION_RULES if rule.outcome is Outcome.CAPTCHA for hint in rule.hints)


def _prose(root: HtmlElement) -> Iterator[str]:
    """Yield the runs of visible text outside links, forms, navigation, header and footer, in reading order."""
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            if element.tail and element is not root:
                yield element.tail
        elif element.tag in _NOT_PROSE:
            walk.skip_subtree()
        elif element.text:
            yield element.text
