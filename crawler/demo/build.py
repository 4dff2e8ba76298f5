"""Generate the demo site from a seed: the same seed gives the same site."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Any

from cleaning.blocks import Kind
from cleaning.fingerprint import digest, distance, fingerprint
from cleaning.terms import terms
from crawler.demo.prose import load_prose_generator, slug
from crawler.demo.site import (
    Article,
    Author,
    Charset,
    DemoSite,
    Draft,
    ExpectedOutcome,
    ListingEntry,
    NoiseText,
    Passage,
    PassageMarkup,
    RedirectedLink,
    RefusedLink,
    load_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from crawler.demo.prose import ProseGenerator, Topic

SEED = 7

# Two texts within _NEAR_BITS are near-duplicates. Unrelated texts must differ by more than twice as many bits, so that
# no third text can be a near-duplicate of both.
_NEAR_BITS = 3

_UNRELATED_BITS = 6

# Shorter texts are compared by digest only.
_FINGERPRINTED_TERMS_MIN = 20

# The responses of the listed links that do not lead to an article: outcome, status, template or file.
_REFUSALS = (
    *[(ExpectedOutcome.FORBIDDEN, 403, "forbidden")] * 3,
    *[(ExpectedOutcome.CAPTCHA, 200, "captcha")] * 2,
    (ExpectedOutcome.CAPTCHA, 503, "captcha"),
    *[(ExpectedOutcome.QUOTA, 200, "excessive")] * 2,
    *[(ExpectedOutcome.QUOTA, 200, "quota")] * 2,
    *[(ExpectedOutcome.REMOVED, 200, "removed")] * 2,
    *[(ExpectedOutcome.NOT_FOUND, 404, "removed")] * 2,
    (ExpectedOutcome.NOT_HTML, 200, "pdf"),
    (ExpectedOutcome.NOT_HTML, 200, "gif"),
    (ExpectedOutcome.ROBOTS, 200, "private"),
)

_REDIRECT_STATUSES = (301, 302, 301, 302)

_FIRST_DAY = dt.date(2006, 1, 1)

_DAYS = 6_000

_IDS = range(110_000, 10_900_000)

# Articles with these ids have an address without the title.
_SHORT_PATHS_FROM = 10_000_000

_ARTICLES_PER_TOPIC = 18

# The passages of an article: P paragraph, B bare paragraph, H heading, S shared heading, L list item, T table cell,
# Q quote, C code. The articles of a topic cycle through the layouts.
_LAYOUTS = ("PPPPPP", "PPHPPSPP", "PPLLLLPSP", "BBBBB", "PPTTTTTTPP", "PPQPHPPP")

_CODE_LAYOUT = "PPCPHPCP"

_CODE_CATEGORY = "Computers-and-Technology"

_LINE_KINDS = {
    "L": (Kind.LIST_ITEM, "item"),
    "T": (Kind.TABLE_CELL, "cell"),
    "Q": (Kind.QUOTE, "quote"),
    "C": (Kind.CODE, "code"),
}

# For each topic, the article that appears a second time under another id. All layouts but the bare one occur.
_MIRRORED_ARTICLES = (12, 13, 14, 16, 17, 12, 13)

_EXACT_FAMILIES = 2

_NEAR_FAMILIES = 2

_COPY_COUNTS = (2, 3, 4)

_NUMBERS = (10, 20, 30)

_CENTRE_WORDS = 95

_WORD = re.compile(r"[A-Za-z]+")

_ATTEMPTS_MAX = 500

_DuplicateFamily = list[Passage]


@dataclass(frozen=True, slots=True)
class _Address:
    id: int
    published: dt.date

    def path(self, slug: str) -> str:
        return f"/{self.id}" if self.id >= _SHORT_PATHS_FROM else f"/?{slug}&id={self.id}"


def build_site(seed: int = SEED) -> DemoSite:
    """Return the site of a seed. Raises RuntimeError if the vocabulary is too small to keep the texts distinct."""
    rng = Random(seed)
    prose = load_prose_generator()
    originals = DistinctTexts()
    drafts = _write_drafts(prose, originals, rng)
    authors = _authors(rng)
    mirrored = [draft for draft in drafts if draft.mirrored]
    addresses = _addresses(len(drafts) + len(mirrored) + len(_REFUSALS) + len(_REDIRECT_STATUSES), rng)
    articles = [_make_article(draft, next(addresses), rng.choice(authors)) for draft in drafts]
    paths = {article.draft.title: article.entry.path for article in articles}
    mirrors = [_make_article(d, next(addresses), rng.choice(authors), paths[d.title]) for d in mirrored]
    strays = _refused_drafts(prose, originals, rng)
    refusals = [_make_refusal(next(strays), next(addresses), *answer) for answer in _REFUSALS]
    redirects = [
        _make_redirect(_make_entry(next(strays), next(addresses)), s, articles, rng) for s in _REDIRECT_STATUSES
    ]
    return DemoSite(seed, (*articles, *mirrors), tuple(refusals), tuple(redirects), _site_noise(articles, authors))


def _addresses(count: int, rng: Random) -> Iterator[_Address]:
    """Return ids and dates in random order. A later date has a higher id."""
    ids = sorted(rng.sample(_IDS, count))
    days = sorted(rng.randrange(_DAYS) for _ in range(count))
    dates = [_FIRST_DAY + dt.timedelta(days=day) for day in days]
    addresses = [_Address(*pair) for pair in zip(ids, dates, strict=True)]
    return iter(rng.sample(addresses, count))


def _authors(rng: Random) -> list[Author]:
    return [Author(name, rng.randrange(10_000, 90_000), shop) for name, shop in load_texts("authors").items()]


def _make_article(draft: Draft, address: _Address, author: Author, mirror_of: str = "") -> Article:
    return Article(_make_entry(draft, address), draft.author or author, address.published, draft, mirror_of)


def _make_entry(draft: Draft, address: _Address, folder: str = "") -> ListingEntry:
    path = folder + address.path(draft.slug)
    return ListingEntry(address.id, path, draft.title, draft.category, draft.subcategory)


def _make_refusal(draft: Draft, address: _Address, outcome: ExpectedOutcome, status: int, template: str) -> RefusedLink:
    folder = "/private" if outcome is ExpectedOutcome.ROBOTS else ""
    return RefusedLink(_make_entry(draft, address, folder), outcome, status, template)


def _make_redirect(entry: ListingEntry, status: int, articles: Sequence[Article], rng: Random) -> RedirectedLink:
    """Return a redirect to another article of the entry's own section."""
    targets = [article.entry.path for article in articles if article.entry.section == entry.section]
    return RedirectedLink(entry, status, rng.choice(targets))


