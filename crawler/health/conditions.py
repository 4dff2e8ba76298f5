"""The conditions of a site that need a person, judged from what its crawls met. Pure: no clock, no database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise
from statistics import median, median_low
from typing import TYPE_CHECKING

from crawler.schedule import MAX_VANISHED_SHARE, MIN_REVISITS
from crawler.storage.pages import REVISIT_KEY
from crawler.storage.visits import STATES_OF_STORED_PAGES, PageState
from crawler.terminal import count_of
from crawler.urls import site_of
from crawler.visit import MISSING_OUTCOMES, REFUSAL_OUTCOMES, Outcome, ProcessedPage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from crawler.storage.visits import SavedVisit
    from crawler.visit import Visit


class Condition(StrEnum):
    """The conditions that need a person; a closed set."""

    REFUSED = "refused"
    """The site refuses most requests: status 403, a CAPTCHA, a quota page."""
    WALLED = "walled"
    """A page of consent or a log-in answers in place of articles."""
    SILENT = "silent"
    """No request gets a usable answer: errors, time-outs, a lost host, a forbidding robots.txt.

    A robots.txt that cannot be read forbids everything too. At a new site, a refusal is silence too."""
    VANISHED = "vanished"
    """Most of the pages that were visited again are not found any more."""
    LESS_TEXT = "less_text"
    """Pages give much less text than before, or a smaller share of their blocks: the site may have been redesigned."""
    UNLIKE = "unlike"
    """The site's model does not fit most pages any more: the site may have been redesigned since it was corrected."""
    NO_NEW_TEXT = "no_new_text"
    """Nothing new or changed has come for several of the site's usual intervals."""
    SLOW_DATABASE = "slow_database"
    """Storing takes long."""


FAILING_CONDITIONS = frozenset(
    {Condition.REFUSED, Condition.WALLED, Condition.SILENT, Condition.VANISHED, Condition.LESS_TEXT}
)
"""The conditions of a crawl that has not done what it is for: its exit code is 1."""

DATABASE = "database"
"""Stands in place of a site for what concerns the database."""

_SILENT_OUTCOMES = frozenset(
    {
        Outcome.DOWNLOAD_FAILED,
        Outcome.HTTP_ERROR,
        Outcome.ROBOTS,
        Outcome.ROBOTS_UNAVAILABLE,
        Outcome.REDIRECT_LOOP,
    }
)
# Fewer visits do not show what a site is like.
_MIN_VISITS = 2
# A shop has its basket behind a log-in; of twenty articles, one may be for subscribers.
_MAX_WALLED_SHARE = 0.05
_MIN_PAGES = 10
_MIN_GAPS = 4
_MIN_BATCHES = 3
_MAX_UNLIKE_SHARE = 0.5
# A redesign that breaks cleaning takes nearly all text, and one that moves pages nearly all addresses: a half lies far
# from what a site does on any day. Five of its intervals pass a weekend and a holiday.
MIN_TEXT_SHARE = 0.5
_QUIET_INTERVALS = 5.0
# A batch takes some tenths of a second on a healthy disk.
_SLOW_SECONDS = 5.0
_SHORTEST_INTERVAL = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """The counts of a crawl on a site.

    `pages` were read, `new` and `changed` of them. `revisits` are visits to stored pages; `vanished` of them were not
    found. `refused` and `failed` visits brought nothing, and `other` are the remaining ones. A request that is not made
    because its host refuses for too long counts as a visit. `blocks_seen`, `blocks_kept` and `words` (of the kept
    blocks) count the blocks of the pages. `taught` pages were cleaned with the site's model, and `unlike` ones without
    it, because it does not fit them.
    """

    pages: int = 0
    new: int = 0
    changed: int = 0
    not_modified: int = 0
    sections: int = 0
    revisits: int = 0
    vanished: int = 0
    refused: int = 0
    failed: int = 0
    other: int = 0
    blocks_seen: int = 0
    blocks_kept: int = 0
    words: int = 0
    taught: int = 0
    unlike: int = 0

    @property
    def answered(self) -> int:
        return self.pages + self.not_modified + self.sections

    @property
    def visits(self) -> int:
        return self.answered + self.refused + self.failed + self.other


