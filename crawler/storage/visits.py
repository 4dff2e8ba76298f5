"""What the visits of a batch change: decided in memory, in order, from what the batch has read of the database.

There is no connection here, and no clock. A visit sees in `state` what earlier visits of its batch have changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cleaning.terms import count_words
from crawler import schedule
from crawler.storage import pages
from crawler.storage.blocks import VisitedPage
from crawler.storage.boilerplate import BoilerplateChange
from crawler.storage.change_log import PageEvent, PageEventKind
from crawler.storage.headlines import HEADLINE_NAMES
from crawler.storage.near_duplicates import FingerprintedPage
from crawler.storage.pages import REVISIT_KEY, PageAbsence
from crawler.storage.request_ends import is_last_visit
from crawler.storage.state import ShownPage, Wants
from crawler.urls import site_of, url_key, without_credentials
from crawler.visit import FEW_WORDS, LEFT_ALONE_OUTCOMES, MISSING_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from crawler.page_comparison import EarlierRow, PageComparison
    from crawler.schedule import VisitHistory
    from crawler.storage.addresses import PageAddresses, PlacedPage
    from crawler.storage.crawls import CrawlPolicy
    from crawler.storage.pages import PageOrigin, PageRecord, StoredPage
    from crawler.storage.reclean import RecleanedPage
    from crawler.storage.state import State
    from crawler.visit import PageStructure, Visit

_STATUS_GONE = 410
# A publisher may replace an article by a note: what a page shows at its third visit in a row is believed.
_WALLED_VISITS_MAX = 2


class PageState(StrEnum):
    """The effect of a visit on its page; the stats `store/pages_...` count these words."""

    NONE = "none"
    """The visit has no page, and no page is stored at its address."""
    LOST = "lost"
    """Another process has taken over the request; the visit is not stored."""
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_MODIFIED = "not_modified"
    """The page was not read: its server, or an equal body, says that it is unchanged."""
    MISSED = "missed"
    """The page was not found; later visits look for it at growing intervals."""
    RETIRED = "retired"
    """The page was not found too often, is gone for good, or is withdrawn by its publisher: its blocks are gone."""
    DEFERRED = "deferred"
    """The visit brought nothing; the page keeps its text and gets another next visit."""
    WALLED = "walled"
    """The visit found few words in place of the whole stored text: the page keeps it, as if it was not found."""


@dataclass(frozen=True, slots=True)
class SavedVisit:
    """The result of saving a visit: its candidates are stored + refreshed + exact + near + boilerplate."""

    url: str
    state: PageState
    page_id: int | None = None
    stored: int = 0
    refreshed: int = 0
    """Rows of earlier visits that the page still shows."""
    revived: int = 0
    """Those of them that had been gone."""
    exact: int = 0
    """New sightings, as `near`."""
    near: int = 0
    boilerplate: int = 0
    """New texts that were boilerplate on the site before."""
    gone: int = 0
    """Rows of the last visit that the page no longer shows."""
    not_compared: int = 0
    """Fingerprints, of blocks and of the page, that were not compared with every stored one."""
    other_method: str | None = None
    """The method that cleaned the page before, if it was another one."""
    near_duplicate_pages: int = 0
    """1 if the page became a near-duplicate of another."""
    doubted_canonical: str | None = None
    """The address that the page states for itself, if that is not believed."""
    moved: int = 0
    """Pages at former addresses that have become this one."""
    not_due: int = 0
    """Children that a re-crawl does not follow."""
    refused: int = 0
    """Queued requests that end because their host refuses for too long."""
    queued_again: bool = False
    """Whether the visit's own request is made again later."""


STATES_OF_STORED_PAGES = frozenset(
    {PageState.CHANGED, PageState.UNCHANGED, PageState.NOT_MODIFIED, PageState.MISSED, PageState.RETIRED}
)
"""The effects of visits to pages that were stored before."""


