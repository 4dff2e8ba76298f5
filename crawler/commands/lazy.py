"""The commands as Scrapy finds them: the module of each is imported when the command is used.

Scrapy creates all commands at each start, and uses one. The entry points in pyproject.toml name the classes below.
"""

from __future__ import annotations

from functools import cached_property
from pkgutil import resolve_name
from typing import Any, ClassVar


class LazyCommand:
    """Stands for a command, and imports it at the first use of an attribute."""

    place: ClassVar[str]

    @cached_property
    def _command(self) -> Any:
        return resolve_name(self.place)()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._command, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._command, name, value)


def _lazy(place: str) -> type[LazyCommand]:
    return type("LazyCommand", (LazyCommand,), {"place": place})


batch = _lazy("crawler.commands.archives.batch:BatchCommand")
compare = _lazy("crawler.commands.compare:CompareCommand")
completion = _lazy("crawler.commands.completion:CompletionCommand")
correct = _lazy("crawler.commands.sites.correct:CorrectCommand")
crawl = _lazy("crawler.commands.crawl:CrawlEntryPoint")
crawl_in_our_project = _lazy("crawler.commands.crawl:CrawlCommand")
dedup = _lazy("crawler.commands.database.dedup:DedupCommand")
duplicates = _lazy("crawler.commands.database.duplicates:DuplicatesCommand")
explain = _lazy("crawler.commands.explain:ExplainCommand")
export = _lazy("crawler.commands.export:ExportCommand")
history = _lazy("crawler.commands.database.history:HistoryCommand")
import_tables = _lazy("crawler.commands.archives.load:ImportCommand")
initdb = _lazy("crawler.commands.database.initdb:InitdbCommand")
mcp = _lazy("crawler.commands.serving.mcp:McpCommand")
mine = _lazy("crawler.commands.mine:MineCommand")
portals = _lazy("crawler.commands.portals:PortalsCommand")
prune = _lazy("crawler.commands.database.prune:PruneCommand")
reclean = _lazy("crawler.commands.reclean:RecleanCommand")
recrawl = _lazy("crawler.commands.recrawl:RecrawlCommand")
retry = _lazy("crawler.commands.retry:RetryCommand")
search = _lazy("crawler.commands.search:SearchCommand")
serve = _lazy("crawler.commands.serving.serve:ServeCommand")
settings = _lazy("crawler.commands.settings:SettingsCommand")
sites = _lazy("crawler.commands.sites.sites:SitesCommand")
status = _lazy("crawler.commands.status:StatusCommand")
upgrade = _lazy("crawler.commands.database.upgrade:UpgradeCommand")
