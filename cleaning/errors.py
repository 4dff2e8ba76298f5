"""The exceptions of cleaning.

CleaningError
├── OptionError   an unknown method or option, a value out of bounds, a page without what the method needs
├── ModelError    the trained model of the method `default` is missing or damaged
├── AnnotationError  a file of annotations that is broken, or that contradicts itself or its pages
├── LayoutError   the layout does not match the page
├── StructureError   a page that has come from another process without its structure
├── ProcessError  a process of `clean_many` has died, or cannot start
└── PageError     this page cannot be cleaned; it is counted under `cause`
"""

from __future__ import annotations

from enum import StrEnum


class PageFault(StrEnum):
    """Why a page cannot be cleaned."""

    BINARY = "binary_page"
    FEED = "feed"
    """RSS or Atom."""
    XML = "xml"
    """XML that is not XHTML: a sitemap, an SVG image, data."""
    JSON = "json"
    TOO_LARGE = "too_large"


class CleaningError(Exception):
    """Base class of the exceptions of `cleaning`."""


class OptionError(CleaningError, ValueError):
    """An unknown method or option, or a value outside its bounds."""


class AnnotationError(CleaningError, ValueError):
    """A file of annotations that is broken, or that contradicts itself or its pages."""


class LayoutError(CleaningError, ValueError):
    """A layout of another page, or a broken one."""


class StructureError(CleaningError):
    """A page that has come from another process without its structure."""


class ProcessError(CleaningError):
    """A process that cleans pages has died, or cannot start."""


class ModelError(CleaningError):
    """A trained model that is missing, damaged, or of another version."""


class PageError(CleaningError):
    """A page that cannot be cleaned."""

    def __init__(self, cause: PageFault, message: str) -> None:
        super().__init__(message)
        self.cause = cause

    def __reduce__(self) -> tuple[type[PageError], tuple[PageFault, str]]:
        # By default an exception is pickled with its message alone.
        return type(self), (self.cause, str(self))
