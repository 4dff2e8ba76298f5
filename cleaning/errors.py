"""What cleaning raises.

CleaningError
├── OptionError   the caller asked for a method or option that does not exist or is out of bounds
├── ModelError    the trained model of the method `default` is missing or not the one it should be
├── LayoutError   the layout handed in is not that of the page
└── PageError     this one page cannot be cleaned; `cause` is the word under which it is counted
"""

from __future__ import annotations

from enum import StrEnum


class PageFault(StrEnum):
    """Why a page cannot be cleaned at all."""

    BINARY = "binary_page"
    TOO_LARGE = "too_large"


class CleaningError(Exception):
    """Base of everything that `cleaning` raises on purpose."""


class OptionError(CleaningError, ValueError):
    """An unknown method or option, or a value outside its bounds."""


class LayoutError(CleaningError, ValueError):
    """A layout that was taken from another page, or is broken."""


class ModelError(CleaningError):
    """A trained model that cannot be used: missing, damaged, or of another version."""


class PageError(CleaningError):
    """A page that holds nothing that could be cleaned."""

    def __init__(self, cause: PageFault, message: str) -> None:
        super().__init__(message)
        self.cause = cause

    def __reduce__(self) -> tuple[type[PageError], tuple[PageFault, str]]:
        # An exception is pickled with its message alone.
        return type(self), (self.cause, str(self))
