"""A page's title without its site's name, and the headline that it shows.

`read_titles` is the table of contents: collect the titles of the page and their parts, describe each by features, add
up the trained weights of the features, and answer with the best one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from cleaning.metadata.ranking import choose_answer, load_weights, score_options, source_features
from cleaning.metadata.site_names import letters_of, read_site
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
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

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
_WORD_BUCKETS = ((1, "1"), (2, "2"), (4, "4"), (8, "8"), (15, "15"), (25, "25"))
_SHARES = ((1, "all"), (0.6, "most"), (0.3, "some"), (0.001, "few"), (0, "none"))
_SLUG_WORD = re.compile(r"[^\W_]{3,}")
_GROUPS = {
    TitleSource.HEADING: "h1",
    TitleSource.TITLE: "title",
    TitleSource.OPEN_GRAPH: "og",
    TitleSource.JSON_LD: "json-ld",
}
_FORUM_TYPES = frozenset({"qapage", "question", "discussionforumposting", "discussion"})
_DATE_START = re.compile(r"\w{3,9}\.? \d{1,2},? \d{4}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Titles:
    """A page's title, in words where it stands, and the heading that the page shows; None for what it has not."""

    title: str | None = None
    source: str | None = None
    headline: str | None = None


def read_titles(
    root: HtmlElement,
    stated: Statements,
    url: str | None,
    weights: Mapping[str, float] | None = None,
    text: str = "",
) -> Titles:
    """Return the title of a page without the site's name, and its headline; `weights` replace the trained ones.

    `text` is the page's kept text: it tells which part is the title if nothing names the site.
    """
    candidates = list(collect_titles(root, stated))
    if not candidates:
        return Titles()
    site = read_site(stated, url)
    options = describe_titles(candidates, stated, url, site)
    scores = score_options(options, load_weights(FIELD) if weights is None else weights)
    key = choose_answer(scores, MIN_LIKELIHOOD)
    same = [candidate for candidate in candidates if candidate.key == key]
    best = next((candidate for candidate in same if candidate.source in HEADINGS), same[0])
    title = best.text if best.source in HEADINGS else _shown_part(best.text, text)
    return Titles(title, best.origin, _headline(candidates, scores, best, site))


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
        and says_something(candidate.text)
        and not site.is_name(candidate.key)
    ]
    return max(headings, key=lambda candidate: scores[candidate.key]).text if headings else None


def read_stated_title(stated: Statements) -> str | None:
    """Return the text of the title element, or of what else states a title; None for a page without any."""
    others = (*stated.texts("headline"), *filter(None, map(tidy_text, stated.meta("og:title", "twitter:title"))))
    return stated.title or next(iter(others), None)


def describe_titles(
    candidates: Sequence[TitleCandidate], stated: Statements, url: str | None, site: Site
) -> dict[str | None, frozenset[str]]:
    """Return the features of each title, and of None, which stands for no answer."""
    groups: dict[str, list[TitleCandidate]] = defaultdict(list)
    for candidate in candidates:
        groups[candidate.key].append(candidate)
    context = _PageContext(candidates, stated, url, site)
    options: dict[str | None, frozenset[str]] = {
        key: frozenset(context.title_features(key, group)) for key, group in groups.items()
    }
    options[None] = frozenset({"none"})
    return options


