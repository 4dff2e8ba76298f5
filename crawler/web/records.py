"""What the pages show and the API returns, and what may be asked for.

The field names are the API's: they stay, and the docstrings are part of the OpenAPI description. Times are in UTC. A
list that has more entries ends with `next`, the cursor that continues it; None ends it.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, defstruct

from crawler.storage.page_columns import PAGE_COLUMNS

if TYPE_CHECKING:
    from crawler.storage.page_columns import PageColumn

Cursor = Annotated[str, Meta(max_length=100, description="the `next` of the answer before")]
RowNumber = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Word = Annotated[str, Meta(max_length=300)]


class Record(Struct, frozen=True):
    """A part of an answer."""


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of an address."""

    @property
    def cleans(self) -> bool:
        """True if stored pages are cleaned for the answer, which may take seconds."""
        return False


class Nothing(Question, frozen=True):
    """No parameters."""


def _described_field(column: PageColumn) -> tuple[str, Any]:
    """Return the field of a page column, with its meaning for the OpenAPI description."""
    kind = int if column.kind == "int32" else str
    return column.name, Annotated[kind if column.required else kind | None, Meta(description=column.meaning)]


class PagedQuestion(Question, frozen=True):
    """The cursor at which a list goes on."""

    cursor: Cursor | None = None


# Overview and crawls


class Totals(Record, frozen=True):
    """Numbers of rows in the database. `blocks` are texts that are stored once, `sightings` their repetitions."""

    pages: int
    sites: int
    blocks: int
    sightings: int
    near_duplicate_pages: int
    crawls: int


class Day(Record, frozen=True):
    """The sums of the crawls that began on a day (UTC)."""

    day: date
    pages: int
    kept: int
    duplicates: int
    failures: int


class OverviewQuestion(Question, frozen=True):
    """The number of days that the charts show."""

    days: Annotated[int, Meta(ge=1, le=366)] = 30


class CrawlRecord(Record, frozen=True):
    """A crawl with its counts. Secrets in its arguments are replaced; `seconds` is None while it is open.

    `result` is `open`, `met` if the crawl has done what it is for, `failed`, or `unclear` without visits; `problem`
    says why it failed. `outcomes` count each visit once. Pages are `new`, `changed`, `unchanged`, or `read` if that
    was not counted. `effects` are what the crawl did to stored pages and texts.
    """

    id: int
    spider: str
    arguments: dict[str, Any]
    state: str
    started: datetime
    finished: datetime | None
    reason: str | None
    seconds: float | None
    pages: int
    kept: int
    dropped: dict[str, int]
    duplicates: dict[str, int]
    refused: dict[str, int]
    left_alone: dict[str, int]
    failed: dict[str, int]
    words: str
    result: str
    problem: str | None
    outcomes: dict[str, int]
    effects: dict[str, int]


class OpenCrawl(Record, frozen=True):
    """A crawl that is open: its requests by state. `processes` are at work now, or were killed a moment ago.

    `rate` is the requests that end in a minute: lately, or since the beginning if that is not known.
    """

    id: int
    spider: str
    arguments: dict[str, Any]
    queued: int
    leased: int
    ended: int
    failed: int
    processes: int
    words: str
    total: int
    elapsed: float
    rate: float


class SlowHost(Record, frozen=True):
    """A host that is asked slowly, every `delay` seconds, or not at all for a while."""

    host: str
    delay: float
    paused_until: datetime | None
    reason: str | None


class Overview(Record, frozen=True):
    """The database at a glance. `days` are the latest, 30 unless more are asked for, `crawls` the latest 10.

    `troubled` are the sites that need a look.
    """

    database: str
    bytes: int
    totals: Totals
    due_pages: int
    due_sections: int
    days: list[Day]
    open_crawls: list[OpenCrawl]
    crawls: list[CrawlRecord]
    hosts: list[SlowHost]
    troubled: list[SiteRow]


class CrawlsQuestion(PagedQuestion, frozen=True):
    """Crawls of a spider, or with a result."""

    spider: Word = ""
    result: Annotated[str, Meta(pattern="^(|open|met|failed|unclear)$")] = ""


class CrawlList(Record, frozen=True):
    """Crawls, the latest first; `sums` are the sums of their outcomes. `previous` is the cursor of the page before."""

    crawls: list[CrawlRecord]
    sums: dict[str, int]
    next: str | None
    previous: str | None


