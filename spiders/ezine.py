"""ezinearticles.com: `scrapy crawl ezine [-a category=Computers-and-Technology[:Software]] [-a pages=3]`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from parsel import Selector
from scrapy.exceptions import CloseSpider
from scrapy.http import TextResponse

from cleaning import clean
from cleaning.declare import did_you_mean, integer, option, parsed, web_url
from crawler.config import config_of
from crawler.discovery.article_detection import is_article
from crawler.errors import ConfigError
from crawler.monitoring.exit_status import FinishReason
from crawler.page import page
from crawler.time_limit import time_limit
from spiders.dates import iso_day
from spiders.links import Link, link_text, links_within
from spiders.listing import MAX_COUNT, ListingArguments, ListingSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from parsel import SelectorList
    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from cleaning.blocks import Page
    from crawler.visit import FetchedPage

# /?Title-Words&id=4073117, where the slug may contain any character, `?` and brackets included; and /10553192.
_ARTICLE = re.compile(r"/\?(?!(?:cat|expert)=)[^#]{1,1000}&id=\d{6,8}|/\d{6,8}")
_CATEGORY = re.compile(r"/\?cat=([^&:#]+)(?::([^&#]+))?")
_SUBMITTED = re.compile(r"Submitted On\s+([A-Z][a-z]{2})[a-z]*\.?\s+(\d{1,2}),\s+(\d{4})")
# The element around an article's text; in microdata, whatever its class.
_TEXT_SELECTOR = "#article-content, [itemprop=articleBody]"
_PAPER_CATEGORIES = ("Arts-and-Entertainment", "Computers-and-Technology", "Food-and-Drink")
"""The categories of the experiment in the PAB paper (section 4), which are crawled if none is named."""
# A crawl that gets so many articles in a row without a title or a text ends: the site may have changed its pages.
_EMPTY_MAX = 5
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _read_section(text: str) -> str:
    """Return a category or `Category:Subcategory` as the site's URLs spell it."""
    known = _known_categories()
    sections = {*known, *(f"{category}:{name}" for category, names in known.items() for name in names)}
    wanted = re.sub(r"\s+", "-", text.strip())
    written = {section.lower(): section for section in sections}.get(wanted.lower())
    if written is None:
        category = wanted.partition(":")[0]
        names = [f"{category}:{name}" for name in known.get(category, ())] if ":" in wanted else known
        raise ValueError(f"no category is called {wanted!r}; {did_you_mean(wanted, names or known)}")
    return written


def _read_sections(text: str) -> tuple[str, ...]:
    """Return a list of sections, () for `all`."""
    return () if text.strip().lower() == "all" else tuple(_read_section(part) for part in text.split(","))


def _known_categories() -> dict[str, list[str]]:
    """Return the site's categories with their subcategories, as its URLs spell them."""
    text = files("spiders").joinpath("data/ezine-categories.json").read_text("utf-8")
    categories: dict[str, list[str]] = json.loads(text)
    return categories


@dataclass(frozen=True, slots=True, kw_only=True)
class EzineArguments(ListingArguments):
    pages: int | None = option(
        None, integer(1, MAX_COUNT), "Number of listing pages read in each section. All pages by default."
    )
    category: str = option(
        "",
        parsed("category", "a category of the site", _read_section),
        "A category, or Category:Subcategory. Without it and `categories`, the three of the PAB paper.",
    )
    categories: tuple[str, ...] | None = option(
        None,
        parsed("categories", "categories of the site with commas between them, or all", _read_sections),
        "Several categories with commas between them, or `all`.",
    )
    base_url: str = option("https://ezinearticles.com/", web_url(), "Address of the site, to crawl a copy of it.")


