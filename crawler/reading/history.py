"""The history of a page: its visits, its requests, and how its text, headline, author and date changed."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import chain, product, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy import Request
from scrapy.utils.request import fingerprint
from sqlalchemy import and_, bindparam, func, null, or_, select

from crawler import urls
from crawler.errors import QueryError
from crawler.reading.text_diff import count_words, dice_similarity, diff_line, diff_words
from crawler.storage.queries import at_address
from crawler.storage.tables import (
    batched,
    block,
    crawl,
    former_metadata,
    headline,
    near_duplicate_page,
    page,
    request,
    section,
    sighting,
)
from crawler.storage.tables import site as stored_site
from crawler.terminal import count_of, format_time, make_console, make_table, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from rich.console import Console
    from sqlalchemy import CompoundSelect, Table
    from sqlalchemy.engine import Connection

    from crawler.reading.text_diff import DiffPart

METADATA_NAMES = {
    "headline": "headline",
    "stated_title": "stated title",
    "title": "title",
    "author": "author",
    "published": "date",
}
"""The names of `MetadataEdit.name` for readers."""

# Two texts that are less similar are a removed and an added text, not an edit.
_SIMILARITY_MIN = 0.5

# If more texts than this change at once, only texts at the same position are compared.
_COMPARED_MAX = 200

_NEAREST_MAX = 50

# The pages of a site, and the sites of a database, that are compared with an unknown address at most.
_ADDRESSES_COMPARED, _SITES_COMPARED = 1_000, 5_000

# Characters that are printed of each end of an unchanged run of words.
_UNCHANGED_MAX_CHARS = 60


@dataclass(frozen=True, slots=True)
class TextLifetime:
    """A text that the page shows, or showed until `gone`. For a duplicate, `of` is the URL of the block's own page."""

    block: int
    of: str | None
    position: int
    kind: str
    text: str
    first_seen: datetime
    last_seen: datetime
    gone: datetime | None


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A text that replaced a similar one, and the differences."""

    old: TextLifetime
    new: TextLifetime
    parts: tuple[DiffPart, ...]


@dataclass(frozen=True, slots=True)
class MetadataEdit:
    """A headline, title, author or date that another one replaced, and the differences; None where there was none.

    `name` is `headline`, `stated_title`, `title`, `author` or `published`. The old value was seen from `first_seen` to
    `last_seen`.
    """

    name: str
    old: str | None
    new: str | None
    first_seen: datetime
    last_seen: datetime
    parts: tuple[DiffPart, ...]


@dataclass(frozen=True, slots=True)
class PageRevision:
    """The changes that a visit found, in reading order. At the `first` visit all texts are added."""

    visited: datetime
    first: bool
    added: tuple[TextLifetime, ...]
    gone: tuple[TextLifetime, ...]
    edited: tuple[TextEdit, ...]
    metadata: tuple[MetadataEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for the page: its crawl, its outcome (None while it is open) and when it ended."""

    crawl: int
    spider: str
    url: str
    outcome: str | None
    error: str | None
    ended: datetime | None


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The page now: its address and key, and the figures of its visits.

    `near_duplicate_of` is the URL of the page that it nearly repeats, if any; `retired` is when it was found gone.
    """

    url: str
    key: str
    title: str | None
    headline: str | None
    method: str
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime
    visits: int
    changes: int
    next_visit: datetime | None
    retired: datetime | None
    near_duplicate_of: str | None
    texts: int


@dataclass(frozen=True, slots=True)
class PageHistory:
    """All that is stored about an address: its page or None, the requests for it, and the changes of its text."""

    url: str
    page: PageFacts | None
    requests: tuple[PageRequest, ...]
    revisions: tuple[PageRevision, ...]


def read_page_history(connection: Connection, url: str) -> PageHistory:
    """Return the history of an address, as fetched or canonical.

    Raises QueryError for an unknown address; the message names the most similar known one of the host.
    """
    return _read_history(connection, url, connection.execute(at_address(_SELECT_PAGE, url)).first())


def read_history_of(connection: Connection, page_id: int) -> PageHistory:
    """Return the history of the page with an id; raises QueryError if there is none."""
    row = connection.execute(_SELECT_PAGE.where(page.c.id == page_id)).first()
    if row is None:
        raise QueryError(f"there is no page {page_id}")
    return _read_history(connection, row.url, row)


def read_revisions(
    connection: Connection, visits: Sequence[tuple[int, datetime]]
) -> dict[tuple[int, datetime], PageRevision]:
    """Return what visits found changed, by the page's id and the time of the visit."""
    if not visits:
        return {}
    page_ids = sorted({page_id for page_id, _ in visits})
    rows = {row.id: row for row in connection.execute(_SELECT_PAGE.where(page.c.id.in_(page_ids)))}
    former: defaultdict[int, list[Any]] = defaultdict(list)
    of_pages = select(former_metadata).where(former_metadata.c.page_id.in_(page_ids))
    for row in connection.execute(of_pages.order_by(former_metadata.c.name, former_metadata.c.visit)):
        former[row.page_id].append(row)
    edits = {page_id: _edits(former[page_id], page_row) for page_id, page_row in rows.items()}
    changes = {visit: _RevisionTexts() for visit in visits}
    times = {"pages": page_ids, "times": sorted({visited for _, visited in visits})}
    for row in connection.execute(_SELECT_CHANGED_TEXTS, times):
        text = _text_lifetime(row)
        if (row.page_id, text.first_seen) in changes:
            changes[row.page_id, text.first_seen].added.append(text)
        if text.gone is not None and (row.page_id, text.gone) in changes:
            changes[row.page_id, text.gone].gone.append(text)
    return {
        (page_id, visited): replace(
            _page_revision(visited, texts, first=False), metadata=tuple(edits[page_id].get(visited, ()))
        )
        for (page_id, visited), texts in changes.items()
        if page_id in rows
    }


