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

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cleaning.metadata.ranking import Evidence

FIELD = "published"
STATED_SOURCES = frozenset(
    {
        DateSource.JSON_LD,
        DateSource.JSON_LD_CREATED,
        DateSource.ARTICLE_META,
        DateSource.META,
        DateSource.ITEM,
    }
)
_SHOWN_SOURCES = frozenset({DateSource.TEXT, DateSource.TIME})
_CHANGE_SOURCES = frozenset({DateSource.CHANGE, DateSource.CHANGE_TEXT})
_GROUPS = ("stated", "time", "url", "text", "change", "title", "image")
_DAY_CHARS = len("YYYY-MM-DD")
_MONTH_CHARS = len("YYYY-MM")
_MAX_DEPTH = 4
_MAX_DAYS = 6
# A day is the answer if it is at least this likely beside no answer. Of 1,995 pages, each judged by weights of other
# hosts (right, wrong, invented): 0.3 1107, 82, 143; 0.33 1104, 81, 132; 0.4 1099, 79, 108; 0.45 1095, 75, 99.
MIN_LIKELIHOOD = 0.33
# A statement of the page counts unless the data say otherwise.
PRIOR = {
    "json-ld": 1.5,
    "article-meta": 1.5,
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


def read_dates(evidence: Evidence, language: str | None = None, weights: Mapping[str, float] | None = None) -> Dates:
    """Return the dates of a page.

    `language` is the BCP 47 tag that the page states; `weights` replace the trained ones.
    """
    candidates = list(collect_dates(evidence, language))
    options = describe_days(candidates, evidence)
    scores = score_options(options, load_weights(FIELD) if weights is None else weights)
    day = choose_answer(scores, MIN_LIKELIHOOD)
    published = [candidate for candidate in candidates if candidate.day == day]
    modified = [candidate for candidate in candidates if candidate.source is DateSource.CHANGE][:1]
    return Dates(_finest(published), _finest(modified))


def _finest(candidates: Sequence[DateCandidate]) -> Moment | None:
    """Return the first statement of a day with a time in a zone, else with a time, else of the day."""
    moments = [Moment(candidate.day, read_moment(candidate.statement), candidate.origin) for candidate in candidates]
    return max(moments, key=Moment.precision, default=None)


def describe_days(candidates: Sequence[DateCandidate], evidence: Evidence) -> dict[str | None, set[str]]:
    """Return the features of each day of the candidates, and of None, which stands for no answer."""
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
    context = _PageContext(candidates, evidence)
    options: dict[str | None, set[str]] = {
        day: context.day_features(day, same_day) for day, same_day in grouped.items()
    }
    options[None] = context.page_features(len(grouped))
    return options


class _PageContext:
    """The facts that all candidates of a page tell together."""

    def __init__(self, candidates: Sequence[DateCandidate], evidence: Evidence) -> None:
        self._types = evidence.stated.types
        self._depth = evidence.path_depth
        self._front = evidence.is_front_page
        self._address_kinds = evidence.address_kinds
        self._groups = {_group(candidate.source) for candidate in candidates}
        self._days = {candidate.day for candidate in candidates}
        self._stated = sorted({candidate.day for candidate in candidates if _is_stated_day(candidate)})
        self._changes = {candidate.day for candidate in candidates if candidate.source is DateSource.CHANGE}
        self._in_url = {candidate.day for candidate in candidates if candidate.source is DateSource.URL}
        # Texts that date the page itself, beside texts that date its last change.
        self._shown_days = {candidate.day for candidate in candidates if candidate.source in _SHOWN_SOURCES}
        self._plain_texts = {candidate.day for candidate in candidates if candidate.source is DateSource.TEXT}
        self._article = any(name.endswith(("article", "posting")) for name in self._types)

    def page_features(self, days: int) -> set[str]:
        """Return what speaks for and against a page without a date."""
        features = {"none", f"none:days-{min(days, _MAX_DAYS)}", f"none:depth-{min(self._depth, _MAX_DEPTH)}"}
        features |= {f"none:{'has' if group in self._groups else 'no'}-{group}" for group in _GROUPS}
        features |= {f"none:type-{name}" for name in self._types}
        features |= {f"none:at-{kind}" for kind in self._address_kinds or ("other",)}
        features.add(f"none:shown-days-{min(len(self._shown_days), _MAX_DAYS)}")
        if "index" in self._address_kinds:
            features.add(f"none:index-days-{min(len(self._shown_days), 3)}")
        if self._front:
            features.add("none:front")
        return features

    def day_features(self, day: str, candidates: Sequence[DateCandidate]) -> set[str]:
        """Return the features of a day: those of its candidates, and how it stands to the other days."""
        sources = {candidate.source for candidate in candidates}
        groups = {_group(source) for source in sources}
        features = source_features(candidates)
        if len(groups) > 1:
            features |= {f"agrees-{group}" for group in groups}
        features |= self._kind_features(groups)
        if len(sources & STATED_SOURCES) > 1:
            features.add("agrees-other-statement")
        if len(candidates) > 1:
            features.add("repeated")
        if len(self._days) == 1:
            features.add("only-day")
        if len(day) < _DAY_CHARS:
            features.add("coarse")
        if sources == {DateSource.CHANGE_TEXT} and self._plain_texts:
            features.add("change-beside-date")
        return features | self._url_features(day) | self._order_features(day, sources)

    def _kind_features(self, groups: set[str]) -> set[str]:
        kinds = [("front", self._front), ("product", "product" in self._types), ("article", self._article)]
        names = [*(kind for kind, holds in kinds if holds), *(f"at-{kind}" for kind in self._address_kinds)]
        return {f"{name}-{group}" for name in names for group in groups}

    def _url_features(self, day: str) -> set[str]:
        if not self._in_url:
            return set()
        days = [other for other in self._in_url if len(other) == _DAY_CHARS]
        if days and len(day) == _DAY_CHARS:
            apart = min(abs((date.fromisoformat(day) - date.fromisoformat(other)).days) for other in days)
            return {"url-same" if apart == 0 else "url-near" if apart == 1 else "url-far"}
        same = any(other[:_MONTH_CHARS] == day[:_MONTH_CHARS] for other in self._in_url)
        return {"url-month" if same else "url-other-month"}

    def _order_features(self, day: str, sources: set[DateSource]) -> set[str]:
        features = set()
        if self._stated and sources - STATED_SOURCES:
            features.add("is-stated" if day in self._stated else "other-stated")
        if len(self._stated) > 1 and sources & STATED_SOURCES:
            features.add("earliest" if day == self._stated[0] else "not-earliest")
        # Of two days in a row, one is the other in another zone.
        if day in self._stated and day not in self._shown_days and _is_beside(day, self._shown_days):
            features.add("shown-beside")
        if day in self._shown_days and day not in self._stated and _is_beside(day, self._stated):
            features.add("beside-stated")
        if self._changes and day not in self._changes and len(day) == _DAY_CHARS:
            features.add("before-change" if day < max(self._changes) else "after-change")
        return features


def _is_beside(day: str, others: Iterable[str]) -> bool:
    """Return True if one of the others is the day before or after."""
    if len(day) < _DAY_CHARS:
        return False
    number = date.fromisoformat(day).toordinal()
    return any(abs(number - date.fromisoformat(other).toordinal()) == 1 for other in others if len(other) == _DAY_CHARS)


def _group(source: DateSource) -> str:
    if source in STATED_SOURCES:
        return "stated"
    return f"{DateSource.TEXT if source is DateSource.CHANGE_TEXT else source}"


def _is_stated_day(candidate: DateCandidate) -> bool:
    return candidate.source in STATED_SOURCES and len(candidate.day) == _DAY_CHARS
