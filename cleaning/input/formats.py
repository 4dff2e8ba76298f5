"""The format of a body: HTML, plain text and MHTML are pages; feeds, XML, JSON and binary files are not.

The bytes decide. Servers and file names say `text/html` of everything, and a page's copy in an archive says nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from email import message_from_bytes
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.errors import PageError, PageFault

if TYPE_CHECKING:
    from email.message import Message

_SNIFFED_BYTES = 1024
# Documents, images, sound, films, archives, fonts and programs that servers send as text/html.
_BINARY_STARTS = (
    b"%PDF",
    b"%!PS",
    b"{\\rtf",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"II*\x00",
    b"MM\x00*",
    b"RIFF",
    b"OggS",
    b"ID3",
    b"\x1aE\xdf\xa3",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"7z\xbc\xaf\x27\x1c",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"Rar!",
    b"wOF",
    b"\x7fELF",
    b"SQLite format 3",
)
_FILM_MARK = b"ftyp"  # at the fifth byte of MP4, AVIF and HEIC
_PDF_MARK = b"%PDF-"  # readers of PDF accept it anywhere in the first kilobyte
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_MAX_NUL_SHARE = 0.1
# Of the first bytes. Text has none of these control characters; of random bytes they are a tenth.
_CONTROLS = bytes({*range(1, 9), *range(14, 27), *range(28, 32), 127})
_MAX_CONTROL_SHARE = 0.04
_MIN_CONTROLS = 3

_SPACE = rb"[\s\x00\xef\xbb\xbf]*+"
# Possessive: the start of a page is read once, however many comments it has.
_PROLOGUE = re.compile(
    rb"[\s\x00\xef\xbb\xbf]*+(?:(?:<\?[^>]{0,2000}>|(?><!--.{0,2000}?-->)|<!doctype[^>\[]{0,500}>)\s*+){0,20}+",
    re.IGNORECASE | re.DOTALL,
)
_XML_DECLARATION = re.compile(_SPACE + rb"<\?xml\s", re.IGNORECASE)
_HTML_DOCTYPE = re.compile(rb"<!doctype\s+html", re.IGNORECASE)
_ROOT = re.compile(rb"<(?:[a-z][\w.-]*+:)?([a-z][\w.-]*+)(?=[\s>/])", re.IGNORECASE)
_FEED_START = re.compile(
    rb"<(?:rss\s[^>]{0,2000}?version\s*=|rdf:rdf\s|(?:\w+:)?feed\s[^>]{0,2000}?xmlns)", re.IGNORECASE
)
_XML_START = re.compile(
    rb"<(?:(?:urlset|sitemapindex|opml|kml|gpx|wsdl:definitions|soap:envelope)[\s>]|svg\s[^>]{0,2000}?xmlns)",
    re.IGNORECASE,
)
_SVG = re.compile(rb"<svg\s", re.IGNORECASE)
_SVG_END = b"</svg>"
_FEED_ROOTS = frozenset({b"rss", b"rdf", b"feed"})
# The first tags of pages with an XML declaration.
_HTML_ROOTS = frozenset(
    b"html head body title meta link base style script div p main article section header footer nav aside table tr td "
    b"center font form h1 h2 h3 span a b i br hr ul ol li dl pre blockquote img iframe noscript frameset".split()
)
_JSON_START = re.compile(_SPACE + rb"(?:\)\]\}',?\s*)?(?=[\[{])")
_JSON_BEGINS = re.compile(r"\{\s*(?:\}|\"[^\"\\]{0,200}\"\s*:)|\[\s*[\[{\"]")

_MIME_START = re.compile(rb"\s*+(?:[\w-]{1,60}:[^\r\n]{0,2000}\r?\n(?:[ \t][^\r\n]{0,2000}\r?\n){0,50}+){1,100}+\r?\n")
_MIME_TYPE = re.compile(rb"^content-type:\s*(?:multipart/|text/html|text/plain)", re.IGNORECASE | re.MULTILINE)
_MIME_MARK = re.compile(rb"^(?:mime-version|content-transfer-encoding):", re.IGNORECASE | re.MULTILINE)
_HEAD_BYTES = 20_000
# The time of the standard library's parser grows with the levels of nesting.
_MAX_MULTIPARTS = 20
_MAX_PARTS = 1_000

_MARKUP = re.compile(rb"<(?:[a-z][\w:.-]*+(?:\s[^<>]*+)?/?>|/[a-z]|[!?])", re.IGNORECASE)
_OPEN_TAG = re.compile(rb"<(?:!|\?|/?[a-z][\w:-]*+(?:\s|/?>|$))", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"\n[ \t\r\f\v]*\n\s*")
# A longer line is a paragraph: lines that are wrapped by hand are shorter.
_MAX_WRAPPED_CHARS = 120
_ITEM_LINE = re.compile(r"\s*(?:[-*\u2022]|\d{1,3}[.)])\s")


@dataclass(frozen=True, slots=True)
class MhtmlPage:
    """The page in an MHTML archive: its bytes, and the encoding and the address that the archive states."""

    body: bytes
    encoding: str | None = None
    url: str | None = None


def refuse_binary(body: bytes, encoding: str | None = None, *, decoded: bool = False) -> None:
    """Raise PageError for a body that is not a text.

    `encoding` is the one that is declared for it: the NUL bytes of UTF-16 are not a sign of a binary file. Neither are
    the control characters of a text that was `decoded` before.
    """
    start = body[:_SNIFFED_BYTES]
    is_text = decoded or "utf-16" in (encoding or "").lower() or start.startswith(_UTF_16_MARKS)
    if _has_binary_start(start) or not (is_text or _may_be_text(start)):
        raise PageError(PageFault.BINARY, f"the page starts with {body[:8]!r}: not a text format")


def refuse_data(body: bytes) -> None:
    """Raise PageError for a text that is not a page, but a feed, XML or JSON. The body is in UTF-8."""
    _refuse_xml(body)
    if (start := _JSON_START.match(body)) and _is_json(body[start.end() :]):
        raise PageError(PageFault.JSON, f"the page starts with {_shown(body)}: JSON data, not a page")


def read_mhtml(body: bytes, *, decoded: bool = False) -> MhtmlPage | None:
    """Return the page in an MHTML archive; None for any other body.

    `decoded`: the body is text that was decoded before, in UTF-8. Raises PageError for an archive without a page.
    """
    head = _MIME_START.match(body[:_HEAD_BYTES])
    if head is None or not _MIME_TYPE.search(head[0]) or not _MIME_MARK.search(head[0]):
        return None
    if (count := body.lower().count(b"multipart/")) > _MAX_MULTIPARTS:
        raise PageError(PageFault.TOO_LARGE, f"the MHTML archive nests {count} archives, more than {_MAX_MULTIPARTS}")
    try:
        archive = message_from_bytes(body.lstrip())
        parts = list(islice(archive.walk(), _MAX_PARTS))
    except (ValueError, RecursionError, LookupError) as error:
        raise PageError(PageFault.BINARY, f"the MHTML archive is broken: {error}") from error
    part = _main_part(archive, parts)
    if part is None:
        raise PageError(PageFault.BINARY, "the MHTML archive has no part that is HTML or plain text")
    payload = part.get_payload(decode=True)
    transfer = str(part.get("Content-Transfer-Encoding") or "").strip().lower()
    was_decoded = decoded and transfer not in {"base64", "quoted-printable"}
    charset = "utf-8" if was_decoded else part.get_content_charset()
    return MhtmlPage(payload if isinstance(payload, bytes) else b"", charset, _location(part) or _location(archive))


def read_plain_text(body: bytes) -> bytes | None:
    """Return text without any markup as HTML, a paragraph for each of its own; None for a body with markup.

    The body is in UTF-8. Paragraphs end at empty lines, items at their lines, and a long line is a paragraph.
    """
    if _OPEN_TAG.search(body[:_SNIFFED_BYTES]) or _MARKUP.search(body):
        return None
    text = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text or ("\n" not in text and "<" not in text):
        return None  # the parser makes one paragraph of it
    paragraphs = [line for part in _PARAGRAPH_END.split(text) for line in _paragraphs_of(part)]
    escaped = (paragraph.replace("<", "&lt;").replace(">", "&gt;") for paragraph in paragraphs)
    return "".join([f"<p>{paragraph}</p>\n" for paragraph in escaped]).encode()


def _paragraphs_of(part: str) -> list[str]:
    lines = [line for line in part.split("\n") if line.strip()]
    if any(len(line) > _MAX_WRAPPED_CHARS for line in lines):
        return lines
    paragraphs: list[str] = []
    for line in lines:
        if paragraphs and not _ITEM_LINE.match(line):
            paragraphs[-1] += f"\n{line}"
        else:
            paragraphs.append(line)
    return paragraphs


def _has_binary_start(start: bytes) -> bool:
    return start.startswith(_BINARY_STARTS) or start[4:8] == _FILM_MARK or _PDF_MARK in start


def _may_be_text(start: bytes) -> bool:
    controls = len(start) - len(start.translate(None, _CONTROLS))
    many_controls = controls >= _MIN_CONTROLS and controls > _MAX_CONTROL_SHARE * len(start)
    return not many_controls and start.count(0) <= _MAX_NUL_SHARE * len(start)


def _refuse_xml(body: bytes) -> None:
    start = body[: 3 * _SNIFFED_BYTES]
    prologue = _PROLOGUE.match(start)
    after = prologue.end() if prologue else 0
    if _HTML_DOCTYPE.search(start[:after]):
        return
    if _FEED_START.match(start, after):
        raise PageError(PageFault.FEED, f"the page starts with {_shown(start[after:])}: a feed, not a page")
    root = _ROOT.match(start, after)
    is_xml = _XML_DECLARATION.match(start) and root is not None and root[1].lower() not in _HTML_ROOTS
    if is_xml and root is not None and root[1].lower() in _FEED_ROOTS:
        raise PageError(PageFault.FEED, f"the page starts with {_shown(start[after:])}: a feed, not a page")
    # An image at the start of a fragment is part of a page.
    if _SVG.match(start, after) and not body.rstrip().endswith(_SVG_END):
        return
    if is_xml or _XML_START.match(start, after):
        raise PageError(PageFault.XML, f"the page starts with {_shown(start[after:])}: XML data, not a page")


def _is_json(body: bytes) -> bool:
    """Return True for a JSON document, several of them in a row, and one that was cut off."""
    text = body.decode("utf-8", "replace").rstrip()
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(text)
    except RecursionError:
        return True
    except ValueError:
        return _JSON_BEGINS.match(text) is not None and not _MARKUP.search(body[:_SNIFFED_BYTES])
    rest = text[end:].lstrip(" \t\r\n;,")
    return not rest or rest.startswith(("{", "["))


def _main_part(archive: Message, parts: list[Message]) -> Message | None:
    """Return the part that the archive names as its start, else its first HTML, else its first plain text."""
    pages = [part for part in parts if part.get_content_type() in {"text/html", "application/xhtml+xml"}]
    start = archive.get_param("start")
    named = [part for part in pages if start and part.get("Content-ID") == start]
    texts = [part for part in parts if part.get_content_type() == "text/plain" and part is not archive]
    alone = [archive] if not archive.is_multipart() else []
    return next(iter([*named, *pages, *texts, *alone]), None)


def _location(part: Message) -> str | None:
    address = str(part.get("Content-Location") or part.get("Snapshot-Content-Location") or "").strip()
    return address if address.lower().startswith(("http://", "https://")) else None


def _shown(body: bytes) -> str:
    return repr(body[:40].decode("utf-8", "replace").strip())
