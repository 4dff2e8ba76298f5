"""Prose that no tree shows: in `noscript`, templates, JSON-LD and the state of scripts. Read only if the tree has none.

A page is copied with that text as elements, so that each method scores it as on any other page. Scripts are never run:
their state is read as data, within bounds.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.blocks import TextSource
from cleaning.embedded.script_state import read_states
from cleaning.embedded.state_texts import article_html, html_of_text
from cleaning.errors import PageError
from cleaning.leaf_table import read_leaf_table
from cleaning.leaves import body_of
from cleaning.parse import parse
from cleaning.terms import count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Block, Page
    from cleaning.metadata.statements import Statements

# With fewer words of prose, a tree is a shell: a notice, a footer, a request to turn scripts on.
_SHELL_WORDS = 60
_MIN_WORDS = 40
# A page that shows more is a list of films, teams or goods: its data has prose of each.
_MAX_WORDS_OF_SHELL = 350
_MAX_UNLINKED_OF_SHELL = 100
_DATA_SOURCES = frozenset({TextSource.JSON_LD, TextSource.STATE})
_MAX_SHELL_ELEMENTS = 200_000
_MAX_TEMPLATES = 200
_MAX_TEMPLATE_CHARS = 2_000_000  # of all together
_TEMPLATE_TYPES = frozenset(
    "text/template text/html text/x-template text/x-handlebars text/x-handlebars-template text/x-mustache "
    "text/ng-template text/x-jquery-tmpl text/x-jsrender text/x-tmpl".split()
)
# The share of an article's words in JSON-LD that another source must have to take its place: it has paragraphs.
_MIN_SHARED = 0.6


def _has_little_prose(blocks: Iterable[Block]) -> bool:
    """Return True if the blocks of a page have too few words of prose for a page that is not a shell."""
    words = 0
    for block in blocks:
        words += block.prose_words
        if words >= _SHELL_WORDS:
            return False
    return True


def read_embedded(page: Page, stated: Statements, blocks: Sequence[Block]) -> Page | None:
    """Return a copy of the page with its embedded prose as elements.

    `blocks` are those of its own tree, as the walk cuts it. None for a page that is no shell, and for one that has no
    more embedded prose than prose of its own.
    """
    if not _has_little_prose(blocks):
        return None
    if page.text_source is not TextSource.TREE or page.layout is not None or _is_large(page.root):
        return None
    needed = max(_MIN_WORDS, 2 * _count_prose_words(blocks))
    candidates: dict[TextSource, HtmlElement] = {}
    words: dict[TextSource, int] = {}
    is_listing = _is_listing(blocks)
    for source, open_source in _SOURCES.items():
        if is_listing and source in _DATA_SOURCES:
            continue
        copy = open_source(page, stated)
        if copy is not None and (count := _count_prose_words(read_leaf_table(copy).blocks)) >= needed:
            candidates[source] = copy
            words[source] = count
    if not candidates:
        return None
    ranked = sorted(candidates, key=lambda source: -words[source])
    source = _best(ranked, candidates, stated.article_body)
    return replace(page, root=candidates[source], text_source=source)


def _is_listing(blocks: Sequence[Block]) -> bool:
    """Return True for a page that shows much, if no prose: what the data of its scripts tell is not its text."""
    words = sum(block.words for block in blocks)
    linked = sum(block.link_words for block in blocks)
    return words > _MAX_WORDS_OF_SHELL or words - linked > _MAX_UNLINKED_OF_SHELL


def _best(
    ranked: Sequence[TextSource], candidates: Mapping[TextSource, HtmlElement], stated_body: str | None
) -> TextSource:
    """Return the source with most prose; the article in JSON-LD, unless another one has its words too.

    The sources are `ranked` by their prose.
    """
    if TextSource.JSON_LD not in candidates:
        return ranked[0]
    stated_words = set((stated_body or "").lower().split())
    for source in ranked:
        if source is not TextSource.JSON_LD:
            words = set("\n".join(block.text for block in read_leaf_table(candidates[source]).blocks).lower().split())
            if len(stated_words & words) >= _MIN_SHARED * len(stated_words):
                return source
    return TextSource.JSON_LD


def _count_prose_words(blocks: Iterable[Block]) -> int:
    return sum(block.prose_words for block in blocks)


def _is_large(root: HtmlElement) -> bool:
    return next(islice(root.iter(), _MAX_SHELL_ELEMENTS, None), None) is not None


def _opened_noscript(page: Page, _stated: Statements) -> HtmlElement | None:
    return _with_opened(page.root, "noscript")


def _opened_templates(page: Page, _stated: Statements) -> HtmlElement | None:
    return _with_opened(page.root, "template")


def _with_opened(root: HtmlElement, tag: str) -> HtmlElement | None:
    """Return a copy that has the body's elements with this tag as ordinary ones; None if the body has none."""
    if next(body_of(root).iter(tag), None) is None:
        return None
    copy = deepcopy(root)
    for element in list(body_of(copy).iter(tag)):
        element.tag = "div"
    return copy


