"""The demo site's responses: ezinearticles' markup with the boilerplate of a real site around it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from dataclasses import dataclass
from email.utils import format_datetime
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import quote

from cleaning.blocks import Kind
from crawler.demo.site import PassageMarkup, load_template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from string import Template

    from crawler.demo.site import Article, Author, DemoSite, Draft, ListingEntry, Passage, RefusedLink

_LINKS_PER_PAGE = 20

_TEMPLATES = ("page-old", "page-new", "article", "article-head-old", "article-head-new", "listing")

_SUMMARY_CHARACTERS = 140

_SIDE_LINKS = 5

# The element of each kind of block.
_ELEMENTS = {
    Kind.PARAGRAPH: "<p>{}</p>",
    Kind.HEADING: "<h2>{}</h2>",
    Kind.LIST_ITEM: "<li>{}</li>",
    Kind.TABLE_CELL: "<td>{}</td>",
    Kind.QUOTE: "<blockquote>{}</blockquote>",
    Kind.CODE: "<pre><code>{}</code></pre>",
}

_TABLE_COLUMNS = 2

_HTML = "text/html; charset=UTF-8"

_PDF = b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"

_GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)

_ROBOTS = b"User-agent: *\nDisallow: /private\n"

_PRIVATE = "<html><head><title>Private</title></head><body><p>For members only; see robots.txt.</p></body></html>"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. `etag` and `last_modified` are "" if the page has none; `location` is "" except for redirects."""

    status: int
    content_type: str
    body: bytes
    etag: str = ""
    last_modified: str = ""
    location: str = ""


def site_replies(site: DemoSite) -> dict[str, Reply]:
    """Return the response to each request target (path and query) of the site."""
    pages = site_pages(site)
    answers = {"/robots.txt": Reply(200, "text/plain", _ROBOTS), "/": _html_reply(pages.home())}
    answers["/sitemap.html"] = _html_reply(pages.sitemap())
    answers |= _listing_replies(pages)
    answers |= _author_replies(pages)
    answers |= {article.entry.path: _article_reply(pages, article) for article in site.articles}
    answers |= {refusal.entry.path: _refusal_reply(refusal) for refusal in site.refusals}
    answers |= {
        redirect.entry.path: Reply(redirect.status, _HTML, b"", location=redirect.target) for redirect in site.redirects
    }
    return answers


def not_found_reply() -> Reply:
    return _html_reply(load_template("removed").template, 404)


def _html_reply(html: str, status: int = 200) -> Reply:
    return Reply(status, _HTML, html.encode())


def _listing_replies(pages: SitePages) -> Iterator[tuple[str, Reply]]:
    for section, entries in pages.sections.items():
        for page in range(1, _page_count(entries) + 1):
            yield _listing_path(section, page), _html_reply(pages.listing(section, page))
        # Some scrapers request the first page by its number.
        yield f"{_listing_path(section)}&page=1", _html_reply(pages.listing(section, 1))


def _author_replies(pages: SitePages) -> Iterator[tuple[str, Reply]]:
    for author in dict.fromkeys(article.author for article in pages.site.articles):
        page = _html_reply(pages.by_author(author))
        yield from ((path, page) for path in _author_paths(author))


def _article_reply(pages: SitePages, article: Article) -> Reply:
    charset = article.draft.charset
    body = pages.article(article).encode(charset.codec)
    content_type = f"text/html; charset={charset.header}" if charset.header else "text/html"
    noon = dt.datetime.combine(article.published, dt.time(12), dt.UTC)
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    return Reply(200, content_type, body, etag, format_datetime(noon, usegmt=True))


def _refusal_reply(refusal: RefusedLink) -> Reply:
    match refusal.template:
        case "pdf":
            return Reply(200, "application/pdf", _PDF)
        case "gif":
            return Reply(200, "image/gif", _GIF)
        case "private":
            return _html_reply(_PRIVATE)
        case name:
            return _html_reply(load_template(name).template, refusal.status)


