"""Walls: pages that answer with status 200 in place of the page that was asked for, until a visitor agrees or logs in.

There are three kinds of evidence, and an article under the overlay of a consent platform has none of them:

- the request was redirected to an address of consent or of a log-in, or to one that names the address asked for;
- the page shows what a consent platform asks, in its element or in the usual words, and no other text;
- the same few words answer at several addresses of a site: `RepeatedAnswers`, whatever their language.

`notices.py` knows the titles of walls in many languages.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from lxml import etree
from xxhash import xxh64_intdigest

from cleaning import clean
from cleaning.blocks import TextSource
from crawler.urls import is_root, site_of, url_key
from crawler.visit import FEW_WORDS, Outcome, WalledAnswer

if TYPE_CHECKING:
    from cleaning.blocks import Page

# In the bytes of pages with OneTrust, Sourcepoint, Didomi, Usercentrics, Cookiebot, TrustArc, Quantcast, Google Funding
# Choices, consentmanager.net, iubenda, CookieYes, Osano, Axeptio, Klaro and Commanders Act.
_PLATFORM_MARKS = (
    b"onetrust", b"cookielaw.org", b"privacy-mgmt", b"sp_message", b"sp-prod", b"didomi", b"usercentrics", b"cookiebot",
    b"trustarc", b"truste.com", b"quantcast", b"qc-cmp", b"fundingchoices", b"consentmanager", b"iubenda", b"cookieyes",
    b"osano", b"axeptio", b"klaro", b"trustcommander", b"__tcfapi", b"__cmp",
)  # fmt: skip
_DIALOG = re.compile(
    r"onetrust|ot-sdk|sp_message|didomi|usercentrics|uc-banner|cybotcookie|truste|qc-cmp|fc-consent|cmpbox|cmpwrapper|"
    r"iubenda-cs|cky-|osano|axeptio|klaro|tc-privacy",
    re.IGNORECASE,
)
_ADDRESS_WORD = re.compile(
    r"(?:my)?(?:consent|privacy)(?:[-_]?(?:wall|gate|management|manager))?|cmp|guce|cookie[-_]?(?:wall|muur|consent)|"
    r"log[-_]?in|sign[-_]?in|anmelden|connexion|inloggen|paywall",
    re.IGNORECASE,
)
_CONSENT_WORD = re.compile(
    r"cookie|consent|privacy|privac|gdpr|dsgvo|rgpd|\bpartner|einwillig|zustimm|datenschutz|donn[ée]es|"
    r"vie priv[ée]e|privatsph|confidential|toestemming|samtyck|samtykke|personvern|integritet|prywatno|soukrom|gizlili|"
    r"çerez|куки|конфиденц|隐私|隱私|プライバシー|クッキー|쿠키|개인정보",
    re.IGNORECASE,
)
_LEFT_OUT = frozenset({"script", "style", "noscript", "template", "head", "svg"})
_INLINE = frozenset({"a", "abbr", "b", "br", "em", "font", "i", "mark", "small", "span", "strong", "sub", "sup", "u"})
# The texts of a page, outside what is not shown, links, navigation and footers.
_TAG_START = re.compile(rb"<(script|style|noscript|template|svg|head|a|nav|footer)\b|<(!--)|<", re.IGNORECASE)
# The ends of what shows no text of the page's own, of comments, and of other tags.
_ENDS = {
    name: re.compile(rb"</" + name + rb"\s*>", re.IGNORECASE)
    for name in (b"script", b"style", b"noscript", b"template", b"svg", b"head", b"a", b"nav", b"footer")
} | {b"!--": re.compile(b"-->"), b"": re.compile(b">")}
_Identity = tuple[str | None, str | None] | None
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
# The longest known text of a wall without its list of partners has 420 words; legal notices have more.
_WALL_MAX_WORDS = 600
# A wall that only its platform shows has little more than the name of its site; a listing has more links.
_OTHER_MAX_WORDS = 40
_SILENT_MAX_WORDS = 10
_MAX_LINKS = 10
_RUN_WORDS = 3
_NOT_COMPARED = _LEFT_OUT | {"a", "nav", "footer"}
_CONTROLS = frozenset({"button", "form", "input"})
_LEAST_WORDS = 5
_ANSWERS_MAX = 10_000
_ADDRESSES_MAX = 20
# An id of the answer, which differs each time: "Ray ID 8f2c3a91d0".
# A match begins only where a word does: anywhere in it, a text without spaces would take quadratic time.
_ANSWER_ID = re.compile(r"(?<!\S)\S*/\S+|(?<!\w)(?=\w*\d)(?=\w*[a-z])[\w-]{8,}", re.IGNORECASE)


def leads_to_wall(url: str, asked: str) -> bool:
    """Return True if the target of a redirect is by its address a wall before the page asked for.

    That is the address of consent or a log-in, or one whose query names the page, to lead back to it.
    """
    if url_key(url) == url_key(asked):
        return False
    target, origin = urlsplit(url), urlsplit(asked)
    back = (asked, unquote(asked), origin.path if not is_root(url_key(asked)) else asked)
    values = [value for _, value in parse_qsl(target.query)]
    if target.path != origin.path and any(value.startswith(back) for value in values):
        return True
    words = [(target.hostname or "").partition(".")[0], *target.path.split("/")]
    asked_words = [(origin.hostname or "").partition(".")[0], *origin.path.split("/")]
    return any(_ADDRESS_WORD.fullmatch(word) and word not in asked_words for word in words)


def suspect_wall(body: bytes, url: str | None, asked: str | None) -> bool:
    """Return True if a page may be a wall, by its address and its bytes; False for most pages."""
    if url and asked and leads_to_wall(url, asked):
        return True
    if not shows_few_words(body, _WALL_MAX_WORDS):
        return False
    lowered = body.lower()
    return any(mark in lowered for mark in _PLATFORM_MARKS)


def shows_few_words(body: bytes, most: int) -> bool:
    """Return True if a page has at most so many words outside links, as its bytes show."""
    words = position = 0
    unended: set[bytes] = (
        set()
    )  # no end of these follows; searched for again at each start, it would take quadratic time
    while words <= most and (start := _TAG_START.search(body, position)):
        words += len(body[position : start.start()].split())
        position = start.start() + 1
        for kind in dict.fromkeys(((start[1] or start[2] or b"").lower(), b"")):
            if kind not in unended and (end := _ENDS[kind].search(body, start.end())):
                position = end.end()
                break
            unended.add(kind)
    return words + len(body[position:].split()) <= most


def confirm_wall(page: Page, asked: str | None) -> str | None:
    """Return what shows that a suspected page is a wall; None for any other page."""
    shown = _Shown.of(page)
    if asked and page.url and leads_to_wall(page.url, asked):
        is_small = shown.other_words + shown.consent_words <= _WALL_MAX_WORDS
        return f"{asked} was redirected to {page.url}" if is_small else None
    if shown.own_words or shown.links > _MAX_LINKS or shown.other_words > _OTHER_MAX_WORDS:
        return None
    if shown.consent_words < _RUN_WORDS and shown.other_words > _SILENT_MAX_WORDS:
        return None
    if clean(page).text_source is not TextSource.TREE:
        return None  # its text stands in a script
    return "the dialog of a consent platform and no other text"


def asks_for_consent(page: Page) -> bool:
    """Return True if a page with the title or heading of a wall says little else than what such a dialog says.

    A page with a heading of its own has a text of its own, however short, beside the dialog.
    """
    shown = _Shown.of(page)
    is_own = shown.own_words > 0 and len(page.root.findall(".//h1")) > 1
    return not is_own and shown.own_words <= shown.consent_words <= _WALL_MAX_WORDS


@dataclass(slots=True)
class _Shown:
    """The words that a page shows: of consent, of sentences of its own, all others; and its links."""

    consent_words: int = 0
    own_words: int = 0
    other_words: int = 0
    links: int = 0

    @classmethod
    def of(cls, page: Page) -> _Shown:
        shown = cls()
        title = " ".join((page.root.findtext(".//title") or "").split())
        dialogs = 0
        run: list[str] = []

        def end_run() -> None:
            text = " ".join(" ".join(run).split())
            run.clear()
            words = len(_WORD.findall(text))
            if dialogs or _CONSENT_WORD.search(text):
                shown.consent_words += words
            else:
                shown.other_words += words
                shown.own_words += words if words >= _RUN_WORDS and text not in title else 0

        walk = etree.iterwalk(page.root, events=("start", "end"))
        for event, element in walk:
            is_left_out = element.tag in _LEFT_OUT or not isinstance(element.tag, str)
            is_dialog = not is_left_out and _is_dialog(element)
            if not is_left_out and element.tag not in _INLINE:
                end_run()
            if event == "start":
                if is_left_out:
                    walk.skip_subtree()
                    continue
                dialogs += is_dialog
                shown.links += element.tag == "a"
                run.append(element.text or "")
            else:
                if is_dialog:
                    end_run()
                    dialogs -= 1
                run.append(element.tail or "")
        end_run()
        return shown


def _is_dialog(element: etree._Element) -> bool:
    if element.tag in {"html", "body"}:
        return False
    names = f"{element.get('id') or ''} {element.get('class') or ''}"
    return element.get("role") in {"dialog", "alertdialog"} or _DIALOG.search(names) is not None


class RepeatedAnswers:
    """The answers of few words that a crawl has got: the same words at two addresses of a site are a wall."""

    def __init__(self) -> None:
        # With what each states about itself: its canonical address, or its headline and date.
        self._answers: OrderedDict[tuple[str, int], list[tuple[WalledAnswer, _Identity]]] = OrderedDict()

    def add(self, asked: str, page: Page, outcome: Outcome) -> list[WalledAnswer] | None:
        """Return the other answers with the words of this one if they are a wall, [] for the first answer of its kind.

        None for a page that shows more than few words. What the answers of a wall have counted as is told once.
        """
        texts = _few_words(page)
        if not texts:
            return None
        cleaned = clean(page)
        if cleaned.text_source is not TextSource.TREE:
            return None  # the text stands in a script
        stated = cleaned.metadata
        identity: _Identity = None
        if stated.canonical and not is_root(stated.canonical):
            identity = (stated.canonical, None)
        elif stated.published:
            identity = (stated.headline or stated.title, stated.published)
        answer = WalledAnswer(asked, page.url or asked, outcome)
        key = site_of(asked), xxh64_intdigest(" ".join(texts).encode())
        known = self._answers.setdefault(key, [])
        self._answers.move_to_end(key)
        if len(self._answers) > _ANSWERS_MAX:
            self._answers.popitem(last=False)
        others = [
            earlier
            for earlier, stated_by in known
            if url_key(earlier.asked) != url_key(asked) and (identity is None or identity != stated_by)
        ]
        if len(known) < _ADDRESSES_MAX:
            known.append((answer, identity))
        if others:
            known[:] = [(replace(earlier, outcome=Outcome.WALL), stated_by) for earlier, stated_by in known]
        return others


def _few_words(page: Page) -> list[str]:
    """Return the words and tags of a page outside links and navigation; [] for a page of many words, or hardly any.

    What differs with each answer, as its id or an address, does not count. A page without a control or a word
    of consent asks nothing of a visitor, so it is no wall: [] too.
    """
    words: list[str] = []
    tags: list[str] = []
    asks = False
    body = page.root.find("body")
    walk = etree.iterwalk(page.root if body is None else body, events=("start", "end"))
    for event, element in walk:
        asks = asks or element.tag in _CONTROLS
        if event == "start" and (element.tag in _NOT_COMPARED or not isinstance(element.tag, str)):
            walk.skip_subtree()
            continue
        text = element.text if event == "start" else element.tail
        words += _WORD.findall(_ANSWER_ID.sub(" ", (text or "").casefold()))
        tags += [element.tag] if event == "start" else []
        if len(words) > FEW_WORDS:
            return []
    asks = asks or _CONSENT_WORD.search(" ".join(words)) is not None
    return words + tags if asks and len(words) >= _LEAST_WORDS else []