def _opened_scripts(page: Page, _stated: Statements) -> HtmlElement | None:
    """Return a copy with the HTML of template scripts in their place; None if the page has no template script."""
    if not any(_is_template(script) for script in page.root.iter("script")):
        return None
    copy = deepcopy(page.root)
    left = _MAX_TEMPLATE_CHARS
    for script in list(islice(filter(_is_template, copy.iter("script")), _MAX_TEMPLATES)):
        text = script.text or ""
        left -= len(text)
        if left < 0:
            break
        _replace(script, _fragment(text))
    return copy


def _is_template(script: HtmlElement) -> bool:
    kind = (script.get("type") or "").partition(";")[0].strip().lower()
    return kind in _TEMPLATE_TYPES and "<" in (script.text or "")


def _replace(script: HtmlElement, fragment: HtmlElement | None) -> None:
    parent = script.getparent()
    if fragment is None or parent is None:
        return
    fragment.tail = script.tail
    parent.replace(script, fragment)


def _article_of_json_ld(page: Page, stated: Statements) -> HtmlElement | None:
    bodies = (node.get("articleBody") or node.get("text") for node in stated.objects)
    texts = [text for text in bodies if isinstance(text, str) and count_words(text[:_MAX_TEMPLATE_CHARS]) >= _MIN_WORDS]
    if not texts:
        return None
    return _with_article(page.root, html_of_text(max(texts, key=len)))


def _article_of_state(page: Page, stated: Statements) -> HtmlElement | None:
    title = stated.title or next(stated.meta("og:title", "twitter:title"), "")
    articles = (article_html(state, title) for state in read_states(page.root))
    best = max(articles, key=len, default="")
    return _with_article(page.root, best) if best else None


def _with_article(root: HtmlElement, source: str) -> HtmlElement | None:
    article = _fragment(source)
    if article is None:
        return None
    copy = deepcopy(root)
    article.tag = "article"
    body_of(copy).append(article)
    return copy


def _fragment(source: str) -> HtmlElement | None:
    """Return HTML as the children of a `div`; None if it cannot be read."""
    try:
        parsed = parse(f"<html><body><div>{source}</div></body></html>", max_bytes=2 * _MAX_TEMPLATE_CHARS)
    except PageError:
        return None
    body = body_of(parsed.root)
    body.tag = "div"
    return body


_SOURCES: dict[TextSource, Callable[[Page, Statements], HtmlElement | None]] = {
    TextSource.NOSCRIPT: _opened_noscript,
    TextSource.TEMPLATE: _opened_templates,
    TextSource.SCRIPT_TEMPLATE: _opened_scripts,
    TextSource.JSON_LD: _article_of_json_ld,
    TextSource.STATE: _article_of_state,
}
