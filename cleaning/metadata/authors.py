"""A page's authors.

`read_authors` is the table of contents: collect the names of the page, describe each group of names by features, add up
the trained weights of the features, and answer with the best group, or with none.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from cleaning.metadata.author_candidates import AuthorCandidate, AuthorSource, collect_authors
from cleaning.metadata.author_names import fold_name, is_company, is_person
from cleaning.metadata.elements import find_texts
from cleaning.metadata.ranking import choose_answer, load_weights, score_options, source_features
from cleaning.metadata.site_names import letters_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cleaning.metadata.ranking import Evidence

FIELD = "authors"
_MAX_GROUPS = 6
_MAX_PATH_DEPTH = 4
_MIN_TITLE_LETTERS = 5
_SHORT_NAME_CHARS = 4
_MAX_SHOWN = 30
_MAX_SHOWN_CHARS = 2_000
# A group of names is compared with at most this many others.
_MAX_COMPARED = 30
# Of 1,863 pages, each judged by weights of other hosts (right, wrong, invented): 0.4 787, 70, 97; 0.45 779, 66, 91.
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


def read_authors(evidence: Evidence, weights: Mapping[str, float] | None = None) -> Authors:
    """Return the authors of a page; `weights` replace the trained ones."""
    groups = group_authors(evidence)
    if not groups:
        return Authors()
    options = describe_authors(groups, evidence)
    key = choose_answer(score_options(options, load_weights(FIELD) if weights is None else weights), MIN_LIKELIHOOD)
    return Authors() if key is None else Authors(_spelt(groups[key]), groups[key][0].origin)


def _spelt(group: Sequence[AuthorCandidate]) -> tuple[str, ...]:
    """Return the names of a group, with the spelling that is not all in capitals if the page has one."""
    spellings = {fold_name(name): name for candidate in group for name in candidate.names if not name.isupper()}
    return tuple([spellings.get(fold_name(name), name) if name.isupper() else name for name in group[0].names])


def group_authors(evidence: Evidence) -> dict[str, list[AuthorCandidate]]:
    """Return the candidates of a page by their key."""
    groups: dict[str, list[AuthorCandidate]] = defaultdict(list)
    for candidate in collect_authors(evidence):
        groups[candidate.key].append(candidate)
    return groups


def _find_shown(evidence: Evidence, groups: Mapping[str, Sequence[AuthorCandidate]]) -> dict[str, str]:
    """Return the place near the heading where each name is shown; names that are not shown are left out."""
    names = tuple({name: None for group in groups.values() for name in group[0].names})[:_MAX_SHOWN]
    near = find_texts(evidence.root, evidence.stated.heading, names)
    places: dict[str, str] = {}
    for place, elements in near._asdict().items():
        for element in elements[:_MAX_SHOWN]:
            text = f"{element.text or ''} {element.tail or ''}"[:_MAX_SHOWN_CHARS]
            for name in names:
                if name in text:
                    places.setdefault(name, place)
    return places


def describe_authors(groups: Mapping[str, Sequence[AuthorCandidate]], evidence: Evidence) -> dict[str | None, set[str]]:
    """Return the features of each group of names, and of None, which stands for no answer."""
    context = _PageContext(groups, evidence)
    options: dict[str | None, set[str]] = {key: context.group_features(key, group) for key, group in groups.items()}
    options[None] = context.page_features()
    return options


class _PageContext:
    """The facts that all candidates of a page tell together."""

    def __init__(self, groups: Mapping[str, Sequence[AuthorCandidate]], evidence: Evidence) -> None:
        stated = evidence.stated
        self._evidence = evidence
        self._places = _find_shown(evidence, groups)
        self._sources = {candidate.source for group in groups.values() for candidate in group}
        self._people = {key: frozenset(key.split("; ")) for key in groups}
        self._titles = [letters_of(text) for text in (stated.title or "", *stated.headings[:2]) if text]
        self._site_names = [
            name for name in (*evidence.site.names, *evidence.site.labels) if len(name) >= _MIN_TITLE_LETTERS
        ]

    def page_features(self) -> set[str]:
        """Return what speaks for and against a page without an author."""
        stated = self._evidence.stated
        dated = next(stated.texts("datePublished"), None) or next(stated.meta("article:published_time"), None)
        features = {"none", f"none:groups-{min(len(self._people), _MAX_GROUPS)}"}
        features |= {f"none:{'has' if source in self._sources else 'no'}-{source}" for source in AuthorSource}
        features |= {"none:dated" if dated else "none:undated"}
        features.add(f"none:kind-{self._evidence.kind}")
        features |= {f"none:depth-{min(self._evidence.path_depth, _MAX_PATH_DEPTH)}"}
        features |= {f"none:type-{name}" for name in stated.types}
        if self._evidence.is_front_page:
            features.add("none:front")
        return features

    def group_features(self, key: str, group: Sequence[AuthorCandidate]) -> set[str]:
        """Return the features of a group of names: those of its candidates, and how it stands to the other groups."""
        sources = {candidate.source for candidate in group}
        features = source_features(group)
        if len(sources) > 1:
            features |= {f"agrees-{source}" for source in sources}
        features.add(f"sources-{len(sources)}")
        if len(group) > len(sources):
            features.add("repeated")
        if len(self._people) == 1:
            features.add("only-group")
        # Of a page without a heading, nobody knows where its authors would be shown.
        unseen = "unknown" if self._evidence.stated.heading is None else "nowhere"
        place = self._places.get(group[0].names[0], unseen)
        shape = _shape_of(group[0].names)
        features |= {shape, f"shown-{place}"}
        if len(group[0].names) > 1:
            features.add("all-shown" if all(name in self._places for name in group[0].names) else "part-shown")
        features |= {f"{source}-{sign}" for source in sources for sign in (shape, f"shown-{place}")}
        features |= {f"{shape}-shown-{place}", *[f"{source}-{shape}-{place}" for source in sources]}
        features |= {f"{self._evidence.kind}-{source}" for source in sources} | {f"{self._evidence.kind}-{shape}"}
        if self._evidence.is_front_page:
            features |= {f"front-{source}" for source in sources}
        features |= self._overlap_features(key) | _name_features(group[0].names)
        features |= self._site_features(group[0].names, sources)
        return features

    def _overlap_features(self, key: str) -> set[str]:
        own = self._people[key]
        others = [people for other, people in islice(self._people.items(), _MAX_COMPARED) if other != key]
        features = set()
        if True in [own < people for people in others]:
            features.add("part-of-group")
        if True in [own > people for people in others]:
            features.add("whole-group")
        if len(own) == 1:
            name = next(iter(own))
            other_names = [other for people in others for other in people]
            if True in [name != other and name in other for other in other_names]:
                features.add("part-of-name")
            if True in [other != name and other in name for other in other_names]:
                features.add("whole-name")
        return features

    def _site_features(self, names: Sequence[str], sources: set[AuthorSource]) -> set[str]:
        letters = [letters_of(name) for name in names]
        long_letters = [plain for plain in letters if len(plain) >= _MIN_TITLE_LETTERS]
        features = set()
        if any(map(self._evidence.site.is_name, letters)):
            features |= {"site", *[f"site-{source}" for source in sources]}
        elif True in [plain in name or name in plain for plain in long_letters for name in self._site_names]:
            # A part of the site's name, or a name with a label of the host in it.
            features.add("near-site")
        if True in [plain in title for plain in long_letters for title in self._titles]:
            features.add("in-title")
        return features


def _name_features(names: Sequence[str]) -> set[str]:
    first = names[0]
    features = {f"names-{min(len(names), 3)}", f"words-{min(len(first.split()), 5)}"}
    if len(first) <= _SHORT_NAME_CHARS:
        features.add(f"chars-{len(first)}")
    if first[0].islower():
        features.add("lower")
    if first.isupper():
        features.add("upper")
    return features


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
