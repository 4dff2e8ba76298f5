"""What counts as a duplicate."""

from __future__ import annotations

from dataclasses import dataclass

from crawler.storage.index import MAX_DISTANCE


@dataclass(frozen=True, slots=True)
class Rules:
    """What a block or page may be a duplicate of, and how many bits of fingerprints may differ.

    `scope` is `all` that is stored, its own `site`'s, its own `page`'s or nothing (`off`), as DEDUP_SCOPE says.
    """

    scope: str = "all"
    most_bits: int = MAX_DISTANCE

    @property
    def beyond_page(self) -> bool:
        """Whether anything but the page itself is looked up."""
        return self.scope in {"all", "site"}
