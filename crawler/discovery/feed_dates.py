"""Read the dates of feeds whose weekdays and months are written in the language of the site.

RSS asks for English names, and publishing systems write "Mi, 05 Nov 2025" or "mié., 05 dic. 2025" all the same.
"""

from __future__ import annotations

import re
import tomllib
from collections import ChainMap
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import decimal, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MONTHS_FILE = Path(__file__).with_name("months.toml")
_MAX_CHARS = 100
_TIME = re.compile(r"(?<!\d)(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)\s*$")
_EAST_ASIAN = re.compile(r"(?<!\d)(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})(?!\d)")
_DAY_MONTH_YEAR = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)")
_BETWEEN_WORDS = re.compile(r"[\s,،;()–|-]+")
# The day or the month may come first.
_AMBIGUOUS = re.compile(r"\d[-/]\d{1,2}[-/]\d")
# Two months have names of two words in the Levant.
_TWO_WORDS = re.compile(r"(كانون|تشرين) (الأول|الثاني)")
_NUMBERED_MONTH = re.compile(r"(\d{1,2})[月월]")
_YEARS = range(1900, 2101)
# Thailand counts from the year 543 before ours.
_BUDDHIST_YEARS, _BUDDHIST_OFFSET = range(2443, 2644), 543


def read_feed_date(text: str, language: str = "") -> datetime | None:
    """Return the time that a feed states, in UTC, or midnight if it states a day; None if it is not understood.

    `language` is the code that the feed states: some names mean another month in another language.
    """
    plain = _plain(text[:_MAX_CHARS])
    time, zone = _TIME.search(plain), _ZONE.search(plain)
    day = plain[: time.start()] if time and time.start() > 4 else plain[time.end() :] if time else plain  # noqa: PLR2004 — a time comes after the day, or first
    for year, month, number in _days(day, _month_names(language.partition("-")[0].casefold())):
        try:
            moment = datetime(year, month, number, *_clock(time), tzinfo=_offset(zone) if time else UTC)
            return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _days(text: str, months: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """Yield what may be year, month and day of a text, the surest first."""
    if _AMBIGUOUS.search(text):
        return
    if match := _EAST_ASIAN.search(text):
        yield int(match[1]), int(match[2]), int(match[3])
    if match := _DAY_MONTH_YEAR.search(text):
        yield int(match[3]), int(match[2]), int(match[1])
    words = [
        word for word in (word.strip(".") for word in _BETWEEN_WORDS.split(text)) if word and word not in _fillers()
    ]
    for first, second, third in zip(words, words[1:], words[2:], strict=False):
        if (year := _year(third)) and first.isdecimal() and (month := _month(second, months)):
            yield year, month, int(first)
        elif (year := _year(third)) and second.isdecimal() and (month := months.get(first)):
            yield year, month, int(second)
        elif (year := _year(first)) and third.isdecimal() and (month := months.get(second)):
            yield year, month, int(third)


def _month(word: str, months: Mapping[str, int]) -> int | None:
    """Return the month of a word between day and year: a name, or a number."""
    if (match := _NUMBERED_MONTH.fullmatch(word)) or (match := re.fullmatch(r"(\d{1,2})", word)):
        return int(match[1])
    return months.get(word)


def _year(word: str) -> int | None:
    if not (word.isdecimal() and len(word) == 4):  # noqa: PLR2004 — digits of a year
        return None
    year = int(word)
    return year if year in _YEARS else year - _BUDDHIST_OFFSET if year in _BUDDHIST_YEARS else None


def _clock(time: re.Match[str] | None) -> tuple[int, int, int]:
    return (int(time[1]), int(time[2]), int(time[3] or 0)) if time else (0, 0, 0)


def _offset(zone: re.Match[str] | None) -> timezone:
    if zone is None:
        return UTC
    offset = timedelta(hours=int(zone[2]), minutes=int(zone[3]))
    return timezone(-offset if zone[1] == "-" else offset)


def _plain(text: str) -> str:
    """Return a text in small letters and Western digits. Dots within a Thai abbreviation are left out."""
    folded = normalize("NFKC", text).casefold().replace("\u0307", "").replace("\u200f", "").replace("\u200e", "")
    digits = "".join(str(decimal(sign)) if sign.isdecimal() else sign for sign in folded)
    return _TWO_WORDS.sub(r"\1_\2", re.sub(r"(?<=[\u0e00-\u0e7f])\.", "", digits))


@cache
def _read_file() -> Mapping[str, object]:
    return tomllib.loads(_MONTHS_FILE.read_text("utf-8"))


@cache
def _fillers() -> frozenset[str]:
    words = _read_file()["fillers"]
    assert isinstance(words, list)
    return frozenset(_plain(word).strip(".") for word in words)


@cache
def _month_names(language: str) -> Mapping[str, int]:
    """Return the number of each month's name: in a language first, then in all others, in the order of the file."""
    tables = _read_file()["months"]
    assert isinstance(tables, dict)
    names = {code: _numbered(months) for code, months in tables.items()}
    return ChainMap(names.get(language, {}), *names.values())


def _numbered(months: list[str]) -> dict[str, int]:
    return {_plain(name): number for number, forms in enumerate(months, 1) for name in forms.split()}
