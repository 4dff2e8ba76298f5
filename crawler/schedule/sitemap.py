"""Whether a sitemap's `lastmod` is worth anything: believed only while it proves right."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

# A sitemap that stamps everything with today, or nothing ever, does not get here by chance.
_LEAST_RIGHT = 5
_LEAST_SHARE = 0.9
_DATE_CHARS = len("2026-03-01")
# Beyond so many, the older half is forgotten: a sitemap that was right for years may break.
_REMEMBERED = 100


def moment(text: str) -> date | None:
    """Return the date, or date and time, that a text in ISO 8601 names; None for one that names no day."""
    text = text.strip()
    try:
        return date.fromisoformat(text) if len(text) <= _DATE_CHARS else datetime.fromisoformat(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Trust:
    """How often a host's sitemap was right and wrong about pages that were visited all the same."""

    right: int = 0
    wrong: int = 0

    def learned(self, said: bool | None, *, changed: bool) -> Trust:
        """Return the trust after a visit to a page that the sitemap said had changed, or had not; None: said nothing.

        Right is who announces a change that is there. "Unchanged" about an unchanged page proves nothing: a sitemap
        whose dates never move says that of every page.
        """
        if said is None or not (said or changed):
            return self
        right, wrong = self.right + int(said and changed), self.wrong + int(said != changed)
        return Trust(right // 2, wrong // 2) if right + wrong > _REMEMBERED else Trust(right, wrong)


def believes(trust: Trust) -> bool:
    """Return whether a sitemap was right at least five times, and nine times in ten."""
    return trust.right >= _LEAST_RIGHT and trust.right >= _LEAST_SHARE * (trust.right + trust.wrong)


def says(lastmod: date | None, last_seen: datetime) -> bool | None:
    """Return whether a `lastmod` means that the page changed after it was last seen; None where it does not tell.

    A date without a time tells nothing about the day on which the page was seen. A time without a zone is UTC.
    """
    if lastmod is None:
        return None
    if isinstance(lastmod, datetime):
        return lastmod.replace(tzinfo=lastmod.tzinfo or UTC) > last_seen
    day = last_seen.astimezone(UTC).date()
    return None if lastmod == day else lastmod > day


def lastmod_says(trust: Trust, lastmod: date | None, last_seen: datetime) -> bool | None:
    """Return what `says` returns where the sitemap is believed, else None."""
    return says(lastmod, last_seen) if believes(trust) else None