class CrawlQuestion(Question, frozen=True):
    """One crawl."""

    crawl: RowNumber


class CrawlAnswer(Record, frozen=True):
    """A crawl: what it came to as a sentence, its requests while it is open, and the command that continues it.

    `settings` are those of its last command line; `command` is None for a crawl that is over.
    """

    crawl: CrawlRecord
    sentence: str
    queue: OpenCrawl | None
    settings: dict[str, str]
    command: str | None
    retry: str | None


# Sites and pages


class SiteRow(Record, frozen=True):
    """A site, its pages that are not retired, and its health.

    `state` is a word: since when, and a sentence that says why. `needs_look` is true if a person should look at it,
    `failing` if its crawls do not do what they are for. `changed` counts the pages that were new or changed in 7 days,
    and `trend` those of each of the last 21 days. `kept_share` is the share of blocks that the latest crawl with pages
    kept, `usual_share` that of the crawls before it.
    """

    site: str
    pages: int
    state: str
    needs_look: bool
    failing: bool
    since: datetime | None
    sentence: str
    last_success: datetime | None
    changed: int
    kept_share: float | None
    usual_share: float | None
    less_kept: bool
    trend: list[int]


class SiteList(Record, frozen=True):
    """Sites, as they were `judged`: those that need a look first, or in the order asked for.

    `total` and `states` count the sites whose names begin as asked for, whatever their state.
    """

    sites: list[SiteRow]
    total: int
    states: dict[str, int]
    judged: datetime
    next: str | None
    previous: str | None


class SiteQuestion(PagedQuestion, frozen=True, kw_only=True):
    """One site; the cursor goes on in its pages, and the charts show that many days."""

    site: Word
    days: Annotated[int, Meta(ge=1, le=366)] = 30


class SitesQuestion(PagedQuestion, frozen=True):
    """Sites whose names begin so, in a state; `problems` are all that need a look."""

    begins: Word | None = None
    state: Word = ""
    order: Annotated[str, Meta(pattern="^(problems|site|pages|changed|kept|answered)$")] = "problems"


class HealthDay(Record, frozen=True):
    """The crawls of a site that ended on a day (UTC); `kept_share` is None without blocks."""

    day: date
    changed: int
    kept_share: float | None


class PageRow(Record, frozen=True):
    """A page in a list. `retired` is when it was found to be gone."""

    id: int
    url: str
    title: str | None
    section: str | None
    language: str | None
    published: str | None
    last_seen: datetime
    visits: int
    changes: int
    next_visit: datetime | None
    retired: datetime | None


class SectionRow(Record, frozen=True):
    """A listing that leads to pages."""

    url: str
    last_seen: datetime
    visits: int
    changes: int
    next_visit: datetime | None
    retired: datetime | None


class BoilerplateText(Record, frozen=True):
    """A text that many pages of a site repeat and that is left out; `text` is None if only copies are stored."""

    text: str | None
    pages: int
    since: datetime


class SiteRecord(Record, frozen=True):
    """A site.

    `dropped`, `kept` and `refused` are sums of the crawls that read its newest pages; such a crawl may have read other
    sites too (`shared`). `later_visits` and `changes` count the newest pages; `sampled` is their number. `sections`,
    `boilerplate` and `hosts` are the first 50.
    """

    site: str
    health: SiteRow
    days: list[HealthDay]
    pages: int
    sampled: int
    retired: int
    later_visits: int
    changes: int
    near_duplicates: int
    next_visit: datetime | None
    crawls: int
    shared: bool
    kept: int
    dropped: dict[str, int]
    refused: dict[str, int]
    sections: list[SectionRow]
    boilerplate: list[BoilerplateText]
    hosts: list[SlowHost]
    newest: list[PageRow]
    next: str | None
    previous: str | None = None


class PageQuestion(Question, frozen=True):
    """One page."""

    page: RowNumber


class PageLink(Record, frozen=True):
    """Another page; `distance` counts the bits in which the fingerprints differ."""

    id: int
    url: str
    title: str | None
    distance: int


class ShownText(Record, frozen=True):
    """A text that the page shows now, in reading order.

    `block` is where it is stored. `of` is the page of that block if the text repeats it, with its distance in bits;
    None for the page's own text. `boilerplate` texts stand on many pages of the site, and the views leave them out.
    """

    position: int
    kind: str
    text: str
    words: int
    block: int
    of: PageLink | None
    boilerplate: bool