def _refused_drafts(prose: ProseGenerator, originals: DistinctTexts, rng: Random) -> Iterator[Draft]:
    """Yield drafts without a body for the links that do not lead to an article, one topic after the other."""
    for topic in cycle(prose.topics):
        title = originals.fresh(partial(prose.title, "title", topic, rng))
        yield Draft(title, slug(title), topic.category, topic.name, ())


def _site_noise(articles: Sequence[Article], authors: Sequence[Author]) -> tuple[NoiseText, ...]:
    template = [NoiseText(kind, **words) for kind, words in load_texts("noise").items()]
    signing = dict.fromkeys([*authors, *(article.author for article in articles)])
    boxes = [NoiseText("resource_box", a.workshop, f"runs the {a.workshop} workshop") for a in signing]
    return (*template, *boxes)


def _write_drafts(prose: ProseGenerator, originals: DistinctTexts, rng: Random) -> list[Draft]:
    """Return all articles except the mirrored copies, ordered by topic, then the two with an unusual encoding."""
    fixed = load_texts("fixed")
    for text in _fixed_texts(fixed):
        originals.accept(text)
    desks = [_TopicWriter(topic, prose, originals, rng, fixed) for topic in prose.topics]
    drafts = [draft for n, desk in enumerate(desks) for draft in _topic_drafts(desk, n)]
    return [*drafts, _accented_draft(desks, fixed["accents"]), _chinese_draft(fixed["chinese"])]


def _topic_drafts(desk: _TopicWriter, topic_number: int) -> Iterator[Draft]:
    layouts = [_topic_layout(desk.topic, number) for number in range(_ARTICLES_PER_TOPIC)]
    mirrored = _MIRRORED_ARTICLES[topic_number] if topic_number < len(_MIRRORED_ARTICLES) else None
    # Nothing is planted in a bare article, where a block may be the whole body, nor in a mirrored article, whose blocks
    # are duplicates already.
    hosts = [n for n, layout in enumerate(layouts) if layout[0] != "B" and n != mirrored]
    planted = _plant_families(desk, hosts)
    for number, layout in enumerate(layouts):
        yield desk.draft(layout, planted.get(number, []), mirrored=number == mirrored)


