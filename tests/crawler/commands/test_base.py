"""What commands share: an existing database, settings, and extras that are missing."""

import pytest
from scrapy.commands import ScrapyCommand
from scrapy.settings import Settings
from sqlalchemy import func, select

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
