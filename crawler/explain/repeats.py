"""Which earlier block of its page a block repeats that a method dropped as a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cleaning.blocks import Reason
from cleaning.fingerprint import NearFingerprints, fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Decision


class Repeated(NamedTuple):
    """The position of the block that is repeated, and by how many bits the two differ."""

    position: int
    distance: int = 0


def earlier_copies(decisions: Sequence[Decision], max_distance: int | None) -> dict[int, Repeated]:
    """Return, by place, what each `page_duplicate` repeats: the first block that stays with the same text.

    With `max_distance` (the method `weighted`, which compares before it scores) otherwise the nearest by fingerprint.
    One whose original is not found, because the method compared other texts than the blocks', is left out.
    """
    if not any(decision.reason is Reason.PAGE_DUPLICATE for decision in decisions):
        return {}
    earlier = _Staying(max_distance)
    found = {}
    for place, decision in enumerate(decisions):
        if decision.reason is Reason.PAGE_DUPLICATE:
            found[place] = earlier.original(decision)
        else:
            earlier.add(decision)
    return {place: original for place, original in found.items() if original is not None}


class _Staying:
    """The blocks so far that copies are compared with."""

    def __init__(self, max_distance: int | None) -> None:
        self._reasons = {Reason.KEPT} if max_distance is None else {Reason.KEPT, Reason.LOW_SCORE}
        self._by_text: dict[str, int] = {}
        self._near: NearFingerprints[int] | None = None if max_distance is None else NearFingerprints(max_distance)

    def add(self, decision: Decision) -> None:
        text = decision.block.text
        if decision.reason in self._reasons and text not in self._by_text:
            self._by_text[text] = decision.block.position
            if self._near is not None:
                self._near.add(fingerprint(text), decision.block.position)

    def original(self, decision: Decision) -> Repeated | None:
        text = decision.block.text
        if text in self._by_text:
            return Repeated(self._by_text[text])
        near = None if self._near is None else self._near.nearest(fingerprint(text))
        return None if near is None else Repeated(near.item, near.bits)