def _read_history(connection: Connection, url: str, row: Any) -> PageHistory:
    addresses = dict.fromkeys([urls.without_credentials(url), *([row.url] if row else [])])
    requests = tuple(
        sorted(chain.from_iterable(_read_requests(connection, address) for address in addresses), key=_request_order)
    )
    if row is None:
        if not requests:
            raise _unknown_address(connection, url)
        return PageHistory(url, None, requests, ())
    texts = [_text_lifetime(text_row) for text_row in connection.execute(_SELECT_TEXTS, {"page": row.id})]
    facts = PageFacts(
        url=row.url,
        key=row.url_key,
        title=row.title,
        headline=row.headline,
        method=row.method,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        last_changed=row.last_changed,
        visits=row.visits,
        changes=row.changes,
        next_visit=row.next_visit,
        retired=row.retired_at,
        near_duplicate_of=connection.scalar(_SELECT_ORIGINAL, {"page": row.id}),
        texts=sum(text.gone is None for text in texts),
    )
    return PageHistory(url, facts, requests, _page_revisions(texts, row.first_seen, _read_edits(connection, row)))


def _read_edits(connection: Connection, page_row: Any) -> dict[datetime, list[MetadataEdit]]:
    """Return what replaced the former values of a page's metadata, by the time of the visit that found it."""
    return _edits(connection.execute(_SELECT_FORMER, {"page": page_row.id}).all(), page_row)


def _edits(rows: Sequence[Any], page_row: Any) -> dict[datetime, list[MetadataEdit]]:
    edits: defaultdict[datetime, list[MetadataEdit]] = defaultdict(list)
    for row, following in zip_longest(rows, rows[1:]):
        is_last = following is None or following.name != row.name
        new = getattr(page_row, row.name) if is_last else following.value
        parts = tuple(diff_words(row.value or "", new or ""))
        edits[row.gone_at].append(MetadataEdit(row.name, row.value, new, row.first_seen, row.last_seen, parts))
    return edits


def _read_requests(connection: Connection, url: str) -> Iterator[PageRequest]:
    try:
        key = fingerprint(Request(urls.plain_url(url)), keep_fragments=urls.has_own_fragment(url)).hex()
    except ValueError:
        return
    spiders = {row.id: row.spider for row in connection.execute(select(crawl.c.id, crawl.c.spider))}
    for crawl_ids in batched(sorted(spiders)):
        # The key of a request with `dont_filter` continues with `+`, and `,` is the character after `+`.
        for row in connection.execute(_SELECT_REQUESTS, {"crawls": crawl_ids, "first": key, "behind": f"{key},"}):
            yield PageRequest(
                row.crawl_id, spiders[row.crawl_id], row.url, row.outcome or row.state, row.error, row.ended
            )


