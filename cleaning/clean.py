"""`clean`: the main flow, from the bytes of a page to a decision on each of its blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Unpack

from cleaning.blocks import Decision, Page, Reason, kept_decisions
from cleaning.embedded.prose import read_embedded
from cleaning.errors import OptionError
from cleaning.leaf_table import read_leaf_table
from cleaning.leaves import body_of, walk
from cleaning.metadata.page import read_metadata, stated_address
from cleaning.metadata.statements import read_statements
from cleaning.methods import METHODS, NEEDS
from cleaning.methods.method import MethodResult
from cleaning.options import CleaningOptions, Options
from cleaning.parse import parse
from cleaning.structure.clean_page import CleanPage
from cleaning.structure.entries import PageEntries
from cleaning.structure.marks import mark_headline, marks_of_decisions, marks_of_leaves
from cleaning.structure.quotes import find_quotes
from cleaning.structure.reader import read_structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Block, Metadata
    from cleaning.leaves import Leaf
    from cleaning.metadata.page import Weights
    from cleaning.metadata.statements import Statements
    from cleaning.methods.method import Method, SiteJudge
    from cleaning.structure.nodes import StructureNode


class DecidedLeaf(NamedTuple):
    """A leaf with a method's decision on it."""

    leaf: Leaf
    decision: Decision


def clean(
    html: bytes | str | HtmlElement | Page,
    url: str | None = None,
    *,
    method: str = "default",
    encoding: str | None = None,
    site_model: SiteJudge | None = None,
    **options: Unpack[CleaningOptions],
) -> CleanPage:
    """Return every block of a page with its score and decision, and the page's metadata.

    `html` is the page as bytes (`encoding`: what the HTTP header declares), as text, or as a tree that was parsed
    before; a tree is never edited. A method that needs more than the tree (`needs` in METHODS) takes a Page that has
    it. An empty page has no blocks. Without `url`, the page's address is the one that it states (canonical, `og:url`).
    The page keeps the tree for its metadata and its structure (`CleanPage.markdown`), which are read when they are
    first asked for: edit a tree of your own after that.
    `site_model`, a `cleaning.teaching.SiteModel`, has what readers corrected on other pages of the site. Where it does
    not fit, the page is cleaned as without it (`CleanPage.fits_site`).

    The options are `max_bytes` and `max_blocks`, of `default` also `favour` ("precision", "recall") and `comments`, and
    of the published methods `weighted_alpha`, `weighted_beta`, `weighted_gamma`, `weighted_distance`,
    `weighted_small_words`, `pab_outer_share`, `eniw_noise`, `subtree_generations`, `subtree_alpha`, `subtree_beta`,
    `subtree_gamma`, `vce_threshold`, `vce_link_density`, `kfe_clusters`, `coreex_link_ratio`, `coreex_weight` and
    `econ_min_marks`; docs/settings.md describes them. Raises OptionError for an unknown method or
    option, for a page without what the method needs, and for a site's model with a method that takes none; LayoutError
    for a layout of another page; PageError for a page that cannot be read (too large, binary).
    """
    chosen = METHODS.find(method)
    checked_options = Options.read(options)
    page = html if isinstance(html, Page) else parse(html, url, encoding, max_bytes=checked_options.max_bytes)
    _expect_needs(page, method, site_model)
    stated = read_statements(page.root)
    page = _with_address(page, stated)
    page, result = _decide_text(page, stated, chosen, checked_options, site_model)
    return CleanPage(
        page.url,
        method,
        page.encoding,
        None,
        tuple(result.decisions),
        page.parse_warnings,
        result.type,
        result.confidence,
        page.text_source,
        source=TreeSource(page, chosen, checked_options),
        metadata_reader=TreeMetadata(page, stated, result.decisions, _field_weights(result, site_model)),
        fits_site=None if site_model is None else result.taught is not None,
        taught=result.taught or frozenset(),
    )


def _field_weights(result: MethodResult, site_model: SiteJudge | None) -> Weights | None:
    """Return the weights by which the model of the page's site chooses among what the page states, if it fits."""
    return site_model.field_weights if site_model and result.taught is not None else None


@dataclass(frozen=True, slots=True)
class TreeMetadata:
    """The source from which the metadata of a cleaned page is read on demand."""

    page: Page
    stated: Statements
    decisions: Sequence[Decision]
    weights: Weights | None

    def read(self) -> Metadata:
        kept = " ".join([decision.block.text for decision in kept_decisions(self.decisions)])
        return read_metadata(self.page, self.stated, kept, self.weights)


