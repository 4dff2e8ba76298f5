"""Read-only queries for commands: totals, the contents of a page, groups of duplicates, recent pages of a site."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, null, or_, select, union_all

from crawler import urls
from crawler.discovery.article_detection import DETECTION_METHOD, LONG_BLOCK_WORDS, RunningText
from crawler.errors import QueryError, StoreError
from crawler.storage.boilerplate import read_template
from crawler.storage.page_columns import PAGE_COLUMN_NAMES
from crawler.storage.pages import decompress, target_of
from crawler.storage.tables import (
    address,
    block,
    crawl,
    document_frequency,
    headline,
    near_duplicate_page,
    page,
    page_structure,
    section,
    sighting,
    site_crawl,
    site_model,
)
from crawler.storage.tables import site as stored_site
from crawler.visit import FAILED_OUTCOMES, LEFT_ALONE_OUTCOMES, MISSING_OUTCOMES, REFUSAL_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import BindParameter, CompoundSelect, Select, Table
    from sqlalchemy.engine import Connection, Row


_SITES_COMPARED = 5_000  # with the name of an unknown site

_PAGE_STATES = ("new", "changed", "unchanged", "failed", "lost")
# Visits that did not go as anybody wanted.
_FAILURES = frozenset({*FAILED_OUTCOMES, Outcome.PIPELINE_FAILED})
# What a visit came to if it brought no page that could be stored.
OUTCOME_GROUPS: Mapping[str, frozenset[Outcome]] = MappingProxyType(
    {
        "section": frozenset({Outcome.SECTION}),
        "not_found": MISSING_OUTCOMES,
        "left_alone": LEFT_ALONE_OUTCOMES,
        "robots": frozenset({Outcome.ROBOTS}),
        "refused": REFUSAL_OUTCOMES | {Outcome.WALL},
        "failed": _FAILURES,
        "no_page": frozenset(
            {Outcome.NOT_HTML, Outcome.TOO_LARGE, Outcome.EMPTY, Outcome.BINARY, Outcome.ADDRESS, Outcome.DROPPED}
        ),
    }
)
# The counters of what a crawl did to the stored pages and texts.
_EFFECTS: Mapping[str, str] = MappingProxyType(
    {
        "pages_retired": "store/pages_retired",
        "pages_missed": "store/pages_missed",
        "pages_moved": "store/moved",
        "texts_added": "store/blocks_new",
        "texts_removed": "store/blocks_gone",
        "texts_back": "store/blocks_revived",
    }
)
# Counters `blocks/...` that are not reasons for a drop.
_NOT_DROP_COUNTERS = frozenset({"seen", "kept"})


@dataclass(frozen=True, slots=True)
class DatabaseTotals:
    """The numbers of rows in the database.

    `near_duplicate_pages` counts the pages that nearly duplicate another, `gone_blocks` the blocks that their page no
    longer shows, `boilerplate` the texts that are boilerplate on a site.
    """

    pages: int
    near_duplicate_pages: int
    blocks: int
    gone_blocks: int
    sightings: int
    boilerplate: int
    sites: int
    crawls: int


@dataclass(frozen=True, slots=True)
class SiteTotals:
    """The numbers of rows of one site."""

    site: str
    pages: int
    blocks: int
    sightings: int
    last_seen: datetime | None
    """None without pages."""


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """One crawl with its counters ("visit/page", "blocks/kept", ...)."""

    id: int
    spider: str
    arguments: dict[str, Any]
    state: str
    started: datetime
    finished: datetime | None
    reason: str | None
    counters: dict[str, int]

    @property
    def seconds(self) -> float | None:
        """The duration; None for a crawl that has not ended."""
        return None if self.finished is None else (self.finished - self.started).total_seconds()

    @property
    def pages(self) -> int:
        return self.counters.get("visit/page", 0)

    @property
    def page_states(self) -> dict[str, int]:
        """Pages by what the crawl found of them; a page that its site calls not modified is unchanged too."""
        states = {state: self.counters.get(f"store/pages_{state}", 0) for state in _PAGE_STATES}
        states["unchanged"] += self.counters.get(f"visit/{Outcome.NOT_MODIFIED}", 0)
        return {state: number for state, number in states.items() if number}

    @property
    def kept(self) -> int:
        return self.counters.get("blocks/kept", 0)

    @property
    def dropped(self) -> dict[str, int]:
        """Blocks dropped, by reason."""
        return _without(_with_prefix(self.counters, "blocks/"), _NOT_DROP_COUNTERS)

    @property
    def duplicates(self) -> dict[str, int]:
        """Blocks stored as sightings, or dropped as boilerplate, by reason."""
        return _with_prefix(self.counters, "dedup/")

    @property
    def refused(self) -> dict[str, int]:
        """Visits that the site refused, by outcome."""
        return {name: n for name, n in _with_prefix(self.counters, "visit/").items() if name in REFUSAL_OUTCOMES}

    @property
    def failed(self) -> dict[str, int]:
        """Visits that failed, by outcome: obedience and pages that are gone are no failures."""
        return {name: n for name, n in _with_prefix(self.counters, "visit/").items() if name in _FAILURES}

    @property
    def pageless(self) -> dict[str, int]:
        """Visits that brought no page, by outcome; refusals and what publishers ask for are counted apart."""
        groups = ("not_found", "robots", "failed", "no_page")
        outcomes = frozenset().union(*(OUTCOME_GROUPS[group] for group in groups))
        return {name: n for name, n in _with_prefix(self.counters, "visit/").items() if name in outcomes}

    @property
    def outcomes(self) -> dict[str, int]:
        """Each visit once, by what it came to; what did not occur is left out.

        Pages are `new`, `changed` or `unchanged`; `read` are those whose effect was not counted. The others are named
        in `OUTCOME_GROUPS`.
        """
        pages = {name: self.counters.get(f"store/pages_{name}", 0) for name in ("new", "changed", "unchanged")}
        read = max(0, self.pages - sum(pages.values()))
        pages["unchanged"] += self.counters.get(f"visit/{Outcome.NOT_MODIFIED}", 0)
        others = {
            name: sum(self.counters.get(f"visit/{outcome}", 0) for outcome in outcomes)
            for name, outcomes in OUTCOME_GROUPS.items()
        }
        return {name: n for name, n in {**pages, "read": read, **others}.items() if n}

    @property
    def effects(self) -> dict[str, int]:
        """What the crawl did to stored pages and texts, by effect; what did not occur is left out."""
        counts = {name: self.counters.get(counter, 0) for name, counter in _EFFECTS.items()}
        return {name: n for name, n in counts.items() if n}

    @property
    def left_alone(self) -> dict[str, int]:
        """The effects of publishers' directives: pages that were not stored, by outcome, then links and HTML."""
        visits = _with_prefix(self.counters, "visit/")
        pages = {name: n for name, n in visits.items() if name in LEFT_ALONE_OUTCOMES}
        return pages | _with_prefix(self.counters, "directives/")