class Copy(Record, frozen=True):
    """A text of this page that another page repeats."""

    block: int
    text: str
    page: PageLink
    gone: bool


class DiffWords(Record, frozen=True):
    """Words that were kept (`same`), `removed` or `added`."""

    change: str
    text: str


class TextChange(Record, frozen=True):
    """A text that a visit found `added`, `gone` or `edited`; of an edited one `words` says how."""

    change: str
    kind: str
    text: str
    words: list[DiffWords]

    def shortened(self, text: str, words: list[DiffWords]) -> TextChange:
        """Return the change with a shorter text and shorter words."""
        return TextChange(self.change, self.kind, text, words)


class MetadataChange(Record, frozen=True):
    """Another `headline`, `stated title`, `title`, `author` or `date`; null if the page had none, or has none now."""

    name: str
    old: str | None
    new: str | None
    words: list[DiffWords]


class Revision(Record, frozen=True):
    """A visit that changed the page; at the first one all texts are new, and only counted."""

    visited: datetime
    first: bool
    added: int
    gone: int
    edited: int
    metadata: list[MetadataChange]
    changes: list[TextChange]


class PageVisit(Record, frozen=True):
    """A request for the page that is still stored; `outcome` is its state while it is open."""

    crawl: int
    spider: str
    outcome: str | None
    error: str | None
    ended: datetime | None


if TYPE_CHECKING:
    _DescribedPage = Record
else:
    _DescribedPage = defstruct("_DescribedPage", map(_described_field, PAGE_COLUMNS), bases=(Record,), frozen=True)


class PageAnswer(_DescribedPage, frozen=True):
    """A page and all that is stored of it. Lists of more than 100 entries are cut; `why` explains the next visit."""

    id: int
    key: str
    method: str
    encoding: str | None
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime
    visits: int
    changes: int
    next_visit: datetime | None
    why: str | None
    retired: datetime | None
    html_kept: bool
    original: PageLink | None
    near_duplicates: list[PageLink]
    texts: list[ShownText]
    copies: list[Copy]
    revisions: list[Revision]
    requests: list[PageVisit]


# Changes


class ChangesQuestion(PagedQuestion, frozen=True):
    """The events of a site, of pages that state a section, of a kind, and of a range of days (UTC)."""

    site: Word = ""
    section: Word = ""
    kind: Annotated[
        str, Meta(max_length=20, description="new, changed, headline, moved, retired or returned; empty for all")
    ] = ""
    since: Annotated[str, Meta(max_length=10, description="the first day, as 2026-05-01")] = ""
    until: Annotated[str, Meta(max_length=10, description="the last day")] = ""


class DayOfSite(Record, frozen=True):
    """The events of a site on a day (UTC); `headlines` are those with another headline or title."""

    day: date
    site: str
    events: int
    kinds: dict[str, int]
    headlines: int


class ChangedPage(Record, frozen=True):
    """What a visit found of a page: it was `new`, `changed`, `moved`, `retired` or `returned`.

    `headline` says that it has another headline or title, `moved_from` is its former address. `texts` counts the texts
    that were added, edited or gone; `changes` are the first of them, with long runs of words cut. Of a headline and a
    stated title that both changed, `metadata` has the headline. `id` never changes.
    """

    id: str
    visited: datetime
    kind: str
    headline: bool
    moved_from: str | None
    page: int
    url: str
    site: str
    title: str | None
    section: str | None
    language: str | None
    description: str | None
    texts: int
    metadata: list[MetadataChange]
    changes: list[TextChange]


class ChangesAnswer(Record, frozen=True):
    """Events, the latest first.

    `days` counts them by day and site, on the first page of the list and without a section: all of them
    (`all_counted`), or the latest 10,000.
    """

    days: list[DayOfSite]
    all_counted: bool
    changes: list[ChangedPage]
    next: str | None


# The tabs of a page


class PageHead(Record, frozen=True):
    """A page, for the head of its tabs. `original` is the page that it nearly repeats."""

    id: int
    url: str
    site: str
    title: str | None
    language: str | None
    method: str
    retired: datetime | None
    html_kept: bool
    original: PageLink | None


