"""A page's authors.

`read_authors` is the table of contents: collect the names of the page, describe each group of names by features, add up
the trained weights of the features, and answer with the best group, or with none.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from cleaning.metadata.author_candidates import AuthorCandidate, AuthorSource, collect_authors
from cleaning.metadata.author_names import is_company, is_person
from cleaning.metadata.elements import find_texts
from cleaning.metadata.ranking import choose_answer, load_weights, score_options, source_features
from cleaning.metadata.site_names import letters_of, read_site
from cleaning.metadata.titles import is_front_page, kind_of, path_depth

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.metadata.site_names import Site
    from cleaning.metadata.statements import Statements

FIELD = "authors"
_MAX_GROUPS = 6
_MAX_PATH_DEPTH = 4
_MIN_TITLE_LETTERS = 5
_MAX_SHOWN = 30
_MAX_SHOWN_CHARS = 2_000
# A group of names is compared with at most this many others.
_MAX_COMPARED = 30
# Of 1,863 pages, each judged by weights of other hosts (right, wrong, invented): 0.4 771, 79, 106; 0.45 764, 73, 92.
MIN_LIKELIHOOD = 0.4
# A statement of the page counts unless the data say otherwise.
PRIOR = {
    "json-ld": 5.0,
    "microdata": 3.0,
    "meta:author": 3.0,
    "meta": 0.5,
    "link:rel": 1.5,
    "link": 0.5,
    "class": 0.5,
    "byline:below-0": 1.0,
    "person": 1.0,
    "names-2": 0.5,
    "names-3": 0.5,
    "sources-1": 1.0,
    "whole-group": 1.0,
}


class Authors(NamedTuple):
    """The names of a page's authors, and in words where they stand; empty and None if the page names nobody."""

    names: tuple[str, ...] = ()
    source: str | None = None


def read_authors(
    root: HtmlElement, stated: Statements, url: str | None, weights: Mapping[str, float] | None = None
) -> Authors:
    """Return the authors of a page; `weights` replace the trained ones."""
    site = read_site(stated, url)
    candidates = list(collect_authors(root, stated, site))
    if not candidates:
        return Authors()
    options = describe_authors(candidates, stated, url, site, find_shown(root, stated, candidates))
    key = choose_answer(score_options(options, load_weights(FIELD) if weights is None else weights), MIN_LIKELIHOOD)
    best = next((candidate for candidate in candidates if candidate.key == key), None)
    return Authors() if best is None else Authors(best.names, best.origin)


def find_shown(root: HtmlElement, stated: Statements, candidates: Sequence[AuthorCandidate]) -> dict[str, str]:
    """Return the place near the heading where each first name is shown, without those that are not."""
    names = tuple({candidate.names[0]: None for candidate in candidates})[:_MAX_SHOWN]
    near = find_texts(root, stated.heading, names)
    places: dict[str, str] = {}
    for place, elements in near._asdict().items():
        for element in elements[:_MAX_SHOWN]:
            text = f"{element.text or ''} {element.tail or ''}"[:_MAX_SHOWN_CHARS]
            for name in names:
                if name in text:
                    places.setdefault(name, place)
    return places


def describe_authors(
    candidates: Sequence[AuthorCandidate], stated: Statements, url: str | None, site: Site, places: Mapping[str, str]
) -> dict[str | None, frozenset[str]]:
    """Return the features of each group of names, and of None, which stands for no answer.

    `site` is the page's, and `places` says where the names are shown.
    """
    groups: dict[str, list[AuthorCandidate]] = defaultdict(list)
    for candidate in candidates:
        groups[candidate.key].append(candidate)
    context = _PageContext(groups, stated, url, site, places)
    options: dict[str | None, frozenset[str]] = {
        key: frozenset(context.group_features(key, group)) for key, group in groups.items()
    }
    options[None] = frozenset(context.page_features())
    return options