@dataclass(frozen=True, slots=True)
class SiteCrawl:
    """A crawl of a site: when it was last active there, and what it met."""

    crawl_id: int
    ended: datetime
    counts: SiteCounts


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a condition holds on a site, and why."""

    condition: Condition
    holds: bool
    sentence: str = ""


class SiteTally:
    """Counts the visits of a crawl by site."""

    def __init__(self) -> None:
        self._counters: dict[str, Counter[str]] = {}
        self.walled: Counter[str] = Counter()
        """The visits of each site that met a wall: `other` ones in its counts."""

    def add(self, visit: Visit, saved: SavedVisit) -> None:
        """Count a stored visit.

        A visit that another process has taken over is not counted, and neither is one whose request is made again.
        """
        if saved.state is PageState.LOST:
            return
        counter = self._counters.setdefault(site_of(visit.url), Counter())
        counter[_count_name(visit.outcome)] += saved.refused + (not saved.queued_again)
        if saved.state in {PageState.NEW, PageState.CHANGED}:
            counter[saved.state.value] += 1
        is_walled = visit.outcome is Outcome.WALL or saved.state is PageState.WALLED
        self.walled[site_of(visit.url)] += is_walled + len(visit.walled)
        for walled in visit.walled:  # they have counted as something else, if they were stored already
            counter[_count_name(walled.outcome)] = max(0, counter[_count_name(walled.outcome)] - 1)
        is_revisit = visit.request is not None and REVISIT_KEY in visit.request.meta
        if is_revisit or saved.state in STATES_OF_STORED_PAGES:
            counter["revisits"] += 1
            counter["vanished"] += visit.outcome in MISSING_OUTCOMES
        if isinstance(visit.page, ProcessedPage):
            counter["blocks_seen"] += len(visit.page.cleaned.decisions)
            counter["blocks_kept"] += len(visit.page.blocks)
            counter["words"] += sum(block.decision.block.words for block in visit.page.blocks)
            counter["taught"] += visit.page.cleaned.fits_site is True
            counter["unlike"] += visit.page.cleaned.fits_site is False

    def add_unasked(self, requests: Mapping[tuple[str, str], int]) -> None:
        """Count requests, by site and outcome, that end without being made because their host was given up."""
        for (site, outcome), number in requests.items():
            self._counters.setdefault(site, Counter())[_count_name(Outcome(outcome))] += number

    @property
    def counts(self) -> dict[str, SiteCounts]:
        return {site: SiteCounts(**counter) for site, counter in self._counters.items()}


_COUNT_NAMES = {Outcome.PAGE: "pages", Outcome.NOT_MODIFIED: "not_modified", Outcome.SECTION: "sections"}


def _count_name(outcome: Outcome) -> str:
    """Return the name of the field of SiteCounts that counts visits with this outcome."""
    if outcome in REFUSAL_OUTCOMES:
        return "refused"
    return "failed" if outcome in _SILENT_OUTCOMES else _COUNT_NAMES.get(outcome, "other")


def judge_site(
    crawls: Sequence[SiteCrawl],
    now: datetime,
    since: Mapping[Condition, datetime],
    *,
    max_refused_share: float = 0.5,
    walled: int = 0,
    is_target: bool = False,
) -> list[Finding]:
    """Return for each condition whether it holds on a site; conditions that its crawls cannot tell are left out.

    `crawls` are the crawls of the site, the latest first. `since` is when each condition that holds already began: what
    is usual is what was so before. `walled` visits of the latest crawl met a wall. A site that no crawl got a page of
    is judged only if it `is_target` of the crawl: a link to a host that is gone says nothing about the crawl.
    """
    latest = crawls[0].counts
    findings = []
    if is_target or any(crawl.counts.answered for crawl in crawls):
        is_unknown = not any(crawl.counts.answered for crawl in crawls)
        silence = _judge_silence(latest, is_target=is_target, is_unknown=is_unknown)
        findings += [_judge_refusals(latest, max_refused_share), silence]
    findings += [
        _judge_wall(latest, walled),
        _judge_vanished(latest),
        _judge_text(latest, _before(crawls[1:], since.get(Condition.LESS_TEXT))),
        _judge_fit(latest),
        _judge_novelty(crawls, now),
    ]
    return [finding for finding in findings if finding is not None]


def judge_database(seconds: Sequence[float]) -> Finding | None:
    """Return whether the transactions of a crawl were slow, given the seconds of each; None for too few."""
    if len(seconds) < _MIN_BATCHES:
        return None
    usual = median(seconds)
    return Finding(
        Condition.SLOW_DATABASE,
        usual > _SLOW_SECONDS,
        f"half of the crawl's {len(seconds)} transactions took {usual:.1f} s or more; the limit is {_SLOW_SECONDS:g} s",
    )


def _before(crawls: Sequence[SiteCrawl], since: datetime | None) -> list[SiteCounts]:
    return [crawl.counts for crawl in crawls if since is None or crawl.ended < since]


def _judge_refusals(latest: SiteCounts, max_refused_share: float) -> Finding | None:
    if latest.refused >= _MIN_VISITS and latest.refused > max_refused_share * latest.visits:
        sentence = f"{latest.refused:,} of {count_of(latest.visits, 'visit')} were refused"
        return Finding(Condition.REFUSED, holds=True, sentence=sentence)
    return Finding(Condition.REFUSED, holds=False) if latest.answered else None


def _judge_wall(latest: SiteCounts, walled: int) -> Finding | None:
    if walled and (not latest.pages or walled > max(1, _MAX_WALLED_SHARE * (latest.pages + walled))):
        sentence = f"{count_of(walled, 'address')} answered with a page of consent or a log-in in place of the article"
        return Finding(Condition.WALLED, holds=True, sentence=sentence)
    return Finding(Condition.WALLED, holds=False) if latest.pages else None


def _judge_silence(latest: SiteCounts, *, is_target: bool, is_unknown: bool) -> Finding | None:
    """Return whether a site is silent. One visit shows that if it is all that the crawl of the site came to."""
    if latest.answered:
        return Finding(Condition.SILENT, holds=False)
    if latest.refused >= _MIN_VISITS and latest.refused == latest.visits:
        return None  # it is refused
    is_failed = latest.failed == latest.visits and latest.visits >= _MIN_VISITS
    is_lost = is_target and latest.visits and (is_unknown or latest.failed == latest.visits)
    if is_failed or is_lost:
        sentence = f"none of {count_of(latest.visits, 'visit')} got an answer that could be used"
        return Finding(Condition.SILENT, holds=True, sentence=sentence)
    return None


def _judge_vanished(latest: SiteCounts) -> Finding | None:
    if latest.revisits < MIN_REVISITS:
        return None
    sentence = (
        f"{latest.vanished:,} of {latest.revisits:,} pages that were visited again were not found, more than "
        f"{MAX_VANISHED_SHARE:.0%}"
    )
    return Finding(Condition.VANISHED, latest.vanished > MAX_VANISHED_SHARE * latest.revisits, sentence)


def _judge_text(latest: SiteCounts, earlier: Sequence[SiteCounts]) -> Finding | None:
    usual = [counts for counts in earlier if counts.pages >= _MIN_PAGES]
    if latest.pages < _MIN_PAGES or not usual:
        return None
    for measure, describe in ((_words_a_page, _describe_words), (kept_share, _describe_share)):
        expected = median(map(measure, usual))
        if measure(latest) < MIN_TEXT_SHARE * expected:
            said = describe(measure(latest), expected)
            sentence = f"{said}, below {MIN_TEXT_SHARE:.0%} of it; the site may have been redesigned"
            return Finding(Condition.LESS_TEXT, holds=True, sentence=sentence)
    return Finding(Condition.LESS_TEXT, holds=False)


def _judge_fit(latest: SiteCounts) -> Finding | None:
    """Return whether the site's model fits fewer than half of the pages; None without a model or with few pages."""
    judged = latest.taught + latest.unlike
    if judged < _MIN_PAGES:
        return None
    sentence = (
        f"what was corrected does not fit {latest.unlike:,} of {count_of(judged, 'page')}, which are cleaned without "
        "it; the site may have been redesigned: correct some of its pages again"
    )
    return Finding(Condition.UNLIKE, latest.unlike > _MAX_UNLIKE_SHARE * judged, sentence)


