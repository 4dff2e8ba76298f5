"""Dates that URLs and attributes carry."""

from __future__ import annotations

import re
from datetime import date
from itertools import islice
from urllib.parse import urlsplit

_URL_MAX_CHARS = 2_000
_YEAR = r"(?:19|20)\d\d"
_DATES = (
    re.compile(rf"(?<!\d)({_YEAR})[/_-](\d\d?)[/_-](\d\d?)(?!\d)"),
    re.compile(rf"(?<!\d)({_YEAR})[/_-]?(\d\d)(\d\d)(?!\d)"),
    re.compile(r"/(\d\d)/(\d\d)(\d\d)/"),
)
# What the whole path, or its end, of a page of a calendar or archive looks like; and its parameters.
_CALENDAR = re.compile(
    rf"(?:^|/)(?:{_YEAR}(?:[/-][01]?\d(?:[/-][0-3]?\d)?)?|{_YEAR}[01]\d(?:[0-3]\d)?|week/\d\d?|(?:day|month|year)/[\d-]+)/?$",
    re.IGNORECASE,
)
_CALENDAR_KEYS = frozenset("year month week day date ical tribe-bar-date calendar cal yr mon".split())
_OTHER_KEYS = frozenset("page view mode".split())


def is_calendar(url: str) -> bool:
    """Tell whether a URL names nothing but a day, a month or the like: a page of a calendar, which has no end."""
    parts = urlsplit(url[:_URL_MAX_CHARS])
    keys = {parameter.partition("=")[0].lower() for parameter in parts.query.split("&") if parameter}
    if keys - _CALENDAR_KEYS - _OTHER_KEYS:
        return False
    return bool(keys & _CALENDAR_KEYS) or _CALENDAR.search(parts.path) is not None


def url_date(url: str) -> date | None:
    """Return the date that a URL carries, None where there is none."""
    for pattern in _DATES:
        for match in islice(pattern.finditer(url[:_URL_MAX_CHARS]), 5):
            year, month, day = map(int, match.groups())
            try:
                return date(year if year > 99 else 2000 + year, month, day)  # noqa: PLR2004 — two digits
            except ValueError:
                continue
    return None


def iso_day(text: str) -> date | None:
    """Return the day that an ISO date or time begins with, None for any other text."""
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