def _request_order(page_request: PageRequest) -> tuple[bool, datetime | int]:
    return (page_request.ended is None, page_request.ended or page_request.crawl)


def _text_lifetime(row: Any) -> TextLifetime:
    return TextLifetime(
        block=row.block_id,
        of=row.of,
        position=row.position,
        kind=row.kind,
        text=row.text,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        gone=row.gone_at,
    )


def _unknown_address(connection: Connection, url: str) -> QueryError:
    address = urls.without_credentials(url)
    key = urls.url_key(url)
    if connection.scalar(select(section.c.id).where(section.c.url_key == key)) is not None:
        return QueryError(f"{address} is a section: it leads to pages, and its own text is not stored")
    nearest = get_close_matches(address, _neighbouring_urls(connection, key), n=1, cutoff=0.0)
    if not nearest:
        host = urls.host_of(url) or "its host"
        elsewhere = _most_similar_elsewhere(connection, address)
        hint = f"; the most similar address is {elsewhere}" if elsewhere else ""
        return QueryError(f"{address or repr(url)} is not in the database, nor is any page of {host}{hint}")
    return QueryError(f"{address} is not in the database; the most similar address is {nearest[0]}")


def _most_similar_elsewhere(connection: Connection, url: str) -> str | None:
    """Return the most similar address of the same site, or of the site with the most similar name, or None."""
    site = urls.site_of(url)
    if connection.scalar(select(page.c.id).where(page.c.site == site).limit(1)) is None:
        sites = connection.scalars(select(stored_site.c.site).limit(_SITES_COMPARED)).all()
        site = next(iter(get_close_matches(site, sites, n=1)), "")
    addresses = connection.scalars(select(page.c.url).where(page.c.site == site).limit(_ADDRESSES_COMPARED)).all()
    return next(iter(get_close_matches(url, addresses, n=1, cutoff=0.0)), None)


def _neighbouring_urls(connection: Connection, key: str) -> list[str]:
    """Return the addresses of the host's pages whose keys come right before and after a key, in index order."""
    host = re.match("[^:/]+://[^/]*/", key)
    if host is None:
        return []
    before, after = page.c.url_key < key, page.c.url_key >= key
    of_host = (page.c.url_key >= host[0], page.c.url_key < f"{host[0][:-1]}0")  # "0" follows "/" in ASCII
    statements = (
        select(page.c.url).where(before, *of_host).order_by(page.c.url_key.desc()),
        select(page.c.url).where(after, *of_host).order_by(page.c.url_key),
    )
    return [url for statement in statements for url in connection.scalars(statement.limit(_NEAREST_MAX))]


_SELECT_PAGE = select(
    page.c.id,
    page.c.url,
    page.c.url_key,
    page.c.title,
    page.c.author,
    page.c.published,
    headline.c.headline,
    headline.c.stated_title,
    page.c.method,
    page.c.first_seen,
    page.c.last_seen,
    page.c.last_changed,
    page.c.visits,
    page.c.changes,
    page.c.next_visit,
    page.c.retired_at,
).select_from(page.outerjoin(headline))

_SELECT_FORMER = (
    select(former_metadata)
    .where(former_metadata.c.page_id == bindparam("page"))
    .order_by(former_metadata.c.name, former_metadata.c.visit)
)

_SELECT_ORIGINAL = (
    select(page.c.url)
    .join(near_duplicate_page, near_duplicate_page.c.original_id == page.c.id)
    .where(near_duplicate_page.c.page_id == bindparam("page"))
)

# By crawl, so that the index on (crawl_id, key) is used.
_SELECT_REQUESTS = select(
    request.c.crawl_id, request.c.url, request.c.state, request.c.outcome, request.c.error, request.c.ended
).where(
    request.c.crawl_id.in_(bindparam("crawls", expanding=True)),
    request.c.key >= bindparam("first"),
    request.c.key < bindparam("behind"),
)

