"""What repeats between the pages of a site, learned when its first page is compared."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

from cleaning.errors import PageError
from cleaning.methods import informative_sections
from cleaning.parse import parse
from crawler.compare.faults import NoPage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cleaning.blocks import Page
    from crawler.compare.targets import Source

# Enough to see what repeats; the pages are read and parsed once more for it.
_MOST_PAGES = 30
_FEWEST_PAGES = 2


class Templates:
    """The templates of the sites of a target; holds one set of numbers a site, and no page."""

    def __init__(self, sources: Sequence[Source], max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._sources: dict[str, list[Source]] = {}
        self._learned: dict[str, frozenset[int] | None] = {}
        for source in sources:
            self._sources.setdefault(source.site, []).append(source)

    def possible(self) -> bool:
        """Tell whether any site has more than one page."""
        return any(len(sources) >= _FEWEST_PAGES for sources in self._sources.values())

    def of(self, source: Source) -> frozenset[int] | None:
        """Return the template of the page's site, None where no two different pages of it can be read."""
        if source.site not in self._learned:
            self._learned[source.site] = self._learn(self._sources[source.site])
        return self._learned[source.site]

    def _learn(self, sources: Sequence[Source]) -> frozenset[int] | None:
        count = 0

        def counted() -> Iterator[Page]:
            nonlocal count
            for page in islice(self._pages(sources), _MOST_PAGES):
                count += 1
                yield page

        template = informative_sections.learn_template(counted())
        return template if count >= _FEWEST_PAGES else None

    def _pages(self, sources: Sequence[Source]) -> Iterator[Page]:
        """Yield the pages that can be read; one saved twice is one page, and no template of itself."""
        seen: set[int] = set()
        for source in sources:
            try:
                loaded = source.load()
                page = parse(loaded.body, source.url, loaded.content_type, max_bytes=self._max_bytes)
            except (NoPage, PageError):
                continue  # counted when its turn to be compared comes
            digest = xxh64_intdigest(loaded.body)
            if digest not in seen:
                seen.add(digest)
                yield page
