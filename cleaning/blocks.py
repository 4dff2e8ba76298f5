"""The vocabulary: page, block, reason, decision, metadata."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 — messages between processes are decoded by this annotation
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from lxml.html import HtmlElement

    from cleaning.layout import Layout


class ParseWarning(StrEnum):
    """A defect of a page that reading survived; each is counted under its value."""

    EMPTY = "empty_page"
    CHARSET_CONTRADICTED = "charset_contradicted"
    CHARSET_IN_DOUBT = "charset_in_doubt"
    UNDECODABLE_BYTES = "undecodable_bytes"
    DEEP_NESTING = "deep_nesting"


class _ExplainedEnum(StrEnum):
    """Values with a `meaning`, which says them to readers."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_, member.meaning = value, meaning
        return member


class TextSource(_ExplainedEnum):
    """Where the main text of a page stands; all but TREE are read only if the tree shows no prose."""

    TREE = "tree", "the page as a browser shows it"
    NOSCRIPT = "noscript", "the page without scripts"
    TEMPLATE = "template", "a template element, which a script shows"
    SCRIPT_TEMPLATE = "script_template", "HTML in a script, which another script shows"
    JSON_LD = "json_ld", "the article in JSON-LD"
    STATE = "state", "the state of the page's scripts"


@dataclass(frozen=True, slots=True)
class Page:
    """A page read into a tree. The tree is never edited.

    `encoding` is the one that the page's bytes were read in, None for text and ready-made trees. Few methods need
    `layout`, the boxes of the page's elements in a browser, or `template`, the patterns that repeat between pages of
    the site (see `learn_template` in cleaning/methods/informative_sections.py). `text_source` is another one than TREE
    if the tree is a copy with the embedded prose of a page (cleaning/embedded/prose.py).
    """

    root: HtmlElement
    url: str | None = None
    encoding: str | None = None
    parse_warnings: tuple[ParseWarning, ...] = ()
    layout: Layout | None = field(default=None, repr=False)
    template: frozenset[int] | None = field(default=None, repr=False)
    text_source: TextSource = TextSource.TREE


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


class Reason(_ExplainedEnum):
    """Why a block was kept or dropped: a closed set, counted under these values. `meaning` explains it to readers."""

    KEPT = "kept", "part of the text"
    SHORT = "short", "too few words to say anything where it stands"
    LINKS = "links", "most of its words are links"
    OUTSIDE = "outside", "outside the part that holds the main text"
    NAVIGATION = "navigation", "in a menu, breadcrumb trail, pager or search box"
    FOOTER = "footer", "in the page's footer"
    OVERLAY = "overlay", "in a cookie notice, pop-up or dialog"
    FORM = "form", "in a form, button or label, or asks to sign up"
    ADVERTISEMENT = "advertisement", "marked as an advertisement or promotion"
    RELATED = "related", "leads to other pages: related, popular, tags"
    SOCIAL = "social", "share buttons, links to social sites, embedded posts"
    ASIDE = "aside", "in a sidebar or widget"
    COMMENT = "comment", "a reader's comment"
    BYLINE = "byline", "names the author, the date or the section"
    CAPTION = "caption", "describes or credits a picture"
    HIDDEN = "hidden", "not visible to readers"
    EMPTY = "empty", "has no text"
    UNBLOCKED = "unblocked", "in no element that the method makes blocks of"
    IRRELEVANT = "irrelevant", "in an element whose tag the method discards"
    PLUGIN = "plugin", "stands for an embedded player or program"
    LEGAL = "legal", "has links to terms, disclaimer or copyright"
    PUNCTUATION = "punctuation", "too little punctuation"
    OUTER_LINKS = "outer_links", "most of its links lead to other sites"
    NO_PRIORITY = "no_priority", "has none of the tags that have a priority"
    LOW_SCORE = "low_score", "its score is too low"
    TEMPLATE = "template", "the same on several pages of the site"
    NO_MAIN = "no_main_block", "no block has what the method asks of a main one"
    TRUNCATED = "truncated", "beyond the limit on blocks (option max_blocks)"
    PAGE_DUPLICATE = "page_duplicate", "repeats an earlier block of the page"
    TAUGHT = "taught", "dropped by what readers corrected on the site"


# Before Python 3.12, it takes ten times as long to look a member up in its class.
KEPT = Reason.KEPT


# From this many words outside links on, a text can be prose.
_MIN_PROSE_WORDS = 8


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

    @property
    def prose_words(self) -> int:
        """The words outside links if there are at least 8 of them, and no more inside links; else 0."""
        unlinked = self.words - self.link_words
        return unlinked if unlinked >= max(_MIN_PROSE_WORDS, self.link_words) else 0


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
    """The statements of a page about itself; a field is None, or empty, if the page does not state it.

    `published` and `modified` are ISO dates (`2024-05-03`), or months (`2024-05`) on a page that says no more, in the
    zone that the page states; `published` is the last update of a page that shows no other date. `published_at` and
    `modified_at` have the time too, as stated (`2024-05-03T23:30:00-05:00`); they are None without one.

    `language` is a two-letter code, or a three-letter code for a language without one. `canonical` and `image` (the
    lead image) are absolute URLs. `headline` is the heading that the page shows, `stated_title` its title element, or
    what stands in for one; `title` is made of both, without the site's name. `license` is the address of the page's
    licence, or its name. `access` says whether a reader must pay, as the page states it: `free`, `metered` or `paid`.
    `sources` says in words where title, authors, published, modified, section, canonical, site_name, image,
    description, keywords, license and access come from, such as "json-ld datePublished".
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
    headline: str | None = None
    stated_title: str | None = None
    description: str | None = None
    keywords: tuple[str, ...] = ()
    license: str | None = None
    published_at: str | None = None
    modified_at: str | None = None
    access: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def author(self) -> str | None:
        """The authors' names, joined by commas; None without authors."""
        return ", ".join(self.authors) or None

    @property
    def published_text(self) -> str | None:
        """When the page was published, as fine as it states it: a time, a day or a month in ISO 8601."""
        return self.published_at or self.published

    @property
    def modified_text(self) -> str | None:
        """When the page was modified, as fine as it states it."""
        return self.modified_at or self.modified

    def filled_from(self, other: Metadata) -> Metadata:
        """Return this metadata with its empty fields filled from the other one."""
        names = [name for name in Metadata.__dataclass_fields__ if name != "sources"]
        fields = {name: getattr(self, name) or getattr(other, name) for name in names}
        for name in ("published", "modified"):
            if getattr(self, name):  # the other one's time belongs to another day
                fields[f"{name}_at"] = getattr(self, f"{name}_at")
        sources = {name: source for name, source in other.sources.items() if not getattr(self, name)}
        return Metadata(**fields, sources=sources | dict(self.sources))
