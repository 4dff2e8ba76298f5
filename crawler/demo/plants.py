"""The planted duplicates, near-duplicates and look-alikes, and the articles they go to."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import TYPE_CHECKING

from cleaning.blocks import Kind
from cleaning.fingerprint import distance, fingerprint
from crawler.demo.model import Markup, Passage
from crawler.demo.originals import NEAR_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from crawler.demo.originals import Originals
    from crawler.demo.prose import Prose, Topic

_EXACT_FAMILIES = 2
_NEAR_FAMILIES = 2
_COPIES = (2, 3, 4)
_NUMBERS = (10, 20, 30)
_CENTRE_WORDS = 95
_WORD = re.compile(r"[A-Za-z]+")

Family = list[Passage]


@dataclass(frozen=True, slots=True)
class Planter:
    """Writes the families of one topic."""

    topic: Topic
    prose: Prose
    originals: Originals
    rng: Random
    edits: Mapping[str, str]

    def near_family(self, number: int) -> Family:
        """Return a centre and its copies, a word changed or dropped in each; pairwise 1 to 3 bits apart."""
        wanted = 1 + self.rng.choice(_COPIES)
        while True:
            centre = self.prose.paragraph(self.topic, self.rng, _CENTRE_WORDS)
            star = self._star(centre, wanted)
            if len(star) == wanted:
                break
        for text in star:
            self.originals.accept(text)
        return [_paragraph(text, f"near-{self.topic.name}-{number}", n) for n, text in enumerate(star)]

    def exact_family(self) -> Family:
        """Return one paragraph several times: as it is, in capitals, with other spaces, with other markup."""
        text = self.originals.fresh(lambda: self.prose.paragraph(self.topic, self.rng, 50))
        forms = [
            _paragraph(text.upper()),
            replace(_paragraph(text), markup=Markup.SPREAD),
            replace(_paragraph(text), markup=Markup.EMPHASISED),
            replace(_paragraph(text), markup=Markup.LINKED),
        ]
        return [_paragraph(text), *self.rng.sample(forms, self.rng.choice(_COPIES))]

    def _star(self, centre: str, wanted: int) -> list[str]:
        star = [centre] if self.originals.admits(centre) else []
        marks = [fingerprint(text) for text in star]
        for copy in self._shuffled_edits(centre):
            if not 0 < len(star) < wanted:
                break
            mark = fingerprint(copy)
            if all(1 <= distance(mark, other) <= NEAR_BITS for other in marks) and self.originals.admits(copy):
                star.append(copy)
                marks.append(mark)
        return star

    def _shuffled_edits(self, text: str) -> list[str]:
        copies = [_edited(text, word, self.edits[word[0].lower()]) for word in _editable(text, self.edits)]
        self.rng.shuffle(copies)
        return copies


def plant(planter: Planter, hosts: Sequence[int], fixed: Sequence[Family]) -> dict[int, Family]:
    """Return what each host article of the topic gets; no host gets two members of one family."""
    near = [planter.near_family(number) for number in range(_NEAR_FAMILIES)]
    exact = [planter.exact_family() for _ in range(_EXACT_FAMILIES)]
    shuffled = planter.rng.sample(hosts, len(hosts))
    turns = cycle(shuffled)
    planted: dict[int, Family] = {host: [] for host in shuffled}
    for family in (*near, *exact, *fixed):
        for host, passage in zip(islice(turns, len(family)), family, strict=True):
            planted[host].append(passage)
    return planted


def numbered_family(template: str, topic: Topic) -> Family:
    """Return short paragraphs that differ in a number only; they are no duplicates."""
    group = f"numbered-{topic.name}"
    return [_paragraph(template.format(number=number), group, n) for n, number in enumerate(_NUMBERS)]


def short_family(text: str) -> Family:
    """Return a paragraph that is too short for a fingerprint, twice."""
    return [_paragraph(text), _paragraph(text)]


def _paragraph(text: str, group: str = "", member: int = 0) -> Passage:
    return Passage(Kind.PARAGRAPH, text, group=group, member=member)


def _editable(text: str, edits: Mapping[str, str]) -> Iterator[re.Match[str]]:
    return (word for word in _WORD.finditer(text) if word[0].lower() in edits)


def _edited(text: str, word: re.Match[str], new: str) -> str:
    """Return the text with the word replaced; one that is dropped leaves its capital to the next word."""
    before, after = text[: word.start()], text[word.end() :]
    if not new:
        before, after = (before, after[1:]) if after.startswith(" ") else (before.removesuffix(" "), after)
    changed = new + after
    return before + (changed[:1].upper() + changed[1:] if word[0][0].isupper() else changed)
