"""The methods `weighted` (weighted.txt: Saravanan & Sathya Bama 2020, to the letter) and `tags` (its tag rules alone).

`segment` takes the paper's steps up to the distinct blocks, `score` gives equation 4, `decide` the threshold. The steps
before the score need the whole page, so the bound on blocks changes neither the counts nor the threshold. The words
and sizes that the tag rules look for are in data/tagrules.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache
from importlib import resources
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from lxml import etree

from cleaning.blocks import Decision, Reason
from cleaning.domains import PageLinks
from cleaning.fingerprint import NearFingerprints, fingerprint_terms
from cleaning.leaves import Leaf, body_of, walk
from cleaning.segments import regroup
from cleaning.terms import normalise, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.leaves import Piece
    from cleaning.options import Options

# "comma, periods" (section 3.2), and the marks that end or separate clauses in other scripts; not the marks of menus.
_PUNCTUATION = re.compile("[,.;:!?\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f]")
# The fingerprint of a block covers this many of its terms. Equation 3 takes time in terms × distinct terms: a block of
# 200,000 terms, which fits into a page of 10 MB, would take a minute.
_MAX_COMPARED_TERMS = 5_000


class WordCounts(NamedTuple):
    """The numbers of title words, link words and content words in a block."""

    title: int
    link: int
    content: int


class PageWordTotals(NamedTuple):
    """The divisors of equations 5 to 7: the numbers of distinct title, link and content words of the page."""

    title: int
    link: int
    content: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DistinctBlock(Leaf):
    """A block that remains after steps 1 to 6, with the inputs of its score and its threshold."""

    counts: WordCounts
    totals: PageWordTotals
    threshold: Fraction


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return a block for each `div` and `td`: distinct blocks with their counts, the others dropped with a reason."""
    leaves = _cut_by_tag_rules(page)
    left = [leaf for leaf in leaves if leaf.dropped is None]
    plain = _without_punctuation(
        _with_text_in(_find_minimum_subtree(page.root, left), left), options.weighted_small_words
    )
    dropped = dict.fromkeys(plain, Reason.PUNCTUATION)
    title = frozenset(terms(_page_title(page.root)))
    worded = {leaf: _classify_terms(leaf, title) for leaf in left if leaf not in dropped}
    dropped |= dict.fromkeys(_near_duplicates(worded, options.weighted_distance), Reason.PAGE_DUPLICATE)
    distinct = {leaf: words for leaf, words in worded.items() if leaf not in dropped}
    totals = _page_totals(title, distinct.values())
    threshold = Fraction(len(distinct), max(1, _count_blocks(page.root)))
    counted = {leaf: _distinct_block(leaf, words, totals, threshold) for leaf, words in distinct.items()}
    return [
        counted[leaf] if leaf in counted else replace(leaf, dropped=dropped.get(leaf, leaf.dropped)) for leaf in leaves
    ]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return the block score (equation 4) of each distinct block, 0 for the other blocks."""
    return [
        _block_score(leaf.counts, leaf.totals, options) if isinstance(leaf, DistinctBlock) else 0.0 for leaf in leaves
    ]


def decide(
    page: Page,  # noqa: ARG001 — all methods share this signature
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep each distinct block with a score above the share of distinct blocks among all blocks.

    They are compared as fractions: floats keep some blocks whose score equals the threshold.
    """
    return [
        Decision(leaf.block, score, _block_reason(leaf, options)) for leaf, score in zip(leaves, scores, strict=True)
    ]


