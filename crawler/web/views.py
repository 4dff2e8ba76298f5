"""The table of all views: what each answers, at which address, and by which question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawler.web import records as r
from crawler.web.blocks import read_block, read_families
from crawler.web.originals import read_methods
from crawler.web.overview import read_crawls, read_overview
from crawler.web.pages import read_page
from crawler.web.search import read_search
from crawler.web.sites import read_site, read_sites
from crawler.web.snapshot import CachedValue
from crawler.web.work import read_failures, read_schedule, read_settings

if TYPE_CHECKING:
    from crawler.web.snapshot import DatabaseSnapshot

Read = Callable[["DatabaseSnapshot", Any], r.Record]


@dataclass(frozen=True, slots=True)
class View:
    """A page, and the same as JSON below `/api`. `name` is that of its template; names in braces are parameters."""

    name: str
    path: str
    question: type[r.Question]
    answer: type[r.Record]
    read: Read
    summary: str
    in_menu: bool = False

    @property
    def api_path(self) -> str:
        """The address of the JSON."""
        return "/api/overview" if self.path == "/" else f"/api{self.path}"


def make_views() -> list[View]:
    """Return the views of an application, in the order of its menu."""
    totals: CachedValue[r.Totals] = CachedValue(60)
    families: CachedValue[r.Families] = CachedValue(300)
    groups: CachedValue[list[r.FailureGroup]] = CachedValue(30)

    def overview(snapshot: DatabaseSnapshot, question: r.Nothing) -> r.Overview:
        return read_overview(snapshot, question, totals)

    def cached_families(snapshot: DatabaseSnapshot, question: r.Nothing) -> r.Families:
        return families.read(lambda: read_families(snapshot, question))

    def failures(snapshot: DatabaseSnapshot, question: r.PagedQuestion) -> r.Failures:
        return read_failures(snapshot, question, groups)

    return [
        View("overview", "/", r.Nothing, r.Overview, overview, "Overview", in_menu=True),
        View("sites", "/sites", r.SitesQuestion, r.SiteList, read_sites, "Sites", in_menu=True),
        View("search", "/search", r.SearchQuestion, r.SearchAnswer, read_search, "Search", in_menu=True),
        View("families", "/families", r.Nothing, r.Families, cached_families, "Families", in_menu=True),
        View("failures", "/failures", r.PagedQuestion, r.Failures, failures, "Failures", in_menu=True),
        View("schedule", "/schedule", r.PagedQuestion, r.ScheduleAnswer, read_schedule, "Schedule", in_menu=True),
        View("settings", "/settings", r.Nothing, r.SettingList, read_settings, "Settings", in_menu=True),
        View("crawls", "/crawls", r.PagedQuestion, r.CrawlList, read_crawls, "Crawls"),
        View("site", "/sites/{site}", r.SiteQuestion, r.SiteRecord, read_site, "One site"),
        View("page", "/pages/{page}", r.PageQuestion, r.PageAnswer, read_page, "One page"),
        View("block", "/blocks/{block}", r.BlockQuestion, r.BlockAnswer, read_block, "One block"),
        View("methods", "/pages/{page}/methods", r.ComparisonQuestion, r.SideBySide, read_methods, "Two methods"),
    ]
