"""From bytes to a tree: the encoding as browsers choose it, and bounds for hostile pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import w3lib.encoding
from lxml import etree, html

from cleaning._native import load_compiled
from cleaning.blocks import Page, ParseWarning
from cleaning.errors import PageError, PageFault
from cleaning.input.formats import read_mhtml, read_plain_text, refuse_binary, refuse_data
from cleaning.input.shown import show_as_browser

if TYPE_CHECKING:
    from collections.abc import Mapping

_SNIFFED_BYTES = 1024
# The encodings of the Encoding Standard under Python's names; a page must not choose `hex`, `zlib` or `unicode_escape`.
_CHARSET = re.compile(
    r"utf-8|utf-16(?:-[bl]e)?|cp(?:125\d|866|874|932|949)|iso8859-\d+|koi8-[ru]|mac-(?:roman|cyrillic)"
    r"|big5hkscs|gb18030|euc_jp|iso2022_jp"
)
# The bytes contradict a declared encoding if more than this share of those above 127 do not decode in it.
_MAX_BAD_SHARE = 0.05
# Bytes that are not valid UTF-8 are read as UTF-8 if they have at least this many of its characters for each broken
# place. Text in an older encoding has more broken places than characters of UTF-8 by chance. The second number is for
# pages that declare another encoding.
_MIN_UTF_8_CHARACTERS = 2
_MIN_CONTRADICTING_CHARACTERS = 4
# Detection reads the text of this many bytes, at most, and shortens it to _DETECTED_BYTES.
_SEARCHED_BYTES = 1_000_000
_DETECTED_BYTES = 16_384
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
# A long stretch of ASCII is mostly markup. Its ends stay: they may belong to characters of two bytes.
_LONG_ASCII = re.compile(rb"([\x00-\x7f]{24})[\x00-\x7f]+(?=[\x00-\x7f]{24})")
# A few accented letters fit any code page, and windows-1252 is the most frequent one. On parts of real pages with 8
# letters, the detector is right for 98 % of those in windows-1252 and 80 % of the others; with 16, for 99 % and 90 %.
_MIN_DETECTED_LETTERS = 8
_MIN_CERTAIN_LETTERS = 16
_DEFAULT_ENCODING = "cp1252"
_JAPANESE_ESCAPE = re.compile(rb"\x1b\$[@B]")
_TWO_BYTES = frozenset(["big5hkscs", "cp932", "cp949", "euc_jp", "gb18030"])
# Few letters tell these encodings apart.
_LATIN = frozenset(["cp1250", "cp1252", "cp1254", "cp1257", "cp1258", "iso8859-2", "iso8859-4", "iso8859-13"])
_LANGUAGE = re.compile(rb"<html[^>]{0,500}?\slang\s*=\s*[\"']?([a-z]{2})(-\w+)?", re.IGNORECASE)
# The country domains by which the detector knows the languages that have an older encoding other than windows-1252.
_DOMAINS = {
    **{code: code for code in ("bg", "hr", "hu", "lt", "lv", "mk", "pl", "ro", "ru", "sk", "th", "tr")},
    "ar": "eg",
    "be": "by",
    "bs": "ba",
    "cs": "cz",
    "el": "gr",
    "et": "ee",
    "fa": "ir",
    "he": "il",
    "iw": "il",
    "ja": "jp",
    "ko": "kr",
    "sl": "si",
    "sr": "rs",
    "uk": "ua",
    "vi": "vn",
    "zh-cn": "cn",
    "zh-hans": "cn",
    "zh-sg": "cn",
    "zh-hant": "tw",
    "zh-hk": "hk",
    "zh-mo": "mo",
    "zh-tw": "tw",
}
# libxml2 stops reading at `</html>` and moves the rest after `</body>` outside; browsers read on.
_FIRST_END = re.compile(rb"</(?:body|html|BODY|HTML)")
_NAMED_ANCHOR = re.compile(rb"<[aA]\s+(?:name|NAME|id|ID)\s*=")
_END_TAG = re.compile(rb"</(?:body|html)\s*>", re.IGNORECASE)
# libxml2 takes quadratic time in a tag's attributes: a tenth of a second for this number. Of several tags, the squares
# of the numbers are added.
_MAX_ATTRIBUTES = 10_000
# A shorter page has too few attributes to matter: each takes at least three bytes, or has the name of another.
_FEW_ATTRIBUTES_BYTES = 3 * _MAX_ATTRIBUTES
# The tags that may be in a head; any other tag closes it, by the HTML standard.
_IN_HEAD = frozenset("base basefont bgsound link meta noframes noscript script style template title".split())
_SHADOW_ROOT_MODES = frozenset({"open", "closed"})
# Characters that pages may contain and XML does not; lxml reads them but refuses to write them.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Half a million table cells take 160 MB; each takes at least three bytes.
_MAX_ELEMENTS = 500_000
_FEW_ELEMENTS_BYTES = 3 * _MAX_ELEMENTS


@dataclass(frozen=True, slots=True)
class _Decoded:
    utf_8: bytes
    encoding: str
    parse_warnings: tuple[ParseWarning, ...]

    @property
    def text(self) -> str:
        return self.utf_8.decode("utf-8")


def parse(
    source: bytes | str | html.HtmlElement,
    url: str | None = None,
    encoding: str | None = None,
    *,
    max_bytes: int = 10_000_000,
) -> Page:
    """Return the page as a tree; a ready-made tree is wrapped as it is.

    `encoding` is the encoding that the HTTP header declares: a label or the whole Content-Type value. An empty page
    gives an empty tree with the warning EMPTY. Of an MHTML archive, its page is read, and text without markup as its
    paragraphs.

    Raises PageError for a body that is not a page (binary, a feed, XML, JSON) and for one above `max_bytes`, and
    TypeError for a value of another type.
    """
    if url is not None and not isinstance(url, str):
        raise TypeError(f"the url is {url!r}, a {type(url).__name__}; it must be str or None")
    if isinstance(source, html.HtmlElement):
        return Page(source, url)
    if not isinstance(source, bytes | str):
        raise TypeError(f"the page is a {type(source).__name__}; it must be bytes, str, a tree of lxml.html or a Page")
    if len(source) > max_bytes:
        raise PageError(PageFault.TOO_LARGE, f"the page has {len(source)} bytes, more than max_bytes={max_bytes}")
    body = source if isinstance(source, bytes) else source.encode("utf-8", "replace")
    refuse_binary(body, encoding, decoded=isinstance(source, str))
    if (saved := read_mhtml(body, decoded=isinstance(source, str))) is not None:
        source, url, encoding = saved.body, url or saved.url, saved.encoding
        refuse_binary(source, encoding)
    if isinstance(source, str):
        return _build(_as_html(body), url, None, ())
    decoded = decode(source, encoding, url)
    return _build(_as_html(decoded.utf_8), url, decoded.encoding, decoded.parse_warnings)


def _as_html(utf_8: bytes) -> bytes:
    refuse_data(utf_8)
    html_of_text = read_plain_text(utf_8)
    return utf_8 if html_of_text is None else html_of_text


def decode(body: bytes, declared: str | None = None, url: str | None = None) -> _Decoded:
    """Return the text of a page's bytes and the encoding that it was read in.

    The order is that of browsers: byte order mark, HTTP header, meta, then detection, which may look at the country
    domain of `url`. A declaration that the bytes contradict is skipped and gives a warning, and so does an encoding
    that was detected but is in doubt. Single undecodable bytes become U+FFFD.
    """
    mark, mark_bytes = w3lib.encoding.read_bom(body)
    if mark is not None and mark_bytes is not None:
        unmarked = body[len(mark_bytes) :]
        return _finish(unmarked, unmarked.decode(mark, "replace"), mark, ())
    declarations = list(filter(None, [read_label(declared), _meta_encoding(body)]))
    parse_warnings: tuple[ParseWarning, ...] = ()
    undeclared = "iso2022_jp" if body.isascii() and _JAPANESE_ESCAPE.search(body) else "utf-8"
    for encoding in (*declarations, undeclared):
        if encoding == "utf-8" and (replaced := _has_replacement(body)) is not None:
            return _Decoded(body, encoding, _with_undecodable(parse_warnings, replaced))
        text = _text_in(body, encoding)
        if text is not None:
            return _finish(body, text, encoding, parse_warnings)
        parse_warnings = (ParseWarning.CHARSET_CONTRADICTED,) if declarations else ()
    encoding, in_doubt = _detect(body, url)
    if in_doubt:
        parse_warnings = (*parse_warnings, ParseWarning.CHARSET_IN_DOUBT)
    return _finish(body, body.decode(encoding, "replace"), encoding, parse_warnings)


def read_label(declared: str | None) -> str | None:
    """Return the encoding of a label or a Content-Type value; None if it names no encoding that browsers know."""
    if declared is None:
        return None
    label = w3lib.encoding.http_content_type_encoding(declared)
    return _charset(label or w3lib.encoding.resolve_encoding(declared))


def _meta_encoding(body: bytes) -> str | None:
    """Return the declared encoding; UTF-16 in a readable meta tag means UTF-8, as in the HTML standard."""
    encoding = _charset(w3lib.encoding.html_body_declared_encoding(body))
    return "utf-8" if encoding and encoding.startswith("utf-16") else encoding


def _charset(name: str | None) -> str | None:
    return name if name and _CHARSET.fullmatch(name) else None


def _text_in(body: bytes, encoding: str) -> str | None:
    """Return the text; None if the bytes contradict the encoding."""
    if encoding.startswith("utf-16"):
        return body.decode(encoding, "replace") if 0 in body[:_SNIFFED_BYTES] else None
    if encoding == "utf-8":
        return body.decode(encoding, "replace") if _is_mostly_utf_8(body, _MIN_UTF_8_CHARACTERS) else None
    # Text in an older encoding is never valid UTF-8 by chance, but UTF-8 decodes as nonsense in many of them.
    if not body.isascii() and (
        _has_replacement(body) is not None or _is_mostly_utf_8(body, _MIN_CONTRADICTING_CHARACTERS)
    ):
        return None
    try:
        return body.decode(encoding)
    except UnicodeDecodeError:
        text = body.decode(encoding, "replace")
        return None if text.count("\ufffd") > _MAX_BAD_SHARE * _count_high_bytes(body) else text


def _has_replacement(body: bytes) -> bool | None:
    """Return True if U+FFFD is in this UTF-8; None for bytes that are not valid UTF-8."""
    if (compiled := load_compiled("tags")) is not None:
        replaced: bool | None = compiled.has_replacement(body)
        return replaced
    try:
        return "\ufffd" in body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _is_mostly_utf_8(body: bytes, min_characters: int) -> bool:
    """Return True if the bytes have this many characters beyond ASCII in UTF-8 for each place that is not UTF-8."""
    text = body.decode("utf-8", "replace")
    replaced = text.count("\ufffd")
    broken = replaced - body.count(b"\xef\xbf\xbd")
    characters = len(text) - replaced - (len(body) - _count_high_bytes(body))
    return characters >= min_characters * broken


def _count_high_bytes(body: bytes) -> int:
    return len(body) - len(body.translate(None, bytes(range(128, 256))))


def _detect(body: bytes, url: str | None) -> tuple[str, bool]:
    """Return the most likely encoding of the Encoding Standard, and whether it is in doubt."""
    sample = _sample(body)
    letters = _count_letters(sample)
    if letters == 0:
        return _DEFAULT_ENCODING, False  # quotation marks, dashes and signs
    guess = _guess(sample)
    in_doubt = letters < _MIN_CERTAIN_LETTERS or _halves_differ(sample, guess)
    if (in_doubt or guess in _LATIN) and (domain := _domain(body, url)):
        hinted = _guess(sample, domain)
        if in_doubt or hinted in _LATIN:
            return hinted, in_doubt or not _same_text(sample, guess, hinted)
    if letters < _MIN_DETECTED_LETTERS and guess not in _TWO_BYTES:
        return _DEFAULT_ENCODING, True
    return guess, in_doubt


def _sample(body: bytes) -> bytes:
    first = _NOT_ASCII.search(body)
    start = max(0, first.start() - 24) if first else 0
    return _LONG_ASCII.sub(rb"\1\n", body[start : start + _SEARCHED_BYTES])[:_DETECTED_BYTES]


def _count_letters(sample: bytes) -> int:
    """Return the number of bytes beyond ASCII that are letters in windows-1252. Most letters of other encodings are."""
    return sum(map(str.isalpha, sample.translate(None, bytes(range(128))).decode(_DEFAULT_ENCODING, "replace")))


def _guess(sample: bytes, domain: str | None = None) -> str:
    from chardetng_py import EncodingDetector  # noqa: PLC0415 — few pages need it

    detector = EncodingDetector()
    detector.feed(sample, last=False)  # a sample may end within a character
    label = detector.guess(tld=domain.encode() if domain else None, allow_utf8=False)
    return read_label(label) or _DEFAULT_ENCODING


def _halves_differ(sample: bytes, guess: str) -> bool:
    """Return True if one half of the sample, taken alone, would be read as another text."""
    # A line feed is never part of another character.
    middle = max(sample.find(b"\n", len(sample) // 2), sample.rfind(b"\n", 0, len(sample) // 2)) + 1
    halves = (sample[:middle], sample[middle:]) if middle else ()
    return not all(_same_text(half, guess, _guess(half)) for half in halves if not half.isascii())


def _same_text(sample: bytes, encoding: str, other: str) -> bool:
    return encoding == other or sample.decode(encoding, "replace") == sample.decode(other, "replace")


def _domain(body: bytes, url: str | None) -> str | None:
    """Return the country domain of the page's language; of its host, if it states no language."""
    if stated := _LANGUAGE.search(body[:_SNIFFED_BYTES]):
        language = stated[1].decode().lower()
        variety = (stated[2] or b"").decode("ascii", "replace").lower()
        return _DOMAINS.get(language + variety) or _DOMAINS.get(language)
    try:
        top = (urlsplit(url or "").hostname or "").rpartition(".")[2]
    except ValueError:  # an invalid URL
        return None
    return top if top in _DOMAINS.values() else None


