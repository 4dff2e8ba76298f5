"""Read a date in a short text of any language: `read_date("1er février 2024")` gives "2024-02-01".

The answer is never finer than the text: "May 2024" gives "2024-05". No clock is read: "two days ago" is not a date.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from datetime import date
from functools import cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_YEAR, MAX_YEAR = 1800, 2100
_MAX_CHARS = 300
_MAX_TOKENS = 80
_UNSET = "1970-01-01"  # from a clock that was never set
_SEPARATORS = r"\s.,;:/|()\[\]{}'\u05f3\u2019\u2018\"_\u2013\u2014\u00b7\u2022-"
_TOKEN = re.compile(rf"thang\d+|\d+|[^\d{_SEPARATORS}]+")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_DIGIT = re.compile(r"[^\W_a-z0-9]", re.IGNORECASE)
_ISO = re.compile(r"(?<![\d.])(\d{4})-(\d{1,2})(?:-(\d{1,2})(?!\d)|(?![\d-]))")
_MOMENT = re.compile(
    r"\s{0,9}(\d{4})-(\d\d)-(\d\d)(?:[Tt]|\s{1,9})(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?"
    r"\s{0,9}([Zz]|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?\s{0,9}"
)
_LAST_HOUR, _LAST_MINUTE = 23, 59
_ISO_DAY = re.compile(r"\s{0,9}(\d{4})-(\d\d)-(\d\d)(?!\d)")
# A year of four digits in any script, or three numbers. A search for one digit first takes half the time.
_MAY_BE_DATE = re.compile(
    r"\d(?:(?<!\d\d)\d{3}(?!\d)|[./-]\s{0,9}\d\d?[./-]\s{0,9}\d\d|(?<=[12])\d{7}(?!\d)|\s{0,9}[年년])|元年"
)
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")
_YEAR_FIRST = re.compile(r"(?<![\d./])(\d{4})([./])\s?(\d{1,2})\2\s?(\d{1,2})(?!\d)")
_NUMBERS = re.compile(r"(?<![\d./:-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?(\d{4}|\d\d)(?![\d:])(?!\2\d)")
_EAST_ASIAN = re.compile(
    r"(令和|平成|昭和|民國|民国)?\s?(?<!\d)(\d{1,4}|元)\s?[年년]\s?(\d{1,2})\s?[月월](?:\s?(\d{1,2})(?!\d))?"
)
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911}
# Vietnamese numbers the months, as `15 thang 5 nam 2024` and `15 th5 2024`. So do feeds in Chinese: `05 11月 2025`.
_NUMBERED_MONTH = re.compile(r"\b(?:thang |th)(\d{1,2})\b|(?<!\d)(\d{1,2}) ?[月월]")
# Four months have names of two words in the Levant.
_LEVANTINE = re.compile(r"(كانون|تشرين) (الاول|الثاني)")
# Hebrew sets "in" before the month without a space.
_HEBREW_IN = re.compile("(?<![\u05d0-\u05ea])\u05d1(?=[\u05d0-\u05ea]{2})")
# `10:12:44 CEST` stands between the day and the year where a program wrote the date.
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:\s(?:gmt|utc)?[+-]\d\d:?\d\d)?")
_THAI_DOT = re.compile(r"(?<=[\u0e00-\u0e7f])\.")
_TIMESTAMP = re.compile(r"\d{10}(?:\d{3})?")
# The month before the day, as in the United States.
_MONTH_FIRST = frozenset({"en-us", "en-ph"})
_MAX_PARTICLES = 2
_MAX_PARTICLE_CHARS = 4
_BUDDHIST_YEARS = range(2400, 2700)
_BUDDHIST_OFFSET = 543
_PERSIAN_YEARS = range(1300, 1500)
_PERSIAN_LANGUAGES = frozenset({"fa", "ps"})
_PERSIAN_MONTHS = "فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند".split()
_PERSIAN = 100  # before the number of a month of their calendar
_CENTURY = 2000


def fold(text: str) -> str:
    """Return a text in lower case, without accents, with ASCII digits: two spellings of a month become equal."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold()).replace("\u0131", "i")
    for sign in set(_NON_ASCII.findall(plain)):
        if unicodedata.combining(sign):
            plain = plain.replace(sign, "")
    return _LEVANTINE.sub(r"\1\2", _THAI_DOT.sub("", _DIGIT.sub(_ascii_digit, plain)))


def _ascii_digit(match: re.Match[str]) -> str:
    sign = match[0]
    value = unicodedata.digit(sign, None)
    return sign if value is None else str(value)


def read_date(text: str, language: str | None = None) -> str | None:
    """Return the first date in a text as `YYYY-MM-DD`, or `YYYY-MM` if it has no day; None if it has none.

    `language` is the page's BCP 47 tag. It says whether 03/04/2021 is in March, and which month `listopad` is.
    """
    if (match := _ISO_DAY.match(text)) and (day := calendar_day(int(match[1]), int(match[2]), int(match[3]))):
        return day
    if not may_be_date(text):
        return None
    plain = fold(text[:_MAX_CHARS])
    tag = (language or "").replace("_", "-").lower()
    for reader in (_iso, _east_asian, _compact, _year_first, _named, _numbers):
        day = reader(plain, tag)
        if day is not None:
            return day
    return None