def _words_a_page(counts: SiteCounts) -> float:
    """Return the words of kept text a page, 0 without pages."""
    return counts.words / counts.pages if counts.pages else 0.0


def kept_share(counts: SiteCounts) -> float:
    """Return the share of blocks that were kept, 0 without blocks."""
    return counts.blocks_kept / counts.blocks_seen if counts.blocks_seen else 0.0


def usual_kept_share(crawls: Sequence[SiteCrawl]) -> float | None:
    """Return the share of blocks that the crawls usually keep; None if none of them had enough pages."""
    shares = [kept_share(crawl.counts) for crawl in crawls if crawl.counts.pages >= _MIN_PAGES]
    return median(shares) if shares else None


def _describe_words(words: float, expected: float) -> str:
    return f"a page has {words:.0f} words of text, usually {expected:.0f}"


def _describe_share(share: float, expected: float) -> str:
    return f"{share:.0%} of the blocks were kept, usually {expected:.0%}"


def _judge_novelty(crawls: Sequence[SiteCrawl], now: datetime) -> Finding | None:
    moments = sorted(crawl.ended for crawl in crawls if crawl.counts.new or crawl.counts.changed)
    if crawls[0].counts.new or crawls[0].counts.changed:
        return Finding(Condition.NO_NEW_TEXT, holds=False)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    if len(gaps) < _MIN_GAPS or not crawls[0].counts.answered:
        return None
    usual = max(median_low(gaps), _SHORTEST_INTERVAL)
    if now - moments[-1] <= _QUIET_INTERVALS * usual:
        return None
    sentence = (
        f"no new or changed text since {moments[-1]:%Y-%m-%d %H:%M} UTC, which is more than "
        f"{_QUIET_INTERVALS:g} times the usual {_describe_interval(usual)}"
    )
    return Finding(Condition.NO_NEW_TEXT, holds=True, sentence=sentence)


def _describe_interval(interval: timedelta) -> str:
    hours = interval / timedelta(hours=1)
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:.0f} days"  # noqa: PLR2004 — two days
