"""`extract`: the main text of a page, by a function that takes the place of `trafilatura.extract`."""

from __future__ import annotations

import json
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, get_args

from cleaning.blocks import Kind, Reason
from cleaning.clean import clean
from cleaning.declare import did_you_mean
from cleaning.errors import OptionError, PageError
from cleaning.structure.writers.text import check_text_style

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from cleaning.blocks import Decision, Page
    from cleaning.options import Favour
    from cleaning.structure.clean_page import CleanPage
    from cleaning.structure.writers.text import TextStyle
    from cleaning.teaching import SiteModel

Format = Literal["txt", "markdown", "html", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)

# They choose between ways that trafilatura has and we have not; the text does not depend on them.
_WITHOUT_EFFECT = frozenset({"fast", "no_fallback"})
# They are accepted as long as they ask for nothing.
_WITHOUT_COUNTERPART = frozenset(
    "author_blacklist config date_extraction_params deduplicate max_tree_size options prune_xpath record_id "
    "settingsfile tei_validation url_blacklist".split()
)


def extract(  # noqa: PLR0913 — trafilatura's arguments
    filecontent: bytes | str | HtmlElement | Page,
    url: str | None = None,
    *,
    favor_precision: bool = False,
    favor_recall: bool = False,
    include_comments: bool = True,
    output_format: Format = "txt",
    target_language: str | None = None,
    include_tables: bool = True,
    include_images: bool = False,
    include_formatting: bool = False,
    include_links: bool = False,
    with_metadata: bool = False,
    only_with_metadata: bool = False,
    site_model: SiteModel | None = None,
    text_style: TextStyle = "blocks",
    **others: Any,
) -> str | None:
    """Return the main text of a page, or None if it has none, cannot be read or is not what was asked for.

    The arguments mean what they mean in trafilatura. A page in another language than `target_language` gives None, and
    with `only_with_metadata` one without date, title or URL. Plain text with formatting, links or images is Markdown.
    `with_metadata` puts the metadata in front of a text, and into JSON. Two arguments are ours: `site_model` is what
    readers corrected on other pages of the site, `text_style` that of `CleanPage.to_text` for plain text and JSON.

    Raises OptionError for another format, for an argument of trafilatura that has no counterpart here, and for one that
    trafilatura does not have either.
    """
    _check(output_format, others, text_style)
    favour: Favour = "precision" if favor_precision else "recall" if favor_recall else "balanced"
    try:
        page = clean(filecontent, url, favour=favour, comments=include_comments, site_model=site_model)
    except PageError:
        return None
    if not include_tables:
        page = replace(page, decisions=tuple(map(_without_tables, page.decisions)))
    metadata = _metadata(page)
    is_complete = not only_with_metadata or all(metadata[name] for name in ("date", "title", "url"))
    if not page.kept or not is_complete or target_language not in {None, page.language}:
        return None
    if output_format == "html":
        return page.to_html(links=include_links, images=include_images)
    if output_format == "json":
        record = (metadata if with_metadata else {}) | {"text": page.to_text(style=text_style)}
        return json.dumps(record, ensure_ascii=False)
    header = _header(metadata) if with_metadata else ""
    if output_format == "markdown" or include_formatting or include_links or include_images:
        return header + page.to_markdown(links=include_links, images=include_images)
    return header + page.to_text(style=text_style)


def _check(output_format: str, others: dict[str, Any], text_style: str) -> None:
    check_text_style(text_style)
    if output_format not in FORMATS:
        raise OptionError(f"the option output_format is {output_format!r}; it takes {', '.join(FORMATS)}")
    for name, value in others.items():
        if name not in _WITHOUT_EFFECT | _WITHOUT_COUNTERPART:
            known = [*list(signature(extract).parameters)[:-1], *sorted(_WITHOUT_EFFECT | _WITHOUT_COUNTERPART)]
            raise OptionError(f"there is no option {name}; {did_you_mean(name, known)}")
        if name in _WITHOUT_COUNTERPART and value:
            raise OptionError(f"the option {name} is {value!r}; Blocksieve has no counterpart: leave it out")


def _without_tables(decision: Decision) -> Decision:
    dropped = decision.kept and decision.block.kind is Kind.TABLE_CELL
    return replace(decision, reason=Reason.IRRELEVANT) if dropped else decision


def _metadata(page: CleanPage) -> dict[str, str | None]:
    return {
        "title": page.title,
        "author": page.author,
        "url": page.url,
        "date": page.published,
        "language": page.language,
        "pagetype": page.type,
    }


def _header(metadata: dict[str, str | None]) -> str:
    """Return the metadata as YAML between two lines; a JSON text is a YAML text."""
    lines = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in metadata.items() if value)
    return f"---\n{lines}---\n"
