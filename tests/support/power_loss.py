"""What is left of a crawl's database when the power fails, and whether the crawl goes on from it to the same end.

A crawl of saved pages is stopped at random moments, and its database file, write-ahead log and index of the log are
copied. In each copy everything that SQLite had not yet synced may be lost, in any part: the log is cut at a sector, and
some of its sectors are zeros. Only what stands behind the last checkpoint is torn, because SQLite syncs the log before
each one; sectors of the file whose pages the checkpoint was writing are zeros too. Then the copy must open, pass the
integrity check and hold whole visits, and the same command must complete it.

    python tests/support/power_loss.py [--moments 40] [--pages 120] [--seed N] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SENTENCE = "The ferryman of the northern lake told visitor {} how many storms he had crossed since his youth. "
SECTOR = 512
FILE_SUFFIXES = ("", "-wal", "-shm")
LOG_HEADER = 32
FRAME_HEADER = 24
# Places in the index of the log: SQLite's source, wal.c, struct WalCkptInfo behind two copies of the header.
CHECKPOINTED = 96
CHECKPOINT_ATTEMPTED = 128
COPIES_PER_CRAWL = 10
STATES = "SELECT url, state, outcome FROM request ORDER BY url"
TEXTS = "SELECT p.url, t.position, t.digest FROM page p JOIN page_text t ON t.page_id = p.id ORDER BY 1, 2, 3"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was checked: what was torn, the visits that were stored before and that are stored now."""

    frames: int
    checkpointed: int
    torn_bytes: int
    stored: int
    left: int
    faults: tuple[str, ...]


def save_pages(folder: Path, count: int) -> Path:
    """Write pages with an index; the second half of the pages repeats texts of the first."""
    folder.mkdir()
    rows = ["file\turl"]
    for page in range(count):
        paragraphs = (f"<p>{SENTENCE.format(f'{page % (count // 2)}-{line}') * 3}</p>" for line in range(30))
        own = f"<p>{SENTENCE.format(f'only {page}') * 3}</p>"
        (folder / f"{page}.html").write_text(f"<html><body><article>{own}{''.join(paragraphs)}</article></body></html>")
        rows.append(f"{page}.html\thttps://lake.example.org/{page}")
    (folder / "index.tsv").write_text("\n".join(rows) + "\n")
    return folder


