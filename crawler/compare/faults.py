"""Why a page, or a method on a page, could not be compared; counted under these words."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """What can go wrong beside what `PageFault`, `Absence` and `Outcome` name."""

    TOO_LARGE = "too_large"
    EMPTY = "empty"
    """No element and no text."""
    NO_TEMPLATE = "no_template"
    """The method needs several pages of the site."""
    RENDER_FAILED = "render_failed"
    METHOD_FAILED = "method_failed"


class NoPage(Exception):  # noqa: N818 — as Scrapy's IgnoreRequest: it tells what happened to one page
    """A source that gives no page to compare; `reason` is the word under which it is counted."""

    def __init__(self, reason: StrEnum, message: str) -> None:
        super().__init__(message)
        self.reason = reason
