"""A converter of Haystack: saved HTML pages become documents with their main text.

    converter = BlocksieveConverter(favour="precision")
    documents = converter.run(sources=["page.html"])["documents"]

It needs the extra `haystack`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.components.converters.utils import get_bytestream_from_source, normalize_metadata
from haystack.dataclasses import ByteStream

from cleaning import METHODS, CleaningError, clean
from cleaning.options import Options
from crawler.loaders.documents import cleaned_document

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)


@component
class BlocksieveConverter:
    """Converts HTML pages to documents; `options` are those of `clean`, and `method` cleans the pages.

    A page that cannot be read or cleaned is logged and left out, as Haystack's own converters do, and so is one
    without main text. Raises OptionError for an unknown method or option.
    """

    def __init__(self, method: str = "default", **options: Any) -> None:
        self.method = method
        self.options = options
        METHODS.find(method)
        Options.read(options)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as Haystack stores pipelines."""
        stored: dict[str, Any] = default_to_dict(self, method=self.method, **self.options)
        return stored

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BlocksieveConverter:
        """Return the component of a stored pipeline."""
        restored: BlocksieveConverter = default_from_dict(cls, data)
        return restored

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator] # Haystack is not checked
    def run(
        self,
        sources: list[Any],
        meta: dict[str, Any] | list[dict[str, Any]] | None = None,
    ) -> dict[str, list[Document]]:
        """Return the documents of paths and byte streams; `url` in the metadata of a source is its address."""
        documents = []
        described = normalize_metadata(meta, sources_count=len(sources))
        for source, own in zip(sources, described, strict=True):
            try:
                stream = get_bytestream_from_source(source)
                stated = {**stream.meta, **own}
                page = clean(stream.data, stated.get("url"), method=self.method, **self.options)
            except (OSError, CleaningError) as error:
                logger.warning("%s is left out: %s", _name(source), error)
                continue
            if not page.text:
                logger.warning("%s is left out: it has no main text", _name(source))
                continue
            loaded = cleaned_document(page, "")
            documents.append(Document(content=loaded.text, meta=stated | loaded.metadata))
        return {"documents": documents}


def _name(source: str | Path | ByteStream) -> str:
    return str(source.meta) if isinstance(source, ByteStream) else str(source)
