"""Generate the demo site from a seed: the same seed, the same site."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from random import Random
from typing import TYPE_CHECKING

from crawler.demo.bundled import load_texts
from crawler.demo.drafts import write_drafts
from crawler.demo.model import Article, Author, Draft, Entry, Noise, Outcome, Redirect, Refusal, Site
from crawler.demo.originals import Originals
from crawler.demo.prose import load_prose, slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawler.demo.prose import Prose

SEED = 7

# What stands on the listed links that lead to no article: outcome, status, template or file.
_REFUSALS = (
    *[(Outcome.FORBIDDEN, 403, "forbidden")] * 3,
    *[(Outcome.CAPTCHA, 200, "captcha")] * 2,
    (Outcome.CAPTCHA, 503, "captcha"),
    *[(Outcome.QUOTA, 200, "excessive")] * 2,
    *[(Outcome.QUOTA, 200, "quota")] * 2,
    *[(Outcome.REMOVED, 200, "removed")] * 2,
    *[(Outcome.NOT_FOUND, 404, "removed")] * 2,
    (Outcome.NOT_HTML, 200, "pdf"),
    (Outcome.NOT_HTML, 200, "gif"),
    (Outcome.ROBOTS, 200, "private"),
)
_REDIRECT_STATUSES = (301, 302, 301, 302)

_FIRST_DAY = dt.date(2006, 1, 1)
_DAYS = 6_000
_IDS = range(110_000, 10_900_000)
# Ids from here on are addressed by number alone, without the title.
_SHORT_PATHS_FROM = 10_000_000


@dataclass(frozen=True, slots=True)
class _Address:
    id: int
    published: dt.date

    def path(self, slug: str) -> str:
        return f"/{self.id}" if self.id >= _SHORT_PATHS_FROM else f"/?{slug}&id={self.id}"


def build(seed: int = SEED) -> Site:
    """Return the site that grows from the seed; raises RuntimeError if the vocabulary cannot keep texts apart."""
    rng, prose, originals = Random(seed), load_prose(), Originals()
    drafts = write_drafts(prose, originals, rng)
    authors = _authors(rng)
    mirrored = [draft for draft in drafts if draft.mirrored]
    addresses = _addresses(len(drafts) + len(mirrored) + len(_REFUSALS) + len(_REDIRECT_STATUSES), rng)
    articles = [_article(draft, next(addresses), rng.choice(authors)) for draft in drafts]
    paths = {article.draft.title: article.entry.path for article in articles}
    mirrors = [_article(d, next(addresses), rng.choice(authors), paths[d.title]) for d in mirrored]
    strays = _strays(prose, originals, rng)
    refusals = [_refusal(next(strays), next(addresses), *answer) for answer in _REFUSALS]
    redirects = [_redirect(_entry(next(strays), next(addresses)), s, articles, rng) for s in _REDIRECT_STATUSES]
    return Site(seed, (*articles, *mirrors), tuple(refusals), tuple(redirects), _noise(articles, authors))


def _addresses(count: int, rng: Random) -> Iterator[_Address]:
    """Return ids and dates in random order; the later the date, the higher the id."""
    ids = sorted(rng.sample(_IDS, count))
    days = sorted(rng.randrange(_DAYS) for _ in range(count))
    dates = [_FIRST_DAY + dt.timedelta(days=day) for day in days]
    addresses = [_Address(*pair) for pair in zip(ids, dates, strict=True)]
    return iter(rng.sample(addresses, count))


def _authors(rng: Random) -> list[Author]:
    return [Author(name, rng.randrange(10_000, 90_000), shop) for name, shop in load_texts("authors").items()]


def _article(draft: Draft, address: _Address, author: Author, mirror_of: str = "") -> Article:
    return Article(_entry(draft, address), draft.author or author, address.published, draft, mirror_of)


def _entry(draft: Draft, address: _Address, folder: str = "") -> Entry:
    path = folder + address.path(draft.slug)
    return Entry(address.id, path, draft.title, draft.category, draft.subcategory)


def _refusal(draft: Draft, address: _Address, outcome: Outcome, status: int, template: str) -> Refusal:
    folder = "/private" if outcome is Outcome.ROBOTS else ""
    return Refusal(_entry(draft, address, folder), outcome, status, template)


def _redirect(entry: Entry, status: int, articles: Sequence[Article], rng: Random) -> Redirect:
    """Return a redirect to another article of the entry's own section."""
    targets = [article.entry.path for article in articles if article.entry.section == entry.section]
    return Redirect(entry, status, rng.choice(targets))


def _strays(prose: Prose, originals: Originals, rng: Random) -> Iterator[Draft]:
    """Yield bodiless drafts for links that lead to no article, a topic after the other."""
    for topic in cycle(prose.topics):
        title = originals.fresh(partial(prose.title, "title", topic, rng))
        yield Draft(title, slug(title), topic.category, topic.name, ())


def _noise(articles: Sequence[Article], authors: Sequence[Author]) -> tuple[Noise, ...]:
    template = [Noise(kind, **words) for kind, words in load_texts("noise").items()]
    signing = dict.fromkeys([*authors, *(article.author for article in articles)])
    boxes = [Noise("resource_box", a.workshop, f"runs the {a.workshop} workshop") for a in signing]
    return (*template, *boxes)