def _topic_layout(topic: Topic, number: int) -> str:
    layout = _LAYOUTS[number % len(_LAYOUTS)]
    return _CODE_LAYOUT if topic.category == _CODE_CATEGORY and number > len(layout) and "Q" in layout else layout


def _plant_families(desk: _TopicWriter, hosts: Sequence[int]) -> dict[int, _DuplicateFamily]:
    topic, fixed = desk.topic, desk.fixed
    planter = DuplicatePlanter(topic, desk.prose, desk.originals, desk.rng, fixed["edits"])
    families = [_numbered_family(fixed["numbered"][topic.name], topic)]
    if topic.name in fixed["short"]:
        families.append(_short_family(fixed["short"][topic.name]))
    return _plant_duplicates(planter, hosts, families)


def _insert_passage(body: list[Passage], passage: Passage, rng: Random) -> None:
    """Insert the passage after one of the paragraphs, so that it never splits a list or a table."""
    places = [n for n, earlier in enumerate(body, 1) if earlier.kind is Kind.PARAGRAPH]
    body.insert(rng.choice(places), passage)


def _fixed_texts(fixed: Mapping[str, Any]) -> Iterator[str]:
    yield from fixed["headings"]
    yield from fixed["short"].values()
    yield from fixed["numbered"].values()
    yield fixed["accents"]["text"]
    yield from fixed["chinese"]["paragraphs"]


def _accented_draft(desks: Sequence[_TopicWriter], fixed: Mapping[str, Any]) -> Draft:
    """Return the article whose meta element contradicts the header. The header is right."""
    desk = next(desk for desk in desks if desk.topic.name == fixed["topic"])
    body = (Passage(Kind.PARAGRAPH, fixed["text"]), *(desk.passage("P") for _ in range(3)))
    names = (fixed["title"], slug(fixed["title"]), desk.topic.category, desk.topic.name)
    return Draft(*names, body, charset=Charset(meta="iso-8859-1"))


def _chinese_draft(fixed: Mapping[str, Any]) -> Draft:
    """Return the article in GB2312. Only its meta element declares the encoding."""
    body = tuple(Passage(Kind.PARAGRAPH, text) for text in fixed["paragraphs"])
    names = (fixed["title"], fixed["slug"], fixed["category"], fixed["topic"])
    author = Author(fixed["author"], 1_000, fixed["workshop"])
    return Draft(*names, body, author, charset=Charset("gb18030", None, "gb2312"), language="zh")


@dataclass(frozen=True, slots=True)
class _TopicWriter:
    """Writes the articles of one topic."""

    topic: Topic
    prose: ProseGenerator
    originals: DistinctTexts
    rng: Random
    fixed: Mapping[str, Any]

    def draft(self, layout: str, planted: _DuplicateFamily, *, mirrored: bool) -> Draft:
        title = self.title()
        body = [self.passage(letter, last=n == len(layout) - 1) for n, letter in enumerate(layout)]
        for passage in planted:
            _insert_passage(body, passage, self.rng)
        names = (self.topic.category, self.topic.name)
        return Draft(title, slug(title), *names, tuple(body), bare=layout[0] == "B", mirrored=mirrored)

    def passage(self, letter: str, *, last: bool = False) -> Passage:
        if letter in _LINE_KINDS:
            kind, frame = _LINE_KINDS[letter]
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


def _plant_duplicates(
    planter: DuplicatePlanter, hosts: Sequence[int], fixed: Sequence[_DuplicateFamily]
) -> dict[int, _DuplicateFamily]:
    """Return the planted passages of each host article of the topic. No host gets two members of one family."""
    near = [planter.near_family(number) for number in range(_NEAR_FAMILIES)]
    exact = [planter.exact_family() for _ in range(_EXACT_FAMILIES)]
    shuffled = planter.rng.sample(hosts, len(hosts))
    turns = cycle(shuffled)
    planted: dict[int, _DuplicateFamily] = {host: [] for host in shuffled}
    for family in (*near, *exact, *fixed):
        for host, passage in zip(islice(turns, len(family)), family, strict=True):
            planted[host].append(passage)
    return planted


