"""Our cleaning as a step of a pipeline of datatrove.

from cleaning.adapters.datatrove import BlocksieveExtractor

pipeline = [WarcReader("archives/"), BlocksieveExtractor(favour="precision"), JsonlWriter("cleaned/")]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from datatrove.pipeline.extractors.base import BaseExtractor

from cleaning.clean import clean, expect_teachable
from cleaning.metadata.languages import load_language_model
from cleaning.methods import METHODS
from cleaning.options import Options
from cleaning.structure.writers.text import check_text_style
from cleaning.teaching import find_site_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cleaning.options import CleaningOptions
    from cleaning.structure.writers.text import TextStyle
    from cleaning.teaching import SiteModel


class BlocksieveExtractor(BaseExtractor):  # type: ignore[misc] # datatrove is not typed
    """Replaces the HTML of each document by its main text, or by Markdown; a document without text is dropped.

    `options` are those of `cleaning.clean`. A document that takes more than `timeout` seconds is dropped by datatrove,
    which also counts it. `site_models` has what readers corrected, by site (`cleaning.teaching.read_site_models`).
    `text_style` is that of `CleanPage.to_text`. Raises OptionError.
    """

    name = "Blocksieve"

    def __init__(
        self,
        method: str = "default",
        *,
        markdown: bool = False,
        text_style: TextStyle = "blocks",
        timeout: float = 1.0,
        site_models: Mapping[str, SiteModel] | None = None,
        **options: Unpack[CleaningOptions],
    ) -> None:
        super().__init__(timeout)
        METHODS.find(method)
        if site_models:
            expect_teachable(method)
        Options.read(dict(options))
        check_text_style(text_style)
        self.method = method
        self.markdown = markdown
        self.text_style: TextStyle = text_style
        self.site_models = site_models or {}
        self.options = options

    def extract(self, text: str, url: str | None = None) -> str:
        """Return the main text of a page. Raises PageError, which datatrove counts."""
        site_model = find_site_model(self.site_models, url)
        page = clean(text, url, method=self.method, site_model=site_model, **self.options)
        return page.markdown if self.markdown else page.to_text(style=self.text_style)

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Yield the documents that have a main text."""
        # datatrove forks a process for the pages and kills it if it is not ready within `timeout`.
        load_language_model()
        self.extract("<p>The first page loads the model.</p>")
        yield from super().run(map(_with_url, data), rank, world_size)


def _with_url(document: Any) -> Any:
    """Return the document with its address beside its text: datatrove calls `extract` with both."""
    url = document.metadata.get("url")
    document.text = (document.text, url if isinstance(url, str) and url else None)
    return document
