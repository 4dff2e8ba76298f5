"""PAB: blocks at start tags, kept by the sum of their tags' priorities (Kabir, Kabir, Amin 2015; pab.txt).

Also ENIW.
"""

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
    class_id_role,
    make_block,
    walk,
)
from cleaning.segments import at_position, join_parts, leaf_pieces, priority_tenths, regroup
from cleaning.terms import normalise, tokenise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.options import Options


# The tags that begin a block (3.1.1, its tags restored from the second copy).
_START_TAGS = HEADING_TAGS | {"title", "p", "b", "strong", "a", "i", "table", "li"}
_IRRELEVANT_TAGS = frozenset({"script", "style", "iframe", "object", "form"})


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return the title and the blocks of the body (3.1.1), their priorities set (3.1.2, equation 1)."""
    leaves = walk(page.root)
    gone = unread_elements(page.root, leaves, _IRRELEVANT_TAGS)
    site = _site_of(page)
    blocks = cut_at_start_tags(page.root, leaves, gone, {"form": Reason.FORM})
    return [_with_reason(leaf, gone, site, options.pab_outer_share) for leaf in blocks]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return each block's priority, for the first of several with the same text the highest of theirs; 0.0 for noise.

    There is no upper bound: a table of links may have hundreds.
    """
    highest: dict[str, float] = {}
    for leaf in leaves:
        if leaf.dropped is None:
            text = normalise(leaf.block.text)
            highest[text] = max(highest.get(text, 0.0), leaf.block.priority)
    own = [0.0 if leaf.dropped else leaf.block.priority for leaf in leaves]
    # Taken out at the first block of a text, so that later ones have their own.
    return [mine and highest.pop(normalise(leaf.block.text), mine) for leaf, mine in zip(leaves, own, strict=True)]


def decide(
    page: Page,  # noqa: ARG001 — as every method
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — as every method
) -> list[Decision]:
    """Keep the blocks that have a priority, each text once and with the highest of its priorities (3.1.3)."""
    seen: set[str] = set()
    decisions = []
    for leaf, found in zip(leaves, scores, strict=True):
        text = normalise(leaf.block.text)
        reason = leaf.dropped or (Reason.PAGE_DUPLICATE if text in seen else Reason.KEPT)
        if reason is Reason.KEPT:
            seen.add(text)
        decisions.append(Decision(leaf.block if leaf.dropped else replace(leaf.block, priority=found), found, reason))
    return decisions


def keyword_density(text: str, keyword: str) -> float:
    """Return the share of a keyword in the words of a text (Kd, 0 to 1), whole words and case-folded; 0.0 for none.

    A keyword of several words counts where they follow one another.
    """
    words, sought = tokenise(text), tokenise(keyword)
    if not words or not sought:
        return 0.0
    starts = range(len(words) - len(sought) + 1)
    return sum(words[start : start + len(sought)] == sought for start in starts) / len(words)


def search_rank(priority: float, text: str, keyword: str) -> float:
    """Return a block's rank in a search for a keyword, Bp = Pb × Kd (equation 4); 0.0 where it does not occur."""
    return priority * keyword_density(text, keyword)


def unread_elements(root: HtmlElement, leaves: Iterable[Leaf], tags: AbstractSet[str]) -> set[HtmlElement]:
    """Return the elements of the body that have these tags, that the walk did not read, and all inside either."""
    body = body_of(root)
    noscripts = _elements_inside(body, {"noscript"})
    read = any(text.piece.element in noscripts for text in leaf_pieces(leaves)) if noscripts else False
    return _elements_inside(body, (NEVER_CONTENT - {"noscript"} if read else NEVER_CONTENT) | tags)


def cut_at_start_tags(
    root: HtmlElement, leaves: Sequence[Leaf], gone: AbstractSet[HtmlElement], discarded: Mapping[str, Reason]
) -> list[Leaf]:
    """Return the title's block and those of the body, and the texts outside any block, in reading order (3.1.1).

    A block reaches from a start tag to its end tag; tags inside begin none. A body without such tags is one block.
    No block begins in an element that is gone. What lies in an element of a discarded tag is dropped for its reason.
    """
    body = body_of(root)
    removed = dict.fromkeys(gone, Reason.IRRELEVANT) | {each: discarded[each.tag] for each in body.iter(*discarded)}

    def begins(element: HtmlElement) -> bool:
        return element.tag in _START_TAGS and element not in gone

    blocks = regroup(leaves, root, begins, nested=False, removed=removed)
    found = blocks if any(map(begins, body.iterdescendants(etree.Element))) else _whole_body_block(body, blocks, gone)
    return [at_position(leaf, position) for position, leaf in enumerate(chain(_title_block(root), found))]


