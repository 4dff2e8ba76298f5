"""A response that carries its page as a tree, the same one that its selectors read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from scrapy.http import HtmlResponse
from scrapy.selector import Selector

from cleaning.parse import parse

if TYPE_CHECKING:
    from scrapy.http import Response

    from cleaning.blocks import Page


RENDERED = "rendered"
"""The flag of a response whose body and tree are what a browser made of the page."""


class PageResponse(HtmlResponse):
    """An HtmlResponse whose page was parsed once; `encoding` is the one that its bytes were read in."""

    __slots__ = ("_base", "_tree")

    def __init__(self, *args: Any, tree: Page | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tree = tree
        self._base: str | None = None

    @classmethod
    def of(cls, response: Response, tree: Page) -> PageResponse:
        """Return the response with its tree."""
        return response.replace(cls=cls, encoding=tree.encoding, tree=tree)

    @property
    def tree(self) -> Page:
        """The page as a tree, to be read and never edited. Raises PageError where a replaced body is no page."""
        if self._tree is None:
            self._tree = parse(self.body, self.url, self._encoding or content_type(self))
        return self._tree

    @property
    def selector(self) -> Selector:
        if self._cached_selector is None:
            # Given a response, Selector would parse its text: the tree comes first, the response is attached.
            self._cached_selector = Selector(root=self.tree.root, type="html")
            self._cached_selector.response = self
        return self._cached_selector

    def urljoin(self, url: str) -> str:
        """Return the URL as a link on this page means it."""
        if self._base is None:
            self._base = self._base_url()  # looked for once: a page of links asks for each of them
        return urljoin(self._base, url)

    def _base_url(self) -> str:
        base = self.tree.root.find(".//base[@href]")
        if base is None:
            return self.url
        try:
            return urljoin(self.url, str(base.get("href")).strip())
        except ValueError:  # a base that is no URL
            return self.url

    def replace(self, *args: Any, cls: type[Any] | None = None, **kwargs: Any) -> Any:
        """Return a copy with these changes; it keeps the tree unless body or encoding are new."""
        keeps_tree = self._tree is not None and kwargs.keys().isdisjoint({"body", "encoding"})
        if keeps_tree and issubclass(cls or type(self), PageResponse):
            kwargs.setdefault("tree", dataclasses.replace(self.tree, url=kwargs.get("url", self.url)))
        return super().replace(*args, cls=cls, **kwargs)


def content_type(response: Response) -> str | None:
    """Return the Content-Type header's value, None where there is none."""
    value = response.headers.get("Content-Type")
    return value.decode("latin-1") if value else None
