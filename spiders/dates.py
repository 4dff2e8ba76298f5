"""Dates in URLs and attributes."""

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
# The end of the path of a calendar or archive page, and the parameters of one.
_CALENDAR = re.compile(
    rf"(?:^|/)(?:{_YEAR}(?:[/-][01]?\d(?:[/-][0-3]?\d)?)?|{_YEAR}[01]\d(?:[0-3]\d)?|week/\d\d?|(?:day|month|year)/[\d-]+)/?$",
    re.IGNORECASE,
)
_CALENDAR_KEYS = frozenset("year month week day date ical tribe-bar-date calendar cal yr mon".split())
_OTHER_KEYS = frozenset("page view mode".split())


def is_calendar(url: str) -> bool:
    """Return True for a URL that names only a year, month, week or day. Calendars have pages without end."""
    parts = urlsplit(url[:_URL_MAX_CHARS])
    keys = {parameter.partition("=")[0].lower() for parameter in parts.query.split("&") if parameter}
    if keys - _CALENDAR_KEYS - _OTHER_KEYS:
        return False
    return bool(keys & _CALENDAR_KEYS) or _CALENDAR.search(parts.path) is not None


def url_date(url: str) -> date | None:
    """Return the date in a URL, None if there is none."""
    for pattern in _DATES:
        for match in islice(pattern.finditer(url[:_URL_MAX_CHARS]), 5):
            year, month, day = map(int, match.groups())
            try:
                return date(year if year > 99 else 2000 + year, month, day)  # noqa: PLR2004 — two digits
            except ValueError:
                continue
    return None


def iso_day(text: str) -> date | None:
    """Return the day at the start of an ISO date or time, None for any other text."""
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