def may_be_date(text: str) -> bool:
    """Return True for a text that `read_date` may find a date in, with any white space in it."""
    return _MAY_BE_DATE.search(text) is not None


class Numbers(NamedTuple):
    """A day that a text writes in numbers, and the same with month and day exchanged.

    `month_first` says how the text was read; `sure` is True if it can be read in one way only, `tells_order` if one of
    the numbers is not a month.
    """

    exchanged: str
    month_first: bool
    sure: bool
    tells_order: bool


def read_numbers(day: str, text: str) -> Numbers | None:
    """Return how a text writes a day that was read from it; None if not in numbers such as 03/04/2021."""
    match = _NUMBERS.search(text[:_MAX_CHARS])
    if match is None or len(day) != len("YYYY-MM-DD"):
        return None
    month = int(day[5:7])
    number = int(day[8:])
    first = int(match[1])
    if sorted((first, int(match[3]))) != sorted((month, number)):
        return None
    tells_order = number > 12  # noqa: PLR2004 — the months of a year
    exchanged = f"{day[:5]}{day[8:]}-{day[5:7]}"
    return Numbers(exchanged, first == month, tells_order or month == number, tells_order)


def read_moment(text: str) -> str | None:
    """Return a date with a time as stated, in ISO 8601: `2024-05-01T23:30:00-05:00`; None for any other text.

    The time has no zone if the text has none. Fractions of seconds are left out.
    """
    match = _MOMENT.fullmatch(text)
    if match is None or int(match[4]) > _LAST_HOUR or max(int(match[5]), int(match[6] or 0)) > _LAST_MINUTE:
        return None
    day = calendar_day(int(match[1]), int(match[2]), int(match[3]))
    if day is None:
        return None
    seconds = f":{match[6]}" if match[6] else ""
    return f"{day}T{match[4]}:{match[5]}{seconds}{_zone(match[7])}"


def _zone(text: str | None) -> str:
    if text is None or text in "Zz":
        return (text or "").upper()
    digits = text[1:].replace(":", "").ljust(4, "0")
    return f"{text[0]}{digits[:2]}:{digits[2:]}"


def read_timestamp(text: str) -> str | None:
    """Return the day (UTC) of seconds or milliseconds since 1970; None for any other text."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    days = int(match[0][:10]) // 86_400
    return date.fromordinal(date(1970, 1, 1).toordinal() + days).isoformat()


def calendar_day(year: int, month: int, day: int | None) -> str | None:
    """Return a date in ISO 8601, without the day if it is None; None for a date that no page has."""
    try:
        moment = date(year, month, day or 1)
    except ValueError:
        return None
    written = moment.isoformat()
    if not MIN_YEAR <= year <= MAX_YEAR or written == _UNSET:
        return None
    return written if day else written[:7]


def _iso(plain: str, language: str) -> str | None:
    return _first_day(_ISO, plain, language)


def _year_first(plain: str, language: str) -> str | None:
    match = _YEAR_FIRST.search(plain)
    return None if match is None else _in_calendar(int(match[1]), int(match[3]), int(match[4]), language)


def _compact(plain: str, language: str) -> str | None:
    return _first_day(_COMPACT, plain, language)


def _first_day(pattern: re.Pattern[str], plain: str, language: str) -> str | None:
    for match in islice(pattern.finditer(plain), _MAX_TOKENS):
        day = int(match[3]) if match[3] else None
        if answer := _in_calendar(int(match[1]), int(match[2]), day, language):
            return answer
    return None


def _east_asian(plain: str, _language: str) -> str | None:
    if plain.isascii():
        return None
    match = _EAST_ASIAN.search(unicodedata.normalize("NFC", plain))
    if match is None:
        return None
    year = 1 if match[2] == "元" else int(match[2])
    return calendar_day(year + _ERAS.get(match[1], 0), int(match[3]), int(match[4]) if match[4] else None)


def _numbers(plain: str, language: str) -> str | None:
    """Return a date such as 15.5.2024. The day comes first, unless only the other order is possible or usual."""
    for match in islice(_NUMBERS.finditer(plain), _MAX_TOKENS):
        first = int(match[1])
        second = int(match[3])
        year = int(match[4])
        if len(match[4]) == 2:  # noqa: PLR2004 — the digits of a short year
            if match[2] == "-":
                continue
            year += _CENTURY
        month_first = match[2] != "." and language in _MONTH_FIRST
        if max(first, second) > 12:  # noqa: PLR2004 — the months of a year
            month_first = second > first
        month, day = (first, second) if month_first else (second, first)
        if answer := _in_calendar(year, month, day, language):
            return answer
    return None


class _Token(NamedTuple):
    """A word or number of a text: `month` is 1 to 12 for a month's name, `number` None for a word."""

    text: str
    number: int | None
    month: int | None
    persian: bool