class PagePresence:
    """How many visits of this process to stored pages have found them, and how many have not, by site."""

    def __init__(self) -> None:
        self._visits = Counter[str]()
        self._missing = Counter[str]()

    def add(self, saved: Iterable[SavedVisit]) -> None:
        """Count the visits of a batch that is stored."""
        for result in saved:
            if result.state in STATES_OF_STORED_PAGES:
                site = site_of(result.url)
                self._visits[site] += 1
                self._missing[site] += result.state in {PageState.MISSED, PageState.RETIRED}

    def is_vanishing(self, site: str, more: int) -> bool:
        """Return True if, with so many `more` pages that are not found, most of a site's are."""
        missing = self._missing[site] + more
        is_known = missing >= schedule.MIN_REVISITS
        return is_known and missing > schedule.MAX_VANISHED_SHARE * (self._visits[site] + more)


def wants_of(
    pairs: Sequence[tuple[Visit, PageRecord | None]], absences: Sequence[PageAbsence], *, may_retire: bool
) -> Wants:
    """Return what a batch may need of the database; `may_retire` says that absent pages may be retired."""
    wants = Wants()
    for visit, record in pairs:
        wants.keys.add(pages.visit_key(visit, record))
        wants.contents.update(visit.moved_from)
        if record is not None:
            wants.contents |= {record.key, record.own_key}
            wants.own_keys.add(record.own_key)
            if record.is_restated:
                wants.stated.add(record.key)
            wants.shown.append(ShownPage(record.key, record.site, record.page.blocks, record.page.fingerprint))
    for absence in absences:
        wants.keys.add(absence.key)
        if absence.moved_to is not None:
            wants.contents |= {absence.key, url_key(absence.moved_to)}
    wants.all_contents = may_retire
    return wants


def find_absence(visit: Visit, record: PageRecord | None) -> PageAbsence | None:
    """Return the page or section that a visit was for and did not find, or must leave alone; None otherwise.

    If a re-visit finds a page with another key, the page that it was for is absent.
    """
    key = pages.visit_key(visit, record)
    elsewhere = record is not None and record.key != key and visit.parts == 1
    withdrawn = visit.outcome in LEFT_ALONE_OUTCOMES
    if not (elsewhere or withdrawn or visit.outcome in MISSING_OUTCOMES):
        return None
    for_good = withdrawn or visit.status == _STATUS_GONE
    return PageAbsence(key, requested_url(visit), visit.at, for_good=for_good, withdrawn=withdrawn)


def requested_url(visit: Visit) -> str:
    """Return the address that a visit was for."""
    return without_credentials(visit.url if visit.request is None else visit.request.url)


@dataclass(frozen=True, slots=True)
class _PageContent:
    """The texts of a page, compared with its earlier visits; `before` is the page before this visit."""

    visited: VisitedPage
    comparison: PageComparison
    before: FingerprintedPage
    fingerprint: int | None
    texts: BoilerplateChange
    structure: PageStructure | None


