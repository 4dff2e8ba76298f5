"""The table of all views: what each answers, at which address, and by which question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawler.web import records
from crawler.web.snapshot import CachedValue
from crawler.web.views.blocks import read_block, read_families
from crawler.web.views.board import Board, read_sites
from crawler.web.views.changes import read_changes_view
from crawler.web.views.copies import read_beside, read_copies, read_copy_pairs
from crawler.web.views.crawls import read_crawl, read_crawls
from crawler.web.views.originals import read_methods, read_original_tab, read_page_metadata
from crawler.web.views.overview import read_overview
from crawler.web.views.pages import read_page, read_page_changes, read_page_duplicates
from crawler.web.views.search import read_search
from crawler.web.views.sites import read_site
from crawler.web.views.work import read_failures, read_schedule, read_settings

if TYPE_CHECKING:
    from crawler.web.snapshot import DatabaseSnapshot

Read = Callable[["DatabaseSnapshot", Any], records.Record]


@dataclass(frozen=True, slots=True)
class View:
    """A page, and the same as JSON below `/api`. `name` is that of its template; names in braces are parameters."""

    name: str
    path: str
    question: type[records.Question]
    answer: type[records.Record]
    read: Read
    summary: str
    in_menu: bool = False

    @property
    def api_path(self) -> str:
        """The address of the JSON."""
        return "/api/overview" if self.path == "/" else f"/api{self.path}"


# The views that are not in the menu and keep nothing.
_WORK = (
    View("crawls", "/crawls", records.CrawlsQuestion, records.CrawlList, read_crawls, "Crawls", in_menu=True),
    View(
        "schedule", "/schedule", records.PagedQuestion, records.ScheduleAnswer, read_schedule, "Schedule", in_menu=True
    ),
    View("settings", "/settings", records.Nothing, records.SettingList, read_settings, "Settings", in_menu=True),
)
_DETAILS = (
    View("crawl", "/crawls/{crawl}", records.CrawlQuestion, records.CrawlAnswer, read_crawl, "One crawl"),
    View("site", "/sites/{site}", records.SiteQuestion, records.SiteRecord, read_site, "One site"),
    View("page", "/pages/{page}", records.PageQuestion, records.PageAnswer, read_page, "One page"),
    View(
        "page_original",
        "/pages/{page}/original",
        records.OriginalTabQuestion,
        records.OriginalTab,
        read_original_tab,
        "The original of a page, and why a text is missing",
    ),
    View(
        "page_changes",
        "/pages/{page}/changes",
        records.PageQuestion,
        records.PageChanges,
        read_page_changes,
        "The changes of a page",
    ),
    View(
        "page_duplicates",
        "/pages/{page}/duplicates",
        records.PageQuestion,
        records.PageDuplicates,
        read_page_duplicates,
        "The duplicates of a page",
    ),
    View(
        "page_metadata",
        "/pages/{page}/metadata",
        records.MetadataQuestion,
        records.PageMetadata,
        read_page_metadata,
        "The metadata of a page",
    ),
    View("block", "/blocks/{block}", records.BlockQuestion, records.BlockAnswer, read_block, "One block"),
    View(
        "copies_of_site",
        "/copies/{original}/{site}",
        records.CopyPairQuestion,
        records.CopyPairs,
        read_copy_pairs,
        "Copies of a site",
    ),
    View(
        "beside",
        "/pages/{page}/beside/{other}",
        records.BesideQuestion,
        records.Beside,
        read_beside,
        "Two pages",
    ),
    View(
        "methods",
        "/pages/{page}/methods",
        records.ComparisonQuestion,
        records.SideBySide,
        read_methods,
        "Two methods",
    ),
)


def make_views() -> list[View]:
    """Return the views of an application, in the order of its menu."""
    totals: CachedValue[records.Totals] = CachedValue(60)
    families: CachedValue[records.Families] = CachedValue(300)
    copies: CachedValue[records.SiteCopiesList] = CachedValue(300)
    groups: CachedValue[list[records.FailureGroup]] = CachedValue(30)
    board: CachedValue[Board] = CachedValue(30)

    def overview(snapshot: DatabaseSnapshot, question: records.OverviewQuestion) -> records.Overview:
        return read_overview(snapshot, question, totals, board)

    def sites(snapshot: DatabaseSnapshot, question: records.SitesQuestion) -> records.SiteList:
        return read_sites(snapshot, question, board)

    def cached_families(snapshot: DatabaseSnapshot, question: records.Nothing) -> records.Families:
        return families.read(lambda: read_families(snapshot, question))

    def cached_copies(snapshot: DatabaseSnapshot, question: records.CopiesQuestion) -> records.SiteCopiesList:
        return read_copies(snapshot, question, copies)

    def failures(snapshot: DatabaseSnapshot, question: records.FailuresQuestion) -> records.Failures:
        return read_failures(snapshot, question, groups)

    return [
        View("overview", "/", records.OverviewQuestion, records.Overview, overview, "Overview", in_menu=True),
        View("sites", "/sites", records.SitesQuestion, records.SiteList, sites, "Sites", in_menu=True),
        View(
            "changes",
            "/changes",
            records.ChangesQuestion,
            records.ChangesAnswer,
            read_changes_view,
            "Changes",
            in_menu=True,
        ),
        View(
            "copies", "/copies", records.CopiesQuestion, records.SiteCopiesList, cached_copies, "Copies", in_menu=True
        ),
        View("search", "/search", records.SearchQuestion, records.SearchAnswer, read_search, "Search", in_menu=True),
        View("families", "/families", records.Nothing, records.Families, cached_families, "Families", in_menu=True),
        View("failures", "/failures", records.FailuresQuestion, records.Failures, failures, "Failures", in_menu=True),
        *_WORK,
        *_DETAILS,
    ]
