"""A page's title without its site's name, and the headline that it shows.

`read_titles` is the table of contents: collect the titles of the page and their parts, describe each by features, add
up the trained weights of the features, and answer with the best one.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from cleaning.metadata.ranking import choose_answer, load_weights, score_options, source_features
from cleaning.metadata.site_names import letters_of
from cleaning.metadata.statements import tidy_text
from cleaning.metadata.title_candidates import (
    HEADINGS,
    TitleCandidate,
    TitleSource,
    collect_titles,
    split_title,
    title_words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from cleaning.metadata.ranking import Evidence
    from cleaning.metadata.site_names import Site
    from cleaning.metadata.statements import Statements

FIELD = "title"
MIN_LIKELIHOOD = 1e-6
"""A page with candidates has a title."""
PRIOR = {
    "h1:whole": 1.0,
    "json-ld:whole": 1.0,
    "og:whole": 0.5,
    "cut-site": 1.0,
    "cut-generic": 4.0,
    "cut-other": -0.5,
    "with-site": -3.0,
    "with-generic": -4.0,
    "no-h1:cut-site": 4.0,
    "no-h1:cut-other": -4.0,
    "ends-h1": 4.0,
    "front-h1": -4.0,
    "h1-stated-few": -6.0,
    "h1-stated-none": -5.0,
    "site": -8.0,
    "generic": -3.0,
}
_MIN_SHOWN_CHARS = 15  # shorter parts of a title are in the text by chance
_MIN_OVERLAP_LETTERS = 6  # of a title inside another one
# Headings and parts of titles that say nothing about the page.
_GENERIC = frozenset(
    "home homepage homesite index welcome menu mainmenu search news untitled startseite accueil inicio início"
    " 主页 首页 首頁 ホーム главная strona főoldal hjem forside hem etusivu anasayfa".split()
)
# The most words of each class of lengths.
_LENGTHS = (1, 2, 4, 8, 15, 25)
_LENGTH_NAMES = (*map(str, _LENGTHS), "many")
# The least shares of "few", "some", "most" and "all".
_SHARES = (0.001, 0.3, 0.6, 1)
_SHARE_NAMES = ("none", "few", "some", "most", "all")
_SLUG_WORD = re.compile(r"[^\W_]{3,}")
_GROUPS = {
    TitleSource.HEADING: "h1",
    TitleSource.TITLE: "title",
    TitleSource.OPEN_GRAPH: "og",
    TitleSource.JSON_LD: "json-ld",
}
_DATE_START = re.compile(r"\w{3,9}\.? \d{1,2},? \d{4}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Titles:
    """A page's title, in words where it stands, and the heading that the page shows; None for what it has not."""

    title: str | None = None
    source: str | None = None
    headline: str | None = None


def read_titles(evidence: Evidence, weights: Mapping[str, float] | None = None, text: str = "") -> Titles:
    """Return the title of a page without the site's name, and its headline; `weights` replace the trained ones.

    `text` is the page's kept text: it tells which part is the title if nothing names the site.
    """
    candidates = list(collect_titles(evidence))
    if not candidates:
        return Titles()
    options = describe_titles(candidates, evidence)
    scores = score_options(options, load_weights(FIELD) if weights is None else weights)
    key = choose_answer(scores, MIN_LIKELIHOOD)
    same = [candidate for candidate in candidates if candidate.key == key]
    best = next((candidate for candidate in same if candidate.source in HEADINGS), same[0])
    title = best.text if best.source in HEADINGS else _shown_part(best.text, text)
    return Titles(title, best.origin, _headline(candidates, scores, best, evidence.site))


def _shown_part(title: str, text: str) -> str:
    """Return the only part of a title that is in the page's text; the whole title if there is no such part."""
    visible = [part for part in split_title(title)[::2] if len(part) >= _MIN_SHOWN_CHARS and part in text]
    return visible[0] if len(visible) == 1 else title


def _headline(
    candidates: Sequence[TitleCandidate],
    scores: Mapping[str | None, float],
    best: TitleCandidate,
    site: Site,
) -> str | None:
    """Return the best heading as the page shows it; None for a page that shows only the site's name."""
    headings = [
        candidate
        for candidate in candidates
        if (candidate.source is TitleSource.HEADING or candidate.source in HEADINGS & {best.source})
        and "whole" in candidate.signs
        and _says_something(candidate.text)
        and not site.is_name(candidate.key)
    ]
    return max(headings, key=lambda candidate: scores[candidate.key]).text if headings else None


def read_stated_title(stated: Statements) -> str | None:
    """Return the text of the title element, or of what else states a title; None for a page without any."""
    others = (*stated.texts("headline"), *filter(None, map(tidy_text, stated.meta("og:title", "twitter:title"))))
    return stated.title or next(iter(others), None)


def describe_titles(candidates: Sequence[TitleCandidate], evidence: Evidence) -> dict[str | None, set[str]]:
    """Return the features of each title, and of None, which stands for no answer."""
    groups: dict[str, list[TitleCandidate]] = defaultdict(list)
    for candidate in candidates:
        groups[candidate.key].append(candidate)
    context = _PageContext(candidates, evidence)
    options: dict[str | None, set[str]] = {key: context.title_features(key, group) for key, group in groups.items()}
    options[None] = {"none"}
    return options


class _Part(NamedTuple):
    """A part of a title: whether it names the site, and whether it only names a front page or a menu."""

    is_site: bool
    is_generic: bool


