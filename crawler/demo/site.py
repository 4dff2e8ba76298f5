"""The demo site as data: articles, links that lead to no article, and the sections that list them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datetime as dt

    from cleaning.blocks import Kind

# ezinearticles changed its markup over the years, and so does the demo site.
_NEW_MARKUP_SINCE = 2012


class PassageMarkup(StrEnum):
    """How a passage is marked up. The words are the same in each form."""

    PLAIN = "plain"
    EMPHASISED = "emphasised"
    LINKED = "linked"
    SPREAD = "spread"
    """With line breaks, tabs and multiple spaces between the words."""


class ExpectedOutcome(StrEnum):
    """The outcome that a crawler should record for a listed link that does not lead to an article."""

    FORBIDDEN = "forbidden"
    CAPTCHA = "captcha"
    QUOTA = "quota"
    REMOVED = "removed"
    NOT_FOUND = "not_found"
    NOT_HTML = "not_html"
    ROBOTS = "robots"


@dataclass(frozen=True, slots=True)
class Passage:
    """One block of an article's body.

    `group` names its planted family of duplicates, "" if it has none, and `member` its position there. The
    centre of a near-duplicate family is member 0.
    """

    kind: Kind
    text: str
    markup: PassageMarkup = PassageMarkup.PLAIN
    group: str = ""
    member: int = 0


@dataclass(frozen=True, slots=True)
class Author:
    """An author. `workshop` is the invented word that the author's resource box advertises."""

    name: str
    expert_id: int
    workshop: str


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """A link in the listings of its category and subcategory, as their URLs spell them."""

    id: int
    path: str
    title: str
    category: str
    subcategory: str

    @property
    def section(self) -> str:
        return f"{self.category}:{self.subcategory}"


@dataclass(frozen=True, slots=True)
class Charset:
    """The encoding of a page: `codec` makes the bytes; `header` and `meta` are what the page declares."""

    codec: str = "utf-8"
    header: str | None = "utf-8"
    meta: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Draft:
    """An article without an address.

    If `bare` is True, its paragraphs are separated by `br` and have no elements of their own. If `mirrored` is True,
    its body appears a second time under another address. If `author` is None, any author may sign it.
    """

    title: str
    slug: str
    category: str
    subcategory: str
    passages: tuple[Passage, ...]
    author: Author | None = None
    bare: bool = False
    mirrored: bool = False
    charset: Charset = Charset()
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Article:
    """An article with its address. `mirror_of` is the path of the article whose body it repeats, or ""."""

    entry: ListingEntry
    author: Author
    published: dt.date
    draft: Draft
    mirror_of: str = ""

    @property
    def passages(self) -> tuple[Passage, ...]:
        return self.draft.passages

    @property
    def new_markup(self) -> bool:
        return self.published.year >= _NEW_MARKUP_SINCE


@dataclass(frozen=True, slots=True)
class RefusedLink:
    """A listed link that is answered by a template or a file instead of an article."""

    entry: ListingEntry
    outcome: ExpectedOutcome
    status: int
    template: str


@dataclass(frozen=True, slots=True)
class RedirectedLink:
    """A listed link that leads to another article."""

    entry: ListingEntry
    status: int
    target: str


@dataclass(frozen=True, slots=True)
class NoiseText:
    """Text of the page templates. `marker` is the part of it that occurs nowhere else."""

    kind: str
    marker: str
    text: str


@dataclass(frozen=True, slots=True)
class DemoSite:
    seed: int
    articles: tuple[Article, ...]
    refusals: tuple[RefusedLink, ...]
    redirects: tuple[RedirectedLink, ...]
    noise: tuple[NoiseText, ...]

    def sections(self) -> dict[str, list[ListingEntry]]:
        """Return every section (`Category` and `Category:Sub`) with its links, newest first."""
        linked: tuple[Article | RefusedLink | RedirectedLink, ...] = (*self.articles, *self.refusals, *self.redirects)
        listed = [item.entry for item in linked]
        sections: dict[str, list[ListingEntry]] = {}
        for entry in sorted(listed, key=lambda entry: -entry.id):
            sections.setdefault(entry.category, []).append(entry)
            sections.setdefault(entry.section, []).append(entry)
        return dict(sorted(sections.items()))


def load_texts(name: str) -> dict[str, Any]:
    """Return the tables of `texts/<name>.toml`."""
    return tomllib.loads(_read(f"texts/{name}.toml"))


def load_template(name: str) -> Template:
    return Template(_read(f"templates/{name}.html"))


def _read(path: str) -> str:
    return resources.files("crawler.demo").joinpath(path).read_text("utf-8")
