"""A document loader of LangChain.

    loader = BlocksieveLoader.from_database("sqlite:///blocks.db", "chunks", chunk_words=200)
    for document in loader.lazy_load():
        print(document.id, document.metadata["url"], document.page_content)

It needs the extra `langchain`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from crawler.loaders.documents import database_documents, export_documents, page_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from crawler.loaders.documents import Content, LoadedDocument


class BlocksieveLoader(BaseLoader):  # type: ignore[misc] # LangChain is not checked
    """Loads pages, chunks or blocks; make one by a class method. Each load reads anew, one document at a time."""

    def __init__(self, read: Callable[[], Iterator[LoadedDocument]]) -> None:
        self._read = read

    @classmethod
    def from_database(cls, url: str, content: Content = "pages", **options: Any) -> Self:
        """Load what a database holds, with the options of `database_documents`."""
        return cls(partial(database_documents, url, content, **options))

    @classmethod
    def from_export(cls, path: str | Path) -> Self:
        """Load the rows of a file that `scrapy export` wrote."""
        return cls(partial(export_documents, path))

    @classmethod
    def from_pages(cls, pages: Iterable[bytes | str | tuple[bytes | str, str | None]], **options: Any) -> Self:
        """Load pages, or pairs of a page and its URL, cleaned with the options of `clean_many`."""
        return cls(partial(page_documents, pages, **options))

    def lazy_load(self) -> Iterator[Document]:
        """Yield the documents one by one."""
        for loaded in self._read():
            yield Document(page_content=loaded.text, metadata=loaded.metadata, id=loaded.id)
