"""The exceptions of the crawler; a bad page that is only counted and skipped raises `cleaning.errors.PageError`.

CrawlerError
├── ConfigError    a setting is unknown or has an invalid value
├── SetupError     the installation is broken: another package hides one of ours
├── CompareError   a target of compare or explain has no page, or a method cannot process it
├── ReplayError    a replay source is missing, cannot be read or points outside its folder
│   └── EmptySourceError    it has no page
├── ArchiveError   the archive of a crawl cannot be written or continued
├── TimeLimitError a page or feed takes longer than CLEANING_SECONDS in this process
├── RenderError    the browser is missing, does not start, or fails on a page
├── WorkerError    a cleaning process fails on a page
│   ├── WorkerLostError     the process died
│   └── WorkerTimeoutError  the page took too long, and the process was killed
├── BatchError     an input of a batch job cannot be read, or its output cannot be written or continued
│   └── InputError          an input file of a batch job cannot be read
├── ExportError    an export cannot be written, or its cursor belongs to another database
├── MiningError    documents cannot be mined: too few, or without the column that is asked for
├── QueryError     a search query cannot be parsed or is empty
├── NotStoredError the page, block or site that is asked for is not in the database
├── FrontierError  a request cannot be stored, or a stored one cannot be restored
└── StoreError     the database cannot be opened, has another schema, or fails to write
    ├── StoreMissingError      the database file does not exist
    ├── StoreLockedError       another process locks the database file for too long
    └── StoreUnavailableError  the server is down or another writer holds the lock; a later attempt may succeed
"""

from __future__ import annotations


class CrawlerError(Exception):
    """Base class of all errors that the crawler raises deliberately."""


class ConfigError(CrawlerError, ValueError):
    """A setting is unknown or has an invalid value."""


class SetupError(CrawlerError):
    """The installation is broken."""


class ReplayError(CrawlerError):
    """A replay source cannot be read."""


class EmptySourceError(ReplayError):
    """A replay source has no page."""


class ArchiveError(CrawlerError):
    """An archive cannot be written."""


class CompareError(CrawlerError):
    """A target has no page to compare, or a method cannot process it."""


class RenderError(CrawlerError):
    """The browser is missing, does not start, or fails on a page."""


class ExportError(CrawlerError):
    """An export cannot be written, or cannot start from its cursor."""


class MiningError(CrawlerError):
    """Documents cannot be mined: too few, without the column that is asked for, or in a file that is no export."""


class BatchError(CrawlerError):
    """A batch job cannot read its input, or cannot write or continue its output."""


class InputError(BatchError):
    """An input of a batch job cannot be found or read."""


class FrontierError(CrawlerError):
    """A request cannot be stored, or the spider no longer has the callback of a stored one."""


class QueryError(CrawlerError, ValueError):
    """A user's question cannot be read, is empty, or asks for something that is not stored."""


class NotStoredError(CrawlerError):
    """The requested page, block or site is not in the database."""


class TimeLimitError(CrawlerError):
    """A page or feed takes too long in this process; see `crawler.time_limit`."""


class WorkerError(CrawlerError):
    """A cleaning process failed on a page; the exception's note is the traceback from that process."""


class WorkerLostError(WorkerError):
    """The process that cleaned the page died."""


class WorkerTimeoutError(WorkerError):
    """Cleaning the page took too long, and its process was killed."""


class StoreError(CrawlerError):
    """The database cannot be used."""


class StoreMissingError(StoreError):
    """The database does not exist."""


class StoreLockedError(StoreError):
    """Another process locks the database for longer than a connection waits."""


class StoreUnavailableError(StoreError):
    """The database cannot be used now; a later attempt may succeed.

    `problem` is the message without its advice, to be shown while attempts are made.
    """

    def __init__(self, message: str, problem: str | None = None) -> None:
        super().__init__(message)
        self.problem = problem or message
