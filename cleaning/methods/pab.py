"""PAB, blocks at start tags kept by the sum of their tags' priorities (Kabir et al. 2015, pab.txt), and ENIW."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from lxml import etree

from cleaning.blocks import Decision, Kind, Reason
from cleaning.domains import registered_domain
from cleaning.leaves import (
    HEADING_TAGS,
    NEVER_CONTENT,
    PRIORITY_TENTHS,
    ElementPaths,
    Leaf,
    Node,
    Piece,
    body_of,
    make_block,
    walk,
)
from cleaning.segments import at_position, join_parts, leaf_pieces, priority_tenths, regroup
from cleaning.terms import Phrase, index_tokens, join_tokens, normalise, tokenise, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.options import Options

# The tags that begin a block (3.1.1; our second copy of the paper has the tags that the first one lost).
_START_TAGS = HEADING_TAGS | {"title", "p", "b", "strong", "a", "i", "table", "li"}
_IRRELEVANT_TAGS = frozenset({"script", "style", "iframe", "object", "form"})
# The paper lists script, style and meta too: the walk never reads the first two, and the last one holds no text.
_ENIW_DISCARDED = {"form": Reason.FORM, "marquee": Reason.IRRELEVANT}


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return the title and the blocks of the body (3.1.1), their priorities set (3.1.2, equation 1)."""
    leaves = walk(page.root)
    gone = _unread_elements(page.root, leaves, _IRRELEVANT_TAGS)
    site = _site_of(page)
    blocks = _cut_at_start_tags(page.root, leaves, gone, {"form": Reason.FORM})
    return [_with_reason(leaf, gone, site, options.pab_outer_share) for leaf in blocks]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return each block's priority; 0.0 for noise.

    The first of several blocks with the same text gets the highest of their priorities. There is no upper bound: a
    table of links may have hundreds.
    """
    highest: dict[str, float] = {}
    for leaf in leaves:
        if leaf.dropped is None:
            text = normalise(leaf.block.text)
            highest[text] = max(highest.get(text, 0.0), leaf.block.priority)
    own = [0.0 if leaf.dropped else leaf.block.priority for leaf in leaves]
    # `pop` gives the highest priority to the first block of a text; later blocks keep their own.
    return [mine and highest.pop(normalise(leaf.block.text), mine) for leaf, mine in zip(leaves, own, strict=True)]


def decide(
    page: Page,  # noqa: ARG001 — all methods share this signature
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — all methods share this signature
) -> list[Decision]:
    """Keep the blocks with a priority, each text once, with the highest of its priorities (3.1.3)."""
    seen: set[str] = set()
    decisions = []
    for leaf, score in zip(leaves, scores, strict=True):
        text = normalise(leaf.block.text)
        reason = leaf.dropped or (Reason.PAGE_DUPLICATE if text in seen else Reason.KEPT)
        if reason is Reason.KEPT:
            seen.add(text)
        decisions.append(Decision(leaf.block if leaf.dropped else replace(leaf.block, priority=score), score, reason))
    return decisions


def segment_eniw(page: Page, options: Options) -> list[Leaf]:
    """Return the blocks of PAB, including those in discarded elements: the paper counts the same blocks for both.

    With the option `eniw_noise` only blocks without text are dropped: the paper's raw data, "a mixture of the noisy and
    informative blocks".
    """
    leaves = walk(page.root)
    blocks = _cut_at_start_tags(page.root, leaves, _unread_elements(page.root, leaves, frozenset()), _ENIW_DISCARDED)
    if not options.eniw_noise:
        return blocks
    return [leaf if leaf.dropped is Reason.EMPTY else replace(leaf, dropped=None) for leaf in blocks]


def score_eniw(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return 1.0 for an informative block, 0.0 for noise."""
    return [0.0 if leaf.dropped else 1.0 for leaf in leaves]


def keyword_density(text: str, keyword: str) -> float:
    """Return the density of a keyword in a text: Kd, the share of its words that match, from 0 to 1, as in a search.

    Words match as in the search index: without regard to case and accents, and apart from apostrophes. A keyword of
    several words counts where they are in sequence, and no word counts twice.
    """
    words = tokenise(text)
    phrase = Phrase.read(keyword)
    if not words or phrase is None:
        return 0.0
    return min(1.0, join_tokens(index_tokens(text)).count(phrase.pattern) / len(words))


def search_rank(priority: float, text: str, keyword: str) -> float:
    """Return a block's rank in a search for a keyword, Bp = Pb × Kd (equation 4); 0.0 if the keyword is not in it."""
    return priority * keyword_density(text, keyword)


