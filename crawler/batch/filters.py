"""Which records of an archive are read: by host, URL, date, status and type, before a payload is unpacked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from crawler.config import compile_patterns
from crawler.errors import ConfigError
from crawler.fetching.answers import read_moment
from crawler.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Self

_STATUS = re.compile(r"[1-5][0-9]{2}|[1-5]xx")
_HOST = re.compile(r"[^\s/:*?#@]+")
_TYPE = re.compile(r"[^\s/*;]+/[^\s/*;]*")


class Filtered(StrEnum):
    """Why a record is passed over. It is counted as `filtered/<word>`."""

    HOST = "host"
    URL = "url"
    DATE = "date"
    STATUS = "status"
    TYPE = "type"


@dataclass(frozen=True)
class RecordFilter:
    """The records that are read; an empty field lets all pass.

    A host stands for itself and all hosts below it. `urls` are regular expressions; one of them must match somewhere
    in the URL. A record from `since` on and before `until` is read; one without a date is not, if either is set.
    `types` are media types, such as `text/html`, or their first part (`text/`). `statuses` are numbers or classes such
    as `2xx`.
    """

    hosts: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        hosts: Sequence[str] = (),
        urls: Sequence[str] = (),
        dates: tuple[str | None, str | None] = (None, None),
        types: Sequence[str] = (),
        statuses: Sequence[str] = (),
    ) -> Self:
        """Return the filter that a user describes; `dates` are the first day or time, and the one after the last.

        Raises ConfigError for an invalid regular expression, date or status.
        """
        try:
            compile_patterns(urls)
        except ValueError as error:
            raise ConfigError(f"--url: {error}") from error
        for status in statuses:
            if not _STATUS.fullmatch(status.lower()):
                raise ConfigError(f"--status is {status!r}; it takes a status such as 200, or a class such as 2xx")
        since, until = (_read_date(name, text) for name, text in zip(("--since", "--until"), dates, strict=True))
        if since and until and since >= until:
            raise ConfigError(
                f"--until is {dates[1]!r}, which is not after --since {dates[0]!r}: no record would be read"
            )
        names = tuple(host.strip().lower().rstrip(".") for host in hosts)
        for name in names:
            if not _HOST.fullmatch(name):
                raise ConfigError(f"--host is {name!r}; it takes the name of a host, such as example.org, alone")
        kinds = tuple(media_type.strip().lower() for media_type in types)
        for kind in kinds:
            if not _TYPE.fullmatch(kind):
                raise ConfigError(f"--type is {kind!r}; it takes a type such as text/html, or its first part (text/)")
        return cls(names, tuple(urls), since, until, kinds, tuple(status.lower() for status in statuses))

    def reject_address(self, url: str, date: datetime | None) -> Filtered | None:
        """Return why a record with this URL and date is passed over, None if it is read so far."""
        if self.hosts and not self._has_host(host_of(url).lower()):
            return Filtered.HOST
        if self.urls and not any(pattern.search(url) for pattern in self._patterns):
            return Filtered.URL
        if (self.since or self.until) and (
            date is None or (self.since and date < self.since) or (self.until and date >= self.until)
        ):
            return Filtered.DATE
        return None

    def reject_answer(self, status: int, media_type: str) -> Filtered | None:
        """Return why an answer with this status and Content-Type is passed over, None if it is read."""
        if self.statuses and not {str(status), f"{status // 100}xx"}.intersection(self.statuses):
            return Filtered.STATUS
        declared = media_type.partition(";")[0].strip().lower()
        if self.types and not any(
            declared == allowed or (allowed.endswith("/") and declared.startswith(allowed)) for allowed in self.types
        ):
            return Filtered.TYPE
        return None

    def _has_host(self, host: str) -> bool:
        while host:
            if host in self._hosts:
                return True
            host = host.partition(".")[2]
        return False

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return frozenset(self.hosts)

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return compile_patterns(self.urls)


def _read_date(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = read_moment(text)
    if moment is None:
        raise ConfigError(f"{option} is {text!r}, which is not a date; it takes a day or a time, such as 2026-03-01")
    return moment