@dataclass(frozen=True, slots=True)
class VisitDecisions:
    """Decides what each visit of a batch changes in `state`.

    A page that is not found counts a miss; after too many in a row, or at once if its server says that it is gone for
    good (410), it is retired. A retired page counts for nothing: its blocks are gone, it is neither a near-duplicate
    nor an original, and each of its texts counts on one page less of the site. A page that its publisher has withdrawn
    is retired at once too, and its HTML is deleted. Only if nobody else writes meanwhile (`alone`) are pages retired;
    otherwise at their next miss. Where most pages of a site are not found at once, none is retired: the site is broken,
    or refuses, and the condition `vanished` tells a person.
    """

    state: State
    addresses: PageAddresses
    policy: CrawlPolicy
    origin: PageOrigin | None
    presence: PagePresence
    absences: Sequence[PageAbsence]
    alone: bool
    keep_html: bool

    def save(self, visit: Visit, record: PageRecord | None) -> SavedVisit:
        """Decide about one visit."""
        if record is None:
            return self._save_without_page(visit)
        placed = self.addresses.move(self.addresses.place(record), visit.moved_from)
        record, stored = placed.record, placed.stored
        self.addresses.note_variant(record)
        if self.policy.is_replay and stored is not None and _is_earlier(visit.at, stored):
            return _without_change(visit, record, stored)
        if placed.variant_of is not None:
            self._record_unchanged(visit, placed.variant_of, {})
            saved = _without_change(visit, record, placed.variant_of)
        else:
            saved = self._save_page(visit, placed)
        self._record_other_target(visit, record)
        return replace(saved, doubted_canonical=record.columns["doubted_canonical"], moved=placed.moved)

    def _save_without_page(self, visit: Visit) -> SavedVisit:
        """Update the page and the section at the address of a visit without a page."""
        nothing = SavedVisit(visit.url, PageState.NONE)
        key = pages.visit_key(visit, None)
        if not is_last_visit(visit, self.policy):
            return nothing
        if (absence := find_absence(visit, None)) is not None:
            return self.record_absence(absence)
        if visit.outcome is Outcome.SECTION and visit.request is not None and self.origin is not None:
            self.addresses.move_section(visit.moved_from, key)
            self.state.sections.record(visit, visit.request, self.origin, self.policy.revisits)
            if visit.requests:
                self.addresses.add_section(key)
        else:
            self.state.sections.defer(key, visit.at, self.policy.revisits)
        stored = self.state.pages.find(key)
        if stored is None or stored.url != requested_url(visit):
            return nothing
        if visit.outcome is Outcome.NOT_MODIFIED and not stored.retired:
            self._add_evidence(stored, changed=False)
            new = {"etag": visit.etag, "last_modified": visit.last_modified}
            values = {name: value for name, value in new.items() if value is not None}
            self._record_unchanged(visit, stored, values | {"lastmod": None})
            return SavedVisit(visit.url, PageState.NOT_MODIFIED, stored.page_id)
        self._update(stored, self._next_visit(stored, stored.history, visit.at))
        return SavedVisit(visit.url, PageState.DEFERRED, stored.page_id)

    def _save_page(self, visit: Visit, placed: PlacedPage) -> SavedVisit:
        state, record, stored = self.state, placed.record, placed.stored
        page = record.page
        earlier = [] if stored is None else state.blocks.of_page(stored.page_id)
        comparison = state.blocks.compare(page.blocks, earlier, page.cleaned.texts)
        if visit.few_words and stored is not None and _hides(stored, comparison, earlier):
            self.record_absence(PageAbsence(record.key, stored.url, visit.at, hidden=True))
            return SavedVisit(visit.url, PageState.WALLED, stored.page_id)
        if stored is None:
            page_id = state.pages.add(record, keep_html=self.keep_html)
            state.blocks.add_page(page_id)
            state.log.added.add(page_id)
            self._name(page_id, record, replaces=False)
            texts = BoilerplateChange.of(record.site, None, page.blocks)
            content = self._content(visit, record, page_id, comparison, texts, fingerprint=None)
            saved = SavedVisit(visit.url, PageState.NEW, page_id)
            state.events.add(PageEvent(visit.at, page_id, record.site, PageEventKind.NEW))
            return self._store(content, saved, replaces=False)
        was_active = not stored.retired and stored.site == record.site
        texts = BoilerplateChange.of(record.site, earlier if was_active else None, page.blocks)
        # Nobody has changed a page whose bytes are the same. If it is read in another way now, only a text that it has
        # lost is a change for sure.
        same_bytes, is_read_like = stored.has_bytes_of(record), stored.is_read_like(record)
        if same_bytes or not (is_read_like or comparison.lost_text):
            comparison = replace(comparison, changed=False)
        as_before = 0
        returns = any(kept.earlier.gone for kept in comparison.kept)
        if same_bytes and is_read_like and was_active and not returns and page.cleaned.fits_site is None:
            # At another address of the page the method may decide otherwise: what is stored stays.
            as_before = len(comparison.new)
            comparison = replace(comparison, new=(), missing=())
            texts = replace(texts, gained=frozenset(), lost=frozenset())
        if stored.site != record.site:
            self._change_site(stored, record.site)
        state.log.touched.add(stored.page_id)
        renamed = self._rename(stored, record, same_bytes=same_bytes)
        if placed.was_elsewhere:
            # The page's own text takes the place of a variant's: its publisher has changed nothing.
            comparison, renamed = replace(comparison, changed=False), []
        self._add_evidence(stored, changed=comparison.changed or bool(renamed))
        settings = state.pages.settings(stored.page_id)
        values = pages.changed_columns(stored, record, settings, changed=comparison.changed, keep_html=self.keep_html)
        self._update(stored, values)
        content = self._content(visit, record, stored.page_id, comparison, texts, fingerprint=stored.fingerprint)
        is_changed = comparison.changed or bool(renamed)
        other_method = pages.other_method(stored, record)
        if stored.retired or (is_changed and other_method is None):
            kind = PageEventKind.RETURNED if stored.retired else PageEventKind.CHANGED
            has_headline = not HEADLINE_NAMES.isdisjoint(renamed)
            state.events.add(PageEvent(visit.at, stored.page_id, record.site, kind, has_headline))
        effect = PageState.CHANGED if is_changed else PageState.UNCHANGED
        saved = SavedVisit(visit.url, effect, stored.page_id, refreshed=as_before, other_method=other_method)
        return self._store(content, saved, replaces=stored.has_structure)

    def save_recleaned(self, recleaned: RecleanedPage) -> SavedVisit:
        """Decide about the new result of a page's last visit, which was cleaned again; no visit is counted."""
        state = self.state
        stored = state.pages.find(recleaned.page.key)
        if stored is None or stored.retired or stored.body_hash != recleaned.page.body_hash:
            return SavedVisit(recleaned.page.url, PageState.DEFERRED)  # a crawl has visited the page meanwhile
        earlier = state.blocks.of_page(stored.page_id)
        comparison = state.blocks.compare(recleaned.blocks, earlier)
        state.log.touched.add(stored.page_id)
        settings = state.pages.settings(stored.page_id)
        values = {
            "method": recleaned.method,
            "options_hash": recleaned.options_hash,
            "page_fingerprint": recleaned.fingerprint,
            "settings": {**settings, **recleaned.settings},
        }
        before = (stored.method, stored.options_hash, stored.fingerprint, settings)
        if tuple(values.values()) != before:
            self._update(stored, values)
        if stored.method != recleaned.method:
            state.metadata.forget_version(stored.page_id)
        content = _PageContent(
            VisitedPage(stored.page_id, stored.site, stored.history.last_seen),
            comparison,
            FingerprintedPage(stored.page_id, stored.site, stored.fingerprint),
            recleaned.fingerprint,
            BoilerplateChange.of(stored.site, earlier, recleaned.blocks),
            recleaned.structure,
        )
        effect = PageState.CHANGED if comparison.changed else PageState.UNCHANGED
        return self._store(content, SavedVisit(stored.url, effect, stored.page_id), replaces=stored.has_structure)

    def record_absence(self, absence: PageAbsence) -> SavedVisit:
        """Record that a page, or a section, was not found."""
        state, bounds = self.state, self.policy.revisits
        if absence.withdrawn:
            state.sections.defer(absence.key, absence.visit_time, bounds)
        else:
            state.sections.record_absence(absence.key, absence.visit_time, bounds, for_good=absence.for_good)
        stored = state.pages.find(absence.key)
        if stored is None or stored.url != absence.url:
            return SavedVisit(absence.url, PageState.NONE)
        if self.policy.is_replay and _is_earlier(absence.visit_time, stored):
            return SavedVisit(absence.url, PageState.DEFERRED, stored.page_id)
        counts = absence.for_good or pages.counts_miss(stored.history.misses, stored.next_visit, absence.visit_time)
        if not (counts or stored.retired):
            return SavedVisit(absence.url, PageState.MISSED, stored.page_id)
        history = stored.history.missed()
        values = self._next_visit(stored, history, absence.visit_time) | {"misses": history.misses}
        is_gone = absence.for_good or (not absence.hidden and schedule.is_gone(history, bounds))
        retires = self.alone and not stored.retired and is_gone
        if retires and not absence.withdrawn and self._is_vanishing(stored.site):
            retires = False
        gone = 0
        if retires:
            gone = self._retire(stored, absence.visit_time)
            values |= {"retired_at": absence.visit_time, "page_fingerprint": None}
            state.events.add(PageEvent(absence.visit_time, stored.page_id, stored.site, PageEventKind.RETIRED))
        if absence.withdrawn:
            values["html"] = None
        self._update(stored, values)
        return SavedVisit(absence.url, PageState.RETIRED if retires else PageState.MISSED, stored.page_id, gone=gone)

    def _content(
        self,
        visit: Visit,
        record: PageRecord,
        page_id: int,
        comparison: PageComparison,
        texts: BoilerplateChange,
        *,
        fingerprint: int | None,
    ) -> _PageContent:
        return _PageContent(
            VisitedPage(page_id, record.site, visit.at),
            comparison,
            FingerprintedPage(page_id, record.site, fingerprint),
            record.page.fingerprint,
            texts,
            record.page.structure,
        )

    def _store(self, content: _PageContent, saved: SavedVisit, *, replaces: bool) -> SavedVisit:
        """Store what a page shows; return the result with its counts."""
        state, visited, comparison = self.state, content.visited, content.comparison
        state.structures.put(visited.page_id, content.structure, replaces=replaces)
        state.pages.structure(visited.page_id, has_structure=content.structure is not None)
        found = state.blocks.store(visited, comparison, state.tokens)
        change = state.near.update(content.before, content.fingerprint, visited.visit_time)
        if change.moved:
            state.log.restructured.add(visited.page_id)
        state.texts.append(content.texts)
        boilerplate = state.boilerplate.get(visited.site, frozenset())
        dropped = sum(candidate.digest in boilerplate for candidate in comparison.new)
        sightings = [sighting for sighting in found.sightings if sighting.candidate.digest not in boilerplate]
        exact = sum(sighting.exact for sighting in sightings)
        return replace(
            saved,
            stored=len(comparison.new) - dropped - len(sightings),
            refreshed=saved.refreshed + len(comparison.kept),
            revived=sum(kept.earlier.gone for kept in comparison.kept),
            exact=exact,
            near=len(sightings) - exact,
            boilerplate=dropped,
            gone=len(comparison.missing),
            near_duplicate_pages=int(change.became),
            not_compared=change.not_compared + found.not_compared,
        )

    def _name(self, page_id: int, record: PageRecord, *, replaces: bool) -> None:
        self.state.metadata.name(page_id, record.names)
        self.state.pages.name(page_id, record.names)
        self.state.tokens.put_title(page_id, record.title_texts, replaces=replaces)

    def _rename(self, stored: StoredPage, record: PageRecord, *, same_bytes: bool) -> list[str]:
        """Record the names of a stored page; return which of them, of author and date its publisher has changed.

        The re-crawl schedule does not count such changes: the text is the same. Empty if they change at most visits,
        and for the `same_bytes`: then a feed or listing names the page in another way than the one before.
        """
        page_id, before, now = stored.page_id, stored.metadata, record.metadata
        if stored.description != record.description:
            self.state.log.described.add(page_id)
        if before.names != now.names or before.columns["title"] != now.columns["title"]:
            self._name(page_id, record, replaces=True)
            self.state.log.restructured.add(page_id)
        differences = list(before.differences(now))
        if same_bytes or not differences:
            return []
        counts = self.state.metadata.replace(page_id, before, differences, stored.earlier_visits, record.visit_time)
        return differences if counts else []

    def _change_site(self, stored: StoredPage, site: str) -> None:
        """Move the texts of a page to another site, which does not count them yet."""
        self.state.blocks.change_site(stored.page_id, site)
        if not stored.retired:
            live = self.state.blocks.live(stored.page_id)
            self.state.texts.append(BoilerplateChange.of_retired(stored.site, live))

    def _record_other_target(self, visit: Visit, record: PageRecord) -> None:
        """Record what a re-visit says of its page or section if it found another page."""
        if pages.visit_key(visit, record) == record.columns["doubted_canonical"]:
            return  # the page was stored there, and has moved to its own address
        if (absence := find_absence(visit, record)) is not None:
            self.record_absence(absence)
        elif visit.request is not None and REVISIT_KEY in visit.request.meta:
            self.state.sections.defer(record.key, visit.at, self.policy.revisits)

    def _record_unchanged(self, visit: Visit, stored: StoredPage, values: Mapping[str, Any]) -> None:
        """Record that a page still shows all that is stored of it."""
        history = stored.history.visited(visit.at, changed=False)
        seen = {"last_seen": visit.at, "visits": history.visits, "misses": 0}
        self._update(stored, {**values, **seen, **self._next_visit(stored, history, visit.at)})
        self.state.blocks.see_again(stored.page_id, visit.at)

    def _retire(self, stored: StoredPage, visit_time: datetime) -> int:
        """Remove a page from all counts and comparisons; return how many blocks and sightings are gone."""
        state = self.state
        live = state.blocks.hide(stored.page_id, visit_time)
        state.log.touched.add(stored.page_id)
        state.structures.put(stored.page_id, None, replaces=stored.has_structure)
        state.pages.structure(stored.page_id, has_structure=False)
        state.log.restructured.update(
            state.near.remove([FingerprintedPage(stored.page_id, stored.site, stored.fingerprint)])
        )
        state.texts.append(BoilerplateChange.of_retired(stored.site, live))
        return len(live)

    def _is_vanishing(self, site: str) -> bool:
        """Return True if most pages of a site are not found at once: then none of them is retired."""
        keys = {absence.key for absence in self.absences if not absence.withdrawn}
        return self.presence.is_vanishing(site, self.state.pages.count(site, keys))

    def _add_evidence(self, stored: StoredPage, *, changed: bool) -> None:
        """Collect what a visit shows about the sitemap of its host."""
        if (evidence := pages.sitemap_evidence(stored, changed=changed)) is not None:
            self.state.evidence.append(evidence)

    def _next_visit(self, stored: StoredPage, history: VisitHistory, visit_time: datetime) -> dict[str, Any]:
        """Return when to visit a page again; {} for a page without an origin, which no crawl can visit again."""
        if not stored.has_origin:
            return {}
        return {"next_visit": schedule.next_visit(history, visit_time, self.policy.revisits)}

    def _update(self, stored: StoredPage, values: Mapping[str, Any]) -> None:
        if values:
            self.state.pages.update(stored.page_id, values)


def _is_earlier(captured: datetime, stored: StoredPage) -> bool:
    """Return True for a capture from before the last visit of a page, or before the page was gone."""
    last_seen = stored.history.last_seen
    return captured <= last_seen if stored.retired else captured < last_seen


def _without_change(visit: Visit, record: PageRecord, stored: StoredPage) -> SavedVisit:
    """Return the result of a visit whose page is not written."""
    return SavedVisit(visit.url, PageState.UNCHANGED, stored.page_id, refreshed=len(record.page.blocks))


def _hides(stored: StoredPage, comparison: PageComparison, earlier: Sequence[EarlierRow]) -> bool:
    """Return True if few words stand in place of all that a page had, for the first or second time in a row."""
    had = sum(count_words(row.text) for row in earlier if not row.gone)
    is_lost = not (stored.retired or comparison.kept) and had > FEW_WORDS
    return is_lost and stored.history.misses < _WALLED_VISITS_MAX
