"""One page: its facts, the texts that it shows, its visits, and what repeats it or is repeated by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select

from crawler import schedule, urls
from crawler.errors import NotStoredError
from crawler.reading.history import METADATA_NAMES, read_history_of
from crawler.redact import redact_text
from crawler.storage.page_columns import PAGE_COLUMN_NAMES
from crawler.storage.pages import PAGE_HISTORY, page_history, target_of
from crawler.storage.queries import shown_texts
from crawler.storage.tables import block, near_duplicate_page, page, sighting
from crawler.web.records import (
    Copy,
    DiffWords,
    MetadataChange,
    PageAnswer,
    PageChanges,
    PageDuplicates,
    PageHead,
    PageLink,
    PageVisit,
    Revision,
    ShownText,
    TextChange,
)
from crawler.web.snapshot import CUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import CompoundSelect, Select
    from sqlalchemy.engine import Connection

    from crawler.reading.history import MetadataEdit, PageHistory, PageRevision, TextEdit, TextLifetime
    from crawler.reading.text_diff import DiffPart
    from crawler.web.records import PageQuestion
    from crawler.web.snapshot import DatabaseSnapshot

_TEXTS_MAX = 2_000
_PLAIN = ("id", *PAGE_COLUMN_NAMES, "method", "encoding", "next_visit")
_HISTORY = ("first_seen", "last_seen", "last_changed", "visits", "changes")
_SELECT_PAGE = select(
    *dict.fromkeys([*(page.c[name] for name in _PLAIN), *PAGE_HISTORY]),
    page.c.html.is_not(None).label("html_kept"),
    page.c.retired_at.label("retired"),
)
_SELECT_HEAD = select(
    *(page.c[name] for name in ("id", "url", "site", "title", "language", "method")),
    page.c.retired_at.label("retired"),
    page.c.html.is_not(None).label("html_kept"),
)
_SELECT_TEXTS: CompoundSelect[Any] = (
    shown_texts(
        *("position", "kind", "text", "words", "block_id"),
        *("origin_id", "origin_url", "origin_title", "distance", "boilerplate"),
    )
    .order_by("position")
    .limit(_TEXTS_MAX)
)
_OWN = block.alias("own")
# Of a text that is repeated ten thousand times the first repetitions are enough.
_FIRST_COPIES = (
    select(
        _OWN.c.id.label("block"),
        _OWN.c.position,
        func.coalesce(sighting.c.text, _OWN.c.text).label("text"),
        sighting.c.id.label("sighting_id"),
        sighting.c.distance,
        sighting.c.gone_at,
        sighting.c.page_id,
    )
    .join(sighting, sighting.c.block_id == _OWN.c.id)
    .where(_OWN.c.page_id == bindparam("page"), sighting.c.page_id != bindparam("page"))
    .limit(10 * CUT)
    .subquery()
)
_SELECT_COPIES: Select[Any] = (
    select(
        _FIRST_COPIES.c.block,
        _FIRST_COPIES.c.text,
        _FIRST_COPIES.c.distance,
        _FIRST_COPIES.c.gone_at,
        page.c.id,
        page.c.url,
        page.c.title,
    )
    .join(page, page.c.id == _FIRST_COPIES.c.page_id)
    .order_by(_FIRST_COPIES.c.position, _FIRST_COPIES.c.sighting_id)
    .limit(CUT)
)
_LINK = select(page.c.id, page.c.url, page.c.title, near_duplicate_page.c.distance)
_SELECT_ORIGINAL = _LINK.join(near_duplicate_page, near_duplicate_page.c.original_id == page.c.id).where(
    near_duplicate_page.c.page_id == bindparam("page")
)
_SELECT_NEAR = (
    _LINK.join(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
    .where(near_duplicate_page.c.original_id == bindparam("page"))
    .order_by(page.c.id)
    .limit(CUT)
)


def read_page(snapshot: DatabaseSnapshot, question: PageQuestion) -> PageAnswer:
    """Return a page; raises NotStoredError if no page has this id."""
    connection = snapshot.connection
    key = {"page": question.page}
    row = connection.execute(_SELECT_PAGE.where(page.c.id == question.page)).first()
    if row is None:
        raise NotStoredError(f"there is no page {question.page} in the database")
    why = None
    if row.next_visit is not None:
        why = schedule.explain_next_visit(page_history(row), snapshot.now, snapshot.config.revisits)
    history = read_history_of(connection, question.page)
    return PageAnswer(
        **{name: getattr(row, name) for name in (*_PLAIN, *_HISTORY)},
        key=row.url_key,
        why=why,
        retired=row.retired,
        html_kept=row.html_kept,
        original=next(map(page_link, connection.execute(_SELECT_ORIGINAL, key)), None),
        near_duplicates=list(map(page_link, connection.execute(_SELECT_NEAR, key))),
        texts=list(map(_shown_text, connection.execute(_SELECT_TEXTS, key))),
        copies=_copies(connection, question.page),
        revisions=_revisions(history),
        requests=_page_visits(history),
    )


def read_head(connection: Connection, page_id: int) -> PageHead:
    """Return the head of a page's tabs; raises NotStoredError if no page has this id."""
    row = connection.execute(_SELECT_HEAD.where(page.c.id == page_id)).first()
    if row is None:
        raise NotStoredError(f"there is no page {page_id} in the database")
    original = next(map(page_link, connection.execute(_SELECT_ORIGINAL, {"page": page_id})), None)
    return PageHead(**row._mapping, original=original)  # noqa: SLF001 — SQLAlchemy's public name


