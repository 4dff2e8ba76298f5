"""Feeds (-o, -O, FEEDS) that several crawls of one command write to: lines of JSON at the same time, others in turn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter, XmlItemExporter
from scrapy.extensions.feedexport import FileFeedStorage
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.conf import feed_complete_default_values_from_settings
from scrapy.utils.misc import load_object
from w3lib.url import file_uri_to_path

from crawler.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.settings import BaseSettings

# A field in the name of a feed, such as %(name)s.
_FEED_FIELD = re.compile(r"%\((\w+)\)s")

_BY_LINE = "by_line"  # our own option of a feed


@dataclass(frozen=True, slots=True)
class FeedTarget:
    """A feed (-o, -O, FEEDS) of a crawl: its options, and its file or address if that is known before the crawl."""

    uri: str
    place: str
    options: Mapping[str, Any]
    exporter: type

    @property
    def is_file(self) -> bool:
        return urlsplit(self.place).scheme in {"", "file"}

    @property
    def is_by_line(self) -> bool:
        """True if crawls may write at the same time: each item is a line that one write adds to the end of a file."""
        is_lines = issubclass(self.exporter, JsonLinesItemExporter) and not self.options.get("postprocessing")
        return self.is_file and is_lines

    @property
    def is_named_by_crawl(self) -> bool:
        """True if each crawl has another place: only the number of the batch is the same in all crawls."""
        return "%(" in self.place.replace("%(batch_id)", "")

    def find_fault(self) -> str | None:
        """Return why a second crawl cannot write to the end of the feed; None if it can."""
        if issubclass(self.exporter, JsonItemExporter | XmlItemExporter):
            return f"has the format {self.options['format']}, which nothing can be appended to; use jsonl or csv"
        if "%(batch_id)" in self.place:
            return "would have the same batches in each crawl; add %(time)s to its name"
        if not self.is_file and urlsplit(self.place).scheme != "stdout":
            return (
                "is not a local file, so each crawl would replace it; write a local file, or add %(time)s to its name"
            )
        return None


class LinesStorage(FileFeedStorage):
    """A local file. If several crawls add lines to it nothing is buffered, so that no line is cut by another's."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        super().__init__(uri, feed_options=feed_options)
        self._by_line = bool((feed_options or {}).get(_BY_LINE))

    def open(self, spider: Spider) -> IO[bytes]:
        file = super().open(spider)
        return file.detach() if self._by_line else file  # type: ignore[attr-defined] # a buffered file


