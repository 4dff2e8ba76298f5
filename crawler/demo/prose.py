"""Generated English prose about a topic, from sentence frames filled with the topic's phrases."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawler.demo.site import load_texts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

_SLOT = re.compile(r"\{(\w+)\}")
_SMALL_WORDS = frozenset(
    "a an and are as at before between by for from if in is it of off on or that the to when with".split()
)
_LONGEST_PARAGRAPH_WORDS = 120

Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A subcategory, named as in its URL, with the phrases for each slot of a frame."""

    category: str
    name: str
    slots: Mapping[str, Phrases]


@dataclass(frozen=True, slots=True)
class ProseGenerator:
    """Writes texts. The same random generator state gives the same text."""

    topics: tuple[Topic, ...]
    frames: Mapping[str, Phrases]

    def paragraph(self, topic: Topic, rng: Random, words: int, *, closing: bool = False) -> str:
        """Return an opening and enough sentences to reach a number of words (at most 120)."""
        used: set[str] = set()
        sentences = [self._sentence("opening", topic, rng, used)]
        while _count_words(sentences) < words:
            sentences.append(self._sentence("middle", topic, rng, used))
        if closing:
            sentences.append(self._sentence("closing", topic, rng, used))
        if _count_words(sentences) > _LONGEST_PARAGRAPH_WORDS:
            sentences.pop()
        return " ".join(sentences)

    def line(self, kind: str, topic: Topic, rng: Random) -> str:
        """Return one text from a kind of frame: "item", "cell", "quote" or "code"."""
        text = self._fill(kind, topic, rng, set())
        return text if kind == "code" else _capitalise(text)

    def title(self, kind: str, topic: Topic, rng: Random) -> str:
        """Return a "title" or "heading" with its words capitalised like a title."""
        words = self._fill(kind, topic, rng, set()).split()
        before = ["-", *words]
        return " ".join(
            word if word.strip("(") in _SMALL_WORDS and earlier != "-" else _capitalise(word)
            for earlier, word in zip(before, words, strict=False)
        )

    def _sentence(self, kind: str, topic: Topic, rng: Random, used: set[str]) -> str:
        return re.sub(r"(^|[.?!] )(\w)", lambda m: m[1] + m[2].upper(), self._fill(kind, topic, rng, used))

    def _fill(self, kind: str, topic: Topic, rng: Random, used: set[str]) -> str:
        """Fill one frame of a kind. Avoid the frames and phrases in `used`, and add the new ones to it."""
        frame = _pick_unused(self.frames[kind], rng, used)
        return _SLOT.sub(lambda slot: _pick_unused(topic.slots[slot[1]], rng, used), frame)


def load_prose_generator() -> ProseGenerator:
    frames = load_texts("frames")
    shared = {slot: _phrases(text) for slot, text in frames["shared"].items()}
    topics = tuple(
        Topic(slots.pop("category"), name, {slot: _phrases(text) for slot, text in slots.items()} | shared)
        for name, slots in load_texts("topics").items()
    )
    return ProseGenerator(topics, {kind: tuple(lines) for kind, lines in frames["frames"].items()})


def slug(title: str) -> str:
    """Return the title as in article URLs: `-` for each space; `?` and parentheses are kept, other marks dropped."""
    ascii_only = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^\w ?()-]", "", ascii_only).replace(" ", "-")


def _phrases(text: str) -> Phrases:
    return tuple(phrase.strip() for phrase in text.split(";"))


def _pick_unused(choices: Phrases, rng: Random, used: set[str]) -> str:
    choice = rng.choice([choice for choice in choices if choice not in used] or choices)
    used.add(choice)
    return choice


def _capitalise(text: str) -> str:
    return re.sub(r"[^\W\d_]", lambda letter: letter[0].upper(), text, count=1)


def _count_words(sentences: list[str]) -> int:
    return sum(len(sentence.split()) for sentence in sentences)
