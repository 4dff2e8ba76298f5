"""When a page was published and modified.

`read_dates` is the table of contents: collect the dates of the page, describe each day by features, add up the trained
weights of the features, and answer with the best day, or with none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from cleaning.metadata.date_candidates import DateCandidate, DateSource, collect_dates
from cleaning.metadata.date_texts import read_moment
from cleaning.metadata.ranking import choose_answer, load_weights, score_options, source_features
from cleaning.metadata.titles import is_front_page, path_depth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.metadata.statements import Statements

FIELD = "published"
STATED_SOURCES = frozenset(
    {
        DateSource.JSON_LD,
        DateSource.JSON_LD_CREATED,
        DateSource.ARTICLE_META,
        DateSource.LIBRARY_META,
        DateSource.META,
        DateSource.ITEM,
    }
)
_CHANGE_SOURCES = frozenset({DateSource.CHANGE, DateSource.CHANGE_TEXT})
_GROUPS = ("stated", "time", "url", "text", "change", "title")
_DAY_CHARS = len("YYYY-MM-DD")
_MONTH_CHARS = len("YYYY-MM")
_MAX_DEPTH = 4
_MAX_DAYS = 6
# A day is the answer if it is at least this likely beside no answer. Of 1,995 pages, each judged by weights of other
# hosts (right, wrong, invented): 0.3 1101, 93, 156; 0.35 1094, 90, 142; 0.4 1090, 88, 131; 0.5 1078, 83, 112.
MIN_LIKELIHOOD = 0.35
# A statement of the page counts unless the data say otherwise.
PRIOR = {
    "json-ld": 1.5,
    "article-meta": 1.5,
    "library-meta": 1.0,
    "meta": 1.0,
    "microdata": 1.5,
    "time": 1.5,
    "time:marked-published": 1.0,
    "url": 1.0,
}


class Moment(NamedTuple):
    """A day, or a month, in the zone that the page states, its time if it states one, and in words where it stands."""

    day: str
    time: str | None
    source: str

    def precision(self) -> int:
        """Return how fine the moment is: 2 with a zone, 1 with a time."""
        time = (self.time or "")[_DAY_CHARS:]
        return bool(time) + (time.endswith("Z") or "+" in time or "-" in time)


@dataclass(frozen=True, slots=True)
class Dates:
    """When a page was published and modified."""

    published: Moment | None = None
    modified: Moment | None = None


def read_dates(
    root: HtmlElement,
    stated: Statements,
    url: str | None,
    language: str | None = None,
    weights: Mapping[str, float] | None = None,
) -> Dates:
    """Return the dates of a page.

    `language` is the BCP 47 tag that the page states; `weights` replace the trained ones.
    """
    candidates = list(collect_dates(root, stated, url, language))
    options = describe_days(candidates, stated.types, url)
    scores = score_options(options, load_weights(FIELD) if weights is None else weights)
    day = choose_answer(scores, MIN_LIKELIHOOD)
    published = [candidate for candidate in candidates if candidate.day == day]
    modified = [candidate for candidate in candidates if candidate.source is DateSource.CHANGE][:1]
    return Dates(_finest(published), _finest(modified))


def _finest(candidates: Sequence[DateCandidate]) -> Moment | None:
    """Return the first statement of a day with a time in a zone, else with a time, else of the day."""
    moments = [Moment(candidate.day, read_moment(candidate.statement), candidate.origin) for candidate in candidates]
    return max(moments, key=Moment.precision, default=None)


def describe_days(
    candidates: Sequence[DateCandidate], types: Iterable[str], url: str | None
) -> dict[str | None, frozenset[str]]:
    """Return the features of each day of the candidates, and of None, which stands for no answer.

    `types` are the type names that the page states.
    """
    grouped: dict[str, list[DateCandidate]] = defaultdict(list)
    for candidate in candidates:
        grouped[candidate.day].append(candidate)
    if any(map(_is_stated_day, candidates)):
        # The day of a change is the answer only on a page that states no day of publication.
        grouped = {
            day: same_day
            for day, same_day in grouped.items()
            if any(candidate.source not in _CHANGE_SOURCES for candidate in same_day)
        }
    context = _PageContext(candidates, frozenset(types), url)
    options: dict[str | None, frozenset[str]] = {
        day: frozenset(context.day_features(day, same_day)) for day, same_day in grouped.items()
    }
    options[None] = frozenset(context.page_features(len(grouped)))
    return options


class _PageContext:
    """What the candidates of a page say together."""

    def __init__(self, candidates: Sequence[DateCandidate], types: frozenset[str], url: str | None) -> None:
        self._types = types
        self._depth = path_depth(url)
        self._front = is_front_page(url)
        self._groups = {_group(candidate.source) for candidate in candidates}
        self._days = {candidate.day for candidate in candidates}
        self._stated = sorted({candidate.day for candidate in candidates if _is_stated_day(candidate)})
        self._changes = {candidate.day for candidate in candidates if candidate.source is DateSource.CHANGE}
        self._in_url = {candidate.day for candidate in candidates if candidate.source is DateSource.URL}
        # Texts that date the page itself, beside texts that date its last change.
        self._plain_texts = {candidate.day for candidate in candidates if candidate.source is DateSource.TEXT}
        self._article = any(name.endswith(("article", "posting")) for name in types)

    def page_features(self, days: int) -> Iterator[str]:
        """Yield what speaks for and against a page without a date."""
        yield "none"
        yield f"none:days-{min(days, _MAX_DAYS)}"
        for group in _GROUPS:
            yield f"none:{'has' if group in self._groups else 'no'}-{group}"
        if self._front:
            yield "none:front"
        yield f"none:depth-{min(self._depth, _MAX_DEPTH)}"
        for name in self._types:
            yield f"none:type-{name}"

    def day_features(self, day: str, candidates: Sequence[DateCandidate]) -> Iterator[str]:
        """Yield the features of a day: those of its candidates, and how it stands to the other days."""
        sources = {candidate.source for candidate in candidates}
        yield from source_features(candidates)
        groups = {_group(source) for source in sources}
        for group in groups if len(groups) > 1 else ():
            yield f"agrees-{group}"
        for group in groups:
            yield from self._kind_features(group)
        if len(sources & STATED_SOURCES) > 1:
            yield "agrees-other-statement"
        if len(candidates) > 1:
            yield "repeated"
        if len(self._days) == 1:
            yield "only-day"
        if len(day) < _DAY_CHARS:
            yield "coarse"
        if sources == {DateSource.CHANGE_TEXT} and self._plain_texts:
            yield "change-beside-date"
        yield from self._url_features(day)
        yield from self._order_features(day, sources)

    def _kind_features(self, group: str) -> Iterator[str]:
        if self._front:
            yield f"front-{group}"
        if "product" in self._types:
            yield f"product-{group}"
        if self._article:
            yield f"article-{group}"

    def _url_features(self, day: str) -> Iterator[str]:
        days = [other for other in self._in_url if len(other) == _DAY_CHARS]
        if days and len(day) == _DAY_CHARS:
            apart = min(abs((date.fromisoformat(day) - date.fromisoformat(other)).days) for other in days)
            yield "url-same" if apart == 0 else "url-near" if apart == 1 else "url-far"
        elif self._in_url:
            same = any(other[:_MONTH_CHARS] == day[:_MONTH_CHARS] for other in self._in_url)
            yield "url-month" if same else "url-other-month"

    def _order_features(self, day: str, sources: set[DateSource]) -> Iterator[str]:
        if self._stated and sources - STATED_SOURCES:
            yield "is-stated" if day in self._stated else "other-stated"
        if len(self._stated) > 1 and sources & STATED_SOURCES:
            yield "earliest" if day == self._stated[0] else "not-earliest"
        if self._changes and day not in self._changes and len(day) == _DAY_CHARS:
            yield "before-change" if day < max(self._changes) else "after-change"


def _group(source: DateSource) -> str:
    if source in STATED_SOURCES:
        return "stated"
    return DateSource.TEXT.value if source is DateSource.CHANGE_TEXT else source.value


def _is_stated_day(candidate: DateCandidate) -> bool:
    return candidate.source in STATED_SOURCES and len(candidate.day) == _DAY_CHARS
