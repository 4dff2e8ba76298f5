"""Write the articles of the demo site, planted families included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cleaning.blocks import Kind
from crawler.demo.bundled import load_texts
from crawler.demo.model import Author, Charset, Draft, Passage
from crawler.demo.plants import Planter, numbered_family, plant, short_family
from crawler.demo.prose import slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from crawler.demo.originals import Originals
    from crawler.demo.plants import Family
    from crawler.demo.prose import Prose, Topic

_ARTICLES_PER_TOPIC = 18

# What an article consists of: P paragraph, B bare paragraph, H heading, S shared heading, L list item, T table
# cell, Q quote, C code. The articles of a topic take turns.
_LAYOUTS = ("PPPPPP", "PPHPPSPP", "PPLLLLPSP", "BBBBB", "PPTTTTTTPP", "PPQPHPPP")
_CODE_LAYOUT = "PPCPHPCP"
_CODE_CATEGORY = "Computers-and-Technology"
_LINES = {
    "L": (Kind.LIST_ITEM, "item"),
    "T": (Kind.TABLE_CELL, "cell"),
    "Q": (Kind.QUOTE, "quote"),
    "C": (Kind.CODE, "code"),
}

# The topics' articles that appear a second time under another id, one of each layout but the bare one.
_MIRRORED = (12, 13, 14, 16, 17, 12, 13)


@dataclass(frozen=True, slots=True)
class _Desk:
    """What writing one topic's articles takes."""

    topic: Topic
    prose: Prose
    originals: Originals
    rng: Random
    fixed: Mapping[str, Any]

    def draft(self, layout: str, planted: Family, *, mirrored: bool) -> Draft:
        title = self.title()
        body = [self.passage(letter, last=n == len(layout) - 1) for n, letter in enumerate(layout)]
        for passage in planted:
            _insert(body, passage, self.rng)
        names = (self.topic.category, self.topic.name)
        return Draft(title, slug(title), *names, tuple(body), bare=layout[0] == "B", mirrored=mirrored)

    def passage(self, letter: str, *, last: bool = False) -> Passage:
        if letter in _LINES:
            kind, frame = _LINES[letter]
            return Passage(kind, self._line(frame))
        if letter == "H":
            return Passage(Kind.HEADING, self.title("heading"))
        if letter == "S":
            return Passage(Kind.HEADING, self.rng.choice(self.fixed["headings"]))
        return Passage(Kind.PARAGRAPH, self._paragraph(closing=last))

    def title(self, kind: str = "title") -> str:
        return self.originals.fresh(lambda: self.prose.title(kind, self.topic, self.rng))

    def _line(self, kind: str) -> str:
        return self.originals.fresh(lambda: self.prose.line(kind, self.topic, self.rng))

    def _paragraph(self, *, closing: bool) -> str:
        words = self.rng.randint(40, 90)
        return self.originals.fresh(lambda: self.prose.paragraph(self.topic, self.rng, words, closing=closing))


def write_drafts(prose: Prose, originals: Originals, rng: Random) -> list[Draft]:
    """Return all articles but the mirrors, ordered by topic; then the two whose encoding is odd."""
    fixed = load_texts("fixed")
    for text in _fixed_texts(fixed):
        originals.accept(text)
    desks = [_Desk(topic, prose, originals, rng, fixed) for topic in prose.topics]
    drafts = [draft for n, desk in enumerate(desks) for draft in _topic_drafts(desk, n)]
    return [*drafts, _accented(desks, fixed["accents"]), _chinese(fixed["chinese"])]


def _topic_drafts(desk: _Desk, topic_number: int) -> Iterator[Draft]:
    layouts = [_layout(desk.topic, number) for number in range(_ARTICLES_PER_TOPIC)]
    mirrored = _MIRRORED[topic_number] if topic_number < len(_MIRRORED) else None
    # Nothing is planted between bare lines, where a block may be the whole body, nor in a mirrored article,
    # whose blocks are families already.
    hosts = [n for n, layout in enumerate(layouts) if layout[0] != "B" and n != mirrored]
    planted = _planted(desk, hosts)
    for number, layout in enumerate(layouts):
        yield desk.draft(layout, planted.get(number, []), mirrored=number == mirrored)


def _layout(topic: Topic, number: int) -> str:
    layout = _LAYOUTS[number % len(_LAYOUTS)]
    return _CODE_LAYOUT if topic.category == _CODE_CATEGORY and number > len(layout) and "Q" in layout else layout


def _planted(desk: _Desk, hosts: Sequence[int]) -> dict[int, Family]:
    topic, fixed = desk.topic, desk.fixed
    planter = Planter(topic, desk.prose, desk.originals, desk.rng, fixed["edits"])
    families = [numbered_family(fixed["numbered"][topic.name], topic)]
    if topic.name in fixed["short"]:
        families.append(short_family(fixed["short"][topic.name]))
    return plant(planter, hosts, families)


def _insert(body: list[Passage], passage: Passage, rng: Random) -> None:
    """Put the passage behind one of the paragraphs, so that it never splits a list or a table."""
    places = [n for n, earlier in enumerate(body, 1) if earlier.kind is Kind.PARAGRAPH]
    body.insert(rng.choice(places), passage)


def _fixed_texts(fixed: Mapping[str, Any]) -> Iterator[str]:
    yield from fixed["headings"]
    yield from fixed["short"].values()
    yield from fixed["numbered"].values()
    yield fixed["accents"]["text"]
    yield from fixed["chinese"]["paragraphs"]


def _accented(desks: Sequence[_Desk], fixed: Mapping[str, Any]) -> Draft:
    """Return the article whose meta element contradicts the header, which is right."""
    desk = next(desk for desk in desks if desk.topic.name == fixed["topic"])
    body = (Passage(Kind.PARAGRAPH, fixed["text"]), *(desk.passage("P") for _ in range(3)))
    names = (fixed["title"], slug(fixed["title"]), desk.topic.category, desk.topic.name)
    return Draft(*names, body, charset=Charset(meta="iso-8859-1"))


def _chinese(fixed: Mapping[str, Any]) -> Draft:
    """Return the article in GB2312, which only its meta element tells."""
    body = tuple(Passage(Kind.PARAGRAPH, text) for text in fixed["paragraphs"])
    names = (fixed["title"], fixed["slug"], fixed["category"], fixed["topic"])
    author = Author(fixed["author"], 1_000, fixed["workshop"])
    return Draft(*names, body, author, charset=Charset("gb18030", None, "gb2312"), language="zh")
