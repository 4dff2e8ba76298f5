"""Functions for tables of pages: `clean_batch` for batches of columns (Ray Data), `clean_frame` for pandas and Spark.

    dataset.map_batches(clean_batch)
    frame.join(clean_frame(frame["html"], frame["url"]))

Both give the same columns, a row for each page:

text       the main text, a block a line or as `text_style` says; "" if there is none
markdown   the main text as Markdown, only if it is asked for
title, author, published, language, type   what the page tells, or None
error      why the page could not be cleaned, or None
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from cleaning.clean import clean, expect_teachable
from cleaning.errors import OptionError, PageError
from cleaning.structure.writers.text import check_text_style
from cleaning.teaching import find_site_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pandas as pd

    from cleaning.options import CleaningOptions
    from cleaning.structure.clean_page import CleanPage
    from cleaning.structure.writers.text import TextStyle
    from cleaning.teaching import SiteModel

_COLUMNS = ("text", "title", "author", "published", "language", "type", "error")

SPARK_SCHEMA = ", ".join(f"{name} string" for name in _COLUMNS)
"""The type of a pandas UDF of Spark that returns what `clean_frame` does without Markdown."""


def clean_batch(  # noqa: PLR0913 — columns, and what the texts are
    batch: Mapping[str, Any],
    *,
    html: str = "html",
    url: str | None = "url",
    method: str = "default",
    markdown: bool = False,
    text_style: TextStyle = "blocks",
    site_models: Mapping[str, SiteModel] | None = None,
    **options: Unpack[CleaningOptions],
) -> dict[str, Any]:
    """Return a batch, columns by their names, with the columns of the cleaned pages.

    >>> clean_batch({"page": ["<p>The harbour was closed."]}, html="page", url=None, method="pab")["text"].tolist()
    ['The harbour was closed.']

    `html` and `url` name the columns with the pages, bytes or text, and with their URLs; None if there are none. A
    column of the batch that has the name of a new one is replaced. `site_models` has what readers corrected, by site
    (`cleaning.teaching.read_site_models`). `text_style` is that of `CleanPage.to_text`.
    Raises OptionError if a named column is missing, and as `clean` does.
    """
    for parameter, column in {"html": html, "url": url}.items():
        if column is not None and column not in batch:
            names = ", ".join(map(repr, batch))
            raise OptionError(f"{parameter} is {column!r}, but the batch has only the columns {names or 'of nothing'}")
    urls = [None] * len(batch[html]) if url is None else batch[url]
    texts = _Texts(text_style, markdown)
    rows = _clean(_cleaner(method, options, site_models), batch[html], urls, texts)
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in texts.columns}
    return {**batch, **columns}


def clean_frame(
    html: pd.Series[Any],
    url: pd.Series[Any] | None = None,
    *,
    method: str = "default",
    markdown: bool = False,
    text_style: TextStyle = "blocks",
    site_models: Mapping[str, SiteModel] | None = None,
    **options: Unpack[CleaningOptions],
) -> pd.DataFrame:
    """Return the cleaned pages of a column of bytes or text as a DataFrame with the index of the column.

    `site_models` has what readers corrected, by site (`cleaning.teaching.read_site_models`). `text_style` is
    that of `CleanPage.to_text`. Raises OptionError as `clean` does.
    """
    import pandas as pd  # noqa: PLC0415 — the caller has it

    urls = [None] * len(html) if url is None else url
    texts = _Texts(text_style, markdown)
    rows = _clean(_cleaner(method, options, site_models), html, urls, texts)
    return pd.DataFrame(rows, index=html.index, columns=list(texts.columns), dtype=object)


class _Texts(NamedTuple):
    """The columns with the main text."""

    style: TextStyle
    markdown: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return (*_COLUMNS, "markdown") if self.markdown else _COLUMNS


def _cleaner(
    method: str, options: CleaningOptions, site_models: Mapping[str, SiteModel] | None
) -> Callable[[bytes | str, str | None], CleanPage]:
    if site_models:
        expect_teachable(method)

    def clean_page(html: bytes | str, url: str | None) -> CleanPage:
        return clean(html, url, method=method, site_model=find_site_model(site_models or {}, url), **options)

    return clean_page


def _clean(
    clean_page: Callable[[bytes | str, str | None], CleanPage], pages: Iterable[Any], urls: Iterable[Any], texts: _Texts
) -> list[dict[str, str | None]]:
    check_text_style(texts.style)
    return [_clean_one(clean_page, page, url, texts) for page, url in zip(pages, urls, strict=True)]


def _clean_one(
    clean_page: Callable[[bytes | str, str | None], CleanPage], html: Any, url: Any, texts: _Texts
) -> dict[str, str | None]:
    row: dict[str, str | None] = dict.fromkeys(texts.columns)
    row["text"] = ""
    if not isinstance(html, (str, bytes)):
        return row | {"error": f"the page is {type(html).__name__}, neither text nor bytes"}
    try:
        page = clean_page(html, url if isinstance(url, str) else None)
    except PageError as error:
        return row | {"error": str(error)}
    row |= {
        "text": page.to_text(style=texts.style),
        "title": page.title,
        "author": page.author,
        "published": page.published,
        "language": page.language,
        "type": None if page.type is None else page.type.value,
    }
    return row | {"markdown": page.markdown} if texts.markdown else row
