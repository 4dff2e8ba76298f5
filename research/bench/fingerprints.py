"""What an exact look-up of near-duplicate fingerprints costs, as the number of stored ones grows.

The project's index on SQLite and on PostgreSQL, through its own engine and schema, beside faiss and datasketch, in one
run: fingerprints built a second, bytes of disk or memory a fingerprint, milliseconds for a page of 50 look-ups, and
fingerprints added a second, 50 a transaction. Each index runs at each size in a process of its own, one after another,
on the same data, with one connection or thread and warm caches; the best of three look-ups of each page counts:

- stored: distinct fingerprints in random order; 70 % are random, the others 4 to 12 bits from the centre of a family,
  as texts made from one template are; most families are small, few have up to 2,000 members;
- queries: half of them 0 to 3 bits from a stored one, half random.

What 200 of the queries find is compared with brute force; one difference, and the run ends with exit code 1.

    python research/bench/fingerprints.py [--sizes 100000 1000000 10000000] [--indexes sqlite faiss] [--json]

PostgreSQL is the server at BLOCKSIEVE_POSTGRES, on which a database is made and dropped. faiss and datasketch come with
`pip install 'blocksieve[bench]'`. Above --bulk-above the databases are filled sorted and their further indexes made
last, as one loads a large collection: filled in the order of arrival, they take several times as long.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import psycopg
from contenders import Database, Datasketch, Faiss
from growth import terminal_table, versions
from rich.console import Console
from room import connect, needs, new_database, shortage
from sample import PAGE, neighbours, new_fingerprints, queries, stored_fingerprints

SIZES = (100_000, 1_000_000, 10_000_000)
INDEXES = ("sqlite", "postgresql", "faiss", "datasketch")
TIMED_PAGES = 400
WARM_UP_PAGES = 20
ROUNDS = 3
ADDED_PAGES = 100
CHECKED_PAGES = 4
# A little more memory a fingerprint than was seen.
DATASKETCH_BYTES = 1_200
DATASKETCH_MOST = 1_000_000


def measure(options):
    """Return, for each size and index, a row of figures, or of a note why there are none."""
    rows = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="blocksieve-bench-", dir=options.folder) as folder:
            say(f"{size:,}: making the data")
            np.save(Path(folder, "stored.npy"), stored_fingerprints(size))
            for index in options.indexes:
                say(f"{size:,}: {index}")
                row = {"index": index, "size": size} | run(index, size, folder, options)
                say(f"{size:,}: {row}")
                rows.append(row)
    return rows


def run(index, size, folder, options):
    """Measure one index in a process of its own: what it takes of memory is not mixed up with another's."""
    if reason := hindrance(index, size):
        return {"note": reason}
    if index == "postgresql":
        with new_database() as database:
            return start_worker(index, size, folder, database, options)
    return start_worker(index, size, folder, f"sqlite:///{folder}/index.db", options)


def hindrance(index, size):
    """Return why an index cannot run; None if it can."""
    if index in {"faiss", "datasketch"} and importlib.util.find_spec(index) is None:
        return "not installed"
    if index == "postgresql":
        try:
            connect().close()
        except psycopg.OperationalError:
            return "no server answers at BLOCKSIEVE_POSTGRES"
    if index == "datasketch":
        needed, free = size * DATASKETCH_BYTES, psutil.virtual_memory().available
        if size > DATASKETCH_MOST:
            return f"not run above {DATASKETCH_MOST:,}: takes up to {needed / 1e9:.0f} GB of memory"
        if needed > free:
            return f"not run: takes up to {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free"
    return None


def start_worker(index, size, folder, database, options):
    command = [sys.executable, __file__, "--worker", index, "--folder", folder]
    command += ["--sizes", str(size), "--bulk-above", str(options.bulk_above)]
    # Not an argument: those are shown to every user of the machine, and the URL may hold a password.
    environment = os.environ | {"DATABASE_URL": database}
    finished = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode < 0:
        return {"note": f"ended by signal {-finished.returncode}"}  # by the kernel where memory is short
    if finished.returncode:
        sys.exit(f"{index} failed at {size:,}, see above")
    return json.loads(finished.stdout)