def _title_block(root: HtmlElement) -> Iterator[Leaf]:
    # One in the body is read by the walk, and begins a block as any of the tags.
    element = root.find(".//head//title")
    text = "" if element is None else "".join(element.itertext())
    if element is not None and normalise(text):
        pieces = (Piece(text, element, None),)
        path = ElementPaths(root).of(element)
        block = make_block(0, path, Kind.HEADING, [pieces], PRIORITY_TENTHS["title"])
        yield Leaf(block, Node(element, element.tag, None, class_id_role(element), Kind.HEADING), 0, pieces)


def _whole_body_block(body: HtmlElement, found: Sequence[Leaf], gone: AbstractSet[HtmlElement]) -> Iterator[Leaf]:
    inside = [leaf for leaf in found if leaf.dropped is Reason.UNBLOCKED]
    if inside:
        parts = [leaf.pieces for leaf in inside]
        tenths = sum(priority_tenths(element) for element in body.iter(etree.Element) if element not in gone)
        block = make_block(0, body.getroottree().getpath(body), Kind.PARAGRAPH, parts, tenths)
        node = Node(body, body.tag, None, class_id_role(body), Kind.PARAGRAPH)
        yield Leaf(block, node, 0, join_parts(parts, body))
    yield from (leaf for leaf in found if leaf.dropped is not Reason.UNBLOCKED)


def _elements_inside(body: HtmlElement, tags: AbstractSet[str]) -> set[HtmlElement]:
    found: set[HtmlElement] = set()
    for element in body.iterdescendants(etree.Element):
        if element.tag in tags or element.getparent() in found:
            found.add(element)
    return found


def _with_reason(leaf: Leaf, gone: AbstractSet[HtmlElement], site: str | None, most: float) -> Leaf:
    """Return the block without its priority where more than that share of its links are outer; noise marked as such."""
    if leaf.dropped not in (None, Reason.EMPTY):
        return leaf  # in no block
    found = leaf.node.element.iter("a")
    hrefs = [link.get("href") for link in found if link not in gone and link.get("href") is not None]
    if hrefs and sum(_is_outer(href, site) for href in hrefs) / len(hrefs) > most:
        return replace(leaf, block=replace(leaf.block, priority=0.0), dropped=leaf.dropped or Reason.OUTER_LINKS)
    return leaf if leaf.block.priority else replace(leaf, dropped=leaf.dropped or Reason.NO_PRIORITY)


def _is_outer(href: str, site: str | None) -> bool:
    """Tell whether a link leads to another website; none does where the page's own is not known."""
    address = href.strip()
    address = f"http:{address}" if address.startswith("//") else address
    if site is None or not address[:8].lower().startswith(("http://", "https://")):
        return False
    return registered_domain(address) not in (None, site)


def _site_of(page: Page) -> str | None:
    """Return the registered domain of the page's URL, else of its base or canonical address."""
    links = [link for link in page.root.iter("link") if "canonical" in (link.get("rel") or "").lower().split()]
    stated = [element.get("href") for element in (*page.root.iter("base"), *links)]
    return next(filter(None, map(registered_domain, filter(None, [page.url, *stated]))), None)


# The paper's list has script, style and meta too: the walk never reads the first two, and the last holds no text.
_ENIW_DISCARDED = {"form": Reason.FORM, "marquee": Reason.IRRELEVANT}


def segment_eniw(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — as every method
    """Return the blocks of PAB, those in discarded elements among them: the paper counts the same for both."""
    leaves = walk(page.root)
    return cut_at_start_tags(page.root, leaves, unread_elements(page.root, leaves, frozenset()), _ENIW_DISCARDED)


def score_eniw(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return 1.0 for an informative block and 0.0 for noise."""
    return [0.0 if leaf.dropped else 1.0 for leaf in leaves]