@dataclass(frozen=True, slots=True)
class DuplicatePlanter:
    """Writes the families of duplicates of one topic."""

    topic: Topic
    prose: ProseGenerator
    originals: DistinctTexts
    rng: Random
    edits: Mapping[str, str]

    def near_family(self, number: int) -> _DuplicateFamily:
        """Return a paragraph and its copies, each with a word changed or dropped; all are 1 to 3 bits apart."""
        wanted = 1 + self.rng.choice(_COPY_COUNTS)
        while True:
            centre = self.prose.paragraph(self.topic, self.rng, _CENTRE_WORDS)
            star = self._star(centre, wanted)
            if len(star) == wanted:
                break
        for text in star:
            self.originals.accept(text)
        return [_paragraph(text, f"near-{self.topic.name}-{number}", n) for n, text in enumerate(star)]

    def exact_family(self) -> _DuplicateFamily:
        """Return one paragraph several times: as it is, in capitals, with other white space, with other markup."""
        text = self.originals.fresh(lambda: self.prose.paragraph(self.topic, self.rng, 50))
        forms = [
            _paragraph(text.upper()),
            replace(_paragraph(text), markup=PassageMarkup.SPREAD),
            replace(_paragraph(text), markup=PassageMarkup.EMPHASISED),
            replace(_paragraph(text), markup=PassageMarkup.LINKED),
        ]
        return [_paragraph(text), *self.rng.sample(forms, self.rng.choice(_COPY_COUNTS))]

    def _star(self, centre: str, wanted: int) -> list[str]:
        star = [centre] if self.originals.admits(centre) else []
        marks = [fingerprint(text) for text in star]
        for copy in self._shuffled_edits(centre):
            if not 0 < len(star) < wanted:
                break
            mark = fingerprint(copy)
            if all(1 <= distance(mark, other) <= _NEAR_BITS for other in marks) and self.originals.admits(copy):
                star.append(copy)
                marks.append(mark)
        return star

    def _shuffled_edits(self, text: str) -> list[str]:
        copies = [_replace_word(text, word, self.edits[word[0].lower()]) for word in _editable_words(text, self.edits)]
        self.rng.shuffle(copies)
        return copies


def _numbered_family(template: str, topic: Topic) -> _DuplicateFamily:
    """Return short paragraphs that differ only in a number. They are not duplicates."""
    group = f"numbered-{topic.name}"
    return [_paragraph(template.format(number=number), group, n) for n, number in enumerate(_NUMBERS)]


def _short_family(text: str) -> _DuplicateFamily:
    """Return twice the same paragraph that is too short for a fingerprint."""
    return [_paragraph(text), _paragraph(text)]


def _paragraph(text: str, group: str = "", member: int = 0) -> Passage:
    return Passage(Kind.PARAGRAPH, text, group=group, member=member)


def _editable_words(text: str, edits: Mapping[str, str]) -> Iterator[re.Match[str]]:
    return (word for word in _WORD.finditer(text) if word[0].lower() in edits)


def _replace_word(text: str, word: re.Match[str], new: str) -> str:
    """Return the text with the word replaced. If it is dropped, the next word takes over its capital."""
    before, after = text[: word.start()], text[word.end() :]
    if not new:
        before, after = (before, after[1:]) if after.startswith(" ") else (before.removesuffix(" "), after)
    changed = new + after
    return before + (changed[:1].upper() + changed[1:] if word[0][0].isupper() else changed)


class DistinctTexts:
    """The texts of the site so far, by digest and fingerprint. Only planned duplicates may resemble each other."""

    def __init__(self) -> None:
        self._digests: set[int] = set()
        self._fingerprints: list[int] = []

    def fresh(self, write: Callable[[], str]) -> str:
        """Call `write` until it returns a text that is unlike all accepted ones; accept and return that text.

        Raises RuntimeError after many attempts, because the vocabulary is too small.
        """
        for _ in range(_ATTEMPTS_MAX):
            text = write()
            if self.admits(text):
                self.accept(text)
                return text
        raise RuntimeError(f"{_ATTEMPTS_MAX} texts in a row resemble earlier ones; the last: {text!r}")

    def admits(self, text: str) -> bool:
        if digest(text) in self._digests:
            return False
        mark = fingerprint(text)
        return not has_fingerprint(text) or all(distance(mark, other) > _UNRELATED_BITS for other in self._fingerprints)

    def accept(self, text: str) -> None:
        self._digests.add(digest(text))
        if has_fingerprint(text):
            self._fingerprints.append(fingerprint(text))


def has_fingerprint(text: str) -> bool:
    """Return True if a text is long enough to be compared by fingerprint."""
    return len(set(terms(text))) >= _FINGERPRINTED_TERMS_MIN
