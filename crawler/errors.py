"""What the crawler raises when its setup, not a page, is broken.

CrawlerError
├── ConfigError   a setting is unknown or has a value it cannot have
├── SetupError    the installation is broken: a foreign package stands where ours should
├── CompareError  nothing can be compared or explained: a target that holds no page, a method that cannot work on it
├── ReplayError   a replay source is missing, damaged or points outside its folder
├── ArchiveError  the archive of a crawl cannot be written, or not be gone on with
├── RenderError   a browser is missing or does not start, or fails on a page
├── CleanerError  cleaning a page fails in a process of its own
│   ├── CleanerLostError     the process has died
│   └── CleanerTimeoutError  the page takes too long; the process was killed
├── ExportError   an export cannot be written, or its cursor is not of this database
├── QueryError    a search that cannot be understood, or asks for nothing
├── FrontierError a request that cannot be stored, or not be made of what is stored
└── StoreError    the database cannot be opened, is of another schema, or refuses to store
    ├── StoreMissingError       there is no such file
    └── StoreUnavailableError   it is away, or another writer was in the way: later it may work
"""

from __future__ import annotations


class CrawlerError(Exception):
    """Base of everything that the crawler raises on purpose."""


class ConfigError(CrawlerError, ValueError):
    """A setting that is unknown or has a value it cannot have."""


class SetupError(CrawlerError):
    """A broken installation."""


class ReplayError(CrawlerError):
    """A replay source that cannot be read."""


class ArchiveError(CrawlerError):
    """An archive that cannot be written."""


class CompareError(CrawlerError):
    """A target without a page to compare, or a method that cannot work on it."""


class RenderError(CrawlerError):
    """A browser that is missing or does not start, or that fails on a page."""


class ExportError(CrawlerError):
    """An export that cannot be written, or a cursor that it cannot begin at."""


class FrontierError(CrawlerError):
    """A request that cannot be stored, or a stored one that the spider knows nothing of any more."""


class QueryError(CrawlerError, ValueError):
    """A search that cannot be understood, or asks for nothing."""


class WorkerError(CrawlerError):
    """A page on which cleaning fails in a process of its own; the note is the traceback there."""


class WorkerLostError(WorkerError):
    """A page whose cleaning process has died."""


class WorkerTimeoutError(WorkerError):
    """A page whose cleaning took too long; its process was killed."""


class StoreError(CrawlerError):
    """A database that cannot be used."""


class StoreMissingError(StoreError):
    """A database that was never created."""


class StoreUnavailableError(StoreError):
    """A database that cannot be used now; the same may succeed later."""
