"""The simulation of power failures, on a few copies of the database of a small crawl."""

import sqlite3
from contextlib import closing

import power_loss
import pytest

from crawler.storage.database import make_durable, opened_engine

pytestmark = pytest.mark.slow


def test_a_crawl_goes_on_from_what_a_power_failure_leaves(tmp_path):
    copies = power_loss.simulate(3, 30, 7, tmp_path)
    assert [copy.faults for copy in copies] == [()] * 3
    assert any(copy.torn_bytes for copy in copies)
    assert all(copy.left <= copy.stored for copy in copies)


def test_the_simulation_sees_a_visit_that_is_not_stored_as_a_whole(tmp_path):
    """A check that finds nothing proves nothing: it must see each kind of loss."""
    database = tmp_path / "blocks.db"
    pages = power_loss.save_pages(tmp_path / "pages", 4)
    power_loss.run_crawl(pages, database)
    texts, _ = power_loss.contents(database)
    expected = power_loss.Counter(url for url, *_ in texts)
    assert power_loss.find_faults(database, expected) == []
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("UPDATE request SET outcome = 'not_found' WHERE url LIKE '%/0'")
    faults = power_loss.find_faults(database, expected | {"https://lake.example.org/1": 99})
    stored, cut = faults
    assert stored == "https://lake.example.org/0 is stored and not done"
    assert cut.startswith("https://lake.example.org/1 has ")


def test_a_database_without_a_log_is_durable(tmp_path):
    with opened_engine(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        make_durable(engine)
