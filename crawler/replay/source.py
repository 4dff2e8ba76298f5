"""What a replay source is: URLs, and what was saved under each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from w3lib.url import canonicalize_url, safe_url_string

from crawler.errors import ReplayError
from crawler.mask import mask_text

if TYPE_CHECKING:
    from collections.abc import Iterable


class Absence(StrEnum):
    """Why a URL has nothing saved; counted under `replay/<word>` and answered with 404."""

    ABSENT = "absent"
    MISSING_FILE = "missing_file"
    DAMAGED_FILE = "damaged_file"


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved answer. A body of more bytes than the source's limit is cut one byte beyond it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class ReplaySource(ABC):
    """Saved pages under their URLs. `repeated` counts the URLs' earlier records: the last one wins."""

    def __init__(self, places: Iterable[tuple[str, Any]]) -> None:
        self._places: dict[str, Any] = {}
        self.repeated = 0
        for url, place in places:
            fetched = safe_url_string(url)  # as a request for it will look
            self.repeated += fetched in self._places
            self._places[fetched] = place

    def urls(self) -> list[str]:
        """Return all saved URLs, each once, in the source's order."""
        return list(self._places)

    def find(self, url: str) -> Saved | Absence:
        """Return what was saved under a URL; one without fragment, in canonical form or without secrets will do."""
        place = self._place(url)
        if place is None and (masked := mask_text(url)) != url:
            place = self._place(masked)  # as an archive has it
        return Absence.ABSENT if place is None else self._read(place)

    def _place(self, url: str) -> Any:
        place = self._places.get(url)
        if place is None:
            known = self._by_canonical.get(canonicalize_url(url))
            place = self._places[known] if known is not None else None
        return place

    @cached_property
    def _by_canonical(self) -> dict[str, str]:
        return {canonicalize_url(url): url for url in self._places}

    @abstractmethod
    def _read(self, place: Any) -> Saved | Absence:
        """Return what lies at a place."""


def check_url(url: str, where: str) -> str:
    """Return the URL. Raises ReplayError for one that is neither http nor https, or none at all."""
    try:
        safe = safe_url_string(url)
    except ValueError as error:
        raise ReplayError(f"{where}: {url!r} is no URL ({error})") from error
    if not safe.startswith(("http://", "https://")):
        raise ReplayError(f"{where}: {url!r} is no http or https URL")
    return url
