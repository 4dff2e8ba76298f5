"""The pages of the demo site as HTML: ezinearticles' markup, and all around it the noise of a real site."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from crawler.demo.bundled import load_template
from crawler.demo.markup import body_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from string import Template

    from crawler.demo.model import Article, Author, Entry, Site

LINKS_PER_PAGE = 20

_TEMPLATES = ("page-old", "page-new", "article", "article-head-old", "article-head-new", "listing")
_SUMMARY_CHARACTERS = 140
_SIDE_LINKS = 5


@dataclass(frozen=True, slots=True)
class Pages:
    """Renders the site's pages; `sections` are the site's, `summaries` by path, `noise` by kind and escaped."""

    site: Site
    sections: Mapping[str, Sequence[Entry]]
    summaries: Mapping[str, str]
    noise: Mapping[str, str]
    templates: Mapping[str, Template]

    def article(self, article: Article) -> str:
        age = "new" if article.new_markup else "old"
        fields = self._article_fields(article)
        fields["head"] = self.templates[f"article-head-{age}"].substitute(fields)
        fields["main"] = self.templates["article"].substitute(fields)
        fields["trail"] = _trail(article.entry.section)
        fields["related_links"] = self._related(article)
        return self._page(age, fields)

    def listing(self, section: str, page: int) -> str:
        """Return one page of a section, from 1; the last one has no `Next »`."""
        entries = self.sections[section][(page - 1) * LINKS_PER_PAGE : page * LINKS_PER_PAGE]
        next_page = page + 1 if page < page_count(self.sections[section]) else None
        pagination = f'<a href="{escape(listing_path(section, next_page))}">Next »</a>' if next_page else ""
        fields = {"subsections": _section_links(self.subsections(section)), "pagination": pagination}
        return self._list_page(_readable(section), entries, fields, _trail(section))

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

    def _list_page(self, heading: str, entries: Sequence[Entry], fields: dict[str, str], trail: str = "") -> str:
        fields |= {"heading": escape(heading), "entries": "\n".join(map(self._list_entry, entries))}
        main = self.templates["listing"].substitute(fields)
        page = {"title": escape(heading), "head": "", "charset": "utf-8", "language": "en"}
        return self._page("new", page | {"main": main, "trail": trail, "related_links": ""})

    def _list_entry(self, entry: Entry) -> str:
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
        """Return a few articles, the same on each page."""
        return self.site.articles[:: len(self.site.articles) // _SIDE_LINKS][:_SIDE_LINKS]

    def _related(self, article: Article) -> str:
        """Return links to the next articles of the same subcategory."""
        peers = [a.entry for a in self.site.articles if a.entry.section == article.entry.section]
        start = peers.index(article.entry) + 1
        return _link_items((peers[start:] + peers)[:_SIDE_LINKS])

    def _article_fields(self, article: Article) -> dict[str, str]:
        entry, author = article.entry, article.author
        lead, rest = body_parts(article.draft)
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
            "heading": _heading(article),
            "author_link": _author_link(article),
            "json_ld": json.dumps(_json_ld(article)),
            "lead": lead,
            "rest": rest,
        }
        return {**self.noise, **{name: escape(text) for name, text in texts.items()}, **html}


def site_pages(site: Site) -> Pages:
    summaries = {a.entry.path: a.passages[0].text[:_SUMMARY_CHARACTERS] + "..." for a in site.articles}
    noise = {item.kind: escape(item.text) for item in site.noise}
    return Pages(site, site.sections(), summaries, noise, {name: load_template(name) for name in _TEMPLATES})


def listing_path(section: str, page: int = 1) -> str:
    return f"/?cat={section}" + (f"&page={page}" if page > 1 else "")


def author_paths(author: Author) -> tuple[str, str]:
    """Return the paths of the author's page: the old form and the new one."""
    name = quote(author.name.replace(" ", "_"))
    return f"/?expert={name}", f"/expert/{name}/{author.expert_id}"


def page_count(entries: Sequence[Entry]) -> int:
    return -(-len(entries) // LINKS_PER_PAGE)


def _heading(article: Article) -> str:
    attribute = "" if article.new_markup else ' id="article-title"'
    return f"<h1{attribute}>{escape(article.entry.title)}</h1>"


def _author_link(article: Article) -> str:
    old_path, new_path = author_paths(article.author)
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


def _trail(section: str) -> str:
    category = section.partition(":")[0]
    return " &raquo; ".join(_section_link(name) for name in dict.fromkeys((category, section)))


def _section_links(sections: Iterable[str]) -> str:
    return '<ul class="categories">' + "".join(f"<li>{_section_link(name)}</li>" for name in sections) + "</ul>"


def _section_link(section: str) -> str:
    name = _readable(section.rpartition(":")[2])
    return f'<a href="{escape(listing_path(section))}">{escape(name)}</a>'


def _link_items(entries: Iterable[Entry]) -> str:
    return "\n".join(f'<li><a href="{escape(entry.path)}">{escape(entry.title)}</a></li>' for entry in entries)


def _readable(section: str) -> str:
    return section.replace("-", " ")