class SharedFeeds:
    """The feeds that several crawls of a command write to: files of JSON lines together, other feeds in turn.

    The first crawl replaces the file if the command line says so (-O). The others append to it.
    """

    def __init__(self) -> None:
        self._crawls: dict[str, int] = {}
        self._targets: dict[str, FeedTarget] = {}
        self._begun: set[str] = set()
        self._csv_fields: dict[str, Any] = {}

    def add(self, spider: type[Spider], arguments: Mapping[str, str], settings: BaseSettings) -> frozenset[str]:
        """Add the feeds of a crawl; return its claims on them."""
        copy = settings.copy()
        spider.update_settings(copy)
        targets = {target.place: target for target in _feed_targets(spider, arguments, copy)}
        for place, target in targets.items():
            self._targets[place] = target
            self._crawls[place] = self._crawls.get(place, 0) + 1
        return frozenset(
            f"feed {place}" for place, target in targets.items() if "%(time)s" not in place and not target.is_by_line
        )

    def describe_turns(self) -> str | None:
        """Return a sentence about crawls that wait for one another because of a feed; None if none does."""
        turns = [target.uri for target in self._targets.values() if self._is_shared(target) and not target.is_by_line]
        if not turns:
            return None
        return f"crawls run one after the other, because they write to {turns[0]}; a jsonl file lets them run together"

    def check(self) -> None:
        """Raise ConfigError for a feed that several crawls write to and that they cannot append to."""
        for place, target in self._targets.items():
            fault = target.find_fault() if self._is_shared(target) else None
            if fault is not None:
                raise ConfigError(
                    f"{self._crawls[place]} crawls write to the feed {target.uri}, but it {fault}, or crawl each site "
                    "by a command of its own"
                )

    def prepare(self, crawler: Crawler, arguments: Mapping[str, str]) -> None:
        """Let a crawl that begins append to the feeds of those before it. Raises ConfigError for an unwritable file."""
        feeds = dict(crawler.settings.getdict("FEEDS"))
        for target in _feed_targets(crawler.spidercls, arguments, crawler.settings):
            if "%(time)s" in target.place:
                feeds[self._named_by_time(target)] = feeds.pop(target.uri)
            elif self._is_shared(target):
                feeds[target.uri] = self._appended(target)
                if target.is_by_line:
                    storages = dict.fromkeys(("", "file"), LinesStorage)
                    crawler.settings.set("FEED_STORAGES", storages, priority=SETTINGS_PRIORITIES["cmdline"] + 1)
        if feeds:
            # Scrapy sets the command line's settings once more when the crawl begins.
            crawler.settings.set("FEEDS", feeds, priority=SETTINGS_PRIORITIES["cmdline"] + 1)
            crawler.signals.connect(self._note_csv_fields, signal=signals.feed_slot_closed)

    def _is_shared(self, target: FeedTarget) -> bool:
        return self._crawls.get(target.place, 0) > 1 and not target.is_named_by_crawl

    def _named_by_time(self, target: FeedTarget) -> str:
        """Return the name of a feed with its time, another one for each crawl that begins in the same second."""
        moment = datetime.now(UTC).replace(microsecond=0)
        while (name := target.place.replace("%(time)s", moment.isoformat().replace(":", "-"))) in self._begun:
            moment += timedelta(seconds=1)
        self._begun.add(name)
        return target.uri.replace("%(time)s", moment.isoformat().replace(":", "-"))

    def _appended(self, target: FeedTarget) -> dict[str, Any]:
        """Return the options of a crawl that appends to a feed."""
        options = dict(target.options)
        options[_BY_LINE] = target.is_by_line
        if target.is_file:
            if options.get("overwrite") and target.place not in self._begun:
                _empty(Path(target.place))
            options["overwrite"] = False
        self._begun.add(target.place)
        if target.uri in self._csv_fields:
            options["fields"] = self._csv_fields[target.uri]
            options["item_export_kwargs"] = {**options.get("item_export_kwargs", {}), "include_headers_line": False}
        return options

    def _note_csv_fields(self, slot: FeedSlot) -> None:
        """Record the columns of a file that has its header line."""
        if slot.itemcount and isinstance(slot.exporter, CsvItemExporter):
            self._csv_fields[slot.uri_template] = _column_names(slot.exporter)


def _feed_targets(spider: type[Spider], arguments: Mapping[str, str], settings: BaseSettings) -> Iterable[FeedTarget]:
    """Yield the feeds of a crawl. Fields of a name whose values only the crawl knows remain in the place."""
    exporters = settings.getwithbase("FEED_EXPORTERS")
    values = {**arguments, "name": spider.name}
    for key, options in settings.getdict("FEEDS").items():
        uri = str(key)
        filled = feed_complete_default_values_from_settings(dict(options), settings, uri)
        exporter = exporters.get(filled["format"])
        if exporter is None:
            continue  # Scrapy says which formats there are
        place = _FEED_FIELD.sub(lambda field: str(values.get(field[1], field[0])), uri)
        if urlsplit(place).scheme in {"", "file"}:
            place = str(Path(file_uri_to_path(place) if place.startswith("file:") else place).resolve())
        yield FeedTarget(uri, place, options, load_object(exporter))


def _column_names(exporter: CsvItemExporter) -> dict[str, str] | list[str]:
    """Return the fields of a table that has its header line, with their names if those differ."""
    fields = exporter.fields_to_export
    return dict(fields) if isinstance(fields, Mapping) else list(fields or ())


def _empty(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("wb").close()
    except OSError as error:
        raise ConfigError(f"the feed {path} cannot be written ({error.strerror}); name another file") from error