def segment_by_tags(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — all methods share this signature
    return _cut_by_tag_rules(page)


def score_by_tags(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return 1 for each block that no tag rule drops, 0 for the others."""
    return [0.0 if leaf.dropped else 1.0 for leaf in leaves]


def _block_score(counts: WordCounts, totals: PageWordTotals, options: Options) -> float:
    """Return 1 - (alpha T + beta L + gamma C), equation 4 with equations 5 to 7; a ratio to 0 counts as 0.

    The score is at most 1 and has no lower bound: a block counts all its words, the page only distinct words.
    """
    return float(_exact_score(counts, totals, options))


def _exact_score(counts: WordCounts, totals: PageWordTotals, options: Options) -> Fraction:
    """Return the block score as a fraction; a weight is the decimal number that it is written as."""
    weights = (options.weighted_alpha, options.weighted_beta, options.weighted_gamma)
    ratios = (Fraction(count, total) if total else Fraction() for count, total in zip(counts, totals, strict=True))
    return 1 - sum((Fraction(str(weight)) * ratio for weight, ratio in zip(weights, ratios, strict=True)), Fraction())


def _find_minimum_subtree(root: HtmlElement, leaves: Iterable[Leaf]) -> HtmlElement:
    """Return the deepest element that holds all text of the leaves; the body if they have no text.

    Section 3.2: "none of its subtree wraps the entire content".
    """
    start = body_of(root)
    held = Counter(piece.element for leaf in leaves for piece in leaf.pieces if not piece.text.isspace())
    entire = held.total()
    for element in reversed(list(start.iter(etree.Element))):
        if element is not start and held[element]:
            held[element.getparent()] += held[element]
    subtree: HtmlElement | None = start
    deepest = start
    while entire and subtree is not None:
        deepest = subtree
        subtree = next((child for child in subtree.iterchildren(etree.Element) if held[child] == entire), None)
    return deepest


def _with_text_in(subtree: HtmlElement, leaves: Iterable[Leaf]) -> list[Leaf]:
    """Return the leaves with text in the subtree; for the minimum subtree, all leaves with text."""
    inside = set(subtree.iter(etree.Element))
    return [leaf for leaf in leaves if any(piece.element in inside for piece in leaf.pieces)]


def _without_punctuation(leaves: Sequence[Leaf], small: int) -> list[Leaf]:
    """Return the blocks without a punctuation mark; a block with fewer words than `small` joins the next block.

    A run of small blocks joins the block after it; the last run of a page joins the block before it.
    """
    groups: list[list[Leaf]] = [[]]
    for leaf in leaves:
        groups[-1].append(leaf)
        if leaf.block.words >= small:
            groups.append([])
    last = groups.pop()
    if last and groups:
        groups[-1].extend(last)
    elif last:
        groups.append(last)
    plain = (group for group in groups if not any(_PUNCTUATION.search(leaf.block.text) for leaf in group))
    return [leaf for group in plain for leaf in group]


@dataclass(frozen=True, slots=True)
class _BlockTerms:
    """The terms of a block by class, in order: title words, words inside links, other words (section 3.4)."""

    title: list[str]
    link: list[str]
    content: list[str]
    fingerprint: int | None
    """None for a block without terms; such a block is never compared."""


def _page_title(root: HtmlElement) -> str:
    title = root.find("head/title")
    return "" if title is None else title.text_content()


def _count_blocks(root: HtmlElement) -> int:
    """Return the number of the page's blocks before any removal, including blocks without text."""
    start = body_of(root)
    return sum(element is not start for element in start.iter(*_BLOCK_ELEMENTS))


def _classify_terms(leaf: Leaf, title: frozenset[str]) -> _BlockTerms:
    """Return a block's terms by class. A word ends where a link begins or ends."""
    sequence: list[str] = []
    terms_by_class: dict[str, list[str]] = {"title": [], "link": [], "content": []}
    for linked, pieces in groupby(leaf.pieces, key=_is_linked):
        for term in terms("".join(piece.text for piece in pieces)):
            sequence.append(term)
            terms_by_class["title" if term in title else "link" if linked else "content"].append(term)
    return _BlockTerms(
        **terms_by_class, fingerprint=fingerprint_terms(sequence[:_MAX_COMPARED_TERMS]) if sequence else None
    )


def _near_duplicates(worded: Mapping[Leaf, _BlockTerms], max_distance: int) -> Iterator[Leaf]:
    """Yield the blocks that are near-duplicates of an earlier block that is kept."""
    earlier: NearFingerprints[Leaf] = NearFingerprints(max_distance)
    for leaf, words in worded.items():
        if words.fingerprint is None:
            continue
        if earlier.nearest(words.fingerprint):
            yield leaf
        else:
            earlier.add(words.fingerprint, leaf)


def _page_totals(title: frozenset[str], distinct: Iterable[_BlockTerms]) -> PageWordTotals:
    """Return the divisors. Content words are distinct within each block and summed, as in table 4 (227)."""
    links: set[str] = set()
    content = 0
    for words in distinct:
        links.update(words.link)
        content += len(set(words.content))
    return PageWordTotals(len(title), len(links), content)


def _distinct_block(leaf: Leaf, words: _BlockTerms, totals: PageWordTotals, threshold: Fraction) -> DistinctBlock:
    counts = WordCounts(len(words.title), len(words.link), len(words.content))
    return DistinctBlock(leaf.block, leaf.node, leaf.pieces, counts=counts, totals=totals, threshold=threshold)


def _block_reason(leaf: Leaf, options: Options) -> Reason:
    if not isinstance(leaf, DistinctBlock):
        assert leaf.dropped is not None
        return leaf.dropped
    return Reason.KEPT if _exact_score(leaf.counts, leaf.totals, options) > leaf.threshold else Reason.LOW_SCORE


# The tag rules (section 3.2). The words, sizes and hosts that they look for are in data/tagrules.toml.

_BLOCK_ELEMENTS = frozenset({"div", "td"})
_PLUGIN_TAGS = frozenset({"embed", "object", "audio", "video"})
_BACKGROUND_TAGS = frozenset({"td", "tr", "table", "div", "body"})
_BACKGROUND = re.compile(r"(?<![\w-])background(-image)?\s*:", re.IGNORECASE)
_KEYWORD_ATTRIBUTES = ("id", "class", "name", "src", "href")
_URL_ATTRIBUTES = ("src", "href", "data", "action", "poster")
_PIXELS = re.compile(r"\s*(\d{1,5})(?:\.0*)?\s*(?:px)?\s*")
# Word boundaries in an attribute: non-letters, and changes of case ("topAd", "ADBanner").
_BETWEEN_WORDS = re.compile(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class TagRule(StrEnum):
    """The tag rules of section 3.2, in the paper's order."""

    BACKGROUND = "background"
    FOREIGN_IMAGE = "foreign_image"
    AD_PROVIDER = "ad_provider"
    AD_KEYWORD = "ad_keyword"
    BANNER_SIZE = "banner_size"
    PLUGIN = "plugin"
    LEGAL = "legal"
    SEARCH = "search"
    SOCIAL = "social"


# Rules that remove the element with everything inside it.
_REMOVING_RULES = {
    TagRule.FOREIGN_IMAGE: Reason.ADVERTISEMENT,
    TagRule.AD_PROVIDER: Reason.ADVERTISEMENT,
    TagRule.AD_KEYWORD: Reason.ADVERTISEMENT,
    TagRule.BANNER_SIZE: Reason.ADVERTISEMENT,
    TagRule.PLUGIN: Reason.PLUGIN,
}
# Rules that remove the own text of the block around the element, but not the blocks inside that block.
# BACKGROUND is in neither table: it strips an attribute, a property or a `style` element, and no text.
_BLOCK_RULES = {TagRule.LEGAL: Reason.LEGAL, TagRule.SEARCH: Reason.FORM, TagRule.SOCIAL: Reason.SOCIAL}


class RuleMatch(NamedTuple):
    """An element that matches a rule; for the rules of _BLOCK_RULES, the block around it."""

    element: HtmlElement
    rule: TagRule


@dataclass(frozen=True, slots=True)
class _RuleData:
    """The words, sizes and hosts that the tag rules look for."""

    keywords: frozenset[str]
    providers: frozenset[str]
    banners: frozenset[str]
    social: frozenset[str]
    legal_links: re.Pattern[str]
    legal_text: re.Pattern[str]
    search_words: frozenset[str]
    search_fields: frozenset[str]


def _is_block_element(element: HtmlElement) -> bool:
    return element.tag in _BLOCK_ELEMENTS


def _cut_by_tag_rules(page: Page) -> list[Leaf]:
    """Return the blocks of a page, one for each `div` and `td`, dropped if a tag rule says so.

    Text in no block, and text in a removed part of a block, becomes leaves of its own. Empty for a page without blocks
    and text.
    """
    matches = _match_tag_rules(page)[::-1]  # backwards, so that the first rule that an element matches gives the reason
    removed = {match.element: _REMOVING_RULES[match.rule] for match in matches if match.rule in _REMOVING_RULES}
    condemned = {match.element: _BLOCK_RULES[match.rule] for match in matches if match.rule in _BLOCK_RULES}
    leaves = regroup(walk(page.root), page.root, _is_block_element, nested=True, removed=removed)
    return [leaf if leaf.dropped else _with_text_rules(leaf, condemned.get(leaf.node.element)) for leaf in leaves]


def _match_tag_rules(page: Page) -> list[RuleMatch]:
    """Return the tags inside the body that match a rule, in reading order.

    After an element matches a removing rule, neither it nor its content is searched further. `_cut_by_tag_rules` checks
    the texts of blocks and links. The body itself is never removed.
    """
    return list(_TagAnalysis(page).run())


class _TagAnalysis:
    """One pass over the tags inside the body, outer ones first."""

    def __init__(self, page: Page) -> None:
        self._start = body_of(page.root)
        self._links = PageLinks(page.url)
        self._lists = _rule_data()

    def run(self) -> Iterator[RuleMatch]:
        block_of: dict[HtmlElement | None, HtmlElement | None] = {}
        gone: set[HtmlElement | None] = set()
        for element in self._start.iter(etree.Element):
            inside = element is not self._start
            parent = element.getparent() if inside else None
            if parent in gone:
                gone.add(element)
                continue
            block = block_of[element] = element if inside and _is_block_element(element) else block_of.get(parent)
            for rule in self._matching_rules(element):
                if rule is TagRule.BACKGROUND:
                    yield RuleMatch(element, rule)
                elif rule in _BLOCK_RULES and block is not None:
                    yield RuleMatch(block, rule)
                elif rule in _REMOVING_RULES and inside:
                    gone.add(element)
                    yield RuleMatch(element, rule)
                    break

    def _matching_rules(self, element: HtmlElement) -> Iterator[TagRule]:
        tag = element.tag
        if tag == "style":
            yield TagRule.BACKGROUND
        if tag in _PLUGIN_TAGS or (tag == "iframe" and element.get("src") is not None):
            yield TagRule.PLUGIN
        if not element.attrib:
            return
        if tag in _BACKGROUND_TAGS and _has_background(element):
            yield TagRule.BACKGROUND
        yield from self._advertisement_rules(element)
        if tag == "img":
            yield from self._image_rules(element)
        elif tag == "a":
            yield from self._link_rules(element.get("href"))
        elif self._is_search(element):
            yield TagRule.SEARCH

    def _advertisement_rules(self, element: HtmlElement) -> Iterator[TagRule]:
        urls = (element.get(name) for name in _URL_ATTRIBUTES)
        if any(url and self._links.leads_to(url, self._lists.providers) for url in urls):
            yield TagRule.AD_PROVIDER
        if any(_attribute_has_word(element.get(name), self._lists.keywords) for name in _KEYWORD_ATTRIBUTES):
            yield TagRule.AD_KEYWORD

    def _image_rules(self, image: HtmlElement) -> Iterator[TagRule]:
        if self._links.is_foreign(image.get("src") or ""):
            yield TagRule.FOREIGN_IMAGE
        sides = [_PIXELS.fullmatch(image.get(name) or "") for name in ("width", "height")]
        if "x".join(str(int(side[1])) for side in sides if side) in self._lists.banners:
            yield TagRule.BANNER_SIZE

    def _link_rules(self, url: str | None) -> Iterator[TagRule]:
        if url is None:
            return
        if self._lists.legal_links.search(" ".join(_attribute_words(_url_path(url)))):
            yield TagRule.LEGAL
        if self._links.leads_to(url, self._lists.social):
            yield TagRule.SOCIAL

    def _is_search(self, element: HtmlElement) -> bool:
        if element.get("role") == "search":
            return True
        if element.tag not in {"form", "input"}:
            return False
        named = any(
            _attribute_has_word(element.get(name), self._lists.search_words)
            for name in ("id", "class", "name", "action", "type")
        )
        return named or (element.tag == "input" and element.get("name") in self._lists.search_fields)


def _attribute_words(text: str) -> list[str]:
    """Return the words of an attribute in lower case, split at non-letters and where the case changes."""
    return [word.lower() for word in _BETWEEN_WORDS.split(text) if word]


def _attribute_has_word(value: str | None, listed: frozenset[str]) -> bool:
    """Return True if an attribute has one of the words as a whole; a `data:` URL has no words."""
    if value is None or value.lstrip()[:5].lower() == "data:":
        return False
    return not listed.isdisjoint(_attribute_words(value))


def _is_linked(piece: Piece) -> bool:
    """Return True if a text is inside a link; an `a` without `href` is not a link."""
    return piece.link is not None and piece.link.get("href") is not None


def _with_text_rules(leaf: Leaf, condemned: Reason | None) -> Leaf:
    """Return the leaf, dropped if its tags condemn it or if its text or links match the rule LEGAL."""
    reason = condemned or (Reason.LEGAL if _is_legal_text(leaf) else None)
    return replace(leaf, dropped=reason) if reason else leaf


def _is_legal_text(leaf: Leaf) -> bool:
    lists = _rule_data()
    links = groupby(filter(_is_linked, leaf.pieces), key=attrgetter("link"))
    linked = (normalise("".join(piece.text for piece in pieces)).lower() for _, pieces in links)
    return bool(lists.legal_text.search(leaf.block.text.lower())) or any(map(lists.legal_links.search, linked))


def _has_background(element: HtmlElement) -> bool:
    return element.get("background") is not None or bool(_BACKGROUND.search(element.get("style") or ""))


def _url_path(url: str) -> str:
    try:
        return urlsplit(url.strip()).path
    except ValueError:
        return ""


@cache
def _rule_data() -> _RuleData:
    data = tomllib.loads(resources.files("cleaning").joinpath("data", "tagrules.toml").read_text("utf-8"))
    advertisement, banners, social, legal, search = (
        data[name] for name in ("advertisement", "banners", "social", "legal", "search")
    )
    return _RuleData(
        keywords=frozenset(advertisement["keywords"]),
        providers=frozenset(advertisement["providers"].split()),
        banners=frozenset([*banners["printed"], *banners["ours"].split()]),
        social=frozenset(f"{social['printed']} {social['ours']}".split()),
        legal_links=_phrase_pattern(legal["links"]),
        legal_text=_phrase_pattern(legal["text"]),
        search_words=frozenset(search["words"]),
        search_fields=frozenset(search["fields"]),
    )


def _phrase_pattern(listed: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds the phrases as whole words; a symbol such as © needs no word boundary."""
    whole = (rf"\b{re.escape(phrase)}\b" if phrase[0].isalnum() else re.escape(phrase) for phrase in listed)
    return re.compile("|".join(whole))