def crawl_command(pages: Path, database: Path) -> list[str]:
    settings = {
        "REPLAY": pages,
        "DATABASE_URL": f"sqlite:///{database}",
        "PROGRESS": "off",
        "STORE_BATCH_PAGES": 2,
        "CONCURRENT_REQUESTS": 2,
        "FRONTIER_LEASE_SECONDS": 1,
        "FRONTIER_MAX_ATTEMPTS": 99,
        "LOG_LEVEL": "WARNING",
        "BOILERPLATE_MIN_PAGES": 0,
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "archive"]
    return command + [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return kept | {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}


def run_crawl(pages: Path, database: Path) -> None:
    """Run the crawl to its end. Raises SystemExit if it fails."""
    command = crawl_command(pages, database)
    finished = subprocess.run(
        command, cwd=database.parent, env=environment(), capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise SystemExit(f"the crawl of {database} failed:\n{finished.stderr}")


def contents(database: Path) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Return the texts of all pages, and how each request ended."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(TEXTS).fetchall(), connection.execute(STATES).fetchall()


def copy_while_stopped(process: subprocess.Popen[bytes], database: Path, folder: Path) -> Path | None:
    """Stop a crawl, copy its files as they are, and let it go on; return None if there is no log yet."""
    process.send_signal(signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        folder.mkdir()
        for suffix in FILE_SUFFIXES:
            path = Path(f"{database}{suffix}")
            if path.exists():
                shutil.copy(path, folder / path.name)
    finally:
        process.send_signal(signal.SIGCONT)
    return folder / database.name if (folder / f"{database.name}-shm").exists() else None


def tear(database: Path, chance: random.Random) -> tuple[int, int, int]:
    """Damage a copy as a power failure may; return the frames of the log, those that stay, and the torn bytes."""
    log = Path(f"{database}-wal")
    index = Path(f"{database}-shm").read_bytes()
    data = bytearray(log.read_bytes())
    if len(data) < LOG_HEADER:
        return 0, 0, 0
    page_size = struct.unpack_from(">I", data, 8)[0] or 65_536
    frame = FRAME_HEADER + page_size
    places = (CHECKPOINTED, CHECKPOINT_ATTEMPTED)
    synced = max(struct.unpack_from("=I", index, place)[0] for place in places)
    begin = LOG_HEADER + synced * frame
    end = chance.randrange(begin, len(data) + 1) // SECTOR * SECTOR
    end = max(end, begin)
    torn = len(data) - end
    del data[end:]
    for place in range(-(-begin // SECTOR) * SECTOR, end, SECTOR):
        if chance.random() < 0.02:
            torn += len(data[place : place + SECTOR])
            data[place : place + SECTOR] = bytes(len(data[place : place + SECTOR]))
    log.write_bytes(data)
    torn += tear_checkpoint(database, data, synced, frame, chance)
    if chance.random() < 0.5:
        Path(f"{database}-shm").unlink()
    return (len(log.read_bytes()) - LOG_HEADER) // frame, synced, torn


def tear_checkpoint(database: Path, log: bytearray, synced: int, frame: int, chance: random.Random) -> int:
    """Zero sectors of pages that the log still has and a checkpoint may not have synced; return their bytes."""
    page_size = frame - FRAME_HEADER
    numbers = sorted({struct.unpack_from(">I", log, LOG_HEADER + place * frame)[0] for place in range(synced)})
    size = database.stat().st_size
    torn = 0
    with database.open("r+b") as file:
        for number in numbers:
            place = (number - 1) * page_size + chance.randrange(page_size // SECTOR) * SECTOR
            if place + SECTOR <= size and chance.random() < 0.2:
                file.seek(place)
                file.write(bytes(SECTOR))
                torn += SECTOR
    return torn


def find_faults(database: Path, expected: Counter[object]) -> list[str]:
    """Return what is wrong with a copy: its structure, its references, or a visit that is not stored as a whole."""
    with closing(sqlite3.connect(database)) as connection:
        faults = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        if not has_tables(connection):
            return faults  # their creation was not synced yet
        faults += [f"broken reference: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
        ended = {row[0] for row in connection.execute("SELECT url FROM request WHERE outcome = 'page'")}
        pages = {row[0] for row in connection.execute("SELECT url FROM page")}
        texts = Counter(row[0] for row in connection.execute(TEXTS))
    faults += [f"{url} is done and not stored" for url in sorted(ended - pages)]
    faults += [f"{url} is stored and not done" for url in sorted(pages - ended)]
    cut = [url for url in sorted(pages) if texts[url] != expected[url]]
    return faults + [f"{url} has {texts[url]} of {expected[url]} texts" for url in cut]


def count_pages(database: Path) -> int:
    with closing(sqlite3.connect(database, timeout=60)) as connection:
        return int(connection.execute("SELECT count(*) FROM page").fetchone()[0]) if has_tables(connection) else 0


def has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'request'").fetchone() is not None


def simulate(moments: int, count: int, seed: int, folder: Path) -> list[Copy]:
    """Return what became of each copy. Raises SystemExit if an undisturbed crawl fails."""
    chance = random.Random(seed)
    pages = save_pages(folder / "pages", count)
    whole = folder / "whole.db"
    run_crawl(pages, whole)
    expected = contents(whole)
    copies: list[Path] = []
    crawls = 0
    while len(copies) < moments:
        crawls += 1
        copies += take_copies(pages, folder / f"{crawls}.db", min(COPIES_PER_CRAWL, moments - len(copies)), chance)
    return [check(copy, pages, expected, chance) for copy in copies]


def take_copies(pages: Path, database: Path, most: int, chance: random.Random) -> list[Path]:
    """Crawl, and return copies of the database at random numbers of stored pages."""
    log = Path(f"{database}-shm")
    count = len(list(pages.iterdir())) - 1
    wanted = sorted(chance.randrange(count) for _ in range(most))
    copies = []
    with subprocess.Popen(
        crawl_command(pages, database), cwd=database.parent, env=environment(), stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and wanted:
            if not log.exists() or count_pages(database) < wanted[0]:
                time.sleep(0.005)
                continue
            wanted.pop(0)
            time.sleep(chance.uniform(0, 0.05))
            folder = database.parent / f"{database.stem}-{len(copies)}"
            if process.poll() is None and (copy := copy_while_stopped(process, database, folder)) is not None:
                copies.append(copy)
        process.kill()
    return copies


def count_before(copy: Path) -> int:
    """Return the pages of a copy that nothing was torn from; opening it changes it, so a twin is opened."""
    twin = copy.parent / "twin"
    twin.mkdir()
    for suffix in FILE_SUFFIXES:
        path = Path(f"{copy}{suffix}")
        if path.exists():
            shutil.copy(path, twin / path.name)
    return count_pages(twin / copy.name)


def check(copy: Path, pages: Path, expected: tuple[list[tuple[object, ...]], ...], chance: random.Random) -> Copy:
    """Tear a copy, look for faults, and continue the crawl on it."""
    stored = count_before(copy)
    frames, synced, torn = tear(copy, chance)
    faults = find_faults(copy, Counter(url for url, *_ in expected[0]))
    left = count_pages(copy)
    run_crawl(pages, copy)
    if contents(copy) != expected:
        faults.append("the continued crawl has another end")
    shutil.rmtree(copy.parent)
    return Copy(frames, synced, torn, stored, left, tuple(faults))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=40, metavar="N", help="copies (default: 40)")
    parser.add_argument("--pages", type=int, default=120, metavar="N", help="pages of the crawl (default: 120)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="blocksieve-power-") as folder:
        copies = simulate(options.moments, options.pages, options.seed, Path(folder))
    lost = [copy.stored - copy.left for copy in copies]
    result = {
        "seed": options.seed,
        "copies": len(copies),
        "torn": sum(copy.torn_bytes > 0 for copy in copies),
        "within_a_checkpoint": sum(copy.checkpointed > 0 for copy in copies),
        "pages_lost_at_most": max(lost, default=0),
        "pages_lost_on_average": round(sum(lost) / max(1, len(lost)), 1),
        "faults": [fault for copy in copies for fault in copy.faults],
    }
    print(json.dumps(result | {"copies": [asdict(copy) for copy in copies]} if options.json else result, indent=2))
    if result["faults"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
