"""What changed on a page when: its texts' lifetimes, told as moments."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from crawler.wording import differences, likeness, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from crawler.wording import Words

# Below it, two texts are two, and not one that was edited.
_LEAST_LIKENESS = 0.5
# Where more texts than this change at once, only those at the same place are compared.
_MOST_COMPARED = 200


@dataclass(frozen=True, slots=True)
class Text:
    """A text that the page shows, or showed until `gone`; a duplicate of another page's block says whose, in `of`."""

    block: int
    of: str | None
    position: int
    kind: str
    text: str
    first_seen: datetime
    last_seen: datetime
    gone: datetime | None


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that took the place of another one which is much like it, and how they differ."""

    old: Text
    new: Text
    parts: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """What changed at a visit, in reading order; at the `first` one all that the page had."""

    at: datetime
    first: bool
    added: tuple[Text, ...]
    gone: tuple[Text, ...]
    edited: tuple[Edit, ...]


@dataclass(slots=True)
class _Changes:
    added: list[Text] = field(default_factory=list)
    gone: list[Text] = field(default_factory=list)


def moments(texts: Sequence[Text], first_seen: datetime) -> tuple[Moment, ...]:
    """Return the moments at which texts came or went, the earliest first."""
    changes: defaultdict[datetime, _Changes] = defaultdict(_Changes)
    for text in texts:
        changes[text.first_seen].added.append(text)
        if text.gone is not None:
            changes[text.gone].gone.append(text)
    return tuple(_moment(at, changes[at], first=at == first_seen) for at in sorted(changes))


def _moment(at: datetime, changes: _Changes, *, first: bool) -> Moment:
    added, gone = (sorted(some, key=lambda text: text.position) for some in (changes.added, changes.gone))
    edited = () if first else _edited(gone, added)
    old, new = {id(edit.old) for edit in edited}, {id(edit.new) for edit in edited}
    return Moment(
        at=at,
        first=first,
        added=tuple(text for text in added if id(text) not in new),
        gone=tuple(text for text in gone if id(text) not in old),
        edited=edited,
    )


def _edited(gone: Sequence[Text], added: Sequence[Text]) -> tuple[Edit, ...]:
    """Pair texts that went with those that came, the most alike first; of as alike ones those nearest in place."""
    old, new = [words(text.text) for text in gone], [words(text.text) for text in added]
    pairs = sorted(
        (-alike, abs(gone[i].position - added[j].position), i, j)
        for i, j in _compared(gone, added)
        if gone[i].kind == added[j].kind and (alike := likeness(old[i], new[j])) >= _LEAST_LIKENESS
    )
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    edits = []
    for _, _, i, j in pairs:
        if i not in taken_old and j not in taken_new:
            taken_old.add(i)
            taken_new.add(j)
            edits.append(Edit(gone[i], added[j], tuple(differences(gone[i].text, added[j].text))))
    return tuple(sorted(edits, key=lambda edit: edit.new.position))


def _compared(gone: Sequence[Text], added: Sequence[Text]) -> Iterator[tuple[int, int]]:
    if max(len(gone), len(added)) <= _MOST_COMPARED:
        yield from product(range(len(gone)), range(len(added)))
        return
    places = {text.position: j for j, text in enumerate(added)}
    yield from ((i, places[text.position]) for i, text in enumerate(gone) if text.position in places)
