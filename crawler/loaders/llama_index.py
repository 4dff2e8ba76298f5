"""A reader of LlamaIndex.

    reader = BlocksieveReader()
    documents = reader.load_data("sqlite:///blocks.db", "chunks", chunk_words=200)
    documents += reader.load_data("pages.parquet")
    documents += reader.load_data([("<p>The harbour was closed for three weeks.", "https://a.example/")])

It needs the extra `llama-index`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core import Document
from llama_index.core.readers.base import BaseReader

from crawler.loaders.documents import database_documents, export_documents, page_documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.loaders.documents import LoadedDocument


class BlocksieveReader(BaseReader):  # type: ignore[misc] # LlamaIndex is not checked
    """Reads pages, chunks or blocks."""

    def lazy_load_data(self, source: Any, *arguments: Any, **options: Any) -> Iterator[Document]:
        """Yield the documents of a source one by one.

        A database is named by its SQLAlchemy URL and takes the arguments of `database_documents`, a file of
        `scrapy export` by its path, and pages are cleaned with the options of `clean_many`.
        """
        for loaded in _read(source, *arguments, **options):
            yield Document(text=loaded.text, metadata=loaded.metadata, id_=loaded.id)


def _read(source: Any, *arguments: Any, **options: Any) -> Iterator[LoadedDocument]:
    if isinstance(source, str) and "://" in source:
        return database_documents(source, *arguments, **options)
    if isinstance(source, str | Path):
        return export_documents(source, *arguments, **options)
    return page_documents(source, *arguments, **options)
