"""The command `crawl` of our project, in place of Scrapy's own: COMMANDS_MODULE names this package.

Scrapy names a command after its module, and wants a class of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from crawler.commands import lazy

if TYPE_CHECKING:
    from crawler.commands.lazy import LazyCommand


class OurCrawl(ScrapyCommand):
    def __new__(cls) -> LazyCommand:  # type: ignore[misc] # only its attributes are used
        return lazy.crawl_in_our_project()
