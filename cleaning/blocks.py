"""The vocabulary: page, block, reason, decision, clean page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from cleaning.layout import Layout


class ParseWarning(StrEnum):
    """What was met, and survived, while reading a page; each is counted under its word."""

    EMPTY = "empty_page"
    CHARSET_CONTRADICTED = "charset_contradicted"
    UNDECODABLE_BYTES = "undecodable_bytes"
    DEEP_NESTING = "deep_nesting"


@dataclass(frozen=True, slots=True)
class Page:
    """A page read into a tree, which nobody edits.

    `encoding` is the one its bytes were read in, None for text and ready-made trees. `layout` is where a browser put
    its elements, `template` the patterns that repeat between pages of its site (see
    `cleaning.methods.informative_sections.learn_template`);
    most methods need neither.
    """

    root: HtmlElement
    url: str | None = None
    encoding: str | None = None
    parse_warnings: tuple[ParseWarning, ...] = ()
    layout: Layout | None = None
    template: frozenset[int] | None = None


class Kind(StrEnum):
    """What a block is on its page."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_CELL = "table_cell"
    CODE = "code"
    QUOTE = "quote"


class PageType(StrEnum):
    """What sort of page it is."""

    ARTICLE = "article"
    FORUM = "forum"
    PRODUCT = "product"
    COLLECTION = "collection"
    """A shop's shelf: products side by side."""
    LISTING = "listing"
    """A list that leads to other pages: a section page, search results, an index."""
    DOCUMENTATION = "documentation"
    SERVICE = "service"
    """A company's or institution's page about what it offers; many home pages."""


class Reason(StrEnum):
    """Why a block was kept or dropped; a closed set, counted under these words."""

    KEPT = "kept"
    SHORT = "short"
    """Too few words to say anything where it stands."""
    LINKS = "links"
    """Most of its words are links: navigation."""
    OUTSIDE = "outside"
    """Outside the part of the page that holds the main text."""
    NAVIGATION = "navigation"
    """In a menu, breadcrumb trail, pager, search or shopping box, by its tag, class, id or role."""
    FOOTER = "footer"
    """In the page's foot: contacts, copyright, legal notes."""
    OVERLAY = "overlay"
    """In a cookie notice, pop-up or dialog laid over the page."""
    FORM = "form"
    """In a form, button or label, or an invitation to sign up."""
    ADVERTISEMENT = "advertisement"
    """Marked as an advertisement, promotion or banner."""
    RELATED = "related"
    """Leads to other pages: related, recommended, popular, tags."""
    SOCIAL = "social"
    """Share buttons and embedded posts."""
    ASIDE = "aside"
    """In a sidebar or widget."""
    COMMENT = "comment"
    """A reader's comment on a page that is not made of comments."""
    BYLINE = "byline"
    """Names or presents the author, dates the page, or says under which section it stands."""
    CAPTION = "caption"
    """Describes or credits a picture."""
    HIDDEN = "hidden"
    """Its class, or the layout, says that readers do not see it."""
    EMPTY = "empty"
    """An element that the method makes a block of, without text."""
    UNBLOCKED = "unblocked"
    """In no element that the method makes blocks of."""
    IRRELEVANT = "irrelevant"
    """In an element whose tag the method discards."""
    PLUGIN = "plugin"
    """The text that stands in for an embedded player or program."""
    LEGAL = "legal"
    """Has links to terms, disclaimer, publisher or copyright."""
    PUNCTUATION = "punctuation"
    """Has no punctuation mark, or fewer than its surroundings."""
    OUTER_LINKS = "outer_links"
    """Most of its links lead to other sites."""
    NO_PRIORITY = "no_priority"
    """Has none of the tags to which the method gives a priority."""
    LOW_SCORE = "low_score"
    """Its score does not reach what the method asks for."""
    TEMPLATE = "template"
    """The same on several pages of the site."""
    NO_MAIN = "no_main_block"
    """No block of the page has what the method asks of a main one."""
    TRUNCATED = "truncated"
    """Beyond the bound on blocks of one page (option `max_blocks`)."""
    PAGE_DUPLICATE = "page_duplicate"
    """Repeats an earlier block of the same page."""


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of text in reading order.

    `path` leads to its element (`/html/body/div[2]/p[1]`), `words` and `link_words` count its words and
    those of them inside links, `priority` is the tag-priority sum of PAB (pab.txt, table 3.1): the block's
    element and the tags of its own.
    """

    position: int
    path: str
    kind: Kind
    text: str
    words: int
    link_words: int
    priority: float


@dataclass(frozen=True, slots=True)
class Decision:
    """A block with its score (the method's own scale) and the reason it was kept or dropped."""

    block: Block
    score: float
    reason: Reason

    @property
    def kept(self) -> bool:
        return self.reason is Reason.KEPT


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page says of itself; every field is None, or empty, where the page is silent.

    `published` and `modified` are ISO dates (`2024-05-03`), `language` is a two-letter code (three letters for a
    language without one), `canonical` and `image` (the lead one) are absolute URLs.
    """

    title: str | None = None
    authors: tuple[str, ...] = ()
    published: str | None = None
    modified: str | None = None
    language: str | None = None
    section: str | None = None
    canonical: str | None = None
    site_name: str | None = None
    image: str | None = None

    @property
    def author(self) -> str | None:
        """The authors' names in one text, None where there are none."""
        return ", ".join(self.authors) or None

    def filled_from(self, other: Metadata) -> Metadata:
        """Return this metadata with the other's values where it is silent."""
        return Metadata(*(getattr(self, name) or getattr(other, name) for name in Metadata.__dataclass_fields__))


@dataclass(frozen=True, slots=True)
class CleanPage:
    """Every block of a page with its decision, in reading order, and the page's metadata.

    `encoding` is the one its bytes were read in, None for text and ready-made trees. `type` is the sort of page that
    it seems to be, `confidence` (0 to 1) how likely that is; both are None for a page without text, and with methods
    other than `default`.
    """

    url: str | None
    method: str
    encoding: str | None
    metadata: Metadata
    decisions: tuple[Decision, ...]
    parse_warnings: tuple[ParseWarning, ...] = ()
    type: PageType | None = None
    confidence: float | None = None

    @property
    def title(self) -> str | None:
        return self.metadata.title

    @property
    def author(self) -> str | None:
        return self.metadata.author

    @property
    def published(self) -> str | None:
        return self.metadata.published

    @property
    def language(self) -> str | None:
        return self.metadata.language

    @property
    def kept(self) -> tuple[Block, ...]:
        """The kept blocks in reading order; empty where nothing was kept."""
        return tuple(decision.block for decision in self.decisions if decision.kept)

    @property
    def text(self) -> str:
        """The texts of the kept blocks in reading order, one a line; "" where nothing was kept."""
        return "\n".join(block.text for block in self.kept)

    def counts(self) -> dict[str, int]:
        """Blocks by reason, `kept` among them; the figures add up to the number of decisions."""
        counts: dict[str, int] = {}
        for decision in self.decisions:
            counts[decision.reason] = counts.get(decision.reason, 0) + 1
        return counts