class _PageContext:
    """What the candidates of a page say together."""

    def __init__(
        self,
        groups: Mapping[str, list[AuthorCandidate]],
        stated: Statements,
        url: str | None,
        site: Site,
        places: Mapping[str, str],
    ) -> None:
        self._places = places
        self._groups = groups
        self._types = stated.types
        self._site = site
        self._front = is_front_page(url)
        self._depth = path_depth(url)
        self._titles = [letters_of(text) for text in (stated.title or "", *stated.headings[:2]) if text]
        self._sources = {candidate.source for group in groups.values() for candidate in group}
        self._people = {key: frozenset(key.split("; ")) for key in groups}
        self._has_heading = stated.heading is not None
        self._kind = kind_of(stated.types)
        self._dated = next(stated.texts("datePublished"), None) or next(stated.meta("article:published_time"), None)

    def page_features(self) -> Iterator[str]:
        """Yield what speaks for and against a page without an author."""
        yield "none"
        yield f"none:groups-{min(len(self._groups), _MAX_GROUPS)}"
        for source in AuthorSource:
            yield f"none:{'has' if source in self._sources else 'no'}-{source.value}"
        if self._front:
            yield "none:front"
        yield "none:dated" if self._dated else "none:undated"
        yield f"none:depth-{min(self._depth, _MAX_PATH_DEPTH)}"
        for name in self._types:
            yield f"none:type-{name}"

    def group_features(self, key: str, group: Sequence[AuthorCandidate]) -> Iterator[str]:
        """Yield the features of a group of names: those of its candidates, and how it stands to the other groups."""
        sources = {candidate.source for candidate in group}
        yield from source_features(group)
        for source in sources if len(sources) > 1 else ():
            yield f"agrees-{source.value}"
        yield f"sources-{len(sources)}"
        if len(group) > len(sources):
            yield "repeated"
        if len(self._groups) == 1:
            yield "only-group"
        for source in sources:
            yield from self._kind_features(source.value)
        yield from self._overlap_features(key)
        yield from self._name_features(group[0].names, sources)
        # Of a page without a heading, nobody knows where its authors would be shown.
        place = self._places.get(group[0].names[0], "nowhere" if self._has_heading else "unknown")
        yield f"shown-{place}"
        shape = _shape_of(group[0].names)
        yield shape
        for source in sources:
            yield f"{source.value}-{shape}"
            yield f"{source.value}-shown-{place}"

    def _kind_features(self, source: str) -> Iterator[str]:
        if self._front:
            yield f"front-{source}"
        yield f"{self._kind}-{source}"

    def _overlap_features(self, key: str) -> Iterator[str]:
        own = self._people[key]
        compared = islice(self._people.items(), _MAX_COMPARED)
        others = [people for other, people in compared if other != key]
        if any(own < people for people in others):
            yield "part-of-group"
        if any(own > people for people in others):
            yield "whole-group"
        if len(own) == 1:
            name = next(iter(own))
            other_names = [other for people in others for other in people]
            if any(name != other and name in other for other in other_names):
                yield "part-of-name"
            if any(other != name and other in name for other in other_names):
                yield "whole-name"

    def _name_features(self, names: Sequence[str], sources: set[AuthorSource]) -> Iterator[str]:
        yield f"names-{min(len(names), 3)}"
        first = names[0]
        words = first.split()
        yield f"words-{min(len(words), 5)}"
        if first[0].islower():
            yield "lower"
        if first.isupper():
            yield "upper"
        yield from self._site_features(names, sources)

    def _site_features(self, names: Sequence[str], sources: set[AuthorSource]) -> Iterator[str]:
        letters = [letters_of(name) for name in names]
        if any(map(self._site.is_name, letters)):
            yield "site"
            yield from (f"site-{source.value}" for source in sources)
        elif any(_is_near_site(plain, self._site) for plain in letters):
            yield "near-site"
        if any(len(plain) >= _MIN_TITLE_LETTERS and plain in title for plain in letters for title in self._titles):
            yield "in-title"


def _shape_of(names: Sequence[str]) -> str:
    """Return what names look like: `company`, `person`, `account`, `one-word`, or `phrase`."""
    if any(map(is_company, names)):
        return "company"
    if all(map(is_person, names)):
        return "person"
    name = names[0]
    if len(name.split()) > 1:
        return "phrase"
    is_account = name.islower() or any(sign.isdigit() or sign in "_-." for sign in name)
    return "account" if is_account else "one-word"


def _is_near_site(plain: str, site: Site) -> bool:
    """Return True if a name is a part of the site's name, or has a label of its host in it."""
    names = [name for name in (*site.names, *site.labels) if len(name) >= _MIN_TITLE_LETTERS]
    return len(plain) >= _MIN_TITLE_LETTERS and any(plain in name or name in plain for name in names)
