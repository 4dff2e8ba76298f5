"""Who crawls into an SQLite file, and whether that is still the file."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from crawler.errors import StoreError
from crawler.storage.backend import CrawlFileLock

TAKE = """
import sys
from pathlib import Path
from crawler.storage.backend import CrawlFileLock
claim = CrawlFileLock.acquire(Path(sys.argv[1]), 1)
print(claim.alone, flush=True)
sys.stdin.read()
claim.close()
"""


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "blocks.db"
    path.touch()
    return path


@pytest.fixture
def take_elsewhere(database):
    """Take a part in the crawl by another process, which has it until its stdin is closed."""
    started = []

    def start():
        command = [sys.executable, "-c", TAKE, str(database)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, process.stdout.readline().strip() == "True"

    yield start
    for process in started:
        process.communicate(timeout=300)


def locks(database):
    return sorted(path.name for path in database.parent.iterdir() if path != database)


def test_the_first_is_alone_and_leaves_nothing_behind(database):
    claim = CrawlFileLock.acquire(database, 7)
    assert claim.alone
    assert locks(database) == ["blocks.db-crawl-7"]
    claim.close()
    assert locks(database) == []


def test_a_second_is_not_alone_and_the_last_to_go_tidies_up(database):
    first = CrawlFileLock.acquire(database, 1)
    second = CrawlFileLock.acquire(database, 1)
    assert (first.alone, second.alone) == (True, False)
    first.close()
    assert locks(database) == ["blocks.db-crawl-1"]
    assert not CrawlFileLock.acquire(database, 1).alone
    second.close()


def test_crawls_do_not_get_in_each_others_way(database):
    claims = [CrawlFileLock.acquire(database, crawl_id) for crawl_id in (1, 2)]
    assert [claim.alone for claim in claims] == [True, True]
    for claim in claims:
        claim.close()


def test_a_process_that_is_killed_has_no_part_any_more(database, take_elsewhere):
    other, was_alone = take_elsewhere()
    assert was_alone
    mine = CrawlFileLock.acquire(database, 1)
    assert not mine.alone
    mine.close()
    other.kill()
    other.wait(300)
    assert locks(database) == ["blocks.db-crawl-1"]
    again = CrawlFileLock.acquire(database, 1)
    assert again.alone
    again.close()


def test_of_many_that_come_and_go_at_once_each_gets_a_part_and_no_lock_is_left(database):
    def come_and_go(_number):
        for _ in range(50):
            CrawlFileLock.acquire(database, 1).close()
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(come_and_go, range(8)))
    assert locks(database) == []


def test_of_many_that_stay_one_was_alone(database):
    with ThreadPoolExecutor(16) as threads:
        claims = list(threads.map(lambda _number: CrawlFileLock.acquire(database, 1), range(16)))
    assert sum(claim.alone for claim in claims) == 1
    for claim in claims:
        claim.close()


def test_a_lock_file_that_cannot_be_made_is_named(database):
    database.with_name("blocks.db-crawl-1").mkdir()
    with pytest.raises(StoreError, match=r"blocks\.db-crawl-1 cannot be made: Is a directory"):
        CrawlFileLock.acquire(database, 1)


def gone(database):
    database.unlink()


def moved(database):
    database.rename(database.with_name("elsewhere.db"))


def replaced(database):
    database.with_name("new.db").touch()
    database.with_name("new.db").replace(database)


def in_a_folder_that_is_gone(database):
    database.parent.rename(database.parent.with_name("renamed"))


@pytest.mark.parametrize("change", [gone, moved, replaced, in_a_folder_that_is_gone])
def test_another_file_in_the_databases_place_is_noticed(tmp_path, change):
    folder = tmp_path / "folder"
    folder.mkdir()
    database = folder / "blocks.db"
    database.touch()
    claim = CrawlFileLock.acquire(database, 1)
    claim.check()
    change(database)
    with pytest.raises(StoreError, match=r"blocks\.db was deleted, moved or replaced during the crawl"):
        claim.check()
    claim.close()


def test_writing_to_the_database_is_no_change_of_it(database):
    claim = CrawlFileLock.acquire(database, 1)
    with database.open("ab") as file:
        file.write(b"more")
    os.utime(database, (0, 0))
    claim.check()
    claim.close()