def _finish(body: bytes, text: str, encoding: str, parse_warnings: tuple[ParseWarning, ...]) -> _Decoded:
    replaced = "\ufffd" in text
    utf_8 = body if encoding == "utf-8" and not replaced else text.encode("utf-8")
    return _Decoded(utf_8, encoding, _with_undecodable(parse_warnings, replaced))


def _with_undecodable(parse_warnings: tuple[ParseWarning, ...], replaced: bool) -> tuple[ParseWarning, ...]:
    return (*parse_warnings, ParseWarning.UNDECODABLE_BYTES) if replaced else parse_warnings


def _build(utf_8: bytes, url: str | None, encoding: str | None, parse_warnings: tuple[ParseWarning, ...]) -> Page:
    whole = utf_8.replace(b"\x00", b"")
    scan = _scan_tags(whole)
    _refuse_many_tags(whole, scan)
    body = _without_end(whole, scan.end).strip()
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True)
    # This look-up is in C: lxml.html's own, in Python, dominates the time of reaching an element.
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=html.HtmlElement))
    root = _read(body, parser)
    if root is None:
        return Page(_read(b"<html></html>", parser), url, encoding, (*parse_warnings, ParseWarning.EMPTY))
    _close_head(root)
    if scan.has_templates and b"shadowroot" in body:
        _open_shadow_roots(root)
    show_as_browser(root, has_templates=scan.has_templates, has_anchors=_NAMED_ANCHOR.search(body) is not None)
    # libxml2 stops at 2,048 levels without an error; deeper content is lost.
    last = parser.error_log.last_error
    if last is not None and "Excessive depth" in last.message:
        return Page(root, url, encoding, (*parse_warnings, ParseWarning.DEEP_NESTING))
    return Page(root, url, encoding, parse_warnings)


