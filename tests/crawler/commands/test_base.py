"""What commands share: an existing database, settings, and extras that are missing."""

import argparse
import re

import pytest
from scrapy.commands import ScrapyCommand, ScrapyHelpFormatter
from scrapy.settings import Settings
from sqlalchemy import func, select

from crawler.commands import lazy
from crawler.commands.base import BlocksieveCommand, needs_extra
from crawler.errors import ConfigError, SetupError, StoreMissingError
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.tables import page


class Command(BlocksieveCommand, ScrapyCommand):
    def short_desc(self):
        return "Do nothing"

    def run(self, args, opts):
        pass


def command(**settings):
    new_command = Command()
    new_command.settings = Settings(settings)
    return new_command


def test_a_command_reads_an_existing_database(tmp_path):
    url = f"sqlite:///{tmp_path}/blocks.db"
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
    with command(DATABASE_URL=url).database() as engine, engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(page)).scalar() == 0


def test_a_command_creates_no_database(tmp_path):
    with pytest.raises(StoreMissingError), command(DATABASE_URL=f"sqlite:///{tmp_path}/none.db").database():
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_invalid_setting_is_an_error():
    with pytest.raises(ConfigError, match="DEDUP_DISTANCE"):
        assert command(DEDUP_DISTANCE=9).config


def test_a_missing_package_names_the_extra():
    missing = r"scrapy batch needs more packages: pip install 'blocksieve\[batch\]'"
    with pytest.raises(SetupError, match=missing), needs_extra("scrapy batch", "batch"):
        raise ImportError("no module")


@pytest.mark.parametrize("width", [70, 80, 100, 120])
def test_no_line_of_a_help_becomes_a_heading(width, monkeypatch):
    """Scrapy's formatter takes each line that ends with a colon for one, also in the middle of a sentence."""
    monkeypatch.setenv("COLUMNS", str(width))
    headings = []
    for name, place in vars(lazy).items():
        if isinstance(place, type) and issubclass(place, lazy.LazyCommand) and place is not lazy.LazyCommand:
            command = place()
            command.settings = Settings()
            parser = argparse.ArgumentParser(formatter_class=ScrapyHelpFormatter, conflict_handler="resolve")
            command.add_options(parser)
            lines = parser.format_help().split("\n")
            rules = [number for number, line in enumerate(lines) if re.fullmatch(r"=+|-+", line)]
            headings += [f"{name}: {lines[rule - 1]}" for rule in rules if lines[rule - 1].startswith((" ", "-"))]
    assert headings == []