def _with_prefix(counters: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Return the counters whose names start with the prefix, without it, largest first; counters of 0 are left out."""
    counts = {name.removeprefix(prefix): n for name, n in counters.items() if name.startswith(prefix) and n}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def database_totals(connection: Connection) -> DatabaseTotals:
    """Return the numbers of rows in the whole database."""
    gone = select(func.count()).select_from(block).where(block.c.gone_at.is_not(None))
    sites = select(func.count(page.c.site.distinct()))
    boilerplate = _count_rows(document_frequency).where(document_frequency.c.boilerplate_since.is_not(None))
    counts = [
        _count_rows(page),
        _count_rows(near_duplicate_page),
        _count_rows(block),
        gone,
        _count_rows(sighting),
        boilerplate,
        sites,
        _count_rows(crawl),
    ]
    return DatabaseTotals(*connection.execute(select(*(count.scalar_subquery() for count in counts))).one())


def site_totals(connection: Connection) -> list[SiteTotals]:
    """Return the numbers of rows of each site, most pages first."""
    pages = select(page.c.site, func.count(), func.max(page.c.last_seen)).group_by(page.c.site)
    blocks = _count_by_site(connection, block)
    sightings = _count_by_site(connection, sighting)
    rows = [
        SiteTotals(site, number, blocks.get(site, 0), sightings.get(site, 0), last_seen)
        for site, number, last_seen in connection.execute(pages)
    ]
    return sorted(rows, key=lambda row: (-row.pages, row.site))


def moved_sites(connection: Connection) -> dict[str, str]:
    """Return the sites whose pages have all moved to another site for good, with that site."""
    answered = site_crawl.c.pages + site_crawl.c.not_modified + site_crawl.c.sections > 0
    with_pages = select(stored_site.c.site).where(stored_site.c.pages > 0)
    left = select(site_crawl.c.site).distinct().where(answered, site_crawl.c.site.not_in(with_pages))
    sites = connection.scalars(left.order_by(site_crawl.c.site)).all()
    return {old: new for old in sites if (new := moved_site(connection, old)) is not None}


def moved_site(connection: Connection, site: str) -> str | None:
    """Return the site to which all pages of a site have moved for good; None if any is still stored here."""
    if _is_stored(connection, site):
        return None
    addresses = select(address.c.url_key, address.c.leads_to).where(
        address.c.url_key.contains(f"{site}/", autoescape=True)
    )
    for row in connection.execute(addresses.order_by(address.c.url_key)):
        new = urls.site_of(row.leads_to)
        if urls.site_of(row.url_key) == site != new:
            return new
    return None


def _is_stored(connection: Connection, site: str) -> bool:
    """Return True if a page or section of a site is stored."""
    stored = union_all(*(select(table.c.id).where(table.c.site == site) for table in (page, section)))
    return connection.execute(stored.limit(1)).first() is not None


def expect_site(connection: Connection, site: str) -> None:
    """Raise QueryError if no page and no section of a site is stored."""
    if not _is_stored(connection, site):
        sites = connection.scalars(select(stored_site.c.site).limit(_SITES_COMPARED)).all()
        nearest = get_close_matches(site, sites, n=1)
        hint = f"; the most similar site is {nearest[0]}" if nearest else ""
        raise QueryError(f"no page of the site {site} is in the database{hint}; `scrapy status` lists the sites")


def last_crawls(connection: Connection, limit: int = 10) -> list[CrawlReport]:
    """Return the latest crawls, newest first."""
    rows = connection.execute(select(crawl).order_by(crawl.c.id.desc()).limit(limit))
    return [crawl_report(row) for row in rows]


def crawl_report(row: Row[Any]) -> CrawlReport:
    """Return the report of a row of table `crawl`."""
    counters = {name: n for name, n in row.totals.items() if isinstance(n, int)}
    return CrawlReport(row.id, row.spider, row.arguments, row.state, row.started, row.finished, row.reason, counters)


def _count_rows(table: Table) -> Any:
    return select(func.count()).select_from(table)


def _count_by_site(connection: Connection, table: Table) -> dict[str, int]:
    statement = select(page.c.site, func.count()).join(table, table.c.page_id == page.c.id).group_by(page.c.site)
    return {row[0]: row[1] for row in connection.execute(statement)}


def _without(counters: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    excluded = frozenset(names)
    return {name: n for name, n in counters.items() if name not in excluded}


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text of a page: its own block, or a sighting of a block of the page at `url`.

    `distance` is in bits, None for the page's own block. `boilerplate` is True if many pages of the site show the text.
    """

    block_id: int
    text: str
    distance: int | None
    url: str
    boilerplate: bool


@dataclass(frozen=True, slots=True)
class NearDuplicateOf:
    """The original of a near-duplicate page, and the distance between the two in bits."""

    url: str
    distance: int


@dataclass(frozen=True, slots=True)
class PageContents:
    """A stored page. `html` is None if it was not kept; `texts` are those that the page shows now, in reading order.

    `gone` counts the texts that only earlier visits found. `retired` is when the page itself was found to be gone.
    `template` has the patterns that repeat on the site, empty if they are not learned. `site_model` is the site's
    accepted model in JSON.
    """

    url: str
    site: str
    method: str
    options_hash: int | None
    encoding: str | None
    first_seen: datetime
    last_seen: datetime
    visits: int
    retired: datetime | None
    html: bytes | None
    near_duplicate_of: NearDuplicateOf | None
    texts: tuple[StoredText, ...]
    gone: int
    template: frozenset[int] = frozenset()
    site_model: str | None = None


def read_contents(connection: Connection, url: str) -> PageContents | None:
    """Return the page at an address, as fetched or canonical; None if it is not stored."""
    row = connection.execute(at_address(_PAGE_COLUMNS, url)).first()
    return None if row is None else _contents(connection, row)


def read_contents_of(connection: Connection, page_id: int) -> PageContents | None:
    """Return the page with an id; None if it is not stored."""
    row = connection.execute(_PAGE_COLUMNS.where(page.c.id == page_id)).first()
    return None if row is None else _contents(connection, row)


def _contents(connection: Connection, page_row: Any) -> PageContents:
    key = {"page": page_row.id}
    row = connection.execute(_ORIGINAL_PAGE, key).first()
    template = read_template(connection, page_row.site)
    return PageContents(
        url=page_row.url,
        site=page_row.site,
        method=page_row.method,
        options_hash=page_row.options_hash,
        encoding=page_row.encoding,
        first_seen=page_row.first_seen,
        last_seen=page_row.last_seen,
        visits=page_row.visits,
        retired=page_row.retired_at,
        html=None if page_row.html is None else decompress(page_row.html),
        near_duplicate_of=None if row is None else NearDuplicateOf(row.url, row.distance),
        texts=tuple(
            StoredText(text.block_id, text.text, text.distance, text.origin_url or page_row.url, bool(text.boilerplate))
            for text in connection.execute(_PAGE_TEXTS, key)
        ),
        gone=sum(connection.scalar(count, key) or 0 for count in _GONE_COUNTS),
        template=frozenset() if template is None else template.patterns,
        site_model=connection.scalar(select(site_model.c.model).where(site_model.c.site == page_row.site)),
    )


@dataclass(frozen=True, slots=True)
class LastReading:
    """How the last visit to a page read it, and the texts that it kept.

    `html` is compressed, None if it was not kept. `version` is that of Blocksieve, None if it is not known.
    """

    url: str
    method: str
    options_hash: int | None
    version: str | None
    body_hash: int
    encoding: str | None
    html: bytes | None
    texts: tuple[str, ...]


def read_last_reading(connection: Connection, addresses: Iterable[str]) -> LastReading | None:
    """Return how the page at the first of these addresses was read last; None if there is none, or it is retired."""
    for url in addresses:
        row = connection.execute(at_address(_READ_PAGES, url).limit(1)).first()
        if row is not None:
            values = row._asdict()
            return LastReading(texts=tuple(_shown_texts(connection, values.pop("id"))), **values)
    return None


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A kept text of a page, with boilerplate, as cleaning found it."""

    kind: str
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class StoredItem:
    """The stored fields of a page's item in feeds; `markdown` is None without a stored structure."""

    fields: Mapping[str, str | None]
    blocks: tuple[StoredBlock, ...]
    markdown: str | None


def read_stored_item(connection: Connection, key: str, url: str) -> StoredItem | None:
    """Return the page that is stored under a key with this address; None if there is none."""
    row = connection.execute(_ITEM_PAGE.where(page.c.url_key == key, page.c.url == url)).mappings().first()
    if row is None:
        return None
    blocks = connection.execute(_ITEM_TEXTS, {"page": row["id"]})
    fields = {name: row[name] for name in PAGE_COLUMN_NAMES}
    return StoredItem(
        fields,
        tuple(StoredBlock(block_row.kind, block_row.score, block_row.text) for block_row in blocks),
        row["markdown"],
    )


_ITEM_PAGE = select(page.c.id, *(page.c[name] for name in PAGE_COLUMN_NAMES), page_structure.c.markdown).outerjoin(
    page_structure, page_structure.c.page_id == page.c.id
)


def at_address(statement: Select[Any], url: str) -> Select[Any]:
    """Restrict a statement to the page at an address: its canonical one, as fetched, or a former one, in this order."""
    plain = urls.without_credentials(url)
    key = urls.url_key(url)
    former_address = page.c.url_key.in_(target_of(key))
    own = or_(page.c.url_key == key, page.c.url == plain)
    return statement.where(or_(own, former_address)).order_by(page.c.url_key != key, page.c.url != plain)


def is_boilerplate(table: Any) -> Any:
    """Return the condition, as column `boilerplate`, that the table's text is boilerplate on the joined page's site."""
    return (
        select(document_frequency.c.digest)
        .where(
            document_frequency.c.site == page.c.site,
            document_frequency.c.digest == table.c.digest,
            document_frequency.c.boilerplate_since.is_not(None),
        )
        .exists()
        .label("boilerplate")
    )


_ORIGIN = page.alias("origin")
# The columns of `shown_texts` that blocks and sightings do not have in common.
_COLUMNS_OF_BLOCKS: Mapping[str, Any] = {
    "block_id": block.c.id.label("block_id"),
    "distance": null().label("distance"),
    "origin_id": null().label("origin_id"),
    "origin_url": null().label("origin_url"),
    "origin_title": null().label("origin_title"),
    "boilerplate": is_boilerplate(block),
}
_COLUMNS_OF_SIGHTINGS: Mapping[str, Any] = {
    "text": func.coalesce(sighting.c.text, block.c.text).label("text"),
    "origin_id": _ORIGIN.c.id.label("origin_id"),
    "origin_url": _ORIGIN.c.url.label("origin_url"),
    "origin_title": _ORIGIN.c.title.label("origin_title"),
    "boilerplate": is_boilerplate(sighting),
}


def shown_texts(*names: str, pages: BindParameter[Any] | None = None) -> CompoundSelect[Any]:
    """Return the query for the texts that pages show now: their blocks, and their sightings of other blocks.

    `names` are columns that blocks and sightings have in common, or `block_id`, `distance`, `boilerplate`, and
    `origin_id`, `origin_url` and `origin_title` of the page whose block is sighted; these are null for a page's own
    block. `pages` is the parameter with the ids of the pages; by default it is `page`, with one id.
    """
    own: Any = block
    repeats: Any = sighting.join(block, block.c.id == sighting.c.block_id)
    if "boilerplate" in names:
        own = own.join(page, page.c.id == block.c.page_id)
        repeats = repeats.join(page, page.c.id == sighting.c.page_id)
    if any(name.startswith("origin_") for name in names):
        repeats = repeats.join(_ORIGIN, _ORIGIN.c.id == block.c.page_id)
    of_blocks = select(*(_COLUMNS_OF_BLOCKS.get(name, block.c.get(name)) for name in names))
    of_sightings = select(*(_COLUMNS_OF_SIGHTINGS.get(name, sighting.c.get(name)) for name in names))
    return union_all(
        *(
            columns.select_from(source).where(
                table.c.page_id == bindparam("page") if pages is None else table.c.page_id.in_(pages),
                table.c.gone_at.is_(None),
            )
            for table, source, columns in ((block, own, of_blocks), (sighting, repeats, of_sightings))
        )
    )


_PAGE_COLUMNS = select(
    page.c.id,
    page.c.url,
    page.c.site,
    page.c.method,
    page.c.options_hash,
    page.c.encoding,
    page.c.first_seen,
    page.c.last_seen,
    page.c.visits,
    page.c.retired_at,
    page.c.html,
)
_READ_PAGES = (
    select(
        page.c.id,
        page.c.url,
        page.c.method,
        page.c.options_hash,
        headline.c.version,
        page.c.body_hash,
        page.c.encoding,
        page.c.html,
    )
    .select_from(page.outerjoin(headline))
    .where(page.c.retired_at.is_(None))
)
_ORIGINAL_PAGE = (
    select(page.c.url, near_duplicate_page.c.distance)
    .join(near_duplicate_page, near_duplicate_page.c.original_id == page.c.id)
    .where(near_duplicate_page.c.page_id == bindparam("page"))
)
_PAGE_TEXTS = shown_texts("block_id", "position", "text", "distance", "origin_url", "boilerplate").order_by("position")
_ITEM_TEXTS = shown_texts("position", "kind", "score", "text").order_by("position")
_GONE_COUNTS = [
    select(func.count()).where(table.c.page_id == bindparam("page"), table.c.gone_at.is_not(None))
    for table in (block, sighting)
]

_JUDGED_PAGES_MAX = 200
"""The number of pages of each site that are read, the newest ones."""


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """A stored page and the amount of running text on it now, with boilerplate, which is a small part of an article."""

    url: str
    prose: RunningText


def page_outcomes(connection: Connection, sites: Sequence[str]) -> list[PageOutcome]:
    """Return the newest `_JUDGED_PAGES_MAX` pages of each site that the judged method cleaned, oldest first."""
    return [outcome for site in sites for outcome in _site_outcomes(connection, site)]


def _site_outcomes(connection: Connection, site: str) -> list[PageOutcome]:
    live = select(page.c.id, page.c.url).where(
        page.c.site == site, page.c.retired_at.is_(None), page.c.method == DETECTION_METHOD
    )
    newest = live.order_by(page.c.id.desc()).limit(_JUDGED_PAGES_MAX).subquery()
    texts = union_all(
        *(
            select(table.c.page_id, table.c.words).where(
                table.c.gone_at.is_(None), table.c.page_id.in_(select(newest.c.id))
            )
            for table in (block, sighting)
        )
    ).subquery()
    long_words = func.sum(case((texts.c.words >= LONG_BLOCK_WORDS, texts.c.words), else_=0))
    columns = select(newest.c.url, func.coalesce(func.sum(texts.c.words), 0), func.coalesce(long_words, 0))
    counted = columns.outerjoin(texts, texts.c.page_id == newest.c.id).group_by(newest.c.id, newest.c.url)
    rows = connection.execute(counted.order_by(newest.c.id))
    return [PageOutcome(url, RunningText(int(words), int(long_words))) for url, words, long_words in rows]


# Of one group: a notice may stand on a million pages.
_GROUP_MEMBERS_MAX = 1_000
_DIFFERING_TEXTS_MAX = 50


@dataclass(frozen=True, slots=True)
class BlockGroupMember:
    """The text of a group as one page has it; `distance` is in bits from the original."""

    url: str
    site: str
    distance: int
    text: str
    gone: bool
    boilerplate: bool


@dataclass(frozen=True, slots=True)
class BlockGroup:
    """A stored block and its sightings, oldest first; `size` counts all of them, also those that are not listed."""

    block_id: int
    size: int
    original: BlockGroupMember
    sightings: list[BlockGroupMember]


@dataclass(frozen=True, slots=True)
class PageGroupMember:
    """A near-duplicate page, and the texts that only it (`added`) or its original (`missing`) has, in reading order."""

    url: str
    site: str
    distance: int
    missing: list[str]
    added: list[str]


@dataclass(frozen=True, slots=True)
class PageGroup:
    """An original page and its near-duplicates, in the order in which they were stored; `size` counts all of them."""

    url: str
    site: str
    size: int
    members: list[PageGroupMember]


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group in a list: the block's id (None for pages), its size, the address of the original, its text or title."""

    block_id: int | None
    size: int
    url: str
    text: str


def largest_block_groups(connection: Connection, limit: int = 20, min_words: int = 0) -> list[GroupSummary]:
    """Return the blocks of at least `min_words` words with the most sightings, most first.

    Blocks without sightings are left out.
    """
    sizes = _group_sizes(sighting.c.block_id, limit, block.c.words >= min_words if min_words else None)
    statement = (
        select(block.c.id, sizes.c.size, page.c.url, block.c.text)
        .join(sizes, sizes.c.id == block.c.id)
        .join(page, page.c.id == block.c.page_id)
        .order_by(sizes.c.size.desc(), block.c.id)
    )
    return [GroupSummary(*row) for row in connection.execute(statement)]


def largest_page_groups(connection: Connection, limit: int = 20) -> list[GroupSummary]:
    """Return the pages with the most near-duplicates, most first; pages without any are left out."""
    sizes = _group_sizes(near_duplicate_page.c.original_id, limit)
    statement = (
        select(sizes.c.size, page.c.url, func.coalesce(page.c.title, ""))
        .join(sizes, sizes.c.id == page.c.id)
        .order_by(sizes.c.size.desc(), page.c.id)
    )
    return [GroupSummary(None, *row) for row in connection.execute(statement)]


def read_block_group(connection: Connection, block_id: int) -> BlockGroup:
    """Return a block and its sightings; raises StoreError if no block has this id."""
    first = connection.execute(_GROUP_ORIGINAL, {"block": block_id}).first()
    if first is None:
        raise StoreError(f"there is no block {block_id}; `scrapy duplicates` lists the largest groups")
    size = connection.scalar(select(func.count()).where(sighting.c.block_id == block_id)) or 0
    rows = connection.execute(_GROUP_SIGHTINGS, {"block": block_id})
    return BlockGroup(block_id, size, _block_member(first), [_block_member(row) for row in rows])


def read_page_group(connection: Connection, url: str) -> PageGroup:
    """Return the group of the page at an address, an original or not; raises StoreError if there is no page."""
    statement = select(page.c.id, near_duplicate_page.c.original_id).outerjoin(
        near_duplicate_page, near_duplicate_page.c.page_id == page.c.id
    )
    page_row = connection.execute(at_address(statement, url)).first()
    if page_row is None:
        raise StoreError(f"there is no page {urls.without_credentials(url)}; give its address as it was fetched")
    original_id = page_row.original_id or page_row.id
    original = connection.execute(select(page.c.url, page.c.site).where(page.c.id == original_id)).one()
    size = connection.scalar(select(func.count()).where(near_duplicate_page.c.original_id == original_id)) or 0
    texts = _shown_texts(connection, original_id)
    rows = connection.execute(_GROUP_PAGES, {"page": original_id}).all()
    return PageGroup(original.url, original.site, size, [_page_member(connection, row, texts) for row in rows])


def _group_sizes(owner: Any, limit: int, of_blocks: Any = None) -> Any:
    """Return the largest groups as a subquery of ids and sizes; `of_blocks` chooses among the originals."""
    counted = select(owner.label("id"), func.count().label("size")).group_by(owner)
    if of_blocks is not None:
        counted = counted.join(block, block.c.id == owner).where(of_blocks)
    return counted.order_by(func.count().desc(), owner).limit(limit).subquery()


_GROUP_ORIGINAL: Select[Any] = (
    select(page.c.url, page.c.site, block.c.text, block.c.gone_at, is_boilerplate(block))
    .join(page, page.c.id == block.c.page_id)
    .where(block.c.id == bindparam("block"))
)
_GROUP_SIGHTINGS: Select[Any] = (
    select(
        page.c.url,
        page.c.site,
        sighting.c.distance,
        func.coalesce(sighting.c.text, block.c.text).label("text"),
        sighting.c.gone_at,
        is_boilerplate(sighting),
    )
    .join(block, block.c.id == sighting.c.block_id)
    .join(page, page.c.id == sighting.c.page_id)
    .where(sighting.c.block_id == bindparam("block"))
    .order_by(sighting.c.id)
    .limit(_GROUP_MEMBERS_MAX)
)
_GROUP_PAGES: Select[Any] = (
    select(page.c.id, page.c.url, page.c.site, near_duplicate_page.c.distance)
    .join(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
    .where(near_duplicate_page.c.original_id == bindparam("page"))
    .order_by(page.c.id)
    .limit(_GROUP_MEMBERS_MAX)
)
_SHOWN_TEXTS = shown_texts("position", "text").order_by("position")


def _block_member(row: Any) -> BlockGroupMember:
    bits = getattr(row, "distance", 0)
    return BlockGroupMember(row.url, row.site, bits, row.text, row.gone_at is not None, bool(row.boilerplate))


def _page_member(connection: Connection, row: Any, original: list[str]) -> PageGroupMember:
    own = _shown_texts(connection, row.id)
    return PageGroupMember(row.url, row.site, row.distance, _only(original, own), _only(own, original))


def _shown_texts(connection: Connection, page_id: int) -> list[str]:
    """Return the texts that a page shows, with boilerplate: the page's fingerprint is made of all of them."""
    return [row.text for row in connection.execute(_SHOWN_TEXTS, {"page": page_id})]


def _only(texts: list[str], others: list[str]) -> list[str]:
    """Return the texts that are not among the others, up to a limit."""
    known = frozenset(others)
    return [text for text in texts if text not in known][:_DIFFERING_TEXTS_MAX]
