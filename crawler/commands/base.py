"""The base of Blocksieve's commands: settings, database, and packages of extras."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from cleaning.structure.clean_page import LINK_FORMS
from cleaning.structure.writers.text import TEXT_STYLES
from crawler.config import Config, unknown_settings
from crawler.errors import SetupError
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.terminal import print_error
from crawler.visit import TextForm

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import Settings
    from sqlalchemy.engine import Engine


class ConfiguredCommand:
    """Mixin for a command that reads Blocksieve's settings.

    It does not derive from ScrapyCommand, because Scrapy would take it for a command itself.
    """

    settings: Settings | None

    @cached_property
    def config(self) -> Config:
        """Blocksieve's settings, read once. Raises ConfigError for an invalid one."""
        assert self.settings is not None  # set by scrapy.cmdline
        return Config.read(self.settings)


class BlocksieveCommand(ConfiguredCommand):
    """Mixin for a command that prints a result and does not run Scrapy's crawler process."""

    requires_crawler_process: bool = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)  # type: ignore[misc] # of ScrapyCommand, the next class of each command
        assert self.settings is not None
        for sentence in unknown_settings(self.settings):
            print_error(sentence)

    @contextmanager
    def database(self) -> Iterator[Engine]:
        """Yield the engine of an existing database with the current schema; otherwise raise StoreError."""
        with opened_engine(self.config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            yield engine

    def use_database_settings(self) -> Config:
        """Return the settings. The database gives the values of settings that nothing else sets."""
        assert self.settings is not None  # set by scrapy.cmdline
        kept = schema.read_settings(self.config.database_url)
        self.config = self.config.with_database_settings(self.settings, kept)
        return self.config


def add_form_options(parser: argparse.ArgumentParser) -> None:
    """Add the options from which `text_form` reads how texts are written."""
    parser.add_argument(
        "--links", choices=LINK_FORMS, help="addresses of links in Markdown; by default inline, in chunks none"
    )
    parser.add_argument(
        "--no-html", action="store_true", help="write no HTML in Markdown, also where Markdown has no form of its own"
    )
    parser.add_argument(
        "--text-style",
        choices=TEXT_STYLES,
        help="the column text of pages: blocks, one a line (default); layout, with the headline, signs of list items "
        "and rows of tables (needs STRUCTURE)",
    )


def text_form(opts: argparse.Namespace, default: TextForm) -> TextForm:
    """Return how texts are written: the default, but for what an option says."""
    links = default.links if opts.links is None else LINK_FORMS[opts.links]
    return TextForm(links, default.html and not opts.no_html, opts.text_style or default.style)


@contextmanager
def needs_extra(command: str, extra: str) -> Iterator[None]:
    """Raise SetupError, which names the extra, if an import in the block fails.

    A command imports the packages of an extra when it runs: `scrapy -h` imports every command.
    """
    try:
        yield
    except ImportError as error:
        raise SetupError(f"{command} needs more packages: pip install 'blocksieve[{extra}]' ({error})") from error