class PageChanges(Record, frozen=True):
    """The visits that changed a page, and the requests for it that are still stored; at most 100 of each."""

    page: PageHead
    revisions: list[Revision]
    requests: list[PageVisit]


class PageDuplicates(Record, frozen=True):
    """The pages that nearly repeat a page, its texts that others repeat, and its texts that repeat others."""

    page: PageHead
    near_duplicates: list[PageLink]
    copies: list[Copy]
    repeats: list[ShownText]


class MetadataField(Record, frozen=True):
    """A statement of a page: what is stored, and what its HTML says now, with the place where it says so."""

    name: str
    stored: str | None
    read: str | None
    source: str | None


class PageMetadata(Record, frozen=True):
    """What a page says of itself, and the times of its visits. Without its HTML, no source is known."""

    page: PageHead
    fields: list[MetadataField]
    key: str
    encoding: str | None
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime
    visits: int
    changes: int
    next_visit: datetime | None
    why: str | None


class OriginalTabQuestion(PageQuestion, frozen=True):
    """One page, and a text that is looked for in it."""

    find: Annotated[str, Meta(max_length=2_000, description="a sentence that is missing, as the page shows it")] = ""

    @property
    def cleans(self) -> bool:
        return bool(self.find.strip())


class MetadataQuestion(PageQuestion, frozen=True):
    """One page, whose HTML says more of it than the database."""

    @property
    def cleans(self) -> bool:
        return True


class FoundBlock(Record, frozen=True):
    """A block that has a text: its decision, and what else is known of it.

    `whole` says that it has the whole text; otherwise it has a part, or is similar.
    """

    position: int
    text: str
    kept: bool
    reason: str
    meaning: str
    score: float
    kind: str
    path: str
    whole: bool
    share: float
    notes: list[str]


class OriginalTab(Record, frozen=True):
    """The address of a page's original in colours, and the blocks with the text that is looked for.

    `facts` say what the score means; `problem` is why no block has the text.
    """

    page: PageHead
    original: str
    blocks: list[FoundBlock]
    facts: list[str]
    problem: str | None


# Copies


class CopiesQuestion(PagedQuestion, frozen=True):
    """The pairs of all sites, or those of one, in an order: of names, or the largest number or latest time first."""

    site: Word = ""
    order: Annotated[str, Meta(pattern="^(articles|pages|texts|original|site|first|latest)$")] = "articles"


class SiteCopiesRecord(Record, frozen=True):
    """What `site` repeats of `original`, whose texts were stored first.

    `articles` are pages that repeat 60 words or more of one page, `pages` all that repeat a text of five words or more.
    `first` and `latest` are when a repeated text was first seen.
    """

    original: str
    site: str
    articles: int
    pages: int
    texts: int
    first: datetime
    latest: datetime


class SiteCopiesList(Record, frozen=True):
    """Pairs of sites as they were when counted; `total` is the number of all pairs, at most 1,000."""

    pairs: list[SiteCopiesRecord]
    counted: datetime
    next: str | None
    previous: str | None = None
    total: int = 0


class CopyPairQuestion(PagedQuestion, frozen=True, kw_only=True):
    """Two sites: the original, and the one that repeats it."""

    original: Word
    site: Word


class CopiedPageRecord(Record, frozen=True):
    """One of the two pages of a copy."""

    id: int
    url: str
    title: str | None
    language: str | None
    published: str | None
    first_seen: datetime


class PageCopiesRecord(Record, frozen=True):
    """A page that repeats another one.

    It is an `article` if it repeats 60 words or more. `distance` is in bits if it nearly repeats the whole page.
    """

    original: CopiedPageRecord
    copy: CopiedPageRecord
    texts: int
    words: int
    article: bool
    distance: int | None


class CopyPairs(Record, frozen=True):
    """Pages of `site` that repeat `original`, earliest stored first; an answer looks through 2,000 pages."""

    original: str
    site: str
    copies: list[PageCopiesRecord]
    next: str | None


class BesideQuestion(PageQuestion, frozen=True, kw_only=True):
    """A page, and the one that it repeats (`other`)."""

    other: RowNumber


class TextBeside(Record, frozen=True):
    """A text of both pages, or of one: then the other is null. `words` say how they differ, empty if they do not."""

    original: str | None
    copy: str | None
    words: list[DiffWords]


class CopyPair(Record, frozen=True):
    """Two pages."""

    original: CopiedPageRecord
    copy: CopiedPageRecord


