"""How a crawl ended, as its finish reason and as an exit code."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from crawler.visit import REFUSALS, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping


class Finish(StrEnum):
    """Finish reasons of our own, beside Scrapy's."""

    REFUSED = "refused"
    STORE_FAILED = "store_failed"
    CLEANERS_FAILED = "cleaners_failed"


def failure(stats: Mapping[str, Any], max_refused_share: float) -> str | None:
    """Return a sentence on why a finished crawl counts as failed, None for one that went well."""
    visits = {outcome: int(stats.get(f"visit/{outcome}", 0)) for outcome in Outcome}
    refused, total = sum(visits[outcome] for outcome in REFUSALS), sum(visits.values())
    reason = stats.get("finish_reason")
    if reason == Finish.STORE_FAILED or stats.get("store/error"):
        return f"the database failed: {stats.get('store/error', 'see the log')}"
    if reason == Finish.CLEANERS_FAILED:
        return "a cleaning process that had died could not be started again: see the log"
    if reason == Finish.REFUSED:
        return "the site refused too many requests in a row"
    if refused > max_refused_share * total:
        return f"{refused} of {total} visits were refused, more than MAX_REFUSED_SHARE={max_refused_share}"
    if not visits[Outcome.PAGE] and not visits[Outcome.NOT_MODIFIED]:
        return f"no page was stored ({_listed(visits)})"
    return None


def _listed(visits: Mapping[Outcome, int]) -> str:
    return ", ".join(f"{outcome} {count}" for outcome, count in visits.items() if count) or "nothing was visited"
