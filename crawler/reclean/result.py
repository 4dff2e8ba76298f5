"""What came of cleaning stored pages again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crawler.reclean.bodies import Skip
from crawler.storage.saved import PageState

if TYPE_CHECKING:
    from crawler.storage.saved import Saved

_MOST_NAMED = 1_000
_BLOCKS = ("stored", "refreshed", "revived", "exact", "near", "template", "gone")


@dataclass(frozen=True, slots=True)
class Named:
    """A page that was not cleaned again, and why not: a word of `Skip`, or an error's own."""

    url: str
    reason: str


@dataclass(slots=True)
class Result:
    """What a run has done so far: pages by what became of them, their blocks, and the first pages left as they were.

    `failed` pages are those that cleaning could not do. Blocks are counted as `crawler.storage.saved.Saved` does. It is
    `complete` where no page is left. `processes` counts what the cleaning processes went through: those that died.
    """

    pages: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_BLOCKS, 0))
    named: list[Named] = field(default_factory=list)
    complete: bool = False
    processes: dict[str, int] = field(default_factory=dict)

    def count(self, saved: Saved) -> None:
        """Count a page that was cleaned."""
        if saved.state is PageState.PUT_OFF:
            self.skip(saved.url, Skip.OVERTAKEN)
            return
        self.pages += 1
        self.changed += saved.state is PageState.CHANGED
        self.unchanged += saved.state is PageState.UNCHANGED
        for name in _BLOCKS:
            self.blocks[name] += getattr(saved, name)

    def skip(self, url: str, reason: Skip) -> None:
        """Count a page that is left as it is."""
        self.pages += 1
        self.skipped[reason.value] = self.skipped.get(reason.value, 0) + 1
        self._name(url, reason.value)

    def fail(self, url: str, error: str) -> None:
        """Count a page that cleaning could not do, and that is left as it is."""
        self.pages += 1
        self.failed += 1
        self._name(url, error)

    def inc_value(self, key: str) -> None:
        """Count one more event of the cleaning processes."""
        self.processes[key] = self.processes.get(key, 0) + 1

    def _name(self, url: str, reason: str) -> None:
        if len(self.named) < _MOST_NAMED:
            self.named.append(Named(url, reason))
