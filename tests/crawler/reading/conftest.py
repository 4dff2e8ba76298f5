"""A small database, and exports of it."""

import pytest
from cleaned_pages import STRUCTURED, visit
from exported import fill

from crawler.reading.exports.export import ExportRequest, write_export
from crawler.reading.exports.forms import ExportForm, format_of
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store


@pytest.fixture
def engine(tmp_path):
    with opened_engine(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        schema.prepare_schema(engine)
        fill(engine)
        yield engine


@pytest.fixture
def structured(engine):
    """Store two more pages, of which the first one has a structure; return that page as it was cleaned."""
    store = Store(engine)
    page = visit(1, STRUCTURED, structure=True)
    store.save(store.begin_crawl("test", {}), [page, visit(2)])
    return page.page.cleaned


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
        suffix = format_of(name, values.get("form", ExportForm.PROGRAMS))
        return write_export(engine, ExportRequest(path, suffix, **values), report), path

    return run