def _named(plain: str, language: str) -> str | None:
    """Return the first date with the name of a month."""
    tokens = _tokens(plain, language)
    coarse = None
    for index, token in enumerate(tokens):
        if token.month is None:
            continue
        answer = _around(tokens, index, language)
        if answer is not None and len(answer) > len("YYYY-MM"):
            return answer
        coarse = coarse or answer
    return coarse


def _tokens(plain: str, language: str) -> list[_Token]:
    """Return the first words and numbers of a text; none if it has no month's name."""
    months = _months(language.partition("-")[0])
    words = _TOKEN.findall(_NUMBERED_MONTH.sub(r"thang\1\2 ", _CLOCK.sub(" ", plain)))
    if _HEBREW_IN.search(plain):
        words = [_HEBREW_IN.sub("", word) if word not in months else word for word in words]
    if months.keys().isdisjoint(words) and "thang" not in " ".join(words):
        return []
    return [_token(word, months.get(word)) for word in words[:_MAX_TOKENS]]


def _token(word: str, month: int | None) -> _Token:
    if month is not None:
        return _Token(word, None, month % _PERSIAN, persian=month > _PERSIAN)
    if word.isdecimal():
        return _Token(word, int(word), None, persian=False)
    numbered = word.removeprefix("thang")
    return _Token(word, None, int(numbered) if numbered.isdecimal() else None, persian=False)


def _around(tokens: list[_Token], index: int, language: str) -> str | None:
    """Return the date whose month is tokens[index]; without the day if only the year stands beside it."""
    before = _numbers_beside(tokens[:index][::-1])
    after = _numbers_beside(tokens[index + 1 :])
    day = None
    year = None
    if before and _is_day(before[0]):  # 5 May 2024; 2024. gada 5. maijs
        day = before[0]
        year = next(filter(_is_year, (*after[:1], *before[1:2])), None)
    elif before and _is_year(before[0]):  # 2024. május 15.
        year = before[0]
        day = next(filter(_is_day, after[:1]), None)
    elif after and _is_day(after[0]):  # May 5, 2024
        day = after[0]
        year = next(filter(_is_year, after[1:2]), None)
    elif after and _is_year(after[0]):
        year = after[0]
    if year is None:
        return None
    month = tokens[index].month or 0
    return _from_persian(year, month, day) if tokens[index].persian else _in_calendar(year, month, day, language)


def _numbers_beside(tokens: list[_Token]) -> list[int]:
    """Return the first two numbers of the tokens that only particles stand between: `de`, `th`, `er`, `of the`."""
    numbers: list[int] = []
    particles = 0
    for token in tokens:
        if token.number is not None:
            numbers.append(token.number)
            particles = 0
        elif token.month is None and len(token.text) <= _MAX_PARTICLE_CHARS and particles < _MAX_PARTICLES:
            particles += 1
        else:
            break
        if len(numbers) == 2:  # noqa: PLR2004 — a day and a year
            break
    return numbers


def _is_day(number: int) -> bool:
    return 1 <= number <= 31  # noqa: PLR2004 — the days of a month


def _is_year(number: int) -> bool:
    return MIN_YEAR <= number <= MAX_YEAR or number in _BUDDHIST_YEARS or number in _PERSIAN_YEARS


def _in_calendar(year: int, month: int, day: int | None, language: str) -> str | None:
    if year in _BUDDHIST_YEARS:
        year -= _BUDDHIST_OFFSET
    if year in _PERSIAN_YEARS and language.partition("-")[0] in _PERSIAN_LANGUAGES:
        return _from_persian(year, month, day)
    return calendar_day(year, month, day)


def _from_persian(year: int, month: int, day: int | None) -> str | None:
    """Return the Gregorian date of a Persian (Solar Hijri) one, by the 33-year cycle of its leap years."""
    if year not in _PERSIAN_YEARS or not 1 <= month <= 12 or day is None:  # noqa: PLR2004 — the months of a year
        return None
    # 1 Farvardin 1300 was 21 March 1921. Leap years have these remainders of 33.
    leaps = sum(1 for past_year in range(1300, year) if past_year % 33 in {1, 5, 9, 13, 17, 22, 26, 30})
    days = (year - 1300) * 365 + leaps + 30 * (month - 1) + min(month - 1, 6) + day - 1
    moment = date.fromordinal(date(1921, 3, 21).toordinal() + days)
    return calendar_day(moment.year, moment.month, moment.day)


@cache
def _months(language: str) -> Mapping[str, int]:
    """Return the months by their folded names; a name with several meanings has the meaning in this language.

    They are 1 to 12, those of the Persian calendar 101 to 112.
    """
    tables = _month_tables()
    return {**tables["persian"], **tables["any"], **tables.get(language, {})}


@cache
def _month_tables() -> dict[str, dict[str, int]]:
    source = resources.files("cleaning").joinpath("data", "months.toml").read_text("utf-8")
    tables = {
        language: {name: int(month) for month, names in months.items() for name in names.split()}
        for language, months in tomllib.loads(source).items()
    }
    tables["persian"] = {fold(name): month for month, name in enumerate(_PERSIAN_MONTHS, _PERSIAN + 1)}
    return tables
