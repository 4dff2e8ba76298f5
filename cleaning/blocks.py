"""The vocabulary: page, block, reason, decision, metadata."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.html import HtmlElement

    from cleaning.layout import Layout


class ParseWarning(StrEnum):
    """A defect of a page that reading survived; each is counted under its value."""

    EMPTY = "empty_page"
    CHARSET_CONTRADICTED = "charset_contradicted"
    CHARSET_IN_DOUBT = "charset_in_doubt"
    UNDECODABLE_BYTES = "undecodable_bytes"
    DEEP_NESTING = "deep_nesting"


@dataclass(frozen=True, slots=True)
class Page:
    """A page read into a tree. The tree is never edited.

    `encoding` is the one that the page's bytes were read in, None for text and ready-made trees. Few methods need
    `layout`, the boxes of the page's elements in a browser, or `template`, the patterns that repeat between pages of
    the site (see `learn_template` in cleaning/methods/informative_sections.py).
    """

    root: HtmlElement
    url: str | None = None
    encoding: str | None = None
    parse_warnings: tuple[ParseWarning, ...] = ()
    layout: Layout | None = None
    template: frozenset[int] | None = None


class Kind(StrEnum):
    """The role of a block on its page."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_CELL = "table_cell"
    CODE = "code"
    QUOTE = "quote"


class PageType(StrEnum):
    """The type of a page as a whole."""

    ARTICLE = "article"
    FORUM = "forum"
    PRODUCT = "product"
    COLLECTION = "collection"
    """A shop's list of products."""
    LISTING = "listing"
    """A list of links to other pages: a section page, search results, an index."""
    DOCUMENTATION = "documentation"
    SERVICE = "service"
    """A page of a company or institution about its services; many home pages."""


class Reason(StrEnum):
    """Why a block was kept or dropped: a closed set, counted under these values."""

    KEPT = "kept"
    SHORT = "short"
    """Too few words to mean anything in this place."""
    LINKS = "links"
    """Most of its words are inside links: navigation."""
    OUTSIDE = "outside"
    """Outside the part of the page that holds the main text."""
    NAVIGATION = "navigation"
    """In a menu, breadcrumb trail, pager, search or shopping box, by its tag, class, id or role."""
    FOOTER = "footer"
    """In the page's footer: contacts, copyright, legal notes."""
    OVERLAY = "overlay"
    """In a cookie notice, pop-up or dialog over the page."""
    FORM = "form"
    """In a form, button or label, or an invitation to sign up."""
    ADVERTISEMENT = "advertisement"
    """Marked as an advertisement, promotion or banner."""
    RELATED = "related"
    """In a list of links to other pages: related, recommended, popular, tags."""
    SOCIAL = "social"
    """Share buttons and embedded posts."""
    ASIDE = "aside"
    """In a sidebar or widget."""
    COMMENT = "comment"
    """A reader's comment, on a page whose main text is not comments."""
    BYLINE = "byline"
    """Names or presents the author, or gives the page's date or section."""
    CAPTION = "caption"
    """Describes or credits a picture."""
    HIDDEN = "hidden"
    """Invisible to readers, according to its class or to the layout."""
    EMPTY = "empty"
    """The element of a block without text."""
    UNBLOCKED = "unblocked"
    """In no element that the method treats as a block."""
    IRRELEVANT = "irrelevant"
    """In an element whose tag the method discards."""
    PLUGIN = "plugin"
    """The replacement text of an embedded player or program."""
    LEGAL = "legal"
    """Links to terms, disclaimer, publisher or copyright."""
    PUNCTUATION = "punctuation"
    """Has no punctuation mark, or fewer than its surroundings."""
    OUTER_LINKS = "outer_links"
    """Most of its links lead to other sites."""
    NO_PRIORITY = "no_priority"
    """Has no tag with a priority in the method."""
    LOW_SCORE = "low_score"
    """Its score is below the method's threshold."""
    TEMPLATE = "template"
    """Repeats on several pages of the site."""
    NO_MAIN = "no_main_block"
    """No block of the page meets the method's conditions for a main block."""
    TRUNCATED = "truncated"
    """Beyond the largest number of blocks of one page (option `max_blocks`)."""
    PAGE_DUPLICATE = "page_duplicate"
    """Repeats an earlier block of the same page."""


# Before Python 3.12, it takes ten times as long to look a member up in its class.
KEPT = Reason.KEPT


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of text in reading order.

    `path` is the XPath of its element (`/html/body/div[2]/p[1]`). `words` counts its words, `link_words` those inside
    links. `priority` is the tag-priority sum of PAB (pab.txt, table 3.1) over its element and inline tags.
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
    """A block with its score, on the method's own scale, and the reason why it was kept or dropped."""

    block: Block
    score: float
    reason: Reason

    @property
    def kept(self) -> bool:
        return self.reason is KEPT


def kept_decisions(decisions: Iterable[Decision]) -> list[Decision]:
    """Return the decisions that keep their block, in order."""
    return [decision for decision in decisions if decision.reason is KEPT]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a page states about itself; a field is None, or empty, if the page does not state it.

    `published` and `modified` are ISO dates (`2024-05-03`); `published` is the last update of a page that shows no
    other date. `language` is a two-letter code, or a three-letter code for a language without one. `canonical` and
    `image` (the lead image) are absolute URLs.
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
        """The authors' names, joined by commas; None without authors."""
        return ", ".join(self.authors) or None

    def filled_from(self, other: Metadata) -> Metadata:
        """Return this metadata with its empty fields filled from the other one."""
        return Metadata(*(getattr(self, name) or getattr(other, name) for name in Metadata.__dataclass_fields__))