def read_page_changes(snapshot: DatabaseSnapshot, question: PageQuestion) -> PageChanges:
    """Return the visits that changed a page; raises NotStoredError if no page has this id."""
    head = read_head(snapshot.connection, question.page)
    history = read_history_of(snapshot.connection, question.page)
    return PageChanges(head, _revisions(history), _page_visits(history))


def read_page_duplicates(snapshot: DatabaseSnapshot, question: PageQuestion) -> PageDuplicates:
    """Return what a page repeats and what repeats it; raises NotStoredError if no page has this id."""
    connection, key = snapshot.connection, {"page": question.page}
    texts = map(_shown_text, connection.execute(_SELECT_TEXTS, key))
    return PageDuplicates(
        page=read_head(connection, question.page),
        near_duplicates=list(map(page_link, connection.execute(_SELECT_NEAR, key))),
        copies=_copies(connection, question.page),
        repeats=[text for text in texts if text.of is not None][:CUT],
    )


def _revisions(history: PageHistory) -> list[Revision]:
    return [revision_record(revision) for revision in reversed(history.revisions[-CUT:])]


def _page_visits(history: PageHistory) -> list[PageVisit]:
    return [
        PageVisit(
            crawl=visit.crawl,
            spider=visit.spider,
            outcome=visit.outcome,
            error=None if visit.error is None else redact_text(visit.error),
            ended=visit.ended,
        )
        for visit in reversed(history.requests[-CUT:])
    ]


def find_page(connection: Connection, url: str) -> int:
    """Return the id of the page at an address, as fetched or canonical; raises NotStoredError if it is unknown."""
    page_id = connection.scalar(select(page.c.id).where(page.c.url_key == urls.url_key(url)))
    if page_id is None:  # addresses as fetched have no index, but a site has few
        of_site = select(page.c.id).where(page.c.site == urls.site_of(url), page.c.url == urls.without_credentials(url))
        page_id = connection.scalar(of_site.limit(1))
    if page_id is None:
        page_id = connection.scalar(select(page.c.id).where(page.c.url_key.in_(target_of(urls.url_key(url)))))
    if page_id is None:
        raise NotStoredError(f"{urls.without_credentials(url)} is not in the database")
    return int(page_id)


def page_link(row: Any) -> PageLink:
    """Return the link to the page of a row with its id, url, title and distance."""
    return PageLink(id=row.id, url=row.url, title=row.title, distance=row.distance)


def _shown_text(row: Any) -> ShownText:
    origin = None
    if row.origin_id is not None:
        origin = PageLink(id=row.origin_id, url=row.origin_url, title=row.origin_title, distance=row.distance)
    return ShownText(
        position=row.position,
        kind=row.kind,
        text=row.text,
        words=row.words,
        block=row.block_id,
        of=origin,
        boilerplate=bool(row.boilerplate),
    )


def _copies(connection: Connection, page_id: int) -> list[Copy]:
    return [
        Copy(block=row.block, text=row.text, page=page_link(row), gone=row.gone_at is not None)
        for row in connection.execute(_SELECT_COPIES, {"page": page_id})
    ]


def revision_record(revision: PageRevision) -> Revision:
    """Return what a visit found changed, with its first 100 texts."""
    changes = [] if revision.first else sorted(_changes(revision), key=lambda change: change[0])
    return Revision(
        visited=revision.visited,
        first=revision.first,
        added=len(revision.added),
        gone=len(revision.gone),
        edited=len(revision.edited),
        metadata=[_metadata_change(edit) for edit in revision.metadata],
        changes=[change for _, change in changes[:CUT]],
    )


def _changes(revision: PageRevision) -> Iterator[tuple[int, TextChange]]:
    """Yield the changes that a visit found, each with its position."""
    for text in revision.added:
        yield text.position, _whole(text, "added")
    for text in revision.gone:
        yield text.position, _whole(text, "gone")
    for edit in revision.edited:
        yield edit.new.position, _edited(edit)


def _whole(text: TextLifetime, change: str) -> TextChange:
    return TextChange(change=change, kind=text.kind, text=text.text, words=[])


def _edited(edit: TextEdit) -> TextChange:
    return TextChange(change="edited", kind=edit.new.kind, text=edit.new.text, words=_diff_words(edit.parts))


def _metadata_change(edit: MetadataEdit) -> MetadataChange:
    return MetadataChange(name=METADATA_NAMES[edit.name], old=edit.old, new=edit.new, words=_diff_words(edit.parts))


def _diff_words(parts: Sequence[DiffPart]) -> list[DiffWords]:
    return [DiffWords(change=part.change.value, text=part.text) for part in parts]
