"""The finds of a perfect crawl of the demo site, as plain data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cleaning.fingerprint import digest
from cleaning.terms import normalise

if TYPE_CHECKING:
    from crawler.demo.site import Article, DemoSite, Passage


# The path of an article and the position of a block in its body.
BlockPlace = tuple[str, int]


def ground_truth(site: DemoSite) -> dict[str, Any]:
    """Return the articles with their blocks, the boilerplate, the families of duplicates, refusals and redirects.

    A place is `[path, index of the block]`. The `exact` families are complete: every block that equals another except
    for case, white space and markup is in one. The `numbered` groups are not duplicates.
    """
    return {
        "seed": site.seed,
        "sections": {name: [entry.path for entry in entries] for name, entries in site.sections().items()},
        "articles": [_describe_article(article) for article in site.articles],
        "mirrors": [[a.mirror_of, a.entry.path] for a in site.articles if a.mirror_of],
        "exact": _exact_families(site),
        "near": [{"centre": places[0], "copies": places[1:]} for places in _planted_groups(site, "near-")],
        "numbered": _planted_groups(site, "numbered-"),
        "refusals": {refusal.entry.path: refusal.outcome.value for refusal in site.refusals},
        "redirects": {
            redirect.entry.path: {"to": redirect.target, "status": redirect.status} for redirect in site.redirects
        },
        "noise": [{"kind": noise.kind, "marker": noise.marker, "text": noise.text} for noise in site.noise],
    }


def _describe_article(article: Article) -> dict[str, Any]:
    entry = article.entry
    return {
        "path": entry.path,
        "id": entry.id,
        "title": entry.title,
        "author": article.author.name,
        "published": article.published.isoformat(),
        "category": entry.category,
        "subcategory": entry.subcategory,
        "section": entry.section,
        "bare": article.draft.bare,
        "language": article.draft.language,
        "encoding": article.draft.charset.codec,
        "blocks": [{"kind": passage.kind.value, "text": normalise(passage.text)} for passage in article.passages],
    }


def _block_places(site: DemoSite) -> list[tuple[BlockPlace, Passage]]:
    return [((a.entry.path, n), passage) for a in site.articles for n, passage in enumerate(a.passages)]


def _exact_families(site: DemoSite) -> list[list[BlockPlace]]:
    families: dict[int, list[BlockPlace]] = {}
    for place, passage in _block_places(site):
        families.setdefault(digest(passage.text), []).append(place)
    return [places for places in families.values() if len(places) > 1]


def _planted_groups(site: DemoSite, prefix: str) -> list[list[BlockPlace]]:
    """Return the places of each planted group of a kind in the order of the members, the centre first."""
    groups: dict[str, list[tuple[int, BlockPlace]]] = {}
    for place, passage in _block_places(site):
        if passage.group.startswith(prefix):
            groups.setdefault(passage.group, []).append((passage.member, place))
    return [[place for _, place in sorted(members)] for members in groups.values()]
