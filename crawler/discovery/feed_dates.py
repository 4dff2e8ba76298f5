"""Read the dates of feeds whose weekdays and months are written in the language of the site.

RSS asks for English names, and publishing systems write "Mi, 05 Nov 2025" or "mié., 05 dic. 2025" all the same.

The table of months is that of the dates of pages (`cleaning.metadata.date_texts`). A feed seldom states its country, so
05/11/2025 has no date here: the day or the month may come first.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, timezone

from cleaning.metadata.date_texts import fold, read_date

_MAX_CHARS = 100
_TIME = re.compile(r"(?<!\d)(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)\s*$")
# The day or the month may come first.
_AMBIGUOUS = re.compile(r"(?<!\d)\d{1,2}[-/]\d{1,2}[-/]\d")
_DAY_CHARS = len("YYYY-MM-DD")


def read_feed_date(text: str, language: str = "") -> datetime | None:
    """Return the time that a feed states, in UTC, or midnight if it states a day; None if it is not understood.

    `read_feed_date("mié, 05 nov 2025 23:30:00 -0500")` is half past four on the sixth.

    `language` is the code that the feed states: some names mean another month in another language.
    """
    plain = fold(text[:_MAX_CHARS])
    clock = _TIME.search(plain)
    day = read_date(_without_time(plain, clock), language)
    if day is None or len(day) < _DAY_CHARS or _AMBIGUOUS.search(plain):
        return None
    try:
        moment = datetime.combine(datetime.fromisoformat(day), _time_of_day(clock), _offset(plain, clock))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _without_time(plain: str, clock: re.Match[str] | None) -> str:
    """Return the part of a text with the day: before the time, or after a time that comes first."""
    if clock is None:
        return plain
    day = plain[: clock.start()]
    return day if any(map(str.isdecimal, day)) else plain[clock.end() :]


def _time_of_day(clock: re.Match[str] | None) -> time:
    return time(int(clock[1]), int(clock[2]), int(clock[3] or 0)) if clock else time()


def _offset(plain: str, clock: re.Match[str] | None) -> timezone:
    zone = _ZONE.search(plain)
    if clock is None or zone is None:
        return UTC
    offset = timedelta(hours=int(zone[2]), minutes=int(zone[3]))
    return timezone(-offset if zone[1] == "-" else offset)
