"""A small database of both kinds, and exports of it."""

import pytest
from exported import fill

from crawler.export import Order, export
from crawler.export.formats import form
from crawler.storage import schema
from crawler.storage.engine import opened


@pytest.fixture
def engine(tmp_path):
    with opened(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        schema.prepare(engine)
        fill(engine)
        yield engine


@pytest.fixture
def folder(tmp_path):
    """Where exports go; nothing else is in it."""
    folder = tmp_path / "exports"
    folder.mkdir()
    return folder


@pytest.fixture
def write(engine, folder):
    """Export into a file of the folder; return what the command would print, and the path."""

    def run(name="blocks.jsonl", report=lambda _: None, **values):
        path = folder / name
        return export(engine, Order(path, form(name), **values), report), path

    return run