class _TagScan(NamedTuple):
    """What the bytes of a page say about its tags.

    `squares` is a bound of the sum of the squares of the tags' numbers of attributes; None if it is not known. `end` is
    the place of the first end tag of the body or the page; -1 if there is none. `has_templates` is False for a page
    that surely has no template.
    """

    squares: int | None
    end: int
    has_templates: bool


def _scan_tags(body: bytes) -> _TagScan:
    if (compiled := load_compiled("tags")) is not None:
        return _TagScan(*compiled.scan_tags(body))
    first = _FIRST_END.search(body)
    return _TagScan(None, first.start() if first else -1, has_templates=True)


def _refuse_many_tags(body: bytes, scan: _TagScan) -> None:
    """Raise PageError for a page with too many elements or attributes: its tree would take much memory or long.

    The parser itself counts them, without building a tree. The bytes and the compiled core show that few pages need
    that.
    """
    squares_known = scan.squares is not None and scan.squares <= _MAX_ATTRIBUTES**2
    has_few_attributes = squares_known or len(body) <= _FEW_ATTRIBUTES_BYTES
    has_few_elements = len(body) <= _FEW_ELEMENTS_BYTES or body.count(b"<") - body.count(b"</") <= _MAX_ELEMENTS
    if not (has_few_attributes and has_few_elements):
        _read(body, html.HTMLParser(encoding="utf-8", huge_tree=True, target=_TagCounter()))