@dataclass(frozen=True, slots=True)
class SitePages:
    """Renders the site's pages. `summaries` are by path; `noise` is by kind and already escaped."""

    site: DemoSite
    sections: Mapping[str, Sequence[ListingEntry]]
    summaries: Mapping[str, str]
    noise: Mapping[str, str]
    templates: Mapping[str, Template]

    def article(self, article: Article) -> str:
        age = "new" if article.new_markup else "old"
        fields = self._article_fields(article)
        fields["head"] = self.templates[f"article-head-{age}"].substitute(fields)
        fields["main"] = self.templates["article"].substitute(fields)
        fields["trail"] = _breadcrumbs(article.entry.section)
        fields["related_links"] = self._related(article)
        return self._page(age, fields)

    def listing(self, section: str, page: int) -> str:
        """Return one page of a section, counted from 1. The last page has no `Next »`."""
        entries = self.sections[section][(page - 1) * _LINKS_PER_PAGE : page * _LINKS_PER_PAGE]
        next_page = page + 1 if page < _page_count(self.sections[section]) else None
        pagination = f'<a href="{escape(_listing_path(section, next_page))}">Next »</a>' if next_page else ""
        fields = {"subsections": _section_links(self.subsections(section)), "pagination": pagination}
        return self._list_page(_readable(section), entries, fields, _breadcrumbs(section))

    def by_author(self, author: Author) -> str:
        entries = [article.entry for article in self.site.articles if article.author == author]
        return self._list_page(f"Articles by {author.name}", entries, {"subsections": "", "pagination": ""})

    def home(self) -> str:
        latest = sorted((article.entry for article in self.site.articles), key=lambda entry: -entry.id)
        fields = {"subsections": _section_links(self.categories()), "pagination": ""}
        return self._list_page("Fresh from our writers", latest[:_SIDE_LINKS], fields)

    def sitemap(self) -> str:
        links = _section_links(section for section in self.sections if ":" in section)
        fields = {"subsections": f'<div class="accordion">{links}</div>', "pagination": ""}
        return self._list_page("All subcategories", [], fields)

    def categories(self) -> list[str]:
        return [section for section in self.sections if ":" not in section]

    def subsections(self, section: str) -> list[str]:
        return [name for name in self.sections if name.startswith(f"{section}:")]

    def _list_page(self, heading: str, entries: Sequence[ListingEntry], fields: dict[str, str], trail: str = "") -> str:
        fields |= {"heading": escape(heading), "entries": "\n".join(map(self._list_entry, entries))}
        main = self.templates["listing"].substitute(fields)
        page = {"title": escape(heading), "head": "", "charset": "utf-8", "language": "en"}
        return self._page("new", page | {"main": main, "trail": trail, "related_links": ""})

    def _list_entry(self, entry: ListingEntry) -> str:
        link = f'<a class="article-title-link" href="{escape(entry.path)}">{escape(entry.title)}</a>'
        summary = self.summaries.get(entry.path, "Read the whole article.")
        return f'<div class="article">{link}<div class="article-summary">{escape(summary)}</div></div>'

    def _page(self, age: str, fields: Mapping[str, str]) -> str:
        shared = {
            "categories": " | ".join(_section_link(category) for category in self.categories()),
            "popular_links": _link_items(article.entry for article in self._popular()),
        }
        return self.templates[f"page-{age}"].substitute(self.noise, **shared, **fields)

    def _popular(self) -> Sequence[Article]:
        """Return a few articles, the same ones for every page."""
        return self.site.articles[:: len(self.site.articles) // _SIDE_LINKS][:_SIDE_LINKS]

    def _related(self, article: Article) -> str:
        """Return links to the next articles of the same subcategory."""
        peers = [a.entry for a in self.site.articles if a.entry.section == article.entry.section]
        start = peers.index(article.entry) + 1
        return _link_items((peers[start:] + peers)[:_SIDE_LINKS])

    def _article_fields(self, article: Article) -> dict[str, str]:
        entry, author = article.entry, article.author
        lead, rest = _body_parts(article.draft)
        texts = {
            "title": entry.title,
            "path": entry.path,
            "section": entry.section,
            "summary": self.summaries[entry.path],
            "keywords": ", ".join(re.findall(r"\w+", entry.title.lower())),
            "submitted": article.published.strftime("%B %d, %Y"),
            "author": author.name,
            "workshop": author.workshop,
            "workshop_host": author.workshop.lower(),
            "subject": _readable(entry.subcategory).lower(),
            "charset": article.draft.charset.meta,
            "language": article.draft.language,
        }
        html = {
            "heading": _article_heading(article),
            "author_link": _author_link(article),
            "json_ld": json.dumps(_json_ld(article)),
            "lead": lead,
            "rest": rest,
        }
        return {**self.noise, **{name: escape(text) for name, text in texts.items()}, **html}


def site_pages(site: DemoSite) -> SitePages:
    summaries = {a.entry.path: a.passages[0].text[:_SUMMARY_CHARACTERS] + "..." for a in site.articles}
    noise = {item.kind: escape(item.text) for item in site.noise}
    return SitePages(site, site.sections(), summaries, noise, {name: load_template(name) for name in _TEMPLATES})


def _listing_path(section: str, page: int = 1) -> str:
    return f"/?cat={section}" + (f"&page={page}" if page > 1 else "")


def _author_paths(author: Author) -> tuple[str, str]:
    """Return the paths of the author's page: the old form and the new one."""
    name = quote(author.name.replace(" ", "_"))
    return f"/?expert={name}", f"/expert/{name}/{author.expert_id}"


def _page_count(entries: Sequence[ListingEntry]) -> int:
    return -(-len(entries) // _LINKS_PER_PAGE)


def _article_heading(article: Article) -> str:
    attribute = "" if article.new_markup else ' id="article-title"'
    return f"<h1{attribute}>{escape(article.entry.title)}</h1>"


def _author_link(article: Article) -> str:
    old_path, new_path = _author_paths(article.author)
    name = escape(article.author.name)
    if article.new_markup:
        return f'<a href="{new_path}" class="expert">{name}</a>'
    return f'<a href="{escape(old_path)}" rel="author" class="author-name">{name}</a>'


def _json_ld(article: Article) -> dict[str, object]:
    return {
        "@context": "https://schema.org",
        "@type": "Article",
        "headline": article.entry.title,
        "author": {"@type": "Person", "name": article.author.name},
        "datePublished": article.published.isoformat(),
    }


def _breadcrumbs(section: str) -> str:
    category = section.partition(":")[0]
    return " &raquo; ".join(_section_link(name) for name in dict.fromkeys((category, section)))


def _section_links(sections: Iterable[str]) -> str:
    return '<ul class="categories">' + "".join(f"<li>{_section_link(name)}</li>" for name in sections) + "</ul>"


def _section_link(section: str) -> str:
    name = _readable(section.rpartition(":")[2])
    return f'<a href="{escape(_listing_path(section))}">{escape(name)}</a>'


def _link_items(entries: Iterable[ListingEntry]) -> str:
    return "\n".join(f'<li><a href="{escape(entry.path)}">{escape(entry.title)}</a></li>' for entry in entries)


def _readable(section: str) -> str:
    return section.replace("-", " ")


def _body_parts(draft: Draft) -> list[str]:
    """Return the first paragraph and the rest of the body. The site puts an advertisement between them."""
    if draft.bare:
        lines = [_render_inline(passage) for passage in draft.passages]
        return [lines[0] + "<br>\n<br>", "<br>\n<br>\n".join(lines[1:])]
    runs = [_render_run(kind, list(run)) for kind, run in groupby(draft.passages[1:], key=lambda passage: passage.kind)]
    return [_render_run(draft.passages[0].kind, draft.passages[:1]), "\n".join(runs)]


def _render_run(kind: Kind, passages: Sequence[Passage]) -> str:
    """Return consecutive passages of one kind, with the list or table around them."""
    blocks = [_ELEMENTS[kind].format(_render_inline(passage)) for passage in passages]
    if kind is Kind.LIST_ITEM:
        return "<ul>\n" + "\n".join(blocks) + "\n</ul>"
    if kind is Kind.TABLE_CELL:
        rows = ("".join(blocks[n : n + _TABLE_COLUMNS]) for n in range(0, len(blocks), _TABLE_COLUMNS))
        return '<table border="1">\n' + "\n".join(f"<tr>{row}</tr>" for row in rows) + "\n</table>"
    return "\n".join(blocks)


def _render_inline(passage: Passage) -> str:
    words = escape(passage.text, quote=False).split(" ")
    match passage.markup:
        case PassageMarkup.EMPHASISED:
            words[:3] = ["<b>" + " ".join(words[:3]) + "</b>"]
            words[-2:] = ["<em>" + " ".join(words[-2:]) + "</em>"]
        case PassageMarkup.LINKED:
            words[4:7] = ['<a href="http://foxglade.example/guide">' + " ".join(words[4:7]) + "</a>"]
        case PassageMarkup.SPREAD:
            words = [word + "\n\t" if n % 7 == 0 else word + " " for n, word in enumerate(words)]
        case PassageMarkup.PLAIN:
            pass
    return " ".join(words)