_LIFETIME_COLUMNS = ("page_id", "position", "kind", "first_seen", "last_seen", "gone_at")


def _select_texts(condition: Callable[[Table], Any]) -> CompoundSelect[Any]:
    """Return the query for the texts of pages, of which blocks and sightings meet a condition."""
    columns = (block.c[name] for name in _LIFETIME_COLUMNS)
    own = select(block.c.id.label("block_id"), null().label("of"), block.c.text, *columns).where(condition(block))
    repeats = (
        select(
            sighting.c.block_id,
            page.c.url,
            func.coalesce(sighting.c.text, block.c.text),
            *(sighting.c[name] for name in _LIFETIME_COLUMNS),
        )
        .join(block, block.c.id == sighting.c.block_id)
        .join(page, page.c.id == block.c.page_id)
        .where(condition(sighting))
    )
    return own.union_all(repeats)


def _has_changed(table: Table) -> Any:
    pages: Any = bindparam("pages", expanding=True)
    times: Any = bindparam("times", expanding=True)
    return and_(table.c.page_id.in_(pages), or_(table.c.first_seen.in_(times), table.c.gone_at.in_(times)))


_SELECT_TEXTS = _select_texts(lambda table: table.c.page_id == bindparam("page"))
_SELECT_CHANGED_TEXTS = _select_texts(_has_changed)


@dataclass(slots=True)
class _RevisionTexts:
    added: list[TextLifetime] = field(default_factory=list)
    gone: list[TextLifetime] = field(default_factory=list)


def _page_revisions(
    texts: Sequence[TextLifetime], first_seen: datetime, edits: Mapping[datetime, Sequence[MetadataEdit]] | None = None
) -> tuple[PageRevision, ...]:
    """Return the visits at which texts were added or removed, or metadata replaced, the earliest first."""
    edits = edits or {}
    changes: defaultdict[datetime, _RevisionTexts] = defaultdict(_RevisionTexts)
    for text in texts:
        changes[text.first_seen].added.append(text)
        if text.gone is not None:
            changes[text.gone].gone.append(text)
    return tuple(
        replace(_page_revision(time, changes[time], first=time == first_seen), metadata=tuple(edits.get(time, ())))
        for time in sorted(changes.keys() | edits.keys())
    )


def _page_revision(visited: datetime, changes: _RevisionTexts, *, first: bool) -> PageRevision:
    added, gone = (sorted(texts, key=lambda text: text.position) for texts in (changes.added, changes.gone))
    edited = () if first else _pair_edits(gone, added)
    old, new = {id(edit.old) for edit in edited}, {id(edit.new) for edit in edited}
    return PageRevision(
        visited=visited,
        first=first,
        added=tuple(text for text in added if id(text) not in new),
        gone=tuple(text for text in gone if id(text) not in old),
        edited=edited,
    )


def _pair_edits(gone: Sequence[TextLifetime], added: Sequence[TextLifetime]) -> tuple[TextEdit, ...]:
    """Pair removed texts with added ones, the most similar first; of equally similar pairs the closest first."""
    old, new = [count_words(text.text) for text in gone], [count_words(text.text) for text in added]
    old_sizes = [words.total() for words in old]
    new_sizes = [words.total() for words in new]
    pairs = sorted(
        (-alike, abs(gone[i].position - added[j].position), i, j)
        for i, j in _candidate_pairs(gone, added)
        # The coefficient is at most twice the share of the shorter text in both: this spares most comparisons.
        if gone[i].kind == added[j].kind
        and 2 * min(old_sizes[i], new_sizes[j]) >= _SIMILARITY_MIN * (old_sizes[i] + new_sizes[j])
        and (alike := dice_similarity(old[i], new[j])) >= _SIMILARITY_MIN
    )
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    edits = []
    for _, _, i, j in pairs:
        if i not in taken_old and j not in taken_new:
            taken_old.add(i)
            taken_new.add(j)
            edits.append(TextEdit(gone[i], added[j], tuple(diff_words(gone[i].text, added[j].text))))
    return tuple(sorted(edits, key=lambda edit: edit.new.position))


