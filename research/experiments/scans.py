"""Tables of blocks without an index, and searches that read them from end to end, as the paper's do."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from itertools import chain

from stand_ins import decide, read

from cleaning.terms import tokenise

NAMES = ("raw", "eniw", "pab")
_DENSITY = "(length(text) - length(replace(lower(text), :word, ''))) / CAST(length(:word) * words AS REAL)"
_PAGES = {
    name: f"SELECT page, max({'priority * ' * (name == 'pab')}{_DENSITY}) AS rank FROM {name} "
    "WHERE lower(text) LIKE '%' || :word || '%' AND words > 0 GROUP BY page ORDER BY rank DESC"
    for name in NAMES
}


@contextmanager
def scanned(path, samples):
    """Give a database of three tables: all blocks of the pages, those that ENIW keeps, and those that PAB keeps."""
    with closing(sqlite3.connect(path)) as database:
        for name in NAMES:
            database.execute(f"CREATE TABLE {name} (page INTEGER, text TEXT, words INTEGER, priority REAL)")
        for number, sample in enumerate(samples):
            add(database, number, read(sample))
        database.commit()
        yield database


def add(database, number, page):
    """Add a page's blocks to the tables."""
    eniw = decide(page, "eniw")
    pab = decide(page, "pab")
    blocks = {
        "raw": [decision.block for decision in eniw],
        "eniw": [decision.block for decision in eniw if decision.kept],
        "pab": [decision.block for decision in pab if decision.kept],
    }
    for name, kept_blocks in blocks.items():
        rows = [(number, block.text, block.words, block.priority) for block in kept_blocks if block.text]
        database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)


def find(database, name, word):
    """Return the pages that hold a word and the rank of each, the best first."""
    return database.execute(_PAGES[name], {"word": word}).fetchall()


def vocabulary(database, name):
    """Return the different words of a table's blocks, in order; numbers and single letters are left out."""
    texts = database.execute(f"SELECT text FROM {name}").fetchall()
    words = set(chain.from_iterable(tokenise(text) for (text,) in texts))
    return sorted(word for word in words if len(word) > 1 and word.isascii() and word.isalpha())