class _PageContext:
    """What the candidates of a page say together."""

    def __init__(self, candidates: Sequence[TitleCandidate], stated: Statements, url: str | None, site: Site) -> None:
        self._site = site
        self._front = is_front_page(url)
        self._kind = kind_of(stated.types)
        self._slug = frozenset(_slug_words(url))
        self._wholes: dict[str, set[str]] = defaultdict(set)
        words: dict[TitleSource, set[str]] = defaultdict(set)
        for candidate in candidates:
            if "whole" in candidate.signs:
                words[candidate.source].update(title_words(candidate.text))
                if group := _GROUPS.get(candidate.source):
                    self._wholes[group].add(candidate.key)
        self._stated_words = frozenset().union(*(words[source] for source in words if source not in HEADINGS))
        self._heading_words = frozenset(words[TitleSource.HEADING])
        self._is_part: dict[str, bool] = {}

    def title_features(self, key: str, group: Sequence[TitleCandidate]) -> Iterator[str]:
        """Yield the features of a title: those of its candidates, and how it stands to the other titles."""
        sources = {candidate.source for candidate in group}
        yield from source_features(group)
        for candidate in group:
            yield from self._cut_features(candidate)
        wholes = {candidate.source for candidate in group if "whole" in candidate.signs}
        for source in sources if len(sources) > 1 else ():
            yield f"agrees-{source.value}"
        yield f"sources-{min(len(sources), 5)}"
        yield f"wholes-{min(len(wholes), 5)}"
        for source in sources:
            if self._front:
                yield f"front-{source.value}"
            yield f"{self._kind}-{source.value}"
        yield from self._overlap_features(key)
        yield from self._text_features(key, group[0].text, sources)

    def _cut_features(self, candidate: TitleCandidate) -> Iterator[str]:
        """Yield whether the parts that are cut off name the site, and whether those that are left do."""
        if any(self._names_site(part) for part in candidate.ends):
            yield "with-site"
            yield f"{candidate.source.value}:with-site"
        if not all(map(says_something, candidate.ends)):
            yield "with-generic"
        if candidate.removed:
            kinds = {"cut-site" if self._names_site(part) else "cut-other" for part in candidate.removed}
            if not self._heading_words:
                kinds |= {f"no-h1:{kind}" for kind in kinds}
            if any(not says_something(part) for part in candidate.removed):
                kinds.add("cut-generic")
            for kind in kinds:
                yield kind
                yield f"{candidate.source.value}:{kind}"

    def _names_site(self, part: str) -> bool:
        if part not in self._is_part:
            self._is_part[part] = self._site.is_part(part)
        return self._is_part[part]

    def _overlap_features(self, key: str) -> Iterator[str]:
        for name, keys in self._wholes.items():
            for other in keys:
                if other == key:
                    continue
                if len(key) >= _MIN_OVERLAP_LETTERS and key in other:
                    place = "starts" if other.startswith(key) else "ends" if other.endswith(key) else "inside"
                    half = len(key) * 2 >= len(other)
                    yield f"{place}-{name}" if half else f"{place}-long-{name}"
                    yield f"half-{name}" if half else f"bit-{name}"
                elif len(other) >= _MIN_OVERLAP_LETTERS and other in key:
                    yield f"{'begins' if key.startswith(other) else 'holds'}-{name}"

    def _text_features(self, key: str, text: str, sources: set[TitleSource]) -> Iterator[str]:
        yield from self._word_features(text, sources)
        if self._site.is_name(key):
            yield "site"
        elif self._names_site(text):
            yield "near-site"
        if not says_something(text):
            yield "generic"
        if len(text) > 1 and text.endswith((".", "!")):
            yield "sentence"
        if text.endswith(("…", "...")):
            yield "cut-short"
        if _DATE_START.match(text):
            yield "begins-with-date"

    def _word_features(self, text: str, sources: set[TitleSource]) -> Iterator[str]:
        words = set(title_words(text))
        count = len(text.split())
        yield f"words-{next((name for most, name in _WORD_BUCKETS if count <= most), 'many')}"
        if words:
            share = _share(words, self._stated_words)
            yield f"stated-{share}"
            if TitleSource.HEADING in sources:
                yield f"{'front-' if self._front else ''}h1-stated-{share}"
            if self._heading_words:
                yield f"shown-{_share(words, self._heading_words)}"
        if self._slug:
            own = frozenset(_SLUG_WORD.findall(text.casefold()))
            yield f"slug-{_share(own, self._slug)}" if own else "slug-none"
            yield f"of-slug-{_share(self._slug, own)}"


def _share(words: Iterable[str], known: frozenset[str]) -> str:
    """Return in words how many of the words are known."""
    hits = [word in known for word in words]
    share = sum(hits) / len(hits)
    return next(name for least, name in _SHARES if share >= least)


def kind_of(types: frozenset[str]) -> str:
    """Return the kind of page that the types of a page state: `article`, `forum`, `product` or `other`."""
    if not _FORUM_TYPES.isdisjoint(types):
        return "forum"
    if any(name.endswith(("article", "blogposting")) for name in types):
        return "article"
    return "product" if "product" in types else "other"


def _slug_words(url: str | None) -> list[str]:
    try:
        path = urlsplit(url or "").path[:500]
    except ValueError:
        return []
    parts = [part for part in unquote(path).split("/") if part]
    longest = max(parts, key=lambda part: part.count("-") + part.count("_"), default="")
    words = _SLUG_WORD.findall(longest.casefold())
    return words if len(words) > 1 else []


def says_something(text: str) -> bool:
    """Return True if a text has letters and is more than the name of a front page or a menu."""
    plain = letters_of(text)
    return not plain.isdigit() and plain not in _GENERIC and plain != ""


def path_depth(url: str | None) -> int:
    """Return the number of directories in an address."""
    try:
        return urlsplit(url or "").path.strip("/").count("/")
    except ValueError:
        return 0


def is_front_page(url: str | None) -> bool:
    """Return True for the address of a site's front page."""
    try:
        return url is not None and urlsplit(url).path in {"", "/"}
    except ValueError:
        return False
