"""When to visit a page again: pure functions of what its visits have shown; docs/schedule.md has the formulas."""

from crawler.schedule.estimate import Estimate, estimate, rate
from crawler.schedule.history import History
from crawler.schedule.kinds import Kind
from crawler.schedule.policy import RETIRE_MISSES, Bounds, Due, choose, due, next_visit, retired, why
from crawler.schedule.sitemap import Trust, believes, lastmod_says, moment, says

__all__ = [
    "RETIRE_MISSES",
    "Bounds",
    "Due",
    "Estimate",
    "History",
    "Kind",
    "Trust",
    "believes",
    "choose",
    "due",
    "estimate",
    "lastmod_says",
    "moment",
    "next_visit",
    "rate",
    "retired",
    "says",
    "why",
]
