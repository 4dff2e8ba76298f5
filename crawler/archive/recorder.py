"""The crawl's archive: each answer of a site is in it before anybody reads the answer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawler.archive.file import ENDING, ArchiveFile
from crawler.archive.records import Records
from crawler.config import Config
from crawler.errors import ArchiveError, ConfigError
from crawler.files import writable
from crawler.finish import Finish
from crawler.mask import mask_text

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)


class Recorder:
    """Writes what the download handler gives it to ARCHIVE. One that fails ends the crawl as `archive_failed`."""

    def __init__(self, crawler: Crawler, file: ArchiveFile) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._file = file
        self._records = Records(file.path.name, _about(crawler.settings))
        self._failure: ArchiveError | None = None
        self._closing: asyncio.Future[None] | None = None
        if file.torn_bytes:
            self._stats.inc_value("archive/torn_bytes", file.torn_bytes)
            logger.warning(
                "The last record of the archive %s was not whole: %d bytes are cut off", file.path, file.torn_bytes
            )
        file.append(self._records.opening)
        crawler.signals.connect(self._stopped, signal=signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError and ArchiveError for a file that cannot be written."""
        name = Config.read(crawler.settings).archive
        if not name:
            raise NotConfigured
        path = writable("ARCHIVE", name)
        if not path.name.endswith(ENDING):
            raise ConfigError(f"ARCHIVE is {name!r}; it takes a file whose name ends in {ENDING}")
        return cls(crawler, ArchiveFile.open(path))

    def record(self, request: Request, response: Response) -> None:
        """Write a request and its response. Raises ArchiveError once it cannot be written, and from then on."""
        if self._failure is not None:
            raise self._failure
        data = self._records.pair(request, response)
        try:
            self._file.append(data)
        except ArchiveError as error:
            self._fail(error)
            raise
        self._stats.inc_value("archive/responses")
        self._stats.inc_value("archive/bytes", len(data))

    def _fail(self, error: ArchiveError) -> None:
        """Close the spider; that waits for what is under way, so it is not waited for here."""
        self._failure = error
        self._stats.set_value("archive/error", str(error))
        logger.error("%s: the crawl ends, and the same command goes on with it", error)
        assert self._crawler.engine is not None
        closing = self._crawler.engine.close_spider_async(reason=Finish.ARCHIVE_FAILED)
        self._closing = asyncio.ensure_future(closing)

    def _stopped(self) -> None:
        self._file.close()
        count = self._stats.get_value("archive/responses", 0)
        logger.info("%d responses were added to the archive %s", count, self._file.path)


def _about(settings: BaseSettings) -> dict[str, str]:
    """Return what the standard wants an archive to say of the crawl."""
    return {
        "software": "Blocksieve, with Scrapy and warcio",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "http-header-user-agent": mask_text(settings["USER_AGENT"]),
        "robots": "classic" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
    }