class Beside(Record, frozen=True):
    """Two pages side by side, in the order of the copy, without boilerplate; at most 1,000 texts of each."""

    pair: CopyPair
    texts: list[TextBeside]
    identical: int
    edited: int


# Search


class SearchQuestion(PagedQuestion, frozen=True):
    """A query in the language of `scrapy search`, and the pages that it is restricted to."""

    q: Annotated[
        str, Meta(max_length=1_000, description="words, a phrase in quotation marks, prefix*, -without, OR, title:word")
    ] = ""
    site: Word = ""
    section: Word = ""
    language: Word = ""
    since: Annotated[str, Meta(max_length=10, description="a day, as 2026-05-01")] = ""
    kind: Annotated[str, Meta(max_length=20, description="the kind of text, such as heading or title")] = ""
    label: Annotated[
        str, Meta(max_length=300, description="a label that mining gave to the page or text, as topic=politics")
    ] = ""
    like: Annotated[
        RowNumber | None, Meta(description="the number of a block: pages with texts like it, the most similar first")
    ] = None
    rank: Annotated[str, Meta(pattern="^(priority|density|bm25)$")] = "priority"
    dropped: Annotated[bool, Meta(description="also search the texts that cleaning drops from stored pages")] = False
    before: Annotated[
        RowNumber | None, Meta(description="the `before` of the answer before, which continues among dropped texts")
    ] = None

    @property
    def cleans(self) -> bool:
        return self.dropped


class TextPart(Record, frozen=True):
    """A piece of an excerpt; `hit` if it matches the query."""

    text: str
    hit: bool


class SearchHit(Record, frozen=True):
    """A block that matches; `pages` counts the pages that show it. A page's title has the kind `title` and no block."""

    block: int | None
    rank: float
    kind: str
    pages: int
    excerpt: list[TextPart]


class SearchedPage(Record, frozen=True):
    """A page with its best blocks."""

    id: int
    url: str
    title: str | None
    site: str
    section: str | None
    language: str | None
    published: str | None
    hits: list[SearchHit]


class NamedSite(Record, frozen=True):
    """A site whose name begins with the query."""

    site: str
    pages: int


class FacetEntry(Record, frozen=True):
    """A value of a facet, and the number of pages, or for the facet `kind` of texts, that have it."""

    value: str
    count: int


class SearchFacet(Record, frozen=True):
    """The most frequent values of a filter among the matches; `others` counts further values.

    The values of `since` are days; each counts the pages published on that day or later.
    """

    name: str
    values: list[FacetEntry]
    others: int


class MatchCounts(Record, frozen=True):
    """The numbers of texts that match and of pages that show them; those of the best texts if not `complete`."""

    texts: int
    pages: int
    complete: bool
    facets: list[SearchFacet]


class DroppedPlace(Record, frozen=True):
    """A page that has a dropped text, and the position of the block."""

    id: int
    url: str
    title: str | None
    block: int


class DroppedHit(Record, frozen=True):
    """A text that cleaning drops, why, and the newest pages of the `count` that have it."""

    excerpt: list[TextPart]
    kind: str
    reason: str
    meaning: str
    count: int
    pages: list[DroppedPlace]


class DroppedAnswer(Record, frozen=True):
    """Dropped texts that match on the `read` newest stored pages; `unread` more could not be cleaned.

    If `before` is not null, there are older pages: it continues with them.
    """

    texts: list[DroppedHit]
    read: int
    unread: int
    before: int | None


class SearchAnswer(Record, frozen=True):
    """Pages, the best first. `problem` says what is wrong with the query, in a sentence.

    `page` is the one at the address that the query is, `sites` are at most five whose names begin with it. If several
    words find nothing, `nothing` says why, and `nearest` is the nearest query that finds something.
    """

    pages: list[SearchedPage]
    problem: str | None
    next: str | None
    previous: str | None = None
    page: PageLink | None = None
    sites: list[NamedSite] = []
    counts: MatchCounts | None = None
    dropped: DroppedAnswer | None = None
    nothing: str | None = None
    nearest: str | None = None


# Failures


class FailuresQuestion(PagedQuestion, frozen=True):
    """The order of the groups."""

    order: Annotated[str, Meta(pattern="^(requests|crawl|host|outcome)$")] = "requests"