def _cut_at_start_tags(
    root: HtmlElement, leaves: Sequence[Leaf], gone: AbstractSet[HtmlElement], discarded: Mapping[str, Reason]
) -> list[Leaf]:
    """Return the title's block, the body's blocks and the texts outside any block, in reading order (3.1.1).

    A block goes from a start tag to its end tag; tags inside begin no block. A body without such tags is one block. No
    block begins in an element that is gone. Text in an element with a discarded tag is dropped for the tag's reason.
    """
    body = body_of(root)
    removed = dict.fromkeys(gone, Reason.IRRELEVANT) | {
        element: discarded[element.tag] for element in body.iter(*discarded)
    }

    def begins(element: HtmlElement) -> bool:
        return element.tag in _START_TAGS and element not in gone

    blocks = regroup(leaves, root, begins, nested=False, removed=removed)
    body_blocks = (
        blocks if any(map(begins, body.iterdescendants(etree.Element))) else _whole_body_block(body, blocks, gone)
    )
    return [at_position(leaf, position) for position, leaf in enumerate(chain(_title_block(root), body_blocks))]


def _title_block(root: HtmlElement) -> Iterator[Leaf]:
    # The walk reads a title in the body; that title begins a block like the other tags.
    element = root.find(".//head//title")
    text = "" if element is None else visible("".join(element.itertext()))
    if element is not None and normalise(text):
        pieces = (Piece(text, element, None),)
        path = ElementPaths(root).of(element)
        block = make_block(0, path, Kind.HEADING, [pieces], PRIORITY_TENTHS["title"])
        yield Leaf(block, Node(element, element.tag, None, Kind.HEADING), pieces)


def _whole_body_block(body: HtmlElement, blocks: Sequence[Leaf], gone: AbstractSet[HtmlElement]) -> Iterator[Leaf]:
    inside = [leaf for leaf in blocks if leaf.dropped is Reason.UNBLOCKED]
    if inside:
        parts = [leaf.pieces for leaf in inside]
        tenths = sum(priority_tenths(element) for element in body.iter(etree.Element) if element not in gone)
        block = make_block(0, body.getroottree().getpath(body), Kind.PARAGRAPH, parts, tenths)
        node = Node(body, body.tag, None, Kind.PARAGRAPH)
        yield Leaf(block, node, join_parts(parts, body))
    yield from (leaf for leaf in blocks if leaf.dropped is not Reason.UNBLOCKED)


def _elements_inside(body: HtmlElement, tags: AbstractSet[str]) -> set[HtmlElement]:
    elements: set[HtmlElement] = set()
    for element in body.iterdescendants(etree.Element):
        if element.tag in tags or element.getparent() in elements:
            elements.add(element)
    return elements


def _with_reason(leaf: Leaf, gone: AbstractSet[HtmlElement], site: str | None, max_outer: float) -> Leaf:
    """Return the block, dropped if its share of outer links is above `max_outer` or if it has no priority."""
    if leaf.dropped not in (None, Reason.EMPTY):
        return leaf  # in no block
    links = leaf.node.element.iter("a")
    hrefs = [link.get("href") for link in links if link not in gone and link.get("href") is not None]
    if hrefs and sum(_is_outer(href, site) for href in hrefs) / len(hrefs) > max_outer:
        return replace(leaf, block=replace(leaf.block, priority=0.0), dropped=leaf.dropped or Reason.OUTER_LINKS)
    return leaf if leaf.block.priority else replace(leaf, dropped=leaf.dropped or Reason.NO_PRIORITY)


def _is_outer(href: str, site: str | None) -> bool:
    """Return True if a link leads to another site; False if the page's own site is unknown."""
    address = href.strip()
    address = f"http:{address}" if address.startswith("//") else address
    if site is None or not address[:8].lower().startswith(("http://", "https://")):
        return False
    return registered_domain(address) not in (None, site)


def _site_of(page: Page) -> str | None:
    """Return the registered domain of the page's URL, else of its base or canonical URL."""
    links = [link for link in page.root.iter("link") if "canonical" in (link.get("rel") or "").lower().split()]
    stated = [element.get("href") for element in (*page.root.iter("base"), *links)]
    return next(filter(None, map(registered_domain, filter(None, [page.url, *stated]))), None)


def _unread_elements(root: HtmlElement, leaves: Iterable[Leaf], tags: AbstractSet[str]) -> set[HtmlElement]:
    """Return the elements of the body that the walk did not read or that have these tags, and all elements inside."""
    body = body_of(root)
    noscripts = _elements_inside(body, {"noscript"})
    read = any(text.piece.element in noscripts for text in leaf_pieces(leaves)) if noscripts else False
    return _elements_inside(body, (NEVER_CONTENT - {"noscript"} if read else NEVER_CONTENT) | tags)
