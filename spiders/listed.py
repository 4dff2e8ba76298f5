"""Which addresses a listing has shown so far, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

from crawler.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Iterable

# Of all listings of a crawl together, some 15 MB. A listing that shows the same again only after so many is ended by
# the argument `pages`.
_MOST = 100_000


class Listed:
    """Addresses by the first page of their listing, told apart by their keys: session ids make none of them new.

    Each listing is for itself: what another one has shown is no reason to leave this one early.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._marks: OrderedDict[int, None] = OrderedDict()

    def add(self, listing: str, urls: Iterable[str]) -> int:
        """Note what a listing shows, and return how many of the addresses it had not shown before."""
        marks = {_mark(listing, url) for url in urls}
        new = sum(mark not in self._marks for mark in marks)
        for mark in marks:
            self._marks[mark] = None
            self._marks.move_to_end(mark)
        while len(self._marks) > self._most:
            self._marks.popitem(last=False)
        return new

    def has(self, listing: str, url: str) -> bool:
        """Tell whether a listing has shown an address, as far as is remembered."""
        return _mark(listing, url) in self._marks


def _mark(listing: str, url: str) -> int:
    return xxh64_intdigest(f"{url_key(listing)} {url_key(url)}".encode())