class FailureGroup(Record, frozen=True):
    """Failed requests of a crawl to one host that ended alike, and the command that tries them again."""

    crawl: int
    spider: str
    host: str
    outcome: str | None
    requests: int
    command: str


class FailedRequest(Record, frozen=True):
    """A request that failed."""

    id: int
    crawl: int
    url: str
    outcome: str | None
    error: str | None
    attempts: int
    ended: datetime | None


class Failures(Record, frozen=True):
    """Failed requests: the largest groups, then single requests, the latest crawl first."""

    groups: list[FailureGroup]
    requests: list[FailedRequest]
    next: str | None
    previous: str | None = None


# Blocks and families


class BlockQuestion(Question, frozen=True):
    """One block."""

    block: RowNumber


class Repetition(Record, frozen=True):
    """A page that shows a block's text or nearly the same; `words` is how its text differs, empty if it does not.

    `times` counts the places on the page, among the first 1,000 of all pages.
    """

    page: PageLink
    words: list[DiffWords]
    gone: bool
    boilerplate: bool
    times: int


class NearBlock(Record, frozen=True):
    """Another stored block whose fingerprint is near, and how its text differs."""

    block: int
    distance: int
    page: PageLink
    words: list[DiffWords]


class BlockAnswer(Record, frozen=True):
    """A stored text, and where it stands.

    `places` counts where it is repeated; `shown` are the first 100 pages. `near` are blocks that a narrower scope of
    de-duplication has kept apart. `fingerprint` is hexadecimal; None for short texts.
    """

    id: int
    text: str
    kind: str
    site: str
    language: str | None
    page: PageLink
    position: int
    path: str
    words: int
    score: float
    priority: float
    fingerprint: str | None
    first_seen: datetime
    last_seen: datetime
    gone: datetime | None
    boilerplate: bool
    places: int
    repetitions: list[Repetition]
    near: list[NearBlock]


class Family(Record, frozen=True):
    """A text or page with its repetitions: how many there are, the address of the original, its text or title."""

    block: int | None
    size: int
    url: str
    text: str


class Families(Record, frozen=True):
    """The texts of five words or more that are repeated most, and the pages with the most near-duplicates."""

    blocks: list[Family]
    pages: list[Family]
    counted: datetime


# Schedule and settings


class DueDay(Record, frozen=True):
    """The pages and sections that become due on a day (UTC); the first day has those that are late, too."""

    day: date
    pages: int
    sections: int


class DueSite(Record, frozen=True):
    """The pages and sections of a site that are `late`, the longest since `waiting`, and due in each hour to come."""

    site: str
    late: int
    waiting: datetime | None
    hours: list[int]
    total: int


class DueRow(Record, frozen=True):
    """A page or section that is due, and why; `page` is None for a section."""

    page: int | None
    url: str
    due: datetime
    last_seen: datetime
    why: str


class ScheduleAnswer(Record, frozen=True):
    """The due pages, and the week to come. `budget` is REVISIT_BUDGET, the visits of a day; 0 sets no limit.

    `tonight` has the sites with something late or due in the hours that begin at `hours`. If `cut`, it counts only the
    first rows.
    """

    due_pages: int
    due_sections: int
    budget: int
    days: list[DueDay]
    hours: list[datetime]
    tonight: list[DueSite]
    cut: bool
    sections: list[DueRow]
    pages: list[DueRow]
    next: str | None
    previous: str | None = None


class SettingRow(Record, frozen=True):
    """A setting of Blocksieve: its value, who set it, and what it takes. `problem` says why it would stop a crawl."""

    name: str
    value: str
    set_by: str
    default: str
    allowed: str
    help: str
    problem: str | None


class SettingList(Record, frozen=True):
    """The settings with which a crawl would start here; secrets are replaced."""

    settings: list[SettingRow]


# Two methods side by side


class ComparisonQuestion(PageQuestion, frozen=True):
    """One page, and two methods; empty for that of its crawl."""

    method: Word = ""
    other: Word = "tags"


class CleanedOriginal(Record, frozen=True):
    """The address of a page's original in the colours of a method."""

    method: str
    original: str


class SideBySide(Record, frozen=True):
    """A page cleaned by two methods."""

    page: int
    url: str
    title: str | None
    cleaned: list[CleanedOriginal]


class Problem(Record, frozen=True):
    """The reason why there is no answer, in a sentence."""

    problem: str
