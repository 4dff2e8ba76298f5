"""What changed, by day and site: the events of pages with the words that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cleaning.declare import day
from crawler.errors import QueryError
from crawler.reading.changes import EVENTS_COUNTED_MAX, KINDS, ChangeFilters, count_changes, read_changes
from crawler.urls import parse_site
from crawler.web.records import ChangedPage, ChangesAnswer, DayOfSite, DiffWords
from crawler.web.views.pages import revision_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from crawler.reading.changes import PageChange
    from crawler.web.records import ChangesQuestion, MetadataChange, Revision, TextChange
    from crawler.web.snapshot import DatabaseSnapshot

_CHANGES = 25  # in one answer: the texts of each are compared
_TEXTS_MAX = 8  # of a page; its own address shows all
_SAME_CHARS_MAX = 120
_WHOLE_CHARS_MAX = 400


def read_changes_view(snapshot: DatabaseSnapshot, question: ChangesQuestion) -> ChangesAnswer:
    """Return the latest events; raises QueryError for an unknown kind, site or day."""
    filters = read_filters(question)
    found_changes = read_changes(snapshot.connection, filters, _CHANGES, question.cursor)
    counts = [] if question.cursor or filters.section else count_changes(snapshot.connection, filters)
    counted = sum(sum(site_day.kinds.values()) for site_day in counts)
    return ChangesAnswer(
        days=[DayOfSite(row.day, row.site, sum(row.kinds.values()), row.kinds, row.headlines) for row in counts],
        all_counted=counted < EVENTS_COUNTED_MAX,
        changes=[_changed_page(change) for change in found_changes.changes],
        next=found_changes.next,
    )


def read_filters(question: ChangesQuestion) -> ChangeFilters:
    """Return the filters of a question; raises QueryError for an unknown kind, site or day."""
    kind = question.kind.strip().lower()
    if kind and kind not in KINDS:
        raise QueryError(f"kind is {question.kind!r}; it must be one of {', '.join(KINDS)}, or empty")
    site = question.site.strip()
    return ChangeFilters(
        site=parse_site(site) if site else None,
        section=question.section.strip() or None,
        kind=kind or None,
        since=_day("since", question.since),
        until=_day("until", question.until),
    )


def _day(name: str, text: str) -> date | None:
    try:
        return day().read(text.strip()) if text.strip() else None
    except ValueError as error:
        raise QueryError(f"{name} is {text!r}: {error}") from error


def _changed_page(change: PageChange) -> ChangedPage:
    revision = None if change.revision is None else revision_record(change.revision)
    return ChangedPage(
        id=change.id,
        visited=change.visited,
        kind=change.kind,
        headline=change.headline,
        moved_from=change.moved_from,
        page=change.page_id,
        url=change.url,
        site=change.site,
        title=change.title,
        section=change.section,
        language=change.language,
        description=change.description,
        texts=0 if revision is None else revision.added + revision.gone + revision.edited,
        metadata=[] if revision is None else _without_repetitions(revision.metadata),
        changes=[] if revision is None else list(_first_changes(revision)),
    )


def _without_repetitions(metadata: list[MetadataChange]) -> list[MetadataChange]:
    """Return the changes without that of the stated title, which mostly repeats the headline."""
    has_headline = any(change.name == "headline" for change in metadata)
    return [change for change in metadata if not (has_headline and change.name == "stated title")]


def _first_changes(revision: Revision) -> Iterator[TextChange]:
    """Yield the first changes of a visit; long texts, and unchanged words between others, lose their middle."""
    for change in revision.changes[:_TEXTS_MAX]:
        yield change.shortened(_shorten(change.text, _WHOLE_CHARS_MAX), list(_shortened(change.words)))


def _shortened(words: Sequence[DiffWords]) -> Iterator[DiffWords]:
    for part in words:
        most = _SAME_CHARS_MAX if part.change == "same" else _WHOLE_CHARS_MAX
        yield DiffWords(part.change, _shorten(part.text, most))


def _shorten(text: str, most: int) -> str:
    """Return both ends of a text if it is longer than `most` characters."""
    half = most // 2
    return text if len(text) <= most + 3 else f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