class _TagCounter:
    """The target of a parser that builds no tree. Raises PageError at the first tag that is too much."""

    def __init__(self) -> None:
        self.squares = self._elements = 0

    def start(self, _tag: str, attributes: Mapping[str, str]) -> None:
        self._elements += 1
        self.squares += len(attributes) ** 2
        if self._elements > _MAX_ELEMENTS:
            raise PageError(PageFault.TOO_LARGE, f"the page has more than {_MAX_ELEMENTS} elements")
        if self.squares > _MAX_ATTRIBUTES**2:
            raise PageError(
                PageFault.TOO_LARGE,
                f"the attributes of the page's tags take longer than one tag of {_MAX_ATTRIBUTES} attributes",
            )

    def close(self) -> None:
        """Do nothing. lxml requires the method."""


def _close_head(root: html.HtmlElement) -> None:
    """Move content from the head to the body: libxml2 keeps a head open for elements that it does not know."""
    head = root.find("head")
    first = None if head is None else next((element for element in head if element.tag not in _IN_HEAD), None)
    if first is None:
        return
    moved = [first, *first.itersiblings()]
    body = root.find("body")
    if body is None:
        body = html.Element("body")
        head.addnext(body)
    if body.text:
        moved[-1].tail = NOT_XML.sub("", (moved[-1].tail or "") + body.text)
        body.text = None
    body[:0] = moved


def _open_shadow_roots(root: html.HtmlElement) -> None:
    """Make elements of the templates that a browser shows: those with a declarative shadow root."""
    for template in list(root.iter("template")):
        mode = template.get("shadowrootmode") or template.get("shadowroot") or ""
        if mode.strip().lower() in _SHADOW_ROOT_MODES:
            template.tag = "div"


def _without_end(body: bytes, first: int) -> bytes:
    return body if first < 0 else b"".join((memoryview(body)[:first], _END_TAG.sub(b"", body[first:])))


def _read(body: bytes, parser: html.HTMLParser) -> html.HtmlElement | None:
    try:
        root: html.HtmlElement = etree.fromstring(body, parser)
    except etree.XMLSyntaxError:  # the document is empty
        return None
    return root