class _PageContext:
    """The facts that all candidates of a page tell together."""

    def __init__(self, candidates: Sequence[TitleCandidate], evidence: Evidence) -> None:
        self._site = evidence.site
        self._front = evidence.is_front_page
        self._kind = evidence.kind
        self._slug = frozenset(_slug_words(evidence.path or ""))
        self._wholes: dict[str, set[str]] = defaultdict(set)
        self._words: dict[str, frozenset[str]] = {}
        self._parts: dict[str, _Part] = {}
        stated: set[str] = set()
        headings: set[str] = set()
        for candidate in candidates:
            if "whole" in candidate.signs:
                if candidate.source not in HEADINGS:
                    stated |= self._words_of(candidate.text)
                elif candidate.source is TitleSource.HEADING:
                    headings |= self._words_of(candidate.text)
                if candidate.source in _GROUPS:
                    self._wholes[_GROUPS[candidate.source]].add(candidate.key)
        self._stated_words = stated
        self._heading_words = headings

    def title_features(self, key: str, group: Sequence[TitleCandidate]) -> set[str]:
        """Return the features of a title: those of its candidates, and how it stands to the other titles."""
        sources = {candidate.source for candidate in group}
        wholes = {candidate.source for candidate in group if "whole" in candidate.signs}
        features = source_features(group)
        for candidate in group:
            if candidate.ends or candidate.removed:
                features |= self._cut_features(candidate)
        if len(sources) > 1:
            features |= {f"agrees-{source}" for source in sources}
        features |= {f"sources-{min(len(sources), 5)}", f"wholes-{min(len(wholes), 5)}"}
        features |= {f"{self._kind}-{source}" for source in sources}
        if self._front:
            features |= {f"front-{source}" for source in sources}
        features |= self._overlap_features(key)
        features |= self._text_features(key, group[0].text)
        features |= self._word_features(group[0].text, sources)
        return features

    def _cut_features(self, candidate: TitleCandidate) -> set[str]:
        """Return whether the parts that are cut off name the site, and whether the rest does."""
        features = set()
        ends = [self._part(part) for part in candidate.ends]
        if True in [end.is_site for end in ends]:
            features |= {"with-site", f"{candidate.source}:with-site"}
        if True in [end.is_generic for end in ends]:
            features.add("with-generic")
        if candidate.removed:
            removed = [self._part(part) for part in candidate.removed]
            kinds = {"cut-site" if part.is_site else "cut-other" for part in removed}
            if not self._heading_words:
                kinds |= {f"no-h1:{kind}" for kind in kinds}
            if True in [part.is_generic for part in removed]:
                kinds.add("cut-generic")
            features |= kinds | {f"{candidate.source}:{kind}" for kind in kinds}
        return features

    def _part(self, text: str) -> _Part:
        if text not in self._parts:
            plain = letters_of(text)
            self._parts[text] = _Part(self._site.is_part(text, plain), not _is_telling(plain))
        return self._parts[text]

    def _words_of(self, text: str) -> frozenset[str]:
        if text not in self._words:
            self._words[text] = frozenset(title_words(text))
        return self._words[text]

    def _overlap_features(self, key: str) -> set[str]:
        features = set()
        size = len(key)
        for name, keys in self._wholes.items():
            for other in keys:
                if other == key:
                    continue
                if size >= _MIN_OVERLAP_LETTERS and key in other:
                    place = "starts" if other.startswith(key) else "ends" if other.endswith(key) else "inside"
                    half = size * 2 >= len(other)
                    features |= {f"{place}-{name}" if half else f"{place}-long-{name}"}
                    features |= {f"half-{name}" if half else f"bit-{name}"}
                elif other in key and len(other) >= _MIN_OVERLAP_LETTERS:
                    features |= {f"{'begins' if key.startswith(other) else 'holds'}-{name}"}
        return features

    def _text_features(self, key: str, text: str) -> set[str]:
        features = set()
        part = self._part(text)
        if self._site.is_name(key):
            features.add("site")
        elif part.is_site:
            features.add("near-site")
        if part.is_generic:
            features.add("generic")
        if len(text) > 1 and text.endswith((".", "!")):
            features.add("sentence")
        if text.endswith(("…", "...")):
            features.add("cut-short")
        if _DATE_START.match(text):
            features.add("begins-with-date")
        return features

    def _word_features(self, text: str, sources: set[TitleSource]) -> set[str]:
        words = self._words_of(text)
        features = {f"words-{_LENGTH_NAMES[bisect_left(_LENGTHS, len(text.split()))]}"}
        if words:
            share = _share(words, self._stated_words)
            features.add(f"stated-{share}")
            if TitleSource.HEADING in sources:
                features.add(f"{'front-' if self._front else ''}h1-stated-{share}")
            if self._heading_words:
                features.add(f"shown-{_share(words, self._heading_words)}")
        if self._slug:
            own = frozenset(_SLUG_WORD.findall(text.casefold()))
            features |= {
                f"slug-{_share(own, self._slug)}" if own else "slug-none",
                f"of-slug-{_share(self._slug, own)}",
            }
        return features


def _share(words: AbstractSet[str], known: AbstractSet[str]) -> str:
    """Return in words how many of the words are known."""
    return _SHARE_NAMES[bisect(_SHARES, len(words & known) / len(words))]


def _slug_words(path: str) -> list[str]:
    parts = [part for part in unquote(path[:500]).split("/") if part]
    longest = max(parts, key=lambda part: part.count("-") + part.count("_"), default="")
    words = _SLUG_WORD.findall(longest.casefold())
    return words if len(words) > 1 else []


def _says_something(text: str) -> bool:
    """Return True if a text has letters and is more than the name of a front page or a menu."""
    return _is_telling(letters_of(text))


def _is_telling(plain: str) -> bool:
    return plain != "" and plain not in _GENERIC and not plain.isdigit()