def _expect_needs(page: Page, method: str, site_model: SiteJudge | None) -> None:
    if site_model is not None:
        expect_teachable(method)
    needs = METHODS.find(method).needs
    if needs and getattr(page, needs) is None:
        raise OptionError(f"the method {method!r} needs the page's {needs}: {NEEDS[needs]}")


def expect_teachable(method: str) -> None:
    """Raise OptionError for a method that takes no model of a site."""
    if METHODS.find(method).decide_taught is None:
        able = " and ".join(f"`{name}`" for name in METHODS if METHODS[name].decide_taught is not None)
        raise OptionError(f"the method {method!r} takes no model of a site; {able} takes them")


@dataclass(frozen=True, slots=True)
class TreeSource:
    """The source from which the structure of a cleaned page is read on demand."""

    page: Page
    method: Method
    options: Options

    def read(self, decisions: tuple[Decision, ...], title: str | None) -> StructureNode:
        """Return the document of a page's headline and kept texts; empty if nothing was kept.

        A method with blocks of its own cuts the page again.
        """
        start = body_of(self.page.root)
        if self.method.cuts_leaves:
            quotes = find_quotes(start, [decision.block for decision in decisions])
            marks = marks_of_decisions(decisions, quotes)
        else:
            walked = walk(self.page.root)
            quotes = find_quotes(start, [leaf.block for leaf in walked])
            marks = marks_of_leaves(walked, decide_leaves(self.page, self.method, self.options), quotes)
        mark_headline(marks, title)
        entries = PageEntries(self.page.root)
        entries.keep_signatures(marks)
        return entries.placed(read_structure(self.page, marks), marks)


def _decide_text(
    page: Page, stated: Statements, method: Method, options: Options, site_model: SiteJudge | None
) -> tuple[Page, MethodResult]:
    """Return the decisions on a page, and the page: a copy with its embedded prose if it shows none."""
    result = decide_page(page, stated, method, options, site_model)
    cut = [decision.block for decision in result.decisions] if method.cuts_leaves else _walked_blocks(page)
    embedded = read_embedded(page, stated, cut)
    if embedded is None:
        return page, result
    return embedded, decide_page(embedded, stated, method, options, site_model)


def text_page(page: Page) -> Page:
    """Return the page as `clean` reads it: with its address, and as a copy with its embedded prose if it shows none."""
    stated = read_statements(page.root)
    page = _with_address(page, stated)
    return read_embedded(page, stated, _walked_blocks(page)) or page


def _with_address(page: Page, stated: Statements) -> Page:
    """Return the page with the address that it states, if none is known."""
    if page.url is not None or (address := stated_address(stated)) is None:
        return page
    return replace(page, url=address)


def _walked_blocks(page: Page) -> list[Block]:
    return read_leaf_table(page.root).blocks


def decide_page(
    page: Page, stated: Statements, method: Method, options: Options, site_model: SiteJudge | None = None
) -> MethodResult:
    """Return a method's decisions on a page, and the page's type if the method tells it.

    `site_model` is for methods with `decide_taught`.
    """
    if site_model is not None and method.decide_taught is not None:
        return method.decide_taught(page, stated, options, site_model)
    if method.decide_page is not None:
        return method.decide_page(page, stated, options)
    return MethodResult([decided.decision for decided in decide_leaves(page, method, options)])


def decide_leaves(
    page: Page, method: Method, options: Options, site_model: SiteJudge | None = None
) -> list[DecidedLeaf]:
    """Return a page's leaves as the method cuts them, each with its decision; empty for a page without text.

    The page must have the field that the method needs. `site_model` is for methods with `decide_taught`.
    """
    leaves = method.segment(page, options)
    if site_model is None:
        decisions = _decide(method, page, leaves, options)
    else:
        decisions = list(decide_page(page, read_statements(page.root), method, options, site_model).decisions)
    return [DecidedLeaf(*both) for both in zip(leaves, decisions, strict=True)]


def _decide(method: Method, page: Page, leaves: list[Leaf], options: Options) -> list[Decision]:
    """Score and decide the first `max_blocks` leaves; drop the others as TRUNCATED."""
    if not leaves:
        return []
    within, beyond = leaves[: options.max_blocks], leaves[options.max_blocks :]
    scores = method.score(page, within, options)
    decisions = method.decide(page, within, scores, options)
    return decisions + [Decision(leaf.block, 0.0, Reason.TRUNCATED) for leaf in beyond]
