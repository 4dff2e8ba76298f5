"""How well noise is eliminated, as levels A, B and C (subtree.txt, section 4, table 1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import corpus
from chinese import DOMAINS, PORTALS, articles, load
from findings import Finding, Panel
from report import Figures
from stand_ins import decide, limited, read, text_of
from verdicts import judge_reached, undecided

from cleaning import clean
from cleaning.domains import registered_domain
from cleaning.terms import tokenise

# Table 1: of 100 pages, those of level A, B and C.
PAPER = {"sina": (94, 1, 5), "qq": (97, 0, 3), "sohu": (94, 2, 4), "163": (95, 2, 3)}
ABOUT = 0.95  # "about 95% of the pages"
NEARLY_ALL, MOST = 0.95, 0.5
LAXER = (0.9, 0.8)  # what may be taken for all, beside that
NEWS = 150
CHINESE, OF_PORTALS, ALL = "Chinese", "Chinese, of the four portals", "news in many languages"
_NOTE = (
    "The paper describes the levels in words, and its authors assigned them; the figures here are our reading. Level"
    f" A, all noise gone and nothing lost: at least {NEARLY_ALL:.0%} of the words of the gold text are kept, and at "
    f"least {NEARLY_ALL:.0%} of the kept words belong to it. Level B, most noise gone and nothing lost: at least "
    f"{NEARLY_ALL:.0%} of the words of the gold text are kept, and more than {MOST:.0%} of the page's other words "
    "are gone. Level C: all other pages. Further rows show smaller shares for all. Words "
    "of scripts without spaces are pairs of characters."
)
_NO_GOLD = (
    "The portals' saved pages, home pages and lists among them, have no gold text, so their levels cannot be told: "
    "nobody labelled them. How far the text agrees with that of `default` is not a judgement."
)


class Level(StrEnum):
    """The paper's levels."""

    A = "A"
    B = "B"
    C = "C"


@dataclass(frozen=True, slots=True)
class Page:
    """The words of a page: in its gold text, kept, kept rightly, and in the whole of it but the gold text."""

    gold: int
    kept: int
    right: int
    noise: int

    @classmethod
    def of(cls, kept, page, gold):
        kept, page, gold = (Counter(tokenise(text)) for text in (kept, page, gold))
        return cls(gold.total(), kept.total(), (kept & gold).total(), page.total() - (page & gold).total())

    def level(self, nearly_all=NEARLY_ALL):
        """Return the level of the page, with the share that is taken for all."""
        if self.right < nearly_all * self.gold:
            return Level.C
        if self.right >= nearly_all * self.kept:
            return Level.A
        return Level.B if self.kept - self.right < (1 - MOST) * self.noise else Level.C


@dataclass(frozen=True, slots=True)
class Portal:
    """What can be told of a portal's pages: how many there are, how many are left empty, agreement with ours."""

    pages: int
    empty: int
    agreement: float


def run(limit=None):
    news = corpus.pin(corpus.read_samples("fundus-dev"), limited(NEWS, limit))
    groups = _groups(articles()[:limit], news)
    portals = look(load()[:limit])
    saved = sum(portal.pages for portal in portals.values())
    return Finding(
        "Levels of noise eliminated",
        "Qi and Sun, section 4, table 1",
        f"{len(groups[CHINESE])} Chinese articles of magic-dev, {len(groups[OF_PORTALS])} of them of the four "
        f"portals, and {len(news)} news pages of fundus-dev in many languages, for 1,000 pages of the four portals; "
        f"and {saved} saved pages of these portals, without gold text",
        (_table(groups), _table_of_portals(portals)),
        _panels(groups),
        _verdicts(groups),
        ("subtree", "default"),
        ("magic-dev", "fundus-dev", "sites"),
        notes=(_NOTE, _NO_GOLD),
    )


def _count(sample):
    decisions = decide(read(sample), "subtree")
    return Page.of(text_of(decisions), "\n".join(decision.block.text for decision in decisions), sample.text)


def _groups(chinese, news):
    """Return the pages' counts by group, those of the paper's portals apart."""
    counted = {sample: _count(sample) for sample in chinese}
    of_portals = {
        sample: counts for sample, counts in counted.items() if registered_domain(f"//{sample.host}") in DOMAINS
    }
    return {OF_PORTALS: of_portals, CHINESE: counted, ALL: {sample: _count(sample) for sample in news}}


def look(pages):
    """Return what can be told of the portals' pages without gold."""
    return {portal: _look([page.read() for page in pages if page.portal == portal]) for portal in PORTALS}


def _look(pages):
    texts = [(text_of(decide(page, "subtree")), clean(page).text) for page in pages]
    agreement = sum(_agreement(*pair) for pair in texts) / max(1, len(texts))
    return Portal(len(pages), sum(not text.strip() for text, _ in texts), agreement)


def _agreement(text, other):
    """Return F1 of the words of two texts."""
    first = Counter(tokenise(text))
    second = Counter(tokenise(other))
    return 2 * (first & second).total() / max(1, first.total() + second.total())


def _verdicts(groups):
    return (
        *(_judged(f"about 95 % of the pages are of level A: {name}", counted) for name, counted in groups.items()),
        undecided("about 30 pages a second are done", "seconds are the machine's; docs/methods.md has the cost"),
    )


def _judged(claim, counted):
    if not counted:
        return undecided(claim, "there is no such page")
    values = [page.level() is Level.A for page in counted.values()]
    return judge_reached(claim, values, [sample.host for sample in counted], ABOUT)


def _shares(counted, nearly_all):
    counts = Counter(page.level(nearly_all) for page in counted.values())
    return [100 * counts[level] / max(1, len(counted)) for level in Level]


def _table(groups):
    means = [sum(of_level) / len(PAPER) for of_level in zip(*PAPER.values(), strict=True)]
    rows = [[f"paper: {portal}", "100", *map(str, counts)] for portal, counts in PAPER.items()]
    rows.append(["paper: mean", "400", *(f"{mean:.2f}" for mean in means)])
    for name, counted in groups.items():
        for nearly_all in (NEARLY_ALL, *LAXER):
            shares = [f"{share:.1f}" for share in _shares(counted, nearly_all)]
            rows.append([f"ours: {name}, all is {nearly_all:.0%}", str(len(counted)), *shares])
    return Figures("Table 1, % of pages", ("pages of", "pages", *Level), rows)


def _table_of_portals(portals):
    rows = [[name, str(portal.pages), str(portal.empty), f"{portal.agreement:.3f}"] for name, portal in portals.items()]
    head = ("portal", "pages", "nothing left", "mean F1 with default's text")
    return Figures("The portals' saved pages", head, rows)


def _panels(groups):
    series = {portal: list(counts) for portal, counts in PAPER.items()}
    ours = {
        f"{name}, all is {share:.0%}": _shares(counted, share)
        for name, counted in groups.items()
        for share in (NEARLY_ALL, LAXER[-1])
    }
    return Panel("paper", tuple(Level), series, "% of pages"), Panel("ours", tuple(Level), ours, "% of pages")