class EzineSpider(ListingSpider):
    """Reads categories and their subcategories page by page, with every article that they list.

    Cleaning reads the rest of the metadata, such as the author of recent pages, from JSON-LD, microdata and meta tags.
    No page of the site was at hand when this was written: docs/crawl.md says what was tested instead.
    """

    name = "ezine"
    Arguments = EzineArguments
    arguments: EzineArguments

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self._empty = 0  # articles in a row
        if self.arguments.category and self.arguments.categories is not None:
            raise ConfigError("the spider 'ezine' takes the argument 'category' or 'categories', not both")

    async def start(self) -> AsyncIterator[Request]:
        if self.arguments.categories == ():
            url = urljoin(self.arguments.base_url, "/sitemap.html")
            yield self.listing(url).replace(callback=self.parse_sitemap, errback=self.use_known, cb_kwargs={})
            return
        category = self.arguments.category
        for section in self.arguments.categories or ([category] if category else _PAPER_CATEGORIES):
            yield self._section(section)

    def parse_sitemap(self, response: Response) -> Iterator[Request]:
        """Yield each category of the site's HTML sitemap, or the known categories if the sitemap names none."""
        requests = {category: self._section(category) for category, _ in _linked_categories(response)}
        yield from requests.values() or self.use_known()

    def use_known(self, _failure: Failure | None = None) -> Iterator[Request]:
        for category in _known_categories():
            yield self._section(category)

    def parse_listing(self, response: Response, number: int = 1) -> Iterator[Request]:
        """Yield the articles and the next page, and on the first page of a category its subcategories too."""
        here = _CATEGORY.match(_url_target(response.url))
        if number == 1 and here and not here[2]:
            for category, subcategory in _linked_categories(response):
                if subcategory and category == here[1]:
                    yield self._section(f"{category}:{subcategory}")
        yield from super().parse_listing(response, number)

    def section_name(self, url: str) -> str | None:
        here = _CATEGORY.match(_url_target(url))
        return here and ":".join(filter(None, here.groups()))

    def article_links(self, response: TextResponse) -> list[Link]:
        links = list(links_within(response, "a"))
        listed = [(element, url) for element, url in links if "article-title-link" in (element.get("class") or "")]
        listed = listed or [(element, url) for element, url in links if _is_article_url(url)]
        return list({url: Link(url, link_text(element)) for element, url in listed}.values())

    def parse_article(self, response: Response) -> Iterator[FetchedPage]:
        """Yield the page if it has an article's URL, a title and a text.

        What the site's own classes do not give is read by cleaning from JSON-LD, microdata and meta tags. If they give
        nothing on several pages in a row, the spider no longer fits the site, and the crawl ends.
        """
        assert isinstance(response, TextResponse)
        if not _is_article_url(response.url):
            self.count("no_article")
            return
        with time_limit(config_of(self.crawler).cleaning_seconds):
            article = _read_article(page(response).tree)
        self._empty = 0 if article.has_text and article.title else self._empty + 1
        if self._empty >= _EMPTY_MAX:
            raise CloseSpider(FinishReason.NO_ARTICLES)
        if self._empty:
            self.count("no_article")
        elif self._is_old(article.published):
            self.count("older")
        else:
            # Without a value of the site's own classes, cleaning fills the field.
            yield page(
                response,
                title=article.own_title,
                author=article.author,
                published=article.published,
                section=article.section,
            )

    def _section(self, section: str) -> Request:
        return self.listing(urljoin(self.arguments.base_url, f"/?cat={section}"))


def _is_article_url(url: str) -> bool:
    """Return True for the URL of an article."""
    return _ARTICLE.fullmatch(_url_target(url)) is not None


@dataclass(frozen=True, slots=True)
class ArticleFields:
    """The facts on an article's page. `own_title` and `author` come from the site's own classes, or are None."""

    has_text: bool
    title: str | None
    own_title: str | None
    author: str | None
    published: date | None
    section: str | None


def _read_article(tree: Page) -> ArticleFields:
    """Return the fields of an article: by the site's ids and classes, else as the page states them in other ways."""
    selector = Selector(root=tree.root, type="html")
    has_text = bool(_selector_text(selector.css(_TEXT_SELECTOR)))
    own_title = _selector_text(selector.css("#article-title")) or _only_heading(selector)
    published = _submitted_on(selector)
    title = own_title
    if not (has_text and own_title and published):
        cleaned = clean(tree)
        has_text = has_text or bool(is_article(cleaned))
        title = title or cleaned.title
        published = published or iso_day(cleaned.published or "")
    author = _selector_text(selector.css("a[rel=author].author-name"))
    section = selector.css('meta[property="og:article:section"]::attr(content)').get()
    return ArticleFields(has_text, title, own_title, author, published, section)


def _submitted_on(selector: Selector) -> date | None:
    """Return the date of "Submitted On June 12, 2008.", None if the page has no such line."""
    for line in selector.xpath("//*[text()[contains(normalize-space(.), 'Submitted On')]]")[:3]:
        if match := _SUBMITTED.search(" ".join(line.xpath("string()").get("")[:1_000].split())):
            month, day, year = match.groups()
            try:
                return date(int(year), _MONTHS.index(month) + 1, int(day))
            except ValueError:
                return None
    return None


def _selector_text(selection: SelectorList[Any]) -> str | None:
    """Return the text of the first element that was selected, on one line; None without any."""
    return " ".join(" ".join(selection[:1].css("*::text").getall()).split()) or None


def _only_heading(selector: Selector) -> str | None:
    """Return the text of the page's h1 element; None if it has several: one may be the site's name."""
    headings = selector.css("h1")
    return _selector_text(headings) if len(headings) == 1 else None


def _linked_categories(response: Response) -> Iterator[tuple[str, str | None]]:
    """Yield the category, and the subcategory or None, of each link to a category."""
    assert isinstance(response, TextResponse)
    for _, url in links_within(response, "a"):
        if match := _CATEGORY.fullmatch(_url_target(url)):
            yield match[1], match[2]


def _url_target(url: str) -> str:
    """Return the path and query of a URL. The colon of a category is unquoted."""
    parts = urlsplit(url)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return unquote(target) if target.startswith("/?cat=") else target