def _candidate_pairs(gone: Sequence[TextLifetime], added: Sequence[TextLifetime]) -> Iterator[tuple[int, int]]:
    if max(len(gone), len(added)) <= _COMPARED_MAX:
        yield from product(range(len(gone)), range(len(added)))
        return
    places = {text.position: j for j, text in enumerate(added)}
    yield from ((i, places[text.position]) for i, text in enumerate(gone) if text.position in places)


def print_history(history: PageHistory, max_revisions: int) -> None:
    """Print a page's history, with the last `max_revisions` visits that changed it."""
    out = make_console()
    _print_line(out, history.url if history.page is None else history.page.url, "bold")
    if history.page is None:
        _print_line(out, "No page is stored at this address")
    else:
        for line in _page_lines(history, history.page):
            _print_line(out, line)
    if history.requests:
        rows = [
            (row.crawl, row.spider, format_time(row.ended), row.outcome, row.error, row.url) for row in history.requests
        ]
        out.print(make_table("Requests", ("crawl", "spider", "ended", "outcome", "error", "url"), rows))
    left_out = len(history.revisions) - max_revisions
    if left_out > 0:
        _print_line(out, f"{left_out:,} earlier visits are left out; --limit shows more, --format json all", "dim")
    for revision in history.revisions[-max_revisions:]:
        _print_revision(out, revision)


def _page_lines(history: PageHistory, page: PageFacts) -> list[str]:
    lines = [
        (
            f"first seen {format_time(page.first_seen)}, last seen {format_time(page.last_seen)}, "
            f"last changed {format_time(page.last_changed)}"
        ),
        (
            f"{count_of(page.visits, 'visit')}, {page.changes:,} with changes; {count_of(page.texts, 'text')} now, "
            f"cleaned by the method {page.method}"
        ),
    ]
    if page.key != page.url:
        lines.insert(0, f"known as {page.key}")
    if history.url not in {page.url, page.key}:
        lines.insert(0, f"requested as {history.url}")
    if page.headline and page.headline != page.title:
        lines.insert(0, f"headline: {page.headline}")
    if page.title:
        lines.insert(0, page.title)
    if page.near_duplicate_of:
        lines.append(f"near-duplicate of {page.near_duplicate_of}")
    if page.retired:
        lines.append(f"gone from its site: retired {format_time(page.retired)}")
    elif page.next_visit:
        lines.append(f"next visit {format_time(page.next_visit)}")
    return lines


def _print_revision(out: Console, revision: PageRevision) -> None:
    counts = f"{len(revision.added):,} added, {len(revision.gone):,} gone, {len(revision.edited):,} edited"
    if names := [METADATA_NAMES[edit.name] for edit in revision.metadata]:
        counts += f", another {' and '.join(names)}"
    heading = f"{count_of(len(revision.added), 'text')} at the first visit" if revision.first else counts
    out.print()
    _print_line(out, f"{format_time(revision.visited)}  {heading}", "bold")
    for metadata_edit in revision.metadata:
        out.print(_edit_line(out, metadata_edit.parts, f"{METADATA_NAMES[metadata_edit.name]}: "), soft_wrap=True)
    # The texts of the first visit are not changes. The JSON output has them.
    lines = [(text.position, _text_line("+", text)) for text in (() if revision.first else revision.added)]
    lines += [(text.position, _text_line("-", text)) for text in revision.gone]
    lines += [(edit.new.position, _edit_line(out, edit.parts)) for edit in revision.edited]
    for _, line in sorted(lines, key=itemgetter(0)):
        out.print(line, soft_wrap=True)


def _text_line(sign: str, text: TextLifetime) -> Text:
    line = Text(f"  {sign} {_one_line(text.text)}", "green" if sign == "+" else "red")
    return line.append(f"  (also on {printable(text.of)})", "dim") if text.of else line


def _edit_line(out: Console, parts: Sequence[DiffPart], name: str = "") -> Text:
    brackets = not out.is_terminal or out.no_color
    difference = diff_line(parts, brackets=brackets, unchanged_max_chars=_UNCHANGED_MAX_CHARS)
    return Text().append(f"  ~ {name}", "yellow").append_text(difference)


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _print_line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(printable(text), style), soft_wrap=True)