def worker(options):
    """Measure one index at one size in this process and return its row."""
    stored = np.load(Path(options.folder, "stored.npy"))
    query_fingerprints = queries(stored, TIMED_PAGES + WARM_UP_PAGES)
    index = open_index(options)
    try:
        built = timed(lambda: index.build(stored))
        size = index.grown_bytes()
        lookups = time_lookups(index, query_fingerprints)
        wrong = count_wrong(index, stored, query_fingerprints[: CHECKED_PAGES * PAGE])
        added = time_adds(index, len(stored))
    finally:
        index.close()
    p50, p99 = np.percentile(lookups, [50, 99]) * 1000
    return {
        "built_per_second": round(len(stored) / built),
        "sorted": isinstance(index, Database) and len(stored) > options.bulk_above,
        "bytes_each": round(size / len(stored), 1),
        "p50_ms": round(p50, 3),
        "p99_ms": round(p99, 3),
        "added_per_second": round(ADDED_PAGES * PAGE / added),
        "checked": CHECKED_PAGES * PAGE,
        "wrong": wrong,
    }


def open_index(options):
    if options.worker == "faiss":
        return Faiss()
    if options.worker == "datasketch":
        return Datasketch()
    return Database(os.environ["DATABASE_URL"], options.bulk_above)


def time_lookups(index, query_fingerprints):
    """Return the seconds of each page's look-up, the best of several rounds: what else the machine does is no part.

    The first pages, which fill the caches, do not count. Other pages come between two rounds of one.
    """
    pages = [page.tolist() for page in np.split(query_fingerprints, len(query_fingerprints) // PAGE)]
    rounds = [[timed(lambda page=page: index.lookup(page)) for page in pages] for _ in range(ROUNDS)]
    return np.min(rounds, axis=0)[WARM_UP_PAGES:]


def count_wrong(index, stored, query_fingerprints):
    """Return for how many queries something else is found than by brute force."""
    pairs = set().union(
        *(index.lookup(page.tolist()) for page in np.split(query_fingerprints, len(query_fingerprints) // PAGE))
    )
    return len({query for query, _ in pairs ^ neighbours(stored, query_fingerprints)})


def time_adds(index, first_id):
    pages = np.split(new_fingerprints(ADDED_PAGES), ADDED_PAGES)
    return sum(
        timed(lambda page=page, number=number: index.add(page.tolist(), first_id + number * PAGE))
        for number, page in enumerate(pages)
    )


def timed(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def say(text):
    print(text, file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of stored fingerprints")
    parser.add_argument("--indexes", nargs="+", choices=INDEXES, default=INDEXES)
    parser.add_argument("--bulk-above", type=int, default=1_000_000, help="fill larger databases sorted")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the files lie for a while")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    parser.add_argument("--worker", choices=INDEXES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if min(options.sizes) < 1:
        parser.error(f"--sizes has {min(options.sizes)}; a size is 1 at least")
    if not Path(options.folder).is_dir():
        parser.error(f"--folder is {options.folder}, which is not a folder")
    return options


def main():
    options = arguments()
    if options.worker:
        print(json.dumps(worker(options)))
        return
    needed = needs(options.folder, options.indexes, max(options.sizes))
    for folder, size in needed.items():
        say(f"{size / 1e9:.2f} GB of disk needed in {folder or 'the data folder of the server (not checked)'}")
    if missing := shortage(needed):
        sys.exit(f"{missing}; free some, or set --folder or smaller --sizes")
    result = {"versions": versions(), "rows": measure(options)}
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        Console().print(terminal_table(result))
    if any(row.get("wrong") for row in result["rows"]):
        sys.exit("a look-up did not find what brute force finds")


if __name__ == "__main__":
    main()
